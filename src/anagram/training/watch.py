"""Looking at a run while it goes: the spectrum of J now and then."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from anagram.compound import Compound, processes
from anagram.compound.batch import Batch
from anagram.compound.reuse import reuse, shapes_text

if TYPE_CHECKING:
    from anagram.training.trainer import Trainer

POSITIONS = 48  # singular values that are kept, evenly spaced from the largest to the smallest
SPACING = 1.12  # times as many steps at least before the next look
SHARE = 0.05  # of the time of a run at most goes into looking
LARGEST = 3000  # parameters
AFTER = 3.0  # seconds of training


class SpectrumWatch:
    """A monitor that adds ``spectrum``, some singular values of J at the iterate, to the record of a block.

    It looks rarely: after a number of steps that grows with the run, and never for more than a small share of the time.
    Runs that are over soon are not looked at: what it needs would have to be compiled for them.

    Args:
        after: seconds of training before the first look.
    """

    def __init__(self, after: float = AFTER) -> None:
        self.after = after
        self._next = 0.0
        self._spent = 0.0
        self._began = time.perf_counter()
        self._triangle: Any = None

    def __call__(self, record: dict[str, Any], run: Trainer) -> None:
        """Look if it is time to."""
        started = time.perf_counter()
        if processes.are_several():  # it goes by the clock, which is not the same for all of them
            return
        if record["step"] < self._next or record["seconds"] < self.after or run.model.parameters > LARGEST:
            return
        if self._spent > SHARE * (started - self._began):
            return
        theta, _ = run.method.iterate(run.state)
        if self._triangle is None:
            self._triangle = _triangle_of(run.compound, run.batch)
            self._triangle(theta, run.batch)  # compiled now, and not counted
            started = time.perf_counter()
        triangle = np.asarray(self._triangle(theta, run.batch))
        record["spectrum"] = thinned_spectrum(triangle[: theta.size, : theta.size])
        self._next = max(record["step"] + 1, SPACING * record["step"])
        self._spent += time.perf_counter() - started


def _triangle_of(compound: Compound, batch: Batch) -> Callable[..., Any]:
    """The triangular factor of [J r], by a program that other runs use again."""

    def triangle(numbers: Any, theta: Any, batch: Batch) -> Any:
        return compound.with_numbers(numbers).triangle(theta, batch)

    layout = compound.layout
    program = reuse(
        f"triangle {compound.fingerprint} {shapes_text(batch)}",
        lambda: layout.program(layout.quick_jit(triangle)),
    )
    return functools.partial(program, compound.numbers)


def thinned_spectrum(matrix: np.ndarray) -> list[float]:
    """Singular values at evenly spaced positions, the largest first; none if the matrix is not finite."""
    if not np.all(np.isfinite(matrix)):
        return []
    sigma = np.linalg.svd(matrix, compute_uv=False)
    if len(sigma) > POSITIONS:
        sigma = sigma[np.round(np.linspace(0, len(sigma) - 1, POSITIONS)).astype(int)]
    return sigma.tolist()
