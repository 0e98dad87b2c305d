"""Whether expressions are affine in the unknowns, read off as they are written."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.expressions import degree

BOX = ag.Box(t=(0, 1), x=(-1, 1))
X = BOX.coordinate("x")
WAVE = BOX.field(lambda t, x: jnp.sin(t + x))

DEGREES = {
    "nothing": (lambda u, v: X * X + 3, 0),
    "a known function": (lambda u, v: WAVE.d("x") / (2 + WAVE) + np.exp(X), 0),
    "the unknown": (lambda u, v: u, 1),
    "derivatives": (lambda u, v: u.d("t") - 0.1 * u.d("x", "x") + 3, 1),
    "known factors": (lambda u, v: (X**2 + WAVE) * u.laplacian("x") - v / (2 + X) + np.exp(X) * u, 1),
    "derivative of a product": (lambda u, v: (WAVE * u.d("x")).d("x"), 1),
    "negation": (lambda u, v: -u - (-v), 1),
    "another place": (lambda u, v: u - u(t=0, x=-1), 1),
    "parts": (lambda u, v: (1j * u + v).real, 1),
    "first power": (lambda u, v: X * u**1, 1),
    "no power": (lambda u, v: u**0 + X, 0),
    "product": (lambda u, v: u * v, 2),
    "product of differences": (lambda u, v: (1 - u) * (u.d("x") + 1), 2),
    "square": (lambda u, v: u**2, 2),
    "root": (lambda u, v: u**0.5, 2),
    "quotient": (lambda u, v: X / (1 + u * u), 2),
    "divided by itself": (lambda u, v: v / u, 2),
    "derivative of a square": (lambda u, v: (u * u).d("x"), 2),
    "square at another place": (lambda u, v: u + (u * u)(t=0, x=1), 2),
    "a function": (lambda u, v: np.exp(u), None),
    "a function of one's own": (lambda u, v: u.map(lambda value: 3 * value), None),
    "something times a function": (lambda u, v: v * np.sin(u), None),
}


def stated(operator):
    return ag.Problem(
        BOX,
        equation=ag.Condition(operator),
        all=ag.Condition(lambda u, v: u + v, on=BOX.face(t=0)),
        unknowns=("u", "v"),
    )


@pytest.mark.parametrize("name", DEGREES)
def test_degrees(name):
    operator, expected = DEGREES[name]
    problem = stated(operator)
    assert degree(problem.expressions["equation"][0]) == expected


@pytest.mark.parametrize(
    ("operator", "linear"),
    [
        (lambda u, v: u.map(lambda value: 3 * value + 1), True),
        (lambda u, v: u.map(lambda value: value) * X - v, True),
        (lambda u, v: np.sin(u) - v, False),
        (lambda u, v: u.map(jnp.abs) - v, False),
        # Small things count too: what is written is looked at, and not how large it is.
        (lambda u, v: u.d("t") - v + 1e-30 * u * u, False),
        (lambda u, v: 1e30 * u.d("t") - v + 1e-30 * u * v, False),
        (lambda u, v: 1e30 * u.d("t") + 1e-30 * v, True),
    ],
)
def test_what_is_linear(operator, linear):
    assert stated(operator).is_linear is linear


def test_one_condition_is_enough():
    line = ag.Box(x=(0, 1))
    equation = ag.Condition(lambda u: u.d("x", "x"), equals=1.0)
    assert ag.Problem(line, equation=equation, ends=ag.Condition(lambda u: u, on=line.boundary())).is_linear
    radiating = ag.Condition(lambda u: u.normal_derivative() + u**4, on=line.boundary())
    assert not ag.Problem(line, equation=equation, ends=radiating).is_linear
