"""Insides of closed curves."""

import math

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from statement.domains.shapes.planes import star
from tolerances import assert_close


def test_an_ellipse_as_a_curve_is_an_ellipse():
    curve = ag.Interior(lambda s: (1 + 2 * jnp.cos(s), jnp.sin(s)), name="rim")
    ellipse = ag.Ellipse((1, 0), (2, 1))
    assert_close(curve.measure, 2 * np.pi)
    assert_close(curve.boundary("rim").measure, ellipse.boundary().measure)
    assert_close(np.array(curve.bounds), np.array(ellipse.bounds))
    x = np.random.default_rng(0).uniform(-3, 3, (5000, 2))
    assert np.array_equal(curve.contains(x), ellipse.contains(x))


@pytest.mark.parametrize(
    "curve",
    [
        lambda s: (jnp.cos(s), -jnp.sin(s)),  # the other way round
        lambda s: (math.cos(s), math.sin(s)),  # for numbers alone
        lambda s: jnp.array([jnp.cos(s), jnp.sin(s)]),
    ],
)
def test_all_ways_to_write_a_circle(curve):
    circle = ag.Interior(curve)
    assert_close(circle.measure, np.pi)
    x = circle.boundary().draw(ag.GaussLegendre(20), np.random.default_rng(0))
    assert_close(x.normal, x.x)


def test_any_period():
    assert_close(ag.Interior(lambda s: (jnp.cos(np.pi * s), jnp.sin(np.pi * s)), period=(1, 3)).measure, np.pi)


def test_area_of_a_star():
    assert_close(star(depth=0.2).measure, np.pi * (1 + 0.02))


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (lambda s: (s, jnp.sin(s)), "is not closed"),
        (lambda s: (jnp.cos(s), jnp.sin(2 * s)), "crosses itself"),
        (lambda s: (jnp.abs(jnp.cos(s)) * jnp.cos(s), jnp.abs(jnp.sin(s)) * jnp.sin(s)), "is not smooth"),
        (lambda s: (jnp.cos(s / 2) ** 2, jnp.sin(s) * (1 + s)), "is not smooth, perhaps where it closes"),
        (lambda s: (2 * jnp.cos(s) + jnp.cos(2 * s), 2 * jnp.sin(s) - jnp.sin(2 * s)), "stands still somewhere"),
        (lambda s: (jnp.cos(s), 1 / jnp.sin(s)), "is not finite everywhere"),
        (lambda s: jnp.cos(s), "must give two numbers|failed with"),
        (lambda s: (jnp.cos(s), jnp.sin(s), s), "must give two numbers"),
        (lambda s: 1 / 0, "failed with ZeroDivisionError"),
        (lambda s: (0 * s, 0 * s), "it is a point"),
    ],
)
def test_mistakes(curve, message):
    with pytest.raises(ag.ProblemError, match=message):
        ag.Interior(curve)


@pytest.mark.parametrize("period", [(1, 0), (0, np.inf), 3, ("a", "b")])
def test_a_period_has_two_ends(period):
    with pytest.raises(ag.ProblemError, match="needs two finite ends"):
        ag.Interior(lambda s: (jnp.cos(s), jnp.sin(s)), period)
