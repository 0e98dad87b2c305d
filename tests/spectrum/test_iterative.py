"""Damped steps from products alone, against dense algebra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anagram.spectrum.iterative import Iterative, Nystrom, conjugate_gradients, nystrom
from tolerances import ACCUMULATED, ROUNDING, assert_close

SIZE = 40


def positive(smallest=1e-8, size=SIZE):
    """A positive matrix whose eigenvalues fall geometrically from one."""
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(size, size)))[0]
    values = np.geomspace(1.0, smallest, size)
    return jnp.asarray(basis * values @ basis.T), values, jnp.asarray(rng.normal(size=size))


def test_all_modes_are_the_matrix_itself():
    matrix, values, _ = positive(1e-3)
    found = nystrom(lambda v: v @ matrix, SIZE, SIZE, jax.random.key(0))
    assert_close(found.values, values, ACCUMULATED)
    assert_close(found.vectors.T @ (found.values[:, None] * found.vectors), matrix, ACCUMULATED)


def test_modes_never_see_more_than_there_is():
    matrix, values, _ = positive()
    found = nystrom(lambda v: v @ matrix, SIZE, 12, jax.random.key(1))
    assert_close(found.vectors @ found.vectors.T, np.eye(12), ACCUMULATED)
    # Nyström's approximation lies below the matrix, and finds what is large.
    assert np.all(np.asarray(found.values) <= values[:12] * (1 + ACCUMULATED))
    assert_close(found.values[:3], values[:3], 1e-2)


@pytest.mark.parametrize("damping", [1e-2, 1e-5])
def test_a_preconditioner_of_some_modes_saves_most_products(damping):
    matrix, _, right = positive()
    product, at = lambda v: v @ matrix, jnp.asarray(damping)
    expected = jnp.linalg.solve(matrix + damping * jnp.eye(SIZE), right)
    none = Nystrom(jnp.zeros((1, SIZE)), jnp.zeros(1))
    plain = conjugate_gradients(product, right, at, none, 1e-12, 400)
    modes = nystrom(product, SIZE, 30, jax.random.key(0))
    helped = conjugate_gradients(product, right, at, modes, 1e-12, 400)
    damped = matrix + damping * jnp.eye(SIZE)
    for found in (plain, helped):
        assert_close(found.solution, expected, ACCUMULATED)
        # What is left is carried along: it differs by the rounding of products as large as these.
        size = float(jnp.linalg.norm(damped, 2) * jnp.linalg.norm(found.solution))
        assert_close(found.left, right - damped @ found.solution, ROUNDING, scale=size)
    assert helped.products < plain.products / 3


def test_a_solve_that_is_broken_off_still_descends_and_says_what_it_promises():
    matrix, _, gradient = positive()
    modes = nystrom(lambda v: v @ matrix, SIZE, 5, jax.random.key(0))
    damping = 1e-7
    step = Iterative(lambda v: v @ matrix, gradient, modes, 1e-14, 3).at(damping).step
    p = step.direction
    assert gradient @ p < 0
    assert_close(step.predicted, -2 * gradient @ p - p @ matrix @ p, ACCUMULATED)


def test_nothing_is_solved_in_no_products():
    matrix, _, right = positive()
    modes = nystrom(lambda v: v @ matrix, SIZE, 5, jax.random.key(0))
    found = conjugate_gradients(lambda v: v @ matrix, 0 * right, jnp.asarray(1.0), modes, 1e-6, 10)
    assert found.products == 0
    assert_close(found.solution, 0 * right, scale=1.0)


def test_a_matrix_of_zeros_has_no_modes():
    found = nystrom(lambda v: 0 * v, SIZE, 4, jax.random.key(0))
    assert_close(found.values, np.zeros(4), scale=ROUNDING)
    assert np.all(np.isfinite(found.vectors))
