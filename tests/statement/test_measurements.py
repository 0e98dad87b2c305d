"""Data from tables: what is read, and what is refused with the row and column where it stands."""

import numpy as np
import pytest

import anagram as ag
from tolerances import assert_close

BOX = ag.Box(t=(0, 1), x=(0, 2))


@pytest.fixture
def csv(tmp_path):
    def write(text):
        path = tmp_path / "values.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_columns_are_read_by_their_names(csv):
    path = csv("# from the laboratory\nx, u, t, sigma\n0.5,1.25,0.1,0.01\n\n2,-1e-3,1,0.02\n")
    found = ag.data(path, BOX)
    assert_close(found.x, [[0.1, 0.5], [1.0, 2.0]])
    assert_close(found["u"], [1.25, -1e-3])
    assert_close(found.sigma["u"], [0.01, 0.02])
    assert len(found) == 2
    assert "u at 2 points" in repr(found)
    condition = found.condition("u")
    assert_close(condition.noise, [0.01, 0.02])
    problem = ag.Problem(BOX, data=found.condition("u", robust="huber"), equation=ag.Condition(lambda u: u.d("t")))
    assert problem.equations["data"] == "u = data"
    assert problem.measured == ("data",)


def test_what_is_not_measured_everywhere_is_left_out_there(csv):
    path = csv("t,x,u,v,sigma_v\n0.1,0.5,1,2,0.1\n0.2,0.5,,3,0.2\n,0.5,1,1,0.1\n0.3,0.5,,,\n")
    found = ag.data(path, BOX, missing="drop")
    assert len(found) == 2
    assert_close(found.condition("u", noise=0.1).equals, [1.0])
    assert_close(found.condition("v").noise, [0.1, 0.2])
    with pytest.raises(ag.ProblemError, match="no column 'sigma' or 'sigma_u'"):
        found.condition("u")
    with pytest.raises(ag.ProblemError, match="nothing was measured of 'w'"):
        found.condition("w")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("t,x,u\n0.1,0.5,1\n0.1,abc,1\n", "line 3, column 'x': 'abc' is no finite number"),
        ("t,x,u\n0.1,0.5,1_000\n", "line 2, column 'u': '1_000'"),
        ("t,x,u\n0.1,0.5,inf\n", "line 2, column 'u': 'inf'"),
        ("t,x,u\n0.1,0.5,\n0.1,0.5,2\n", r"no number in line 2, column 'u' \(1 of 2 rows\)"),
        ("t,x,u\n0.1,0.5\n", "line 2: 2 columns, and the first line has 3"),
        ("t,y,u\n0.1,0.5,1\n", "no column 'x'"),
        ("t,x\n0.1,0.5\n", "no column of values"),
        ("t,x,u,u\n0.1,0.5,1,1\n", "two columns with the name 'u'"),
        ("0.1,0.5,1\n0.2,0.5,1\n", "has to name the columns"),
        ("t;x;u\n0.1;0.5;1\n", "separated by commas"),
        ("t,x,u\n", "no lines of numbers"),
        ("", "no lines of numbers"),
        ("t,x,u\n0.1,0.5,1\n0.1,2.5,1\n", r"1 points outside of .*line 3: t=0.1, x=2.5"),
        ("t,x,u,sigma\n0.1,0.5,1,0\n", "has 0 in line 2, column 'sigma': a standard deviation is positive"),
        ("t,x,u,v,sigma\n0.1,0.5,1,1,0.1\n", "one column 'sigma' for u, v"),
        ('t,x,u\n0.1,0.5,"1\n', "is no"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(csv, text, match):
    with pytest.raises(ag.FileError, match=match):
        ag.data(csv(text), BOX)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(ag.FileError, match="cannot be read"):
        ag.data(tmp_path / "nothing.csv", BOX)
    with pytest.raises(ag.FileError, match="not a plain file"):
        ag.data(tmp_path, BOX)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ag.FileError, match="cannot be read"):
        ag.data(tmp_path / "binary.csv", BOX)
    with pytest.raises(ag.ProblemError, match="a CSV or NetCDF file"):
        ag.data(3, BOX)
    with pytest.raises(ag.ProblemError, match="need the domain"):
        ag.data("values.csv", "box")


def test_columns_by_name_are_a_table():
    found = ag.data({"t": [0.1, 0.2], "x": [0.5, 1.0], "u": [1, 2]}, BOX, "u")
    assert_close(found["u"], [1.0, 2.0])
    with pytest.raises(ag.ProblemError, match="one length"):
        ag.data({"t": [0.1], "x": [0.5, 1.0], "u": [1, 2]}, BOX)
    with pytest.raises(ag.ProblemError, match="'u' has no numbers"):
        ag.data({"t": [0.1], "x": [0.5], "u": ["a"]}, BOX)
    with pytest.raises(ag.ProblemError, match="outside of .* row 2"):
        ag.data({"t": [0.1, 3.0], "x": [0.5, 0.5], "u": [1, 2]}, BOX)


def test_grids_are_one_row_for_every_point(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    t, x = np.array([0.0, 0.5]), np.array([0.0, 1.0, 2.0])
    values = np.arange(6.0).reshape(2, 3)
    values[0, 1] = np.nan
    dataset = xarray.Dataset({"u": (("t", "x"), values)}, {"t": t, "x": x})
    with pytest.raises(ag.ProblemError, match=r"no number in row 2, column 'u'"):
        ag.data(dataset, BOX)
    found = ag.data(dataset, BOX, missing="drop")
    assert len(found) == 5
    assert_close(found["u"], found.x[:, 0] * 6 + found.x[:, 1])
    dataset.to_netcdf(tmp_path / "values.nc", engine="h5netcdf")
    again = ag.data(tmp_path / "values.nc", BOX, missing="drop")
    assert_close(again.x, found.x)
    assert_close(again["u"], found["u"])
    assert_close(ag.data(dataset["u"], BOX, missing="drop")["u"], found["u"])
    with pytest.raises(ag.ProblemError, match="no coordinate 'x'"):
        ag.data(dataset.rename(x="y"), BOX)
    (tmp_path / "broken.nc").write_bytes(b"CDF\x01 nothing")
    with pytest.raises(ag.FileError, match="cannot be read as NetCDF"):
        ag.data(tmp_path / "broken.nc", BOX)
