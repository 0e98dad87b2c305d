"""Solutions on grids and as functions, compared with what the solution itself says."""

import struct
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray
from typer import Typer
from typer.testing import CliRunner

import anagram as ag
from anagram.programs.commands.export import export as export_command
from anagram.showing import export
from anagram.showing.export import formats, grid, values
from anagram.training.history import History
from tolerances import assert_close

SUMMARY = {
    "problem": "made", "method": "auto", "seed": 0, "steps": 0, "loss": 1e-9, "validation_loss": 2e-9, "l2_error": None,
    "relative_l2_error": None, "stopped_because": "steps used up",
    "error_estimate": {"value": 3e-5, "reliable": True, "reasons": []},
}  # fmt: skip


def untrained(domain, *conditions, model=ag.MLP(6), **stated):
    """A solution nobody has trained: what is tested here does not depend on how good it is."""
    named = {f"c{k}": ag.Condition(operator) for k, operator in enumerate(conditions)}
    problem = ag.Problem(domain, named, **stated)
    made = ag.ParametricModel(problem.sought, model, 3)
    return ag.Solution(problem, made, np.asarray(made.theta), History(), dict(SUMMARY))


@pytest.fixture(scope="module")
def scalar():
    """u(t, x) on a space-time."""
    return untrained(ag.Box(t=(0, 2), x=(-1, 1)), lambda u: u.d("t") - u.d("x", "x"))


@pytest.fixture(scope="module")
def system():
    """A real and a complex unknown, and a coefficient, on a cube."""
    cube = ag.Box(x=(0, 1), y=(0, 2), z=(-1, 1))
    return untrained(
        cube, lambda v, psi, kappa: kappa * v - psi, unknowns={"v": float, "psi": complex}, coefficients={"kappa": 2.0}
    )


@pytest.fixture(scope="module")
def many():
    """u on a box of five axes."""
    return untrained(ag.Box(**{f"x{k}": (0, 1) for k in range(1, 6)}), lambda u: u.laplacian())


def mesh(coordinates):
    return dict(zip(coordinates, np.meshgrid(*coordinates.values(), indexing="ij"), strict=True))


# -- values on a grid ---------------------------------------------------------------------------------------
OPERATORS = {"u_x": lambda u: u.d("x"), "u_txx": lambda u: u.d("t", "x", "x"), "square": lambda u: u**2}


@pytest.mark.parametrize("asked", [7, {"x": 5, "t": 4}, {"t": [0, 0.3, 2], "x": np.linspace(-1, 1, 9)}])
def test_values_and_derivatives_are_those_of_the_solution(scalar, asked):
    found = export.grid_values(scalar, asked, OPERATORS)
    assert tuple(found.grid.coordinates) == ("t", "x")
    assert list(found.values) == ["u", *OPERATORS]
    x = mesh(found.grid.coordinates)
    assert_close(found.values["u"], scalar(**x))
    for name, operator in OPERATORS.items():
        assert_close(found.values[name], scalar.evaluate(operator, **x))


def test_grids_include_the_ends(scalar):
    coordinates = export.to_numpy(scalar, {"t": 3, "x": 5})
    assert coordinates["t"].tolist() == [0, 1, 2]
    assert coordinates["x"].tolist() == [-1, -0.5, 0, 0.5, 1]
    assert coordinates["u"].shape == (3, 5)


def test_pieces_of_bounded_size_are_compiled_once(scalar, monkeypatch):
    whole = export.grid_values(scalar, {"t": 5, "x": 7}, OPERATORS)
    monkeypatch.setattr(values, "CHUNK", 8)
    drawn = []
    points = grid.TensorGrid.points
    monkeypatch.setattr(grid.TensorGrid, "points", lambda self, a, b: drawn.append((a, b)) or points(self, a, b))
    evaluator = values.GridEvaluator(scalar, OPERATORS)
    pieces = evaluator.on(whole.grid)
    assert drawn == [(0, 8), (8, 16), (16, 24), (24, 32), (32, 35)]
    assert evaluator._compiled._cache_size() == 1
    for name, array in whole.values.items():
        assert_close(pieces.values[name], array)


def test_held_axes(many):
    held = {"x4": 0.5, "x2": 0.25}
    found = export.to_numpy(many, {"x1": 3, "x3": 4, "x5": [0.1]}, at=held)
    assert found["u"].shape == (3, 4, 1)
    assert found["x4"] == 0.5
    x = mesh({axis: found[axis] for axis in ("x1", "x3", "x5")})
    assert_close(found["u"], many(**x, **held))


def test_systems_and_complex_unknowns(system):
    operators = {
        "psi_y": lambda psi: psi.d("y"),
        "flux": lambda v, kappa: -kappa * v.d("x"),
        "mod": lambda psi: abs(psi),
    }
    found = export.grid_values(system, {"x": 3, "y": 4, "z": 2}, operators)
    x = mesh(found.grid.coordinates)
    whole = system(**x)
    assert_close(found.values["v"], whole["v"])
    assert_close(found.values["psi"], whole["psi"])
    assert {name for name, array in found.values.items() if np.iscomplexobj(array)} == {"psi", "psi_y"}
    for name, operator in operators.items():
        assert_close(found.values[name], system.evaluate(operator, **x))


@pytest.mark.parametrize(
    ("asked", "options", "message"),
    [
        ({"t": 4, "y": 3}, {}, "no axis 'y'; the axes are t, x"),
        ({"t": 4}, {}, "nothing about the axis 'x'"),
        ({"t": 4, "x": []}, {}, "empty: the axis 'x' has no coordinates"),
        (1, {}, "1 points along the axis 't'"),
        (0, {}, "needs two or more"),
        (2.5, {}, "whole number of points or a list"),
        ("ten", {}, "whole number of points or a list"),
        (True, {}, "whole number of points or a list"),
        ({"t": [[0, 1]], "x": 3}, {}, "whole number of points or a list"),
        ({"t": [[0], [0, 1]], "x": 3}, {}, "whole number of points or a list"),
        ({"t": [0, 1j], "x": 3}, {}, "whole number of points or a list"),
        ({"t": [0, 1, 1], "x": 3}, {}, "must increase"),
        ({"t": [0, np.nan], "x": 3}, {}, "t=nan lies outside"),
        ({"t": [0, 2.5], "x": 3}, {}, "t=2.5 lies outside of the domain.*from 0 to 2"),
        (4, {"at": {"x": 7}}, "x=7 lies outside"),
        (4, {"at": {"z": 0}}, "at=: there is no axis 'z'"),
        (4, {"at": {"x": [0, 1]}}, "one number for the axis 'x'"),
        (4, {"at": 0.5}, "at= holds axes"),
        (4, {"at": {"t": 0, "x": 0}}, "no grid is left"),
        ({"t": 3, "x": 4}, {"at": {"x": 0}}, "'x' is both in the grid and in at="),
        (10**13, {}, "axis 't' with 10000000000000 points needs .* GB"),
        (10**6, {}, "1000000 × 1000000 points with u needs 7.45e.03 GB .*this machine has .*fewer"),
        (3, {"operators": lambda u: u}, "operators are given by name"),
        (3, {"operators": {"u_x": "u.d(x)"}}, "'u_x' must be a function of fields"),
        (3, {"operators": {"u": lambda u: u}}, "called like an unknown"),
        (3, {"operators": {"x": lambda u: u}}, "called like an axis"),
        (3, {"operators": {"u/x": lambda u: u}}, "cannot be the name"),
        (3, {"operators": {"w": lambda w: w}}, "'w' takes 'w', which is not one of: u"),
        (3, {"operators": {"g": lambda u: u.gradient("x", "t")}}, "'g' returns 2 fields: give each"),
        (3, {"operators": {"one": lambda u: 1.0}}, "'one' must return a field, not float"),
        (3, {"operators": {"two": lambda u: u.map(lambda v: jnp.stack([v, v]))}}, "the shape \\(2,\\)"),
        (3, {"operators": {"bad": lambda u: u.map(lambda v: v.nothing)}}, "'bad' fails: AttributeError"),
        (3, {"operators": {"n": lambda u: u.normal_derivative()}}, "only on a face"),
    ],
)
def test_mistakes_are_named(scalar, asked, options, message):
    with pytest.raises(ag.ProblemError, match=message):
        export.grid_values(scalar, asked, **options)


def test_whole_numbers_become_floats(scalar):
    sign = export.to_numpy(scalar, 3, {"positive": lambda u: u.map(lambda v: v > 0)})["positive"]
    assert sign.dtype == float


# -- xarray and files ---------------------------------------------------------------------------------------
def test_xarray_has_names_and_says_where_it_comes_from(system):
    data = export.to_xarray(system, 3, {"psi_y": lambda psi: psi.d("y")}, at={"z": 0.0})
    assert data["psi"].dims == ("x", "y")
    assert data["psi"].dtype == complex
    assert float(data["z"]) == 0.0
    assert_close(data["psi_y"].sel(x=0.5, y=1).item(), system.evaluate(lambda psi: psi.d("y"), x=0.5, y=1, z=0))
    assert data.attrs["problem"] == "made"
    assert data.attrs["error_estimate"] == 3e-5
    assert data.attrs["coefficient_kappa"] == 2.0
    assert "l2_error" not in data.attrs
    assert data.attrs["source"] == f"anagram {ag.__version__}"


def test_estimates_come_with_their_doubts(scalar):
    found = untrained(scalar.domain, lambda u: u)
    del found.summary["error_estimate"]
    assert "error_estimate" not in formats.description(found)
    vars(found)["_estimate"] = SimpleNamespace(value=0.1, reasons=("few points", "rounding"))
    described = formats.description(found)
    assert described["error_estimate"] == 0.1
    assert described["error_estimate_note"] == "not to be relied on: few points; rounding"


@pytest.mark.parametrize("engine", ["h5netcdf", "scipy"])
def test_netcdf_round_trip(system, tmp_path, monkeypatch, engine):
    if engine == "scipy":
        monkeypatch.setitem(sys.modules, "h5netcdf", None)
        monkeypatch.setitem(sys.modules, "netCDF4", None)
    path = export.to_netcdf(system, tmp_path / "deep" / "cube.nc", {"x": 3, "y": 4}, at={"z": 0.5})
    assert [p.name for p in path.parent.iterdir()] == ["cube.nc"]
    assert path.read_bytes().startswith(b"CDF" if engine == "scipy" else b"\x89HDF")
    with xarray.open_dataset(path, engine=engine) as data:
        expected = export.to_xarray(system, {"x": 3, "y": 4}, at={"z": 0.5})
        assert np.array_equal(data["psi_re"] + 1j * data["psi_im"], expected["psi"])
        assert np.array_equal(data["v"], expected["v"])
        assert np.array_equal(data["y"], expected["y"])
        assert data.attrs["loss"] == 1e-9
        assert data.attrs["problem"] == "made"


def test_netcdf_of_version_3_has_limits(scalar, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    monkeypatch.setitem(sys.modules, "netCDF4", None)
    monkeypatch.setattr(formats, "LARGEST_IN_NETCDF3", 100)
    with pytest.raises(ag.FileError, match="16 points are more than .*anagram-pinn\\[netcdf\\]"):
        export.to_netcdf(scalar, tmp_path / "u.nc", 4)
    with pytest.raises(ag.FileError, match="the name 'φ' has other letters than"):
        export.to_netcdf(scalar, tmp_path / "u.nc", 3, {"φ": lambda u: u})


def test_a_missing_package_names_its_extra(scalar, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    for use in (export.to_xarray, lambda s, n: export.to_netcdf(s, tmp_path / "u.nc", n)):
        with pytest.raises(ag.MissingError, match="pip install 'anagram-pinn\\[xarray\\]'"):
            use(scalar, 4)


def test_npz_and_csv_round_trips(system, tmp_path):
    asked = {"grid": {"x": 2, "z": 3}, "operators": {"file": lambda v: v.d("z")}, "at": {"y": 0.1}}
    arrays = export.to_numpy(system, **asked)
    with np.load(export.to_npz(system, tmp_path / "cube.npz", **asked)) as stored:
        assert set(stored) == set(arrays)
        for name, array in arrays.items():
            assert np.array_equal(stored[name], array)
    path = export.to_csv(system, tmp_path / "cube.csv", **asked)
    lines = path.read_text().splitlines()
    assert lines[0] == "x,y,z,v,psi_re,psi_im,file"
    table = np.loadtxt(lines[1:], delimiter=",")
    assert np.array_equal(table[:, 1], np.full(6, 0.1))
    assert np.array_equal(table[:, 4] + 1j * table[:, 5], arrays["psi"].ravel())
    assert np.array_equal(table[:, 6], arrays["file"].ravel())


@pytest.mark.parametrize("write", [export.to_netcdf, export.to_npz, export.to_csv, export.to_vtk])
def test_places_that_cannot_be_written_are_refused_before_the_work(scalar, tmp_path, monkeypatch, write):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(values.GridEvaluator, "chunks", None)
    with pytest.raises(ag.FileError, match="cannot write to the folder"):
        write(scalar, tmp_path / "file" / "u", 4)
    (tmp_path / "u.pvd").mkdir()
    with pytest.raises(ag.FileError, match="it is a folder"):
        write(scalar, tmp_path / "u.pvd", 4)
    with pytest.raises(ag.FileError, match="not the name of a file"):
        write(scalar, "", 4)


def test_parts_of_complex_quantities_need_their_names(system, tmp_path):
    for write in (export.to_netcdf, export.to_csv, export.to_vtk):
        with pytest.raises(ag.ProblemError, match="two columns would be called 'psi_im'"):
            write(system, tmp_path / "out", 3, {"psi_im": lambda psi: psi.imag})


# -- VTK ----------------------------------------------------------------------------------------------------
def read_vtk(path):
    """The XML head of a file, and its arrays by name in the order of NumPy."""
    text, _, raw = path.read_bytes().partition(b'<AppendedData encoding="raw">\n_')
    assert raw.endswith(b"\n</AppendedData>\n</VTKFile>\n")
    root = ElementTree.fromstring(text + b"</VTKFile>")
    assert root.attrib["header_type"] == "UInt64"
    kind = root[0]
    assert kind.tag == root.attrib["type"]
    shape = [int(last) + 1 for last in kind.attrib["WholeExtent"].split()[1::2]]
    arrays = {}
    for entry in root.iter("DataArray"):
        offset = int(entry.attrib["offset"])
        (length,) = struct.unpack_from("=Q", raw, offset)
        numbers = np.frombuffer(raw, float, length // 8, offset + 8)
        arrays[entry.attrib["Name"]] = numbers.reshape(shape, order="F") if numbers.size == np.prod(shape) else numbers
    return kind, arrays


def test_image_data(system, tmp_path):
    path = export.to_vtk(system, tmp_path / "cube", {"x": 3, "y": 4, "z": 2}, {"v_y": lambda v: v.d("y")})
    assert path == tmp_path / "cube.vti"
    kind, arrays = read_vtk(path)
    assert kind.attrib["Origin"] == "0.0 0.0 -1.0"
    assert kind.attrib["Spacing"] == f"0.5 {2 / 3!r} 2.0"
    expected = export.to_numpy(system, {"x": 3, "y": 4, "z": 2}, {"v_y": lambda v: v.d("y")})
    assert list(arrays) == ["v", "psi_re", "psi_im", "v_y"]
    assert np.array_equal(arrays["psi_re"] + 1j * arrays["psi_im"], expected["psi"])
    assert np.array_equal(arrays["v_y"], expected["v_y"])


def test_rectilinear_grid(many, tmp_path):
    asked = {"x1": [0, 0.1, 1], "x3": 4}
    path = export.to_vtk(many, tmp_path / "plane", asked, at={"x2": 0.5, "x4": 0.5, "x5": 0.5})
    assert path.suffix == ".vtr"
    kind, arrays = read_vtk(path)
    assert kind.tag == "RectilinearGrid"
    expected = export.to_numpy(many, asked, at={"x2": 0.5, "x4": 0.5, "x5": 0.5})
    assert np.array_equal(arrays["u"][:, :, 0], expected["u"])
    assert np.array_equal(arrays["x1"], expected["x1"])


def test_a_series_over_time(scalar, tmp_path):
    path = export.to_vtk(scalar, tmp_path / "heat", {"t": 11, "x": 5})
    assert path == tmp_path / "heat.pvd"
    entries = ElementTree.parse(path).getroot().findall("Collection/DataSet")
    assert [float(e.attrib["timestep"]) for e in entries] == np.linspace(0, 2, 11).tolist()
    expected = export.to_numpy(scalar, {"t": 11, "x": 5})["u"]
    for row, entry in zip(expected, entries, strict=True):
        kind, arrays = read_vtk(tmp_path / entry.attrib["file"])
        assert_close(arrays["u"][:, 0, 0], row, scale=1.0)  # one moment at a time is compiled for itself
    assert kind.attrib["WholeExtent"] == "0 4 0 0 0 0"


def test_time_can_be_an_axis_like_any_other(scalar, tmp_path):
    _, plane = read_vtk(export.to_vtk(scalar, tmp_path / "plane", {"t": 3, "x": 5}, time=None))
    _, curve = read_vtk(export.to_vtk(scalar, tmp_path / "curve.vtr", 3, at={"x": 0}))
    assert np.array_equal(curve["u"][:, 0, 0], plane["u"][:, 2, 0])


@pytest.mark.parametrize(
    ("which", "name", "asked", "options", "message"),
    [
        ("many", "u", 3, {}, "VTK has three axes, this grid has 5 .*at=\\{'x4': ...\\}"),
        ("scalar", "u.vti", 3, {}, "series of files over t: let the name end in .pvd"),
        ("scalar", "u.png", 3, {"at": {"t": 0}}, "end in .vti or .vtr"),
        ("scalar", "u.vti", {"x": [0, 0.1, 1]}, {"at": {"t": 0}}, "not evenly spaced"),
        ("scalar", "u", 3, {"time": "s"}, "time: there is no axis 's'"),
    ],
)
def test_mistakes_of_vtk(request, tmp_path, which, name, asked, options, message):
    with pytest.raises(ag.AnagramError, match=message):
        export.to_vtk(request.getfixturevalue(which), tmp_path / name, asked, **options)


# -- functions of JAX ---------------------------------------------------------------------------------------
def test_a_function_of_jax_and_its_derivatives(scalar):
    f = export.as_function(scalar)
    assert_close(f(0.5, 0.25), scalar(0.5, 0.25))
    assert_close(jax.jit(f)(x=0.25, t=0.5), scalar(0.5, 0.25))
    assert_close(jax.grad(f, 1)(0.5, 0.25), scalar.evaluate(lambda u: u.d("x"), 0.5, 0.25))
    hessian = jax.jit(jax.hessian(f))(jnp.array([0.5, 0.25]))
    assert_close(hessian[0, 1], scalar.evaluate(lambda u: u.d("t", "x"), 0.5, 0.25))
    assert_close(jax.jacfwd(f)(jnp.array([0.5, 0.25]))[0], scalar.evaluate(lambda u: u.d("t"), 0.5, 0.25))
    t, x = np.linspace(0, 2, 4)[:, None], np.linspace(-1, 1, 5)
    assert_close(f(t, x), scalar(t, x))
    assert_close(jax.vmap(f, (None, 0))(0.5, x), scalar(0.5, x))
    assert_close(f(np.stack(np.broadcast_arrays(t, x), axis=-1)), scalar(t, x))
    assert f(np.zeros(0), 0.5).shape == (0,)


def test_functions_of_several_unknowns(system):
    f = export.as_function(system)
    found, expected = f(0.1, 0.2, z=0.3), system(0.1, 0.2, 0.3)
    assert set(found) == {"v", "psi"}
    assert_close(found["psi"], expected["psi"])
    slopes = jax.jacfwd(f, 2)(0.1, 0.2, 0.3)
    assert_close(slopes["psi"], system.evaluate(lambda psi: psi.d("z"), 0.1, 0.2, 0.3))


def test_functions_of_the_parameters(scalar):
    f, theta = export.as_function(scalar, with_parameters=True)
    assert_close(f(theta, t=0.5, x=0.1), scalar(0.5, 0.1))
    gradient = jax.grad(f)(theta, 0.5, 0.1)
    direction = jnp.ones_like(theta)
    slope = (f(theta + 1e-6 * direction, 0.5, 0.1) - f(theta - 1e-6 * direction, 0.5, 0.1)) / 2e-6
    assert_close(gradient @ direction, slope, 1e-7)


def test_a_function_on_one_axis():
    line = untrained(ag.Box(x=(0, 1)), lambda u: u.d("x"), model=ag.Polynomial(3))
    f = export.as_function(line)
    x = np.linspace(0, 1, 3)
    assert_close(f(x), line(x))
    assert_close(f(x[:, None]), line(x))


@pytest.mark.parametrize("arguments", [(0.5,), (np.ones((2, 3)),), (np.ones(2), np.ones(3))])
def test_functions_name_mistakes(scalar, arguments):
    with pytest.raises(ag.ProblemError, match="coordinates t, x|2 columns|t \\(2,\\), x \\(3,\\)"):
        export.as_function(scalar)(*arguments)


# -- the command --------------------------------------------------------------------------------------------
@pytest.fixture
def command(scalar, tmp_path):
    app = Typer()
    app.command()(export_command)
    scalar.save(tmp_path / "run")
    return lambda *arguments: CliRunner().invoke(app, [str(tmp_path / "run"), *arguments])


def test_the_command_writes_every_format(scalar, command, tmp_path):
    result = command("--grid", "t=3,x=5", "--derivative", "u:x", "--derivative", "u:t,x,x")
    assert result.exit_code == 0, result.output
    assert result.output.strip() == str(tmp_path / "run" / "solution.nc")
    with xarray.open_dataset(tmp_path / "run" / "solution.nc") as data:
        assert list(data) == ["u", "u_x", "u_txx"]
        assert_close(data["u_txx"].values, export.to_numpy(scalar, {"t": 3, "x": 5}, OPERATORS)["u_txx"])
    for name, extra in (("a.csv", ()), ("a.npz", ()), ("a.pvd", ()), ("b.vti", ("--at", "t=0.5"))):
        result = command("--grid", "4", "--out", str(tmp_path / name), "--quiet", *extra)
        assert (result.exit_code, result.output) == (0, "")
        assert (tmp_path / name).stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "hdf"], "--format takes netcdf, vtk, npz, csv, not 'hdf'"),
        (["--out", "u.xyz"], "does not say which"),
        (["--grid", "many"], "--grid needs a number"),
        (["--grid", "t=3;x=4"], "--grid needs a number"),
        (["--at", "t"], "--at needs an axis"),
        (["--derivative", "u"], "--derivative needs an unknown"),
        (["--derivative", "w:x"], "no unknown 'w'; there are u"),
        (["--derivative", "u:y"], "no axis 'y'; there are t, x"),
        (["--grid", "t=3,y=4"], "no axis 'y'"),
    ],
)
def test_the_command_names_mistakes(command, arguments, message):
    result = command(*arguments)
    assert result.exit_code == 2
    assert f"error: {message}" in result.output or message in result.output


def test_names_of_derivatives_along_long_axes(many, tmp_path):
    app = Typer()
    app.command()(export_command)
    many.save(tmp_path / "run")
    held = [text for k in (3, 4, 5) for text in ("--at", f"x{k}=0.5")]
    out = str(tmp_path / "a.csv")
    result = CliRunner().invoke(
        app, [str(tmp_path / "run"), "--grid", "2", "--derivative", "u:x1,x1", *held, "--out", out]
    )
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.csv").read_text().splitlines()[0].endswith(",u,u_x1_x1")
