"""The solution elsewhere: on a grid as NumPy arrays, xarray, NetCDF, VTK, CSV; or as a function of JAX.

Packages that only one of these needs are imported when it is used.
"""

from anagram.showing.export.formats import to_csv, to_netcdf, to_npz, to_numpy, to_xarray
from anagram.showing.export.function import as_function
from anagram.showing.export.grid import TensorGrid, make_grid
from anagram.showing.export.values import GridValues, grid_values
from anagram.showing.export.vtk import to_vtk

__all__ = [
    "GridValues",
    "TensorGrid",
    "as_function",
    "grid_values",
    "make_grid",
    "to_csv",
    "to_netcdf",
    "to_npz",
    "to_numpy",
    "to_vtk",
    "to_xarray",
]
