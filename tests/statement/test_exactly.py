import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.models import ParametricModel
from anagram.statement.domains import Disk, Ellipse, GaussLegendre
from leibniz import assert_derivatives_agree
from tolerances import assert_close

SQUARE = ag.Box(x=(0, 1), y=(-1, 2))
STRIP = ag.Box(t=(0, 2), x=(0, 1))
MODEL = ag.MLP(5, 4, offset=0.3, size=2.0)


def heat(**exact):
    """Heat from sin πx between walls of different temperatures."""
    kinds = {"begin": False, "left": False, "right": False} | exact
    return ag.Problem(
        STRIP,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x")),
        begin=ag.Condition(lambda u: u, STRIP.face(t=0), lambda x: jnp.sin(np.pi * x) + 2 - x, exact=kinds["begin"]),
        left=ag.Condition(lambda u: u, STRIP.face(x=0), lambda t: 2 + jnp.sin(t), exact=kinds["left"]),
        right=ag.Condition(lambda u: u, STRIP.face(x=1), 1.0, exact=kinds["right"]),
    )


def residuals(problem, key, operator=lambda u: u):
    """What a condition leaves for a model with its first parameters."""
    model = ParametricModel(problem.sought, MODEL, 1)
    region = problem.region(key)
    cloud = region.draw(GaussLegendre(7), np.random.default_rng(0))
    reached = ag.Problem(problem.domain, {key: ag.Condition(operator, region)}, unknowns=("u",))
    compound = Compound(reached, model)
    rows = jax.jit(jax.vmap(lambda x: compound.operator_rows(key, model.theta, x, None)))(cloud.x)
    return np.asarray(rows).ravel(), cloud.x


def test_all_faces_hold_exactly_for_any_network():
    problem = heat(begin=True, left=True, right=True)
    assert problem.soft == ("equation",)
    for key, wanted in {
        "begin": lambda x: np.sin(np.pi * x[:, 1]) + 2 - x[:, 1],
        "left": lambda x: 2 + np.sin(x[:, 0]),
        "right": lambda x: np.ones(len(x)),
    }.items():
        values, x = residuals(problem, key)
        assert_close(values, wanted(x), 1e-14, key)


def test_those_that_hold_exactly_have_no_rows():
    batch = sample(heat(begin=True), ag.GaussLegendre(4))
    assert set(batch) == {"equation", "left", "right"}
    with pytest.raises(ag.errors.SettingError, match="holds exactly and needs none"):
        sample(heat(begin=True), {"begin": 5})


def test_value_and_slope_of_a_wave():
    problem = ag.Problem(
        STRIP,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x")),
        value=ag.Condition(lambda u: u, STRIP.face(t=0), lambda x: x * (1 - x), exact=True),
        slope=ag.Condition(lambda u: u.d("t"), STRIP.face(t=0), lambda x: jnp.sin(np.pi * x), exact=True),
        walls=ag.Condition(lambda u: u, STRIP.faces("x"), exact=True),
    )
    values, x = residuals(problem, "value")
    assert_close(values, x[:, 1] * (1 - x[:, 1]), 1e-14)
    slopes, x = residuals(problem, "slope", lambda u: u.d("t"))
    assert_close(slopes, np.sin(np.pi * x[:, 1]), 1e-13)
    values, _ = residuals(problem, "walls")
    assert np.max(np.abs(values)) < 1e-14


@pytest.mark.parametrize("domain", [Disk((1, 0), 0.5), Ellipse((0, 1), (2, 1), 0.4)], ids=repr)
def test_on_round_shapes_and_in_time(domain):
    moving = ag.Box(t=(0, 1)) * domain
    given = lambda t, x, y: jnp.cos(t) * x + y**2
    problem = ag.Problem(
        moving,
        equation=ag.Condition(lambda u: u.d("t") - u.laplacian("x", "y")),
        begin=ag.Condition(lambda u: u, moving.face(t=0), lambda x, y: given(0.0, x, y), exact=True),
        wall=ag.Condition(lambda u: u, moving.boundary(), given, exact=True),
    )
    for key in ("begin", "wall"):
        values, x = residuals(problem, key)
        assert_close(values, np.asarray(given(*x.T)), 1e-13, key)


def test_derivatives_are_those_of_the_whole_field():
    """Leibniz' rule against nested differentiation of the values."""
    problem = heat(begin=True, left=True)
    model = ParametricModel(problem.sought, MODEL, 2)
    point = jnp.array([0.4, 0.3])
    indices = [(0, 0), (1, 0), (0, 2), (1, 1), (2, 1)]
    total = (((2, 0), 1.0), ((0, 2), 3.0))
    assert_derivatives_agree(model, point, indices, total)


def test_complex_unknowns():
    problem = ag.Problem(
        STRIP,
        equation=ag.Condition(lambda psi: 1j * psi.d("t") + psi.d("x", "x")),
        begin=ag.Condition(lambda psi: psi, STRIP.face(t=0), lambda x: jnp.exp(1j * x), exact=True),
        unknowns={"psi": complex},
    )
    model = ParametricModel(problem.sought, ag.MLP(4), 0)
    values = model.values(model.theta, jnp.array([0.0, 0.7]))
    assert_close(values, np.array([np.cos(0.7), np.sin(0.7)]), 1e-15)


def test_a_solution_with_exact_conditions_is_found_kept_and_read(tmp_path):
    exact = lambda x, y: jnp.sin(np.pi * x) * jnp.exp(y)
    problem = ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: (1 - np.pi**2) * exact(x, y)),
        walls=ag.Condition(lambda u: u, SQUARE.boundary(), exact, exact=True),
        solution=exact,
    )
    solution = ag.solve(problem, ag.MLP(8), points=ag.GaussLegendre(9), steps=25, progress=False)
    assert solution.summary["relative_l2_error"] < 1e-2
    assert set(solution.summary["condition_losses"]) == {"equation"}
    x = np.linspace(0, 1, 9)
    assert_close(solution(x=x, y=2.0), np.asarray(exact(x, 2.0)), 1e-14)
    again = ag.load(solution.save(tmp_path / "run"), problem=problem)
    assert_close(again(x=x, y=0.3), solution(x=x, y=0.3), 1e-15)
    with pytest.raises(ag.errors.FileError, match="give the problem"):
        ag.load(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: heat(begin=True, left=1), "exact= is True or False"),
        (lambda: ag.Condition(lambda u: u, STRIP.face(t=0), exact=True, weight=2.0), "leave weight= out"),
        (lambda: one(lambda u: 2 * u, STRIP.face(t=0)), "for the value of an unknown"),
        (lambda: one(lambda u: u.d("t"), STRIP.face(t=0)), "only if the value there is"),
        (lambda: one(lambda u: u, STRIP.points(t=0.5, x=0.5)), "faces and parts of the boundary"),
        (lambda: one(lambda u: u, None), "faces and parts of the boundary"),
        (lambda: clash(), "cannot hold exactly"),
        (lambda: clash_at_a_corner(), "differ by 1.0e\\+00 where they meet"),
        (lambda: one(lambda u: ag.integral(u), None), "not for an integral"),
        (
            lambda: ag.Problem(STRIP, a=ag.Condition(lambda u: u, STRIP.face(t=0), exact=True)),
            "all conditions are exact",
        ),
    ],
)
def test_what_cannot_be_exact_is_refused(change, message):
    with pytest.raises(ag.errors.ProblemError, match=message):
        change()


def one(operator, region, equals=0.0):
    """A problem with one condition that is to hold exactly."""
    equation = ag.Condition(lambda u: u.d("t") - u.d("x", "x"))
    return ag.Problem(STRIP, equation=equation, other=ag.Condition(operator, region, equals, exact=True))


def clash():
    """Hot inside, cold walls: at t = 0 no field is both where they meet."""
    return ag.Problem(
        STRIP,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x")),
        begin=ag.Condition(lambda u: u, STRIP.face(t=0), 1.0, exact=True),
        walls=ag.Condition(lambda u: u, STRIP.faces("x"), exact=True),
    )


def clash_at_a_corner():
    """A triangle with a hot floor and cold sides."""
    triangle = ag.Polygon([(0, 0), (1, 0), (0, 1)], edges=("floor", "slope", "wall"))
    return ag.Problem(
        triangle,
        equation=ag.Condition(lambda u: u.laplacian()),
        floor=ag.Condition(lambda u: u, triangle.boundary("floor"), 1.0, exact=True),
        sides=ag.Condition(lambda u: u, triangle.boundary("slope", "wall"), exact=True),
    )
