import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Cloud
from tolerances import assert_close


def rng():
    return np.random.default_rng(0)


BOX = ag.Box(t=(0, 2), x=(-1, 1), y=(0, 3))
RULES = [
    ag.Grid(4),
    ag.Grid(t=2, x=3, y=np.array([0.5, 2.5])),
    ag.Uniform(50),
    ag.Sobol(50),
    ag.LatinHypercube(50),
    ag.GaussLegendre(4),
    ag.Chosen(t=[0.5, 2.0, 2.0], x=[0.0, 0.3, -1.0], y=[1.0, 2.0, 0.5], weights=[1, 3, 2]),
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("region", [BOX, BOX.face(t=2), BOX.faces("x", "y")], ids=repr)
def test_points_lie_in_their_region_and_weights_are_a_measure(rule, region):
    cloud = region.draw(rule, rng())
    assert isinstance(cloud, Cloud)
    assert_close(cloud.weight.sum(), 1.0)
    bounds = np.array(list(BOX.intervals.values()))
    assert np.all(cloud.x >= bounds[:, 0])
    assert np.all(cloud.x <= bounds[:, 1])
    if region is not BOX:
        on_a_face = np.abs(cloud.x[:, :, None] - bounds[None]).min(axis=(1, 2))
        assert_close(on_a_face, np.zeros(len(cloud.x)))


def test_the_papers_grids():
    square = ag.Box(x=(0, 1), y=(0, 1))
    inside = square.draw(ag.Grid(30), rng())
    boundary = square.boundary().draw(ag.Grid(30), rng())
    assert len(inside.x) == 900
    assert len(boundary.x) == 120
    assert_close(np.unique(inside.x[:, 0]), np.linspace(0, 1, 32)[1:-1])
    assert inside.x.min() > 0
    assert boundary.x.min() == 0


def test_gauss_legendre_integrates_polynomials_exactly():
    x, w = BOX.draw(ag.GaussLegendre(4), rng())[:2]
    exact = (2**8 / 8 / 2) * (1 / 7) * (3**4 / 4 / 3)  # means of t⁷, x⁶, y³
    assert_close(np.sum(w * x[:, 0] ** 7 * x[:, 1] ** 6 * x[:, 2] ** 3), exact)


def test_faces_know_their_outward_normal_and_share_of_the_measure():
    box = ag.Box(x=(0, 1), y=(0, 3))
    cloud = box.boundary().draw(ag.Uniform(800), rng())
    centre = np.array([0.5, 1.5])
    assert np.all(np.sum(cloud.normal * (cloud.x - centre), axis=1) > 0)
    assert_close(np.linalg.norm(cloud.normal, axis=1), np.ones(len(cloud.x)))
    on_long_sides = np.abs(cloud.normal[:, 0]) == 1
    assert_close(cloud.weight[on_long_sides].sum(), 6 / 8)
    assert on_long_sides.sum() == 600


def test_faces_across_axes_in_different_units_count_alike():
    box = ag.Box(x=(0, 1e9), y=(0, 3))
    cloud = box.boundary().draw(ag.Uniform(800), rng())
    across = np.abs(cloud.normal[:, 0]) == 1
    assert_close(cloud.weight[across].sum(), 0.5)
    assert across.sum() == 400


def test_chosen_points_stay_where_they_were_chosen():
    square = ag.Box(x=(0, 1), y=(0, 1))
    rule = ag.Chosen(x=[0.5, 0.3, 0.2], y=[0, 1, 0.5], weights=[1, 2, 5])
    cloud = square.boundary().draw(rule, rng())
    assert_close(cloud.x, [[0.5, 0.0], [0.3, 1.0]])
    assert_close(cloud.weight, [1 / 3, 2 / 3])
    assert_close(cloud.normal, [[0, -1], [0, 1]])
    with pytest.raises(ag.SettingError, match="no points on face"):
        square.face(x=0).draw(rule, rng())
    line = ag.Box(x=(0, 1))
    assert_close(line.faces("x").draw(ag.Chosen(x=[0.0, 0.4]), rng()).x, [[0.0]])


def test_regions_know_their_normals_and_their_domain():
    square = ag.Box(x=(0, 1), y=(0, 1))
    assert_close(square.boundary().normal_at(np.array([[0.5, 1.0], [0.0, 0.5]])), [[0, 1], [-1, 0]])
    assert square.normal_at(np.zeros((1, 2))) is None
    assert square.boundary().lies_in(square)
    assert not ag.Box(x=(0, 7), y=(0, 1)).face(x=7).lies_in(square)
    assert ag.Box(x=(0.2, 0.3), y=(0, 1)).lies_in(square)


def test_a_face_of_an_interval_is_one_point():
    line = ag.Box(x=(0, 1))
    for rule in (ag.Grid(7), ag.Sobol(9), ag.GaussLegendre(3)):
        assert_close(line.faces("x").draw(rule, rng()).x, [[0.0], [1.0]])


def test_products_and_unions():
    product = ag.Box(t=(0, 1)) * ag.Box(x=(-1, 1))
    assert repr(product) == "Box(t=(0, 1), x=(-1, 1))"
    both = product.face(x=-1) | product.face(t=0)
    assert both.draw(ag.Grid(5), rng()).x.shape == (10, 2)
    assert_close(both.measure, 3.0)


@pytest.mark.parametrize("rule", [ag.Uniform(20), ag.Sobol(20), ag.LatinHypercube(20)], ids=repr)
def test_seeds_are_explicit(rule):
    same = BOX.draw(rule, np.random.default_rng(3)).x, BOX.draw(rule, np.random.default_rng(3)).x
    other = BOX.draw(rule, np.random.default_rng(4)).x
    assert_close(*same)
    assert np.abs(same[0] - other).max() > 0.01


def test_low_discrepancy_fills_more_evenly_than_chance():
    x = ag.Box(x=(0, 1)).draw(ag.Sobol(64), rng()).x[:, 0]
    assert np.max(np.diff(np.sort(x))) < 2 / 64
    hypercube = ag.Box(x=(0, 1), y=(0, 1)).draw(ag.LatinHypercube(10), rng()).x
    assert sorted(np.floor(hypercube[:, 1] * 10).astype(int)) == list(range(10))


def test_given_points():
    points = BOX.points(t=1.0, x=[0.0, 0.5], y=2)
    assert_close(points.draw(None, None).x, [[1, 0, 2], [1, 0.5, 2]])


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: ag.Box(), "at least one axis"),
        (lambda: ag.Box(x=1), "two ends"),
        (lambda: ag.Box(x=(1, 0)), "the lower first"),
        (lambda: ag.Box(x=(0, np.inf)), "finite"),
        (lambda: BOX.face(z=0), "no axis 'z'"),
        (lambda: BOX.face(x=0), "no face x=0: the axis 'x' ends at -1 and 1"),
        (lambda: BOX.face(t=0, x=1), "one axis"),
        (lambda: BOX.faces(), "boundary()"),
        (lambda: BOX.faces("q"), "no axis 'q'"),
        (lambda: BOX.face(t=0) | BOX, "different dimension"),
        (lambda: BOX.face(t=0) | ag.Box(x=(0, 1), y=(0, 1), z=(0, 1)).face(x=0), "axes differ"),
        (lambda: ag.Box(x=(0, 1)) * ag.Box(x=(0, 1)), "different names"),
        (lambda: BOX.points(t=0, x=0), "exactly the coordinates"),
        (lambda: BOX.points(t=0, x=5, y=0), "outside"),
        (lambda: BOX.points(t=[], x=[], y=[]), "empty"),
    ],
)
def test_mistakes_with_domains(mistake, message):
    with pytest.raises(ag.ProblemError, match=message.replace("(", r"\(").replace(")", r"\)")):
        mistake()


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: ag.Grid(), "one number"),
        (lambda: ag.Grid(0), "at least 1"),
        (lambda: ag.Grid(x=2.5), "axis 'x'"),
        (lambda: ag.Uniform(-3), "at least 1"),
        (lambda: ag.Sobol(True), "whole number"),
        (lambda: BOX.draw(ag.Grid(t=3), rng()), "nothing about the axis 'x'"),
        (lambda: BOX.draw(ag.Grid(t=2, x=[0, 9.0], y=2), rng()), r"leave \[-1, 1\]"),
        (lambda: ag.Chosen(), "coordinates"),
        (lambda: ag.Chosen(t=[1, 2], x=[1]), "equally many"),
        (lambda: ag.Chosen(t=[1, 2], weights=[1]), "one weight per point"),
        (lambda: BOX.draw(ag.Chosen(t=[1.0]), rng()), "lacks coordinates"),
        (lambda: BOX.draw(ag.Chosen(t=[9.0], x=[0], y=[0]), rng()), "outside"),
    ],
)
def test_mistakes_with_rules(mistake, message):
    with pytest.raises(ag.SettingError, match=message):
        mistake()
