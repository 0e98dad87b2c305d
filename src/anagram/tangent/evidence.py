"""How much a prior counts: by the marginal likelihood of the data, with equations and prior linearised.

With the rows of equations E, of data D and of priors P, all in standard deviations, the parameters have the precision
A = EᵀE + DᵀD + λPᵀP given the data, and A₀ = EᵀE + λPᵀP before. How likely the data are with the weight λ is said by

    −2 log p(y|λ) = min ‖r‖² + log det A − log det A₀ + terms without λ.

The first term grows with λ and the difference of the others falls: a weight that is too small lets the field follow the
noise, one that is too large keeps it from following the data. Directions that nothing but a guard sees add the same to
both determinants. Both matrices are diagonal for all λ at once, in the basis of a generalised singular value
decomposition: trying a weight costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import optimize

GUARD = 1e-11  # of the length of each column
FARTHEST = 6.0  # powers of ten by which a weight moves in one round
TRIED = 49  # weights on a grid, because there may be several minima
CLOSE = 0.01  # powers of ten to within which the best is found


def best_factors(
    fixed: Sequence[np.ndarray], data: Sequence[np.ndarray], priors: Mapping[str, np.ndarray], tight: float
) -> dict[str, float]:
    """By which factors the weights of priors change for the data to be most likely, one prior after the other.

    All are triangular factors of rows [J r] that are multiplied by ε; `fixed` are those of equations.
    """
    found = dict.fromkeys(priors, 1.0)
    for name, prior in priors.items():
        others = [np.sqrt(found[other]) * rows for other, rows in priors.items() if other != name]
        unlikely = minus_log_evidence([*fixed, *others], data, prior, tight)
        found[name] = 10 ** _minimum(unlikely)
    return found


def minus_log_evidence(
    fixed: Sequence[np.ndarray], data: Sequence[np.ndarray], prior: np.ndarray, tight: float
) -> Callable[[float], float]:
    """λ ↦ −2 log p(y|λ), for a power of ten of λ, up to a constant."""
    everything = np.concatenate([*fixed, *data, prior])
    lengths = np.linalg.norm(everything[:, :-1], axis=0)
    guard = np.concatenate([GUARD * np.diag(np.where(lengths > 0, lengths, 1.0)), np.zeros((len(lengths), 1))], axis=1)
    before, after = _Pair([*fixed, guard], prior), _Pair([*fixed, *data, guard], prior)

    def unlikely(power: float) -> float:
        weight = 10.0**power
        return after.misfit(weight) / tight**2 + after.log_det(weight) - before.log_det(weight)

    return unlikely


class _Pair:
    """The problem min ‖A θ + a‖² + λ‖B θ + b‖², for all λ.

    With [A; B] = Q R and Q_BᵀQ_B = V S² Vᵀ its matrix is AᵀA + λBᵀB = RᵀV(1 − S² + λS²)VᵀR.
    """

    def __init__(self, rows: Sequence[np.ndarray], prior: np.ndarray) -> None:
        above = np.asarray(np.linalg.qr(np.concatenate(list(rows)), mode="r"))
        q, _ = np.linalg.qr(np.concatenate([above, prior])[:, :-1])
        first, second = q[: len(above)], q[len(above) :]
        squares, v = np.linalg.eigh(second.T @ second)
        self.share = np.clip(squares, 0.0, 1.0)
        # Sums of squares, not 1 − s²: that would be rounding where the prior alone sees a direction.
        self.rest = np.sum((first @ v) ** 2, axis=0)
        self.slopes = v.T @ (first.T @ above[:, -1]), v.T @ (second.T @ prior[:, -1])
        self.squares = float(above[:, -1] @ above[:, -1]), float(prior[:, -1] @ prior[:, -1])

    def log_det(self, weight: float) -> float:
        return float(np.sum(np.log(self.rest + weight * self.share)))

    def misfit(self, weight: float) -> float:
        slope = self.slopes[0] + weight * self.slopes[1]
        gained = np.sum(slope**2 / (self.rest + weight * self.share))
        return self.squares[0] + weight * self.squares[1] - float(gained)


def _minimum(unlikely: Callable[[float], float]) -> float:
    """The best power of ten: first on a grid, then between its points."""
    grid = np.linspace(-FARTHEST, FARTHEST, TRIED)
    best = int(np.argmin([unlikely(power) for power in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found: Any = optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": CLOSE})
    return float(found.x)
