"""How errors grow along a march of features."""

import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.climbing.growth import Growth
from climbing.small import QUIET

TIME = ag.Box(t=(0, 2))


def test_a_change_dies_out_as_the_equation_says(monkeypatch):
    problem = ag.Problem(
        TIME,
        equation=ag.Condition(lambda u: u.d("t") + 3 * u, equals=lambda t: 3 * (2 + jnp.cos(t)) - jnp.sin(t)),
        start=ag.Condition(lambda u: u, on=TIME.face(t=0), equals=3.0),
        solution=lambda t: 2 + jnp.cos(t),
        name="pulled along",
    )
    monkeypatch.setattr("anagram.climbing.growth.NOISE", 1e-17)  # the rungs of so smooth a solution hardly differ
    factors, over = [], Growth.over
    monkeypatch.setattr(Growth, "over", lambda *given: factors.append(over(*given)) or factors[-1])
    solution = ag.solve(problem, tol=1e-7, stretches=4, **QUIET)
    assert solution.reached
    assert factors[0] == 1.0, "there is nothing to carry along yet"
    # The first change is that of two rungs, here rounding; what becomes of it is what the equation says.
    np.testing.assert_allclose(factors[-1], np.exp(-3 * 0.5), rtol=1e-3)
