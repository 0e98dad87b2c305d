import numpy as np
import pytest

import anagram as ag
from anagram.models import Enriched, singular_corners
from anagram.statement.sizes import natural_sizes
from anagram.training.rungs import Plan

L_SHAPE = ag.Polygon([(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)], edges=tuple("abcdef"))


def laplace(domain=L_SHAPE, slopes=(), axes=("x", "y")):
    """Laplace's equation with values on all parts of the boundary but those with slopes."""
    values = [part for part in "abcdef" if part not in slopes]
    conditions = {"values": ag.Condition(lambda u: u, on=domain.boundary(*values))}
    if slopes:
        conditions["slopes"] = ag.Condition(lambda u: u.normal_derivative(), on=domain.boundary(*slopes))
    return ag.Problem(domain, {"equation": ag.Condition(lambda u: u.laplacian(*axes)), **conditions})


@pytest.mark.parametrize(
    ("slopes", "kind", "exponents"),
    [
        ("", "values", (2 / 3, 4 / 3)),
        ("abcdef"[0:1] + "f", "slopes", (2 / 3, 4 / 3)),
        ("a", "slope-value", (1 / 3, 5 / 3)),
        ("f", "value-slope", (1 / 3, 5 / 3)),
    ],
)
def test_the_corner_that_goes_in_comes_first(slopes, kind, exponents):
    first = singular_corners(laplace(slopes=tuple(slopes)))[0]
    assert first.corner == (0.0, 0.0)
    assert first.angle == pytest.approx(1.5 * np.pi)
    assert first.kind == kind
    assert [e for e, _ in first.terms] == pytest.approx(exponents)


def test_right_angles_with_values_on_both_sides_are_smooth():
    assert len(singular_corners(laplace())) == 1
    square = ag.Box(x=(0, 1), y=(0, 1)) & ag.Disk(radius=9)
    problem = ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian()),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
    )
    assert singular_corners(problem) == ()


def test_in_time_and_for_other_orders():
    moving = ag.Box(t=(0, 1)) * L_SHAPE
    assert singular_corners(laplace(moving))[0].kind == "values"
    plate = ag.Condition(lambda u: u.laplacian().laplacian())
    assert singular_corners(ag.Problem(L_SHAPE, plate=plate)) == ()


def test_networks_of_the_ladder_are_enriched():
    problem = laplace()
    spec = Plan(1).model(problem, natural_sizes(problem))
    assert isinstance(spec, Enriched)
    assert 130 <= spec.count(L_SHAPE, 1) <= 165
