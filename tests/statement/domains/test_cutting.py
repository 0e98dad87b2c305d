"""Domains and regions cut along an axis."""

import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Kronecker
from anagram.statement.domains.cutting import begins, can_be_cut, cut_domain, cut_region
from anagram.statement.domains.written import domain_from_json, domain_to_json

BOX = ag.Box(t=(0, 4), x=(-1, 1), y=ag.periodic(0, 1))
CYLINDER = ag.Box(t=(0, 4)) * ag.Disk() * ag.Box(k=(1, 2))
LEFT = ag.Box(t=(0, 4), x=(-1, 0), y=(0, 0.5))


def test_what_can_be_cut():
    assert [can_be_cut(BOX, axis) for axis in "txyz"] == [True, True, False, False]
    assert [can_be_cut(CYLINDER, axis) for axis in "txyk"] == [True, False, False, True]
    assert cut_domain(ag.Disk(), "x", 0, 1) is None
    assert not can_be_cut(ag.Disk(), "x")


@pytest.mark.parametrize("domain", [BOX, CYLINDER, domain_from_json(domain_to_json(CYLINDER))], ids=repr)
def test_domains_are_the_same_elsewhere(domain):
    part = cut_domain(domain, "t", 1, 2)
    assert part.intervals == {**domain.intervals, "t": (1.0, 2.0)}
    assert type(part) is type(domain)
    assert (part.axes, part.space, part.periodic_axes) == (domain.axes, domain.space, domain.periodic_axes)
    x = np.random.default_rng(0).uniform(domain.low - 0.1, domain.high + 0.1, (300, len(domain.axes)))
    between = (x[:, 0] >= 1) & (x[:, 0] <= 2)
    np.testing.assert_array_equal(part.contains(x), domain.contains(x) & between)


def drawn(region):
    cloud = region.draw(Kronecker(64), np.random.default_rng(1))
    return cloud.x, cloud.normal


@pytest.mark.parametrize(
    ("domain", "region", "share"),
    [
        (BOX, BOX.faces("x"), 0.25),
        (BOX, BOX.face(x=1), 0.25),
        (BOX, BOX.slice(x=0.5), 0.25),
        (BOX, BOX.slice(x=0.5, y=0.5), 0.25),
        (BOX, LEFT, 0.25),
        (BOX, LEFT.face(x=0), 0.25),
        (BOX, LEFT.face(t=0), 1.0),
        (BOX, BOX.face(t=0), 1.0),
        (CYLINDER, CYLINDER.boundary(), 0.25),
        (CYLINDER, CYLINDER.boundary(lambda x, y: x > 0), 0.25),
        (CYLINDER, CYLINDER.face(k=2), 0.25),
        (CYLINDER, CYLINDER.faces("k"), 0.25),
        (CYLINDER, CYLINDER.face(t=0), 1.0),
    ],
)
def test_regions_are_cut(domain, region, share):
    part = cut_domain(domain, "t", 1, 2)
    cut = cut_region(region, part, "t", domain.intervals["t"])
    assert cut.lies_in(part)
    assert (cut.dimension, cut.has_normal) == (region.dimension, region.has_normal)
    np.testing.assert_allclose(cut.measure, share * region.measure)
    (x, normal), (before, normal_before) = drawn(cut), drawn(region)
    # The same places at other moments.
    np.testing.assert_allclose(x[:, 1:], before[:, 1:])
    np.testing.assert_allclose(x[:, 0], 1 + before[:, 0] / 4)
    if region.has_normal:
        np.testing.assert_allclose(normal, normal_before)


@pytest.mark.parametrize(
    ("domain", "region"),
    [
        (BOX, BOX.face(t=4)),
        (BOX, BOX.faces("t")),
        (BOX, BOX.slice(t=2)),
        (BOX, BOX.slice(t=2, x=0)),
        (BOX, ag.Box(t=(0, 2), x=(-1, 1), y=(0, 1))),
        (BOX, ag.Box(t=(1, 4), x=(-1, 1), y=(0, 1)).face(t=1)),
        (BOX, BOX.points(t=1, x=0, y=0)),
        (CYLINDER, CYLINDER.face(t=4)),
        (CYLINDER, CYLINDER.faces("t")),
        (CYLINDER, ag.Box(t=(0, 4), x=(0, 0.1), y=(0, 0.1), k=(1, 2)).face(t=4)),
    ],
)
def test_what_is_not_the_same_at_all_moments_is_not(domain, region):
    assert cut_region(region, cut_domain(domain, "t", 1, 2), "t", domain.intervals["t"]) is None


def test_where_an_axis_begins():
    for domain in (BOX, CYLINDER):
        assert all(begins(part, "t", 0) for part in domain.face(t=0).parts)
        assert not any(begins(part, "t", 0) for part in domain.face(t=4).parts)
    assert not begins(ag.Box(t=(1, 4), x=(-1, 1), y=(0, 1)).face(t=1), "t", 0)
    assert not begins(BOX.face(x=-1), "t", 0)
