"""Intervals: of coordinates, those that close on themselves among them, and of parameters."""

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


class Parameter(tuple[float, float]):
    """The values of a parameter of a family of problems. It is made by `parameter`.

    It is a pair like other intervals, and knows whether points along it are spread by their logarithms.
    """

    log: bool

    def __new__(cls, low: float, high: float, *, log: bool = False) -> Parameter:
        found = super().__new__(cls, (low, high))
        found.log = log
        return found

    def __getnewargs_ex__(self) -> tuple[tuple[float, float], dict[str, bool]]:
        return (self[0], self[1]), {"log": self.log}

    # Values of a parameter are no coordinates between the same ends.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and tuple(self) == tuple(other) and self.log == other.log

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Parameter, *self, self.log))

    def __repr__(self) -> str:
        return f"parameter({self[0]:g}, {self[1]:g}{', log=True' if self.log else ''})"


Interval = tuple[float, float] | Periodic | Parameter
Intervals = Mapping[str, Interval]


def periodic(low: float, high: float) -> Periodic:
    """An axis that closes on itself: ``Box(t=(0, 1), x=periodic(0, 2 * np.pi))``.

    What is looked for has the same value, and the same derivatives, at both ends, which are one place. There is no
    face there and no condition to state.
    """
    return Periodic(*_ends((low, high), "a periodic axis", "periodic(0, 1)"))


def parameter(low: float, high: float, *, log: bool = False) -> Parameter:
    """An axis of values of a parameter: ``Box(nu=parameter(0.01, 1, log=True), t=(0, 1), x=(-1, 1))``.

    All conditions hold for every value of it, and the solution is a function of it: one run solves a whole family of
    problems. A parameter is no place: it has no faces, sums over axes such as the Laplacian leave it out, and integrals
    are taken for each of its values. Operators may name it beside the unknowns, ``lambda u, nu: ...``.

    Args:
        low: the least value.
        high: the largest one.
        log: whether values are spread by their logarithms, as many from 0.01 to 0.1 as from 0.1 to 1; networks then see
            the logarithm. Derivatives by the parameter stay those by the parameter itself.
    """
    ends = _ends((low, high), "a parameter", "parameter(0, 1)")
    if not isinstance(log, bool):
        raise ProblemError(f"log= of a parameter is True or False, not {log!r}")
    if log and ends[0] <= 0:
        raise ProblemError(
            f"a parameter from {ends[0]:g} to {ends[1]:g} has no logarithm everywhere: leave log=True out, or begin "
            "above 0"
        )
    return Parameter(*ends, log=log)


def checked(axis: str, interval: Any) -> Interval:
    """What was given as the interval of an axis; an error if it is none."""
    ends = _ends(interval, f"the axis '{axis}'", f"{axis}=(0, 1)")
    if isinstance(interval, Parameter):
        return parameter(*ends, log=interval.log)
    return Periodic(*ends) if isinstance(interval, Periodic) else ends


def between(interval: Interval, low: float, high: float) -> Interval:
    """A part of an interval; one of parameters has parameters."""
    return parameter(low, high, log=interval.log) if isinstance(interval, Parameter) else (low, high)


def edges_along(interval: Interval, count: int) -> list[float]:
    """The edges of equal parts of an interval; of one that is spread by logarithms their quotients are equal."""
    low, high = interval
    spread = np.geomspace if is_log(interval) else np.linspace
    return [low, *spread(low, high, count + 1)[1:-1].tolist(), high]


def ends_in_words(interval: Interval) -> str:
    """An interval as it is written down."""
    plain = not isinstance(interval, Periodic | Parameter)
    return f"({interval[0]:g}, {interval[1]:g})" if plain else repr(interval)


# -- fractions of intervals -------------------------------------------------------------------------------
def is_log(interval: Interval) -> bool:
    """Whether places along it are spread by their logarithms."""
    return isinstance(interval, Parameter) and interval.log


def placed_along(interval: Interval, fraction: Any) -> Any:
    """Places at fractions of an interval, from 0 at its lower to 1 at its upper end."""
    low, high = interval
    if not is_log(interval):
        return low + (high - low) * fraction
    found = low * (high / low) ** np.asarray(fraction, dtype=float)
    # Rounding must not lead beyond the ends.
    inside = (np.asarray(fraction) >= 0) & (np.asarray(fraction) <= 1)
    return np.where(inside, np.clip(found, low, high), found)


def placed_in(intervals: Intervals, fractions: np.ndarray) -> np.ndarray:
    """Points (n, d) of a product of intervals from those of the unit cube."""
    bounds = np.array([tuple(i) for i in intervals.values()], dtype=float).reshape(-1, 2)
    x = bounds[:, 0] + (bounds[:, 1] - bounds[:, 0]) * fractions
    for k, interval in enumerate(intervals.values()):
        if is_log(interval):
            x[:, k] = placed_along(interval, fractions[:, k])
    return x


def even_places(interval: Interval, count: int) -> np.ndarray:
    """So many places along an interval from one end to the other, evenly spread."""
    return placed_along(interval, np.linspace(0, 1, count)) if is_log(interval) else np.linspace(*interval, count)


def middle_of(interval: Interval) -> float:
    """The place in the middle of an interval."""
    return float(np.sqrt(interval[0] * interval[1])) if is_log(interval) else (interval[0] + interval[1]) / 2


def _ends(interval: Any, what: str, example: str) -> tuple[float, float]:
    try:
        low, high = (float(v) for v in interval)
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{what} needs two ends, as in {example}, not {interval!r}") from None
    if not (low < high and np.isfinite(high - low)):
        raise ProblemError(f"{what} needs finite ends, the lower first, not ({low:g}, {high:g})")
    return low, high
