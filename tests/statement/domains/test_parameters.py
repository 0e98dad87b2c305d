"""Axes that are parameters: points along them, no faces, members of families."""

import pickle

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Parameter
from anagram.statement.domains.members import member_domain, member_region
from anagram.statement.domains.rules import Fejer
from anagram.statement.domains.written import domain_from_json, domain_to_json, look_the_same
from tolerances import assert_close

FAMILY = ag.Box(nu=ag.parameter(0.01, 1, log=True), t=(0, 2), x=(-1, 1))
ON_DISK = ag.Box(a=ag.parameter(1, 3), t=(0, 1)) * ag.Disk()


def test_a_parameter_is_a_pair_and_no_interval_of_coordinates():
    low, high = FAMILY.intervals["nu"]
    assert (low, high) == (0.01, 1)
    assert FAMILY.intervals["nu"] != (low, high)
    assert FAMILY.intervals["nu"] == ag.parameter(0.01, 1, log=True) != ag.parameter(0.01, 1)
    assert pickle.loads(pickle.dumps(FAMILY.intervals["nu"])) == FAMILY.intervals["nu"]
    assert FAMILY.parameter_axes == ("nu",)
    assert ON_DISK.parameter_axes == ("a",)
    assert isinstance((FAMILY * ag.Box(y=(0, 1))).intervals["nu"], Parameter)
    assert repr(FAMILY) == "Box(nu=parameter(0.01, 1, log=True), t=(0, 2), x=(-1, 1))"


@pytest.mark.parametrize("rule", [ag.Grid(9), ag.GaussLegendre(9), Fejer(9)])
@pytest.mark.parametrize("closed", [False, True])
def test_points_are_spread_by_their_logarithms(rule, closed):
    x, weight = rule.draw({"nu": FAMILY.intervals["nu"]}, np.random.default_rng(0), closed=closed)
    plain, same = rule.draw({"s": (np.log(0.01), 0.0)}, np.random.default_rng(0), closed=closed)
    assert_close(np.log(x), plain)
    assert_close(weight, same)
    assert x.min() >= 0.01
    assert x.max() <= 1


@pytest.mark.parametrize("rule", [ag.Sobol(256), ag.Uniform(256), ag.LatinHypercube(256), ag.Cells(512)])
def test_random_points_and_cells_too(rule):
    """As many of them from 0.01 to 0.1 as from 0.1 to 1, up to chance."""
    cloud = FAMILY.draw(rule, np.random.default_rng(0))
    assert abs(cloud.weight @ (cloud.x[:, 0] < 0.1) - 0.5) < 0.1
    assert abs(cloud.weight @ (cloud.x[:, 2] < 0.0) - 0.5) < 0.1


def test_coordinates_that_are_given_are_taken_as_they_are():
    x = FAMILY.draw(ag.Grid(nu=np.array([0.02, 0.5]), t=2, x=2), np.random.default_rng(0)).x
    assert set(x[:, 0]) == {0.02, 0.5}


def test_a_parameter_has_no_faces():
    assert [face.axis for face in FAMILY.boundary().parts] == ["t", "t", "x", "x"]
    assert [part.end[0] for part in ON_DISK.faces().parts] == ["t"] * len(ON_DISK.faces().parts)
    for wrong in (lambda: FAMILY.face(nu=1), lambda: FAMILY.faces("nu", "x"), lambda: ON_DISK.face(a=1)):
        with pytest.raises(ag.ProblemError, match="is a parameter and has no faces"):
            wrong()
    with pytest.raises(ag.ProblemError, match="no boundary"):
        ag.Box(nu=ag.parameter(0, 1)).boundary()


def test_faces_count_as_without_the_parameter():
    """A long range of a parameter says nothing about the lengths of the other axes."""
    wide = ag.Box(nu=ag.parameter(1e-6, 1e6, log=True), x=(0, 3), y=(0, 1))
    plain = ag.Box(x=(0, 3), y=(0, 1))
    assert_close(wide.boundary().fractions, plain.boundary().fractions)


def test_a_held_parameter_has_no_normal():
    assert not FAMILY.slice(nu=0.1).has_normal
    both = FAMILY.slice(nu=0.1, x=0.5)
    assert_close(both.normal_at(np.zeros((2, 3))), np.tile([0.0, 0.0, 1.0], (2, 1)))


def test_parts_of_a_family():
    part = ag.Box(nu=ag.parameter(0.1, 1, log=True), t=(0, 2), x=(-1, 1))
    assert part.lies_in(FAMILY)
    assert not ag.Box(nu=(0.1, 1), t=(0, 2), x=(-1, 1)).lies_in(FAMILY)


def test_members_of_regions_are_regions_of_members():
    held, box = {"nu": 0.1}, ag.Box(t=(0, 2), x=(-1, 1))
    assert repr(member_domain(FAMILY, held)) == repr(box)
    assert repr(member_region(FAMILY.boundary(), held)) == repr(box.boundary())
    assert repr(member_region(FAMILY.slice(x=0.5), held)) == "slice(x=0.5)"
    assert repr(member_region(FAMILY.slice(nu=0.1), held)) == repr(box)
    assert member_region(FAMILY.slice(nu=0.2), held) is None
    data = FAMILY.points(nu=[0.1, 0.5, 0.1], t=1, x=[0.0, 0.1, 0.2])
    assert_close(member_region(data, held).x, [[1, 0], [1, 0.2]])
    rim = member_region(ON_DISK.boundary(), {"a": 2.0})
    assert rim.axes == ("t", "x", "y")
    assert_close(rim.measure, 2 * np.pi)
    assert repr(member_domain(ON_DISK, {"a": 2.0})) == repr(ag.Box(t=(0, 1)) * ag.Disk())
    assert repr(member_domain(ag.Box(a=ag.parameter(0, 1)) * ag.Disk(), {"a": 0.5})) == repr(ag.Disk())


@pytest.mark.parametrize("domain", [FAMILY, ON_DISK, ag.Box(k=ag.parameter(-1, 1), x=ag.periodic(0, 1))])
def test_records_keep_parameters(domain):
    back = domain_from_json(domain_to_json(domain))
    assert back.intervals == domain.intervals
    assert look_the_same(back, domain)


@pytest.mark.parametrize(
    "wrong",
    [{"parameters": {"y": False}}, {"parameters": {"x": True}}, {"parameters": {"x": 1}}, {"parameters": ["x"]}],
)
def test_damaged_records_are_refused(wrong):
    with pytest.raises(ag.ProblemError):
        domain_from_json({"axes": {"x": [-1.0, 1.0]}, **wrong})


@pytest.mark.parametrize(
    ("ends", "log", "said"),
    [
        ((1, 0), False, "a parameter needs finite ends"),
        (("a", 1), False, "a parameter needs two ends"),
        ((0, 1), True, "has no logarithm"),
        ((1, 2), "yes", "log= of a parameter is True or False"),
    ],
)
def test_ends_of_a_parameter_are_checked(ends, log, said):
    with pytest.raises(ag.ProblemError, match=said):
        ag.parameter(*ends, log=log)


def test_shapes_are_not_made_of_parameters():
    with pytest.raises(ag.ProblemError, match="no rectangle"):
        ag.Box(nu=ag.parameter(0, 1), x=(0, 1)) - ag.Disk()
    with pytest.raises(ag.ProblemError, match="extruded along an interval"):
        ag.extrude(ag.Disk(), z=ag.parameter(0, 1))
