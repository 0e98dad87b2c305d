"""Problems on shapes in space, solved to a tolerance with nothing else said."""

import jax.numpy as jnp
import pytest

import anagram as ag
from anagram.statement.domains import Disk

ROOF = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def exact(x, y, z):
    return jnp.sin(x + y) + x * z


@pytest.mark.parametrize(
    "solid", [ag.revolve(Disk((1, 0), 0.4)), ag.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], ROOF)], ids=repr
)
def test_poisson_in_space(solid):
    problem = ag.Problem(
        solid,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: 2 * jnp.sin(x + y)),
        walls=ag.Condition(lambda u: u, on=solid.boundary(), equals=exact),
        solution=exact,
    )
    solution = ag.solve(problem, tol=1e-2, progress=False)
    assert solution.reached
    assert solution.summary["relative_l2_error"] < 1e-2
