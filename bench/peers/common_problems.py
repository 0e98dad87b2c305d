"""The problems that are given to all programs: what they say, where errors are measured, and the true values.

NumPy only: every program has an environment of its own, and this file is read in all of them. References that need
more are computed once by bench/peers.py and stored in bench/.peers/references.npz.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

STORED = Path(__file__).parent.parent / ".peers" / "references.npz"
COUNT = 4096  # points at which errors are measured
pi = np.pi


@dataclass(frozen=True)
class Problem:
    """A problem with its domain, a box unless `inside` says more, and its true values at points (n, dimensions).

    `hidden`, `points` and `boundary` are the network and the numbers of points that programs get which must be told.
    Networks of the paper's four problems are those of the paper. Points inside are as many as there, and more for
    Allen-Cahn, where 900 are too few; on boundaries they are more, because most programs draw them at random.
    """

    title: str
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    exact: Callable[[np.ndarray], np.ndarray] | None  # None: the values are stored
    hidden: tuple[int, ...]
    points: int
    boundary: int
    kind: str = "the paper"
    inside: Callable[[np.ndarray], np.ndarray] | None = None
    coefficients: dict[str, float] = field(default_factory=dict)


def sines(x: np.ndarray) -> np.ndarray:
    return np.sin(pi * x)


def rate_solution(x: np.ndarray) -> np.ndarray:
    """u'' = 1.5 u², u(0) = 4, u(1) = 1."""
    return 4.0 / (1.0 + x) ** 2


RATE_START = 1.0
RATE_X = np.linspace(0.1, 0.9, 9)  # where u is measured
RATE_U = rate_solution(RATE_X)

PROBLEMS: dict[str, Problem] = {
    "laplace-2d": Problem(
        "Laplace 2D: Δu = −2π² sin πx sin πy on the unit square, u = 0 on its boundary",
        (0, 0),
        (1, 1),
        lambda p: sines(p).prod(axis=1, keepdims=True),
        hidden=(32,),
        points=900,
        boundary=200,
    ),
    "heat": Problem(
        "Heat: u_t = ¼ u_xx, u(0, x) = sin πx, u = 0 at x = 0 and 1",
        (0, 0),
        (1, 1),
        lambda p: np.exp(-(pi**2) * p[:, :1] / 4) * sines(p[:, 1:]),
        hidden=(64,),
        points=900,
        boundary=200,
    ),
    "laplace-5d": Problem(
        "Laplace 5D: Δu = −π² Σ sin πx_k on the unit cube, u = Σ sin πx_k on its boundary",
        (0,) * 5,
        (1,) * 5,
        lambda p: sines(p).sum(axis=1, keepdims=True),
        hidden=(64,),
        points=4000,
        boundary=500,
    ),
    "allen-cahn": Problem(
        "Allen–Cahn: u_t = 10⁻³ u_xx + 5(u − u³), u(0, x) = x² cos πx, u = −1 at x = ±1",
        (0, -1),
        (1, 1),
        None,
        hidden=(20, 20, 20),
        points=3600,
        boundary=400,
    ),
    "hunt": Problem(
        "A system: hares' = hares (1 − lynxes/2), lynxes' = −lynxes (1 − hares/2), both 1 at the start, until t = 6",
        (0,),
        (6,),
        None,
        hidden=(20, 20),
        points=200,
        boundary=1,
        kind="a system",
    ),
    "rate": Problem(
        "An inverse problem: u″ = k u² on [0, 1], u(0) = 4, u(1) = 1, nine values of u are measured, k is not known",
        (0,),
        (1,),
        rate_solution,
        hidden=(20,),
        points=100,
        boundary=2,
        kind="an inverse problem",
        coefficients={"k": 1.5},
    ),
    "disk": Problem(
        "A shape: Δu = −(2 + 4x − 4y + 2r²) exp(x − y) on the unit disk, u = 0 on its rim",
        (-1, -1),
        (1, 1),
        lambda p: ((1 - (p**2).sum(axis=1)) * np.exp(p[:, 0] - p[:, 1]))[:, None],
        hidden=(20, 20),
        points=1600,
        boundary=200,
        kind="a shape",
        inside=lambda p: (p**2).sum(axis=1) <= 1,
    ),
}


def evaluation_points(name: str) -> np.ndarray:
    """Points (n, dimensions) at which errors are measured, the same for all programs."""
    problem = PROBLEMS[name]
    rng = np.random.default_rng(20_250_101)
    drawn = rng.uniform(problem.lower, problem.upper, (2 * COUNT, len(problem.lower)))
    if problem.inside is not None:
        drawn = drawn[problem.inside(drawn)]
    return drawn[:COUNT]


def exact_values(name: str) -> np.ndarray:
    """The true values (n, unknowns) there."""
    exact = PROBLEMS[name].exact
    if exact is not None:
        return exact(evaluation_points(name))
    with np.load(STORED) as stored:
        return stored[name]


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    """Relative error in L², of all unknowns together; what is not a number is as wrong as can be."""
    found = np.asarray(found, dtype=float).reshape(exact.shape)
    return float(np.nan_to_num(np.linalg.norm(found - exact) / np.linalg.norm(exact), nan=np.inf))


def coefficient_error(name: str, found: dict[str, float]) -> float:
    """The largest relative error of the coefficients; zero where there are none."""
    true = PROBLEMS[name].coefficients
    return max((abs(found[key] / value - 1) for key, value in true.items()), default=0.0)
