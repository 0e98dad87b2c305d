"""Solutions on shapes in files: read back, with nothing outside of the shape."""

import re
import struct

import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import anagram as ag
from anagram.showing import export
from solids import HalfBall
from tolerances import assert_close
from untrained import untrained

TYPES = {"Float64": float, "Int64": np.int64, "UInt8": np.uint8}


def flat(u):
    return u.laplacian("x", "y")


@pytest.fixture(scope="module")
def on_disk():
    return untrained(ag.Disk((1, 0), 2), flat)


@pytest.fixture(scope="module")
def evolving():
    return untrained(ag.Box(t=(0, 1)) * ag.Ellipse((0, 0), (2, 1), 0.4), flat)


@pytest.fixture(scope="module")
def in_space():
    return untrained(HalfBall(), flat)


def read_vtu(path):
    """Arrays by name of a file of cells."""
    text = path.read_bytes()
    start = text.index(b'encoding="raw">\n_') + len(b'encoding="raw">\n_')
    found = {}
    for entry in re.finditer(rb'type="(\w+)" Name="(\w+)" NumberOfComponents="(\d)" [^>]*offset="(\d+)"', text):
        kind, name, components, offset = (part.decode() for part in entry.groups())
        (length,) = struct.unpack_from("<Q", text, start + int(offset))
        array = np.frombuffer(text, TYPES[kind], length // np.dtype(TYPES[kind]).itemsize, start + int(offset) + 8)
        found[name] = array.reshape(-1, int(components)) if components != "1" else array
    return found


def test_tensor_grids_have_no_values_outside(on_disk, tmp_path):
    found = on_disk.to_numpy(21, operators={"slope": lambda u: u.d("x")})
    x, y = np.meshgrid(found["x"], found["y"], indexing="ij")
    inside = np.hypot(x - 1, y) <= 2 + 1e-9
    for name in ("u", "slope"):
        assert np.array_equal(np.isfinite(found[name]), inside)
    assert_close(found["u"][inside], on_disk(x=x[inside], y=y[inside]))
    with np.load(export.to_npz(on_disk, tmp_path / "u.npz", 21)) as file:
        assert_close(file["u"][inside], found["u"][inside])
    path = on_disk.to_netcdf(tmp_path / "u.nc", 21)
    with xarray.open_dataset(path) as data:
        assert_close(data["u"].values[inside], found["u"][inside])
        assert int(data["u"].isnull().sum()) == (~inside).sum()
    with xarray.open_dataset(path, mask_and_scale=False) as data:
        assert np.isnan(data["u"].attrs["_FillValue"])


def test_tables_leave_out_what_lies_outside(on_disk, tmp_path):
    table = np.loadtxt(export.to_csv(on_disk, tmp_path / "u.csv", 21), delimiter=",", skiprows=1)
    assert np.all(np.hypot(table[:, 0] - 1, table[:, 1]) <= 2 + 1e-9)
    assert len(table) == np.isfinite(on_disk.to_numpy(21)["u"]).sum()
    assert_close(table[:, 2], on_disk(table[:, :2]))


def test_a_grid_that_misses_the_shape_is_refused(on_disk):
    with pytest.raises(ag.ProblemError, match=r"no point of the grid lies in Disk"):
        on_disk.to_numpy({"x": [-1, 3], "y": [-2, 2]})


@pytest.mark.parametrize("loaded", [False, True], ids=["from charts", "from an outline"])
def test_vtk_has_the_cells_of_a_shape(on_disk, tmp_path, loaded):
    solution = ag.load(on_disk.save(tmp_path / "run")) if loaded else on_disk
    path = solution.to_vtk(tmp_path / "u", 31)
    assert path == tmp_path / "u.vtu"
    found = read_vtu(path)
    nodes, cells = found["points"], found["connectivity"].reshape(-1, 3)
    assert np.array_equal(found["offsets"], 3 * np.arange(1, len(cells) + 1))
    assert set(found["types"]) == {5}
    assert_close(found["u"], on_disk(nodes[:, :2], outside="extrapolate"))
    edges = (nodes[cells[:, 1:]] - nodes[cells[:, :1]])[..., :2]
    assert_close(np.abs(np.linalg.det(edges)).sum() / 2, 4 * np.pi, 5e-3)
    assert solution.to_vtk(tmp_path / "v.vti", 11).suffix == ".vti"
    assert solution.to_vtk(tmp_path / "w", {"x": [0, 0.5, 1], "y": 5}).suffix == ".vti"
    with pytest.raises(ag.FileError, match=r"cells of a shape: let the name end in \.vtu"):
        solution.to_vtk(tmp_path / "u.png", 5)


def test_vtk_has_tetrahedra_of_a_solid(in_space, tmp_path):
    found = read_vtu(in_space.to_vtk(tmp_path / "u", 15))
    nodes, cells = found["points"], found["connectivity"].reshape(-1, 4)
    assert set(found["types"]) == {10}
    volume = np.linalg.det(nodes[cells[:, 1:]] - nodes[cells[:, :1]]).sum() / 6
    assert_close(volume, 2 * np.pi / 3, 3e-2)
    assert_close(found["u"], in_space(nodes))
    slices = in_space.to_vtk(tmp_path / "slice", 15, at={"z": 0.5})
    assert slices.suffix == ".vti"


def test_vtk_of_an_evolution_is_a_series_of_cells(evolving, tmp_path):
    path = evolving.to_vtk(tmp_path / "u", {"t": 3, "x": 15, "y": 15})
    assert path.suffix == ".pvd"
    pieces = sorted((tmp_path / "u").glob("*.vtu"))
    assert [piece.name in path.read_text() for piece in pieces] == [True] * 3
    found = read_vtu(pieces[1])
    assert_close(found["u"], evolving(t=0.5, x=found["points"][:, 0], y=found["points"][:, 1]))


def test_functions_of_jax_go_on_outside(on_disk):
    """They are pure and cannot raise."""
    f = on_disk.as_function()
    assert_close(f(jnp.asarray(9.0), 9.0), on_disk(x=9, y=9, outside="extrapolate"))
