"""Where known functions of a problem jump."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.jumps import Jump, jumps_along, jumps_inside

LINE, PLANE = ag.Box(x=(-2, 3)), ag.Box(t=(0, 1), x=(-2, 3))
PLACE = 0.37


def on_line(source, operator=lambda u: u.d("x", "x")):
    return ag.Problem(
        LINE, equation=ag.Condition(operator, equals=source), ends=ag.Condition(lambda u: u, on=LINE.boundary())
    )


def places(problem):
    return [(jump.axis, jump.order, jump.place) for jump in jumps_inside(problem)]


@pytest.mark.parametrize(
    ("source", "order"),
    [
        (lambda x: jnp.where(x > PLACE, 1.0, -0.5), 2),
        (lambda x: np.where(x >= PLACE, np.sin(x), np.cos(x)), 2),
        (lambda x: 1e-9 * jnp.sign(x - PLACE) + 1e-9 * x, 2),
        (lambda x: jnp.abs(x - PLACE) * jnp.exp(x), 3),
        (lambda x: jnp.maximum(0.0, x - PLACE) + 300.0, 3),
    ],
    ids=["step", "numpy", "tiny", "kink", "ramp"],
)
def test_a_jump_is_found_to_rounding(source, order):
    ((axis, found, place),) = places(on_line(source))
    assert (axis, found) == ("x", order)
    assert abs(place - PLACE) < 1e-11


@pytest.mark.parametrize(
    "source",
    [
        lambda x: jnp.tanh(200 * (x - PLACE)),
        lambda x: jnp.exp(-1000 * (x - PLACE) ** 2),
        lambda x: jnp.sin(60 * x),
        lambda x: jnp.sign(jnp.sin(300 * x)),
        lambda x: jnp.abs(x - PLACE) ** 3,
        7.0,
    ],
    ids=["steep", "bump", "fast", "too many", "smooth enough", "constant"],
)
def test_what_is_smooth_or_hopeless_has_none(source):
    assert places(on_line(source)) == []


def test_known_fields_count_with_the_derivative_of_their_equation():
    coefficient = LINE.field(lambda x: jnp.where(x < PLACE, 1.0, 2.0))
    assert [p[:2] for p in places(on_line(0.0, lambda u: coefficient * u.d("x") + u))] == [("x", 1)]
    coordinate = LINE.field(lambda x: x)
    assert [p[:2] for p in places(on_line(0.0, lambda u: u.d("x", "x") + np.sign(coordinate - PLACE) * u))] == [
        ("x", 2)
    ]


def test_a_jump_counts_where_it_is_the_same_on_all_lines():
    def stated(source):
        return ag.Problem(PLANE, equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x"), equals=source))

    across = stated(lambda t, x: jnp.where(x > PLACE, t + 1, 0.0))
    assert jumps_inside(across) == (Jump("x", pytest.approx(PLACE, abs=1e-12), 2),)
    assert jumps_along(across, "t") == ()
    assert jumps_inside(stated(lambda t, x: jnp.where(x > t, 1.0, 0.0))) == ()
    assert jumps_inside(stated(lambda t, x: jnp.where(t > PLACE, x, 0.0))) == (
        Jump("t", pytest.approx(PLACE, abs=1e-12), 1),
    )


def test_walls_count_along_time():
    problem = ag.Problem(
        PLANE,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=PLANE.face(t=0), equals=lambda x: jnp.where(x > 0, 1.0, 0.0)),
        wall=ag.Condition(lambda u: u, on=PLANE.faces("x"), equals=lambda t: jnp.where(t > PLACE, 1.0, 0.0)),
    )
    assert jumps_along(problem, "t") == (pytest.approx(PLACE, abs=1e-12),)
    assert jumps_inside(problem) == ()


def test_a_jump_that_is_differentiated_is_warned_of():
    step = LINE.field(lambda x: jnp.where(x < PLACE, 1.0, 2.0))
    with pytest.warns(ag.ProblemWarning, match=r"jumps at x = 0\.37"):
        on_line(1.0, lambda u: (step * u.d("x")).d("x"))
    smooth = LINE.field(lambda x: jnp.exp(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        on_line(1.0, lambda u: (smooth * u.d("x")).d("x"))
        on_line(1.0, lambda u: step * u.d("x", "x"))
