"""Families in pictures, exports and pages: members, logarithmic axes, kinds of axes."""

import numpy as np
import pytest

import anagram as ag
from anagram.showing.report.page.fields import field_data
from anagram.showing.report.page.shapes import first_places
from anagram.showing.sections import sections
from tolerances import assert_close
from untrained import untrained

FAMILY = ag.Box(nu=ag.parameter(0.01, 1, log=True), t=(0, 2), x=(-1, 1))
ON_DISK = ag.Box(a=ag.parameter(1, 3), t=(0, 1)) * ag.Disk()


def test_three_members_are_shown():
    planes = sections(FAMILY, 5)
    assert {plane.axes for plane in planes} == {("t", "x")}
    assert_close([plane.held["nu"] for plane in planes], [0.01, 0.1, 1.0])
    planes = sections(ON_DISK, 5)
    assert {plane.axes for plane in planes} == {("x", "y")}
    assert [(plane.held["a"], plane.held["t"]) for plane in planes] == [(1.0, 1.0), (2.0, 1.0), (3.0, 1.0)]


def test_a_parameter_is_an_axis_of_a_picture_where_nothing_else_is_left(tmp_path):
    solution = untrained(ag.Box(nu=ag.parameter(0.01, 1, log=True), x=(-1, 1)), lambda u, nu: nu * u.d("x"))
    (plane,) = sections(solution.domain, 5)
    assert plane.axes == ("x", "nu")
    assert_close(plane.lines[1], np.geomspace(0.01, 1, 5))
    figure = solution.plot(tmp_path / "plane.png")
    assert figure.axes[0].get_yscale() == "log"
    alone = untrained(ag.Box(nu=ag.parameter(0.01, 1, log=True)), lambda u, nu: u - nu)
    assert alone.plot(tmp_path / "line.png").axes[0].get_xscale() == "log"


def test_grids_are_spread_by_their_logarithms():
    solution = untrained(FAMILY, lambda u: u.d("t"))
    values = solution.to_numpy({"nu": 5, "t": 2, "x": 3})
    assert_close(values["nu"], np.geomspace(0.01, 1, 5))
    assert_close(values["u"][1, 1, 2], solution.at(nu=values["nu"][1])(t=2.0, x=1.0))


def test_datasets_say_which_axis_is_a_parameter():
    pytest.importorskip("xarray")
    dataset = untrained(FAMILY, lambda u: u.d("t")).to_xarray({"nu": 3, "t": 2, "x": 2})
    assert dataset["nu"].attrs == {"kind": "parameter"}


def test_pages_know_kinds_of_axes():
    solution = untrained(FAMILY, lambda u: u.d("t"))
    axes = field_data(solution)["axes"]
    assert axes[0] == {"name": "nu", "low": 0.01, "high": 1.0, "parameter": True, "log": True}
    assert axes[1] == {"name": "t", "low": 0.0, "high": 2.0}
    assert first_places(FAMILY, 5) == [2, 2, 2]
