"""Points in cells that are halved towards corners."""

import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.statement.cornerweights import corner_weights
from anagram.statement.domains.codec import points_from_json, points_to_json
from anagram.statement.domains.graded import NEAREST
from tolerances import assert_close

ELL = ag.Box(x=(-1, 1), y=(-1, 1)) - ag.Box(x=(0, 1), y=(-1, 0))
SQUARE = ag.Box(x=(0, 2), y=(0, 1))
RULE = ag.Graded(8, 4, [(0, 0)])


@pytest.mark.parametrize("domain", [ELL, SQUARE, ag.Polygon([(0, 0), (3, 0), (2, 2)])], ids=["L", "box", "triangle"])
def test_they_are_a_quadrature_rule(domain):
    cloud = domain.draw(RULE, np.random.default_rng(0))
    plain = domain.draw(ag.GaussLegendre(30), np.random.default_rng(0))
    for power in ((0, 0), (1, 0), (0, 3), (2, 2)):
        terms = [np.sum(c.weight * c.x[:, 0] ** power[0] * c.x[:, 1] ** power[1]) for c in (cloud, plain)]
        assert_close(terms[0], terms[1], 1e-12, scale=1.0)
    assert np.all(domain.contains(cloud.x))


def test_they_integrate_what_is_not_smooth():
    """∫ r^{−½} over the L, by its three squares: each is a triangle twice, in polar coordinates."""
    cloud = ELL.draw(ag.Graded(16, 6, [(0, 0)]), np.random.default_rng(0))
    angle, weight = np.polynomial.legendre.leggauss(30)
    angle, weight = np.pi / 8 * (angle + 1), np.pi / 8 * weight
    known = 6 * np.sum(weight * np.cos(angle) ** -1.5) / 1.5 / 3
    assert_close(np.sum(cloud.weight * np.linalg.norm(cloud.x, axis=1) ** -0.5), known, 1e-8)


def test_decades_have_as_many_of_them():
    distance = np.linalg.norm(ELL.draw(RULE, np.random.default_rng(0)).x, axis=1)
    decades = [np.sum((distance > 10.0**-k) & (distance <= 10.0 ** (1 - k))) for k in range(2, 6)]
    assert max(decades) < 1.3 * min(decades)
    assert distance.min() < 10 * NEAREST


def test_faces_crowd_too():
    for region in (SQUARE.face(x=0), ELL.boundary()):
        cloud = region.draw(RULE, np.random.default_rng(0))
        assert np.linalg.norm(cloud.x, axis=1).min() < 10 * NEAREST
        assert_close(cloud.weight.sum(), 1.0)


def test_points_between_leave_out_the_corner_itself():
    own, fresh = (ELL.draw(rule, np.random.default_rng(0)).x for rule in (RULE, RULE.between()))
    nearest = [np.linalg.norm(x, axis=1).min() for x in (own, fresh)]
    assert nearest[1] > nearest[0]
    assert not set(map(tuple, own)) & set(map(tuple, fresh))


def test_they_are_kept():
    again = points_from_json(points_to_json({"a": RULE}))["a"]
    assert repr(again) == repr(RULE) == "Graded(8, order=4, 1 corners)"
    assert_close(again.corners, RULE.corners)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 4, [(0, 0)]), "count"),
        ((8, 2.5, [(0, 0)]), "order"),
        ((8, 4, []), "corners as pairs"),
        ((8, 4, [(0, 0, 0)]), "corners as pairs"),
        ((8, 4, [(0, np.inf)]), "corners as pairs"),
        ((8, 4, [(0, 0), (1,)]), "corners as pairs"),
        ((8, 4, "ab"), "corners as pairs"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(SettingError, match=message):
        ag.Graded(*arguments)


def test_they_are_for_the_plane():
    with pytest.raises(SettingError, match="in the plane"):
        ag.Box(x=(0, 1), y=(0, 1), z=(0, 1)).draw(RULE, np.random.default_rng(0))
    with pytest.raises(SettingError, match="in the plane"):
        ag.Ball().draw(RULE, np.random.default_rng(0))


def test_too_many_points_are_refused_before_there_are_any():
    with pytest.raises(SettingError, match="points"):
        ELL.draw(ag.Graded(10**6, 4, [(0, 0)]), np.random.default_rng(0))


def test_places_are_in_a_plane():
    with pytest.raises(SettingError, match="'x' is periodic"):
        ag.Box(x=ag.periodic(0, 1), y=(0, 1)).draw(RULE, np.random.default_rng(0))


def test_equations_count_less_near_corners_by_their_order():
    problem = ag.Problem(
        ELL,
        second=ag.Condition(lambda u: u.laplacian()),
        fourth=ag.Condition(lambda u: u.d("x", "x", "y", "y")),
        sides=ag.Condition(lambda u: u, on=ELL.boundary()),
    )
    x = np.array([[-0.1, 0.0], [-0.01, 0.0]])
    assert_close(corner_weights(problem, "second", x), np.ones(2), what="without corners")
    near = problem.restated(corners=[(0, 0)])
    assert_close(corner_weights(near, "second", x), (x[:, 0] / 2) ** 2)
    assert_close(corner_weights(near, "fourth", x), (x[:, 0] / 2) ** 6)
    assert_close(corner_weights(near, "sides", x), np.ones(2))
