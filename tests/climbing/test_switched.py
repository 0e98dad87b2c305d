"""Problems in which something is switched."""

import jax.numpy as jnp
import numpy as np

import anagram as ag


def test_an_evolution_is_cut_where_its_force_is_switched():
    time, off = ag.Box(t=(0, 6)), 2.3

    def exact(t):
        return np.where(t < off, 1 - np.cos(t), np.cos(t - off) - np.cos(t))

    problem = ag.Problem(
        time,
        motion=ag.Condition(lambda u: u.d("t", "t") + u, equals=lambda t: jnp.where(t < off, 1.0, 0.0)),
        rest=ag.Condition(lambda u: (u, u.d("t")), on=time.face(t=0)),
    )
    solution = ag.solve(problem, tol=1e-8, progress=False)
    assert solution.reached
    np.testing.assert_allclose(solution.summary["stretches"], [0, off, 6], rtol=1e-12)
    t = np.linspace(0, 6, 301)
    error = np.sqrt(np.mean((solution(t) - exact(t)) ** 2) / np.mean(exact(t) ** 2))
    assert error < 1e-8


def test_a_boundary_value_problem_gets_a_kink():
    line = ag.Box(x=(-1, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: 2 * jnp.sign(x)),
        left=ag.Condition(lambda u: u, on=line.face(x=-1), equals=-1.0),
        right=ag.Condition(lambda u: u, on=line.face(x=1), equals=1.0),
        solution=lambda x: x * jnp.abs(x),
    )
    solution = ag.solve(problem, tol=1e-9, progress=False)
    assert solution.reached
    assert solution.relative_l2_error < 1e-9
    assert "Kink" in solution.summary["model"]
