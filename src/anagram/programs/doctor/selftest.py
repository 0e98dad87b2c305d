"""A short self-test: linear algebra, a small problem, the same once more, and files."""

from __future__ import annotations

import tempfile
import time
import warnings
from typing import Any

import numpy as np

from anagram.programs.doctor.finding import FAILED, OK, WARNING, Finding, carefully

GROUP = "self-test"
SVD_ERROR = 1e-13  # of singular values, relative to the largest; rounding is 2e-16
SOLVED = 1e-4  # the error is about 1e-6 where all is well
AGAIN = "reinstall: pip install --force-reinstall jax jaxlib numpy scipy; if it stays, please report it"


def examine_solving() -> list[Finding]:
    """Solve something small; a few seconds, and longer where nothing has been compiled before."""
    found = carefully(GROUP, "singular values", _singular_values)
    solved: list[Any] = []
    found += carefully(GROUP, "laplace-2d", lambda: _solve(solved))
    if solved:
        found += carefully(GROUP, "repeated", lambda: _repeat(*solved))
        found += carefully(GROUP, "saved and loaded", lambda: _save_and_load(solved[1]))
    return found


def _singular_values() -> list[Finding]:
    """The singular values of a matrix that was made with known ones, down to rounding."""
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    known = np.logspace(0, -15, 60)
    left, right = (np.linalg.qr(rng.normal(size=(n, 60)))[0] for n in (90, 60))
    matrix = jnp.asarray((left * known) @ right.T)
    u, s, vt = (np.asarray(part) for part in jnp.linalg.svd(matrix, full_matrices=False))
    error = float(max(np.abs(s - known).max(), np.abs((u * s) @ vt - np.asarray(matrix)).max()))
    text = f"right to {error:.0e} of the largest"
    if matrix.dtype == jnp.float64 and error < SVD_ERROR:
        return [Finding(GROUP, "singular values", text)]
    return [Finding(GROUP, "singular values", f"{text}, not to {SVD_ERROR:.0e}", FAILED, AGAIN)]


def _solve(solved: list[Any]) -> list[Finding]:
    from anagram import catalogue

    started = time.perf_counter()
    problem = catalogue.problem("laplace-2d")
    solution = _run(problem)
    solved += [problem, solution]
    elapsed = time.perf_counter() - started
    error = float("nan") if solution.l2_error is None else solution.l2_error
    text = f"error {error:.0e} after {solution.summary['steps']} steps, {elapsed:.1f} s with compilation"
    if error < SOLVED:
        return [Finding(GROUP, "laplace-2d", text)]
    return [Finding(GROUP, "laplace-2d", f"{text}; it should be below {SOLVED:.0e}", FAILED, AGAIN)]


def _run(problem: Any) -> Any:
    from anagram import Grid, solve
    from anagram.models import MLP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few points are a warning elsewhere
        return solve(
            problem, MLP(12), "auto", points=Grid(20), steps=120, patience=1000, progress=False, options={"sketch": 0}
        )


def _repeat(problem: Any, solution: Any) -> list[Finding]:
    """The same steps again lead to the same parameters, to the last bit."""
    again = _run(problem)
    if again.theta.tobytes() == solution.theta.tobytes():
        return [Finding(GROUP, "repeated", "the same, to the last bit")]
    difference = float(np.abs(again.theta - solution.theta).max())
    advice = "runs with one seed differ a little; on a GPU try XLA_FLAGS=--xla_gpu_deterministic_ops=true"
    return [Finding(GROUP, "repeated", f"parameters differ by {difference:.0e}", WARNING, advice)]


def _save_and_load(solution: Any) -> list[Finding]:
    from anagram.solution import load

    x = np.random.default_rng(0).uniform(size=(100, 2))
    with tempfile.TemporaryDirectory() as folder:
        solution.save(folder)
        same = np.array_equal(load(folder)(x), solution(x))
    if same:
        return [Finding(GROUP, "saved and loaded", "the same values", OK)]
    return [Finding(GROUP, "saved and loaded", "other values than before", FAILED, AGAIN)]
