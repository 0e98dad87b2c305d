"""Intervals, those that close on themselves among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from anagram.errors import ProblemError


class Periodic(NamedTuple):
    """An interval whose two ends are the same place: an angle, a ring. It is made by `periodic`."""

    low: float
    high: float

    # As a tuple it would equal the interval with two different ends, which is another domain.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Periodic) and tuple(self) == tuple(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Periodic, *self))

    def __repr__(self) -> str:
        return f"periodic({self.low:g}, {self.high:g})"


Interval = tuple[float, float] | Periodic
Intervals = Mapping[str, Interval]


def periodic(low: float, high: float) -> Periodic:
    """An axis that closes on itself: ``Box(t=(0, 1), x=periodic(0, 2 * np.pi))``.

    What is looked for has the same value, and the same derivatives, at both ends, which are one place. There is no
    face there and no condition to state.
    """
    return Periodic(*_ends((low, high), "a periodic axis", "periodic(0, 1)"))


def checked(axis: str, interval: Any) -> Interval:
    """What was given as the interval of an axis; an error if it is none."""
    ends = _ends(interval, f"the axis '{axis}'", f"{axis}=(0, 1)")
    return Periodic(*ends) if isinstance(interval, Periodic) else ends


def ends_in_words(interval: Interval) -> str:
    """An interval as it is written down."""
    return repr(interval) if isinstance(interval, Periodic) else f"({interval[0]:g}, {interval[1]:g})"


def _ends(interval: Any, what: str, example: str) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in interval)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{what} needs two ends, as in {example}, not {interval!r}") from None
    if not (low < high and np.isfinite(high - low)):
        raise ProblemError(f"{what} needs finite ends, the lower first, not ({low:g}, {high:g})")
    return low, high
