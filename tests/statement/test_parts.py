"""Slices, unknowns that live on a part of the domain, and weights that differ from point to point."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.errors import ProblemError
from anagram.statement.sizes import natural_sizes
from anagram.statement.stretches import evolution_axis
from anagram.tangent.space import with_boundary_weight
from problems_beyond import LEFT, LINE, RIGHT, rod
from tolerances import assert_close

BOX = ag.Box(t=(0, 2), x=(-1, 1))
HALF = ag.Box(t=(0, 2), x=(-1, 0))


# -- regions ---------------------------------------------------------------------------------------------------------
def test_slices():
    inner = BOX.slice(x=0.5)
    cloud = inner.draw(ag.GaussLegendre(4), np.random.default_rng(0))
    assert (inner.dimension, inner.measure, repr(inner)) == (1, 2.0, "slice(x=0.5)")
    assert_close(cloud.x[:, 1], np.full(4, 0.5))
    assert_close(cloud.weight @ cloud.x[:, 0] ** 3, 2.0)  # the mean of t³
    assert_close(cloud.normal, np.tile([0.0, 1.0], (4, 1)))
    point = BOX.slice(t=1, x=0.25)
    assert (point.dimension, point.measure, point.has_normal) == (0, 1.0, False)
    assert_close(point.draw(ag.Sobol(8), np.random.default_rng(0)).x, [[1.0, 0.25]])
    assert HALF.face(x=0).lies_in(BOX)
    for held, message in (({}, "named by the coordinates"), ({"x": 2}, "between -1 and 1"), ({"y": 0}, "no axis 'y'")):
        with pytest.raises(ProblemError, match=message):
            BOX.slice(**held)


def test_conditions_have_a_row_for_each_value_they_depend_on():
    problem = ag.Problem(
        BOX,
        mean=ag.Condition(lambda u: ag.integral(u)),
        mass=ag.Condition(lambda u: ag.integral(u, over="x"), equals=lambda t: 1 + t),
        periodic=ag.Condition(lambda u: u.at(t=0) - u.at(t=2)),
        equation=ag.Condition(lambda u: u - ag.integral(u)),
    )
    batch = sample(problem, ag.GaussLegendre(5))
    assert {key: len(part.x) for key, part in batch.items()} == {"mean": 1, "mass": 5, "periodic": 5, "equation": 25}
    assert_close(batch["mass"].source[:, 0], 1 + batch["mass"].x[:, 0])
    assert_close(batch["mean"].scale, [[1.0]])
    fresh = sample(problem, 40)
    assert len(fresh["mean"].x) == 1
    assert problem.is_linear
    sizes = natural_sizes(problem)
    assert all(np.isfinite(row).all() and min(row) > 0 for row in sizes.rows.values())


def test_an_equation_that_looks_beyond_its_point_is_no_evolution():
    for operator, axis in ((lambda u: u.d("x"), "x"), (lambda u: u.d("x") - ag.integral(u), None)):
        problem = ag.Problem(LINE, e=ag.Condition(operator), start=ag.Condition(lambda u: u, on=LINE.face(x=0)))
        assert evolution_axis(problem) == axis


# -- unknowns --------------------------------------------------------------------------------------------------------
def test_conditions_hold_where_their_unknowns_live():
    problem = rod()
    assert problem.region("left") is LEFT
    assert problem.region("right") is RIGHT
    assert problem.inside == ["left", "right"]
    batch = sample(problem, ag.GaussLegendre(6))
    assert float(batch["left"].x.max()) < 0.5 < float(batch["right"].x.min())
    exact = problem.exact(np.array([[0.25], [0.75]]))
    assert np.isfinite(exact["u"]).tolist() == [True, False]
    assert np.isfinite(exact["v"]).tolist() == [False, True]


def test_an_integral_is_over_the_set_on_which_its_unknown_lives():
    problem = ag.Problem(
        BOX,
        whole=ag.Condition(lambda u: ag.integral(u), equals=1.0),
        along=ag.Condition(lambda u: ag.integral(u, over="x")),
        unknowns={"u": HALF},
    )
    quadrature = problem.shared_parts["whole"][0].quadrature
    assert_close(quadrature.weights.sum(), 2.0)
    assert quadrature.nodes[:, 1].max() < 0


@pytest.mark.parametrize(
    ("unknowns", "operator", "on", "message"),
    [
        ({"u": HALF}, lambda u: u, BOX, "outside of Box"),
        ({"u": HALF}, lambda u: u.at(x=0.5), None, "outside of Box"),
        ({"u": HALF, "v": BOX}, lambda u, v: u - v, None, "live on different sets"),
        ({"u": HALF, "v": BOX}, lambda u, v: ag.integral(u * v), None, "does not say over which set"),
        ({"u": BOX.face(x=1)}, lambda u: u, None, "no part of"),
        ({"u": ag.Box(t=(0, 2), x=(0, 5))}, lambda u: u, None, "no part of"),
        ({"u": int}, lambda u: u, None, "float or complex"),
        ({"u": (complex, HALF, BOX)}, lambda u: u, None, "float or complex"),
    ],
)
def test_mistakes(unknowns, operator, on, message):
    with pytest.raises(ProblemError, match=message):
        ag.Problem(BOX, c=ag.Condition(operator, on), unknowns=unknowns)


def test_complex_unknowns_on_a_part():
    problem = ag.Problem(BOX, c=ag.Condition(lambda psi: psi), unknowns={"psi": (complex, HALF)})
    assert (problem.unknowns[0].is_complex, problem.unknowns[0].on) == (True, HALF)


# -- weights ---------------------------------------------------------------------------------------------------------
def test_weights_by_position():
    def stated(weight, **more):
        return ag.Problem(BOX, c=ag.Condition(lambda u: u, weight=weight, **more))

    plain, weighted = stated(2.0), stated(lambda t: 2 + t)
    one, other = (sample(p, ag.GaussLegendre(4))["c"] for p in (plain, weighted))
    assert_close(np.square(other.scale[:, 0]), np.square(one.scale[:, 0]) * (2 + one.x[:, 0]) / 2)
    assert (plain.weight("c"), weighted.weight("c")) == (2.0, 1.0)
    tripled = weighted.restated(weights={"c": 3.0})
    assert_close(np.square(sample(tripled, ag.GaussLegendre(4))["c"].scale), 3 * np.square(other.scale))
    assert with_boundary_weight(weighted, 5.0).weight("c") == 1.0
    data = BOX.points(t=[0, 1, 2], x=0)
    measured = sample(stated(np.array([1.0, 2.0, 3.0]), on=data))["c"]
    assert_close(np.square(measured.scale[:, 0]), np.array([1.0, 2.0, 3.0]) / 3)


@pytest.mark.parametrize(
    ("weight", "on", "message"),
    [
        (lambda t: t - 1, None, "must be positive"),
        (lambda x: 1 / (x - x), None, "is inf|is nan"),
        (lambda t: 1j * t, None, "real numbers"),
        (lambda y: y, None, "not an axis"),
        ([1.0, 2.0], None, "one value for each"),
        ([1.0, 2.0], BOX.points(t=[0, 1, 2], x=0), "one value for each"),
        ([1.0, -2.0, 1.0], BOX.points(t=[0, 1, 2], x=0), "must be positive"),
        (-1.0, None, "positive number"),
        ("a", None, "positive number"),
    ],
)
def test_weights_that_are_none(weight, on, message):
    with pytest.raises(ProblemError, match=message):
        ag.Problem(BOX, c=ag.Condition(lambda u: u, on, weight=weight))


def test_a_weight_says_what_counts():
    """Data that contradict each other: the solution is their weighted mean."""
    pulled = ag.Problem(
        LINE,
        low=ag.Condition(lambda u: u, weight=lambda x: 1 + 0 * x),
        high=ag.Condition(lambda u: u, equals=1.0, weight=lambda x: 3 + 0 * x),
    )
    solution = ag.solve(pulled, ag.Polynomial(0), "anagram", points=ag.GaussLegendre(3), steps=2, progress=False)
    assert_close(solution(x=0.5), np.asarray(0.75))
    assert jnp.isfinite(solution.loss)
