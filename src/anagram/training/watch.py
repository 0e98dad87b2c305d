"""Looking at a run while it goes: the spectrum of J now and then."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

if TYPE_CHECKING:
    from anagram.training.trainer import Trainer

POSITIONS = 48  # singular values that are kept, evenly spaced from the largest to the smallest
SPACING = 1.12  # times as many steps at least before the next look
SHARE = 0.05  # of the time of a run at most goes into looking
LARGEST = 3000  # parameters


class SpectrumWatch:
    """A monitor that adds ``spectrum``, some singular values of J at the iterate, to the record of a block.

    It looks rarely: after a number of steps that grows with the run, and never for more than a small share of the time.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._spent = 0.0
        self._began = time.perf_counter()
        self._triangle: Any = None

    def __call__(self, record: dict[str, Any], run: Trainer) -> None:
        """Look if it is time to."""
        started = time.perf_counter()
        if record["step"] < self._next or run.model.parameters > LARGEST:
            return
        if self._spent > SHARE * (started - self._began):
            return
        theta, _ = run.method.iterate(run.state)
        if self._triangle is None:
            self._triangle = jax.jit(run.compound.triangle).lower(theta, run.batch).compile()
            started = time.perf_counter()
        triangle = np.asarray(self._triangle(theta, run.batch))
        record["spectrum"] = thinned_spectrum(triangle[: theta.size, : theta.size])
        self._next = max(record["step"] + 1, SPACING * record["step"])
        self._spent += time.perf_counter() - started


def thinned_spectrum(matrix: np.ndarray) -> list[float]:
    """Singular values at evenly spaced positions, the largest first; none if the matrix is not finite."""
    if not np.all(np.isfinite(matrix)):
        return []
    sigma = np.linalg.svd(matrix, compute_uv=False)
    if len(sigma) > POSITIONS:
        sigma = sigma[np.round(np.linspace(0, len(sigma) - 1, POSITIONS)).astype(int)]
    return sigma.tolist()
