"""Least squares from a triangle, beside the dense problem that it stands for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anagram.spectrum.guarded import scaled, solved
from tolerances import assert_close

ROWS, PARAMETERS = 40, 7


def problem(dependent=False):
    rng = np.random.default_rng(3)
    features = rng.standard_normal((ROWS, PARAMETERS)) * 10.0 ** np.arange(-3, PARAMETERS - 3)
    if dependent:
        features[:, -1] = features[:, 0] * (1 + 1e-15 * rng.standard_normal(ROWS))
    return features, rng.standard_normal(ROWS)


def triangle(features, residual):
    return jnp.linalg.qr(jnp.asarray(np.column_stack([features, residual])), mode="r")


@pytest.mark.parametrize("damping", [0.0, 1e-3, 1.0])
def test_it_is_the_damped_problem_with_columns_of_length_one(damping):
    features, residual = problem()
    factor = scaled(triangle(features, residual))
    lengths = np.linalg.norm(features, axis=0)
    below = np.diag(damping * lengths)
    whole = np.concatenate([features, below]), np.concatenate([-residual, np.zeros(PARAMETERS)])
    best = np.linalg.lstsq(*whole, rcond=None)[0]
    found, left = jax.jit(solved, static_argnums=2)(factor, jnp.asarray(damping), 1e-14)
    assert factor.independent
    assert_close(factor.lengths, lengths, 1e-12)
    assert_close(found * lengths, best * lengths, 1e-10)
    total = np.sum((whole[0] @ best - whole[1]) ** 2)
    assert_close(factor.unexplained + left, total, 1e-10)


def test_dependent_columns_are_guarded():
    features, residual = problem(dependent=True)
    factor = scaled(triangle(features, residual))
    assert not factor.independent
    found, _ = solved(factor, jnp.asarray(1e-12), 1e-12)
    best = np.linalg.lstsq(features[:, :-1], -residual, rcond=None)[0]
    assert np.all(np.isfinite(found))
    assert_close(features @ np.asarray(found), features[:, :-1] @ best, 1e-6)


def test_columns_of_zeros_are_left_alone():
    features, residual = problem()
    features[:, 2] = 0.0
    factor = scaled(triangle(features, residual))
    found, _ = solved(factor, jnp.asarray(1e-12), 1e-12)
    assert found[2] == 0.0
    assert np.all(np.isfinite(found))
