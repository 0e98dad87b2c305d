"""Which bend of an axis suits functions that are known on it."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import kinks_of
from anagram.statement.sizes import natural_sizes
from anagram.training.bending import FEW, PAYS, bend_for, bends_for_data, needed_terms
from anagram.training.rungs import fine_axes

ALLOWED = 1e-7


def layers(z):
    """Fronts of width 0.02 at two places."""
    return np.array([np.tanh((z - 0.3) / 0.02) - np.tanh((z + 0.5) / 0.02)])


def interpolation_error(function, bend, count):
    """The largest error of the interpolant in the bent coordinate, looked at between its nodes."""
    nodes = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    there = nodes if bend is None else bend.back(nodes)
    fit = np.polynomial.chebyshev.chebfit(nodes, function(there)[0], count - 1)
    z = np.linspace(-1, 1, 2001)
    return np.max(np.abs(np.polynomial.chebyshev.chebval(z if bend is None else bend(z), fit) - function(z)[0]))


def test_fronts_need_fewer_polynomials_where_the_axis_is_bent():
    bend, count = bend_for(layers, ALLOWED)
    plain = needed_terms(layers, None, ALLOWED)
    assert bend is not None
    assert count < PAYS * plain
    assert needed_terms(layers, bend, ALLOWED) == count
    # That many polynomials do come near the function, and do not without a bend.
    assert interpolation_error(layers, bend, count) < 100 * ALLOWED
    assert interpolation_error(layers, None, count) > 1e4 * ALLOWED
    z = np.linspace(-1, 1, 4001)
    assert np.min(bend.slope(z)) > 0
    assert (bend(np.array(-1.0)), bend(np.array(1.0))) == (pytest.approx(-1), pytest.approx(1))


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_how_large_a_function_is_and_where_it_lies_does_not_matter(shift):
    one, count = bend_for(layers, 1e-5)
    other, again = bend_for(lambda z: 1e3 * layers(z) + shift, 1e-5 if shift == 0 else 1e-8)
    assert one is not None
    assert other is not None
    assert again == pytest.approx(count, rel=0.4)


def test_what_varies_by_rounding_alone_does_not_count():
    noise = 1e-15 * np.random.default_rng(0).standard_normal(1024)

    def with_noise(function):
        return lambda z: np.stack([function(z)[0], np.resize(noise, len(z))])

    smooth, count = bend_for(with_noise(lambda z: np.sin(3 * z)[None]), ALLOWED, least=1.0)
    assert smooth is None
    assert count <= FEW
    assert bend_for(with_noise(layers), ALLOWED, least=1.0) == bend_for(layers, ALLOWED, least=1.0)


def test_what_jumps_is_not_bent():
    """No number of polynomials is enough for it, in whatever coordinate."""
    assert bend_for(lambda z: np.where(z > 0.3, 1.0, 0.0)[None], ALLOWED)[0] is None


def test_where_the_equation_jumps_there_are_kinks_and_no_polynomials():
    square = ag.Box(x=(0, 1), y=(0, 1))
    problem = ag.Problem(
        square,
        equation=ag.Condition(
            lambda u: u.laplacian(), equals=lambda x, y: jnp.where(x > 0.3, 1.0, 0.0) * jnp.sin(jnp.pi * y)
        ),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
    )
    assert len(kinks_of(problem)) == 1
    assert fine_axes(problem) == ()
    assert bends_for_data(problem, natural_sizes(problem), ALLOWED) == {}


def test_smooth_functions_are_left_as_they_are():
    bend, count = bend_for(lambda z: np.array([np.sin(3 * z), z**2]), ALLOWED)
    assert bend is None
    assert 0 < count <= FEW


@pytest.mark.parametrize("functions", [lambda z: np.array([0 * z + 3]), lambda z: np.array([z / 0 * np.nan])])
def test_what_says_nothing_bends_nothing(functions):
    with np.errstate(all="ignore"):
        assert bend_for(functions, ALLOWED) == (None, 0)
