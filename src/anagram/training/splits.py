"""How the functions of a wide rung on a box with periodic axes are split: waves around, polynomials along the rest.

A solution may be fine around a ring and slow in time, or the other way round. The same number of functions is tried in
several splits; the best one goes on, and what is next to it is tried as long as that is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from anagram.training.rungs import Plan, Rung

DENSITY = 2.0  # rows for each parameter: √2 times as many points along each axis as functions, in a plane
STEP, NEARBY = 2.0, 1.3  # times as many waves: in the race, and next to a split that was good enough before
FEWER = 0.9  # times as many waves: other functions that are about as good
MOST_TRIED = 4  # splits of one width
WITHIN_REACH = 1e4  # times the goal: residuals of the highest waves are much larger than the errors


class Axes(Protocol):
    """What a split depends on besides the rungs: numbers of axes and of unknown fields, the error aimed at."""

    @property
    def dimension(self) -> int:
        """The number of axes."""
        ...

    @property
    def around(self) -> int:
        """The number of periodic ones; 0 where waves are not for this domain."""
        ...

    @property
    def fields(self) -> int:
        """The number of unknown fields."""
        ...

    @property
    def goal(self) -> float:
        """The error that is aimed at."""
        ...


def next_split(axes: Axes, like: Plan, rungs: Sequence[Rung]) -> Plan | None:
    """The next split in the race of rungs of one width; None if there is none worth trying."""
    own = [r for r in rungs if r.plan.waves]
    if not axes.around:
        return None
    count = like.features / axes.fields
    if not own:
        waves = count ** (axes.around / axes.dimension)
        return replace(like, waves=_odd(waves), density=DENSITY, times=1.0, axis=0)
    if axes.around == axes.dimension:
        return None  # there is nothing but waves
    return _beside(own, STEP, count)


def next_to_known(axes: Axes, rungs: Sequence[Rung]) -> Plan | None:
    """The next split beside one that was good enough for a problem much like this one."""
    own = [r for r in rungs if r.plan.waves]
    count = own[0].plan.features / axes.fields
    if axes.around == axes.dimension:
        return None
    if len(own) == 1 and own[0].outcome.residual <= WITHIN_REACH * axes.goal:
        # If it is good enough again, it needs another one to be compared with.
        return replace(own[0].plan, waves=_odd(FEWER * own[0].plan.waves))
    return _beside(own, NEARBY, count)


def widened(axes: Axes, plan: Plan, features: int) -> int:
    """How many waves there are in a wider rung: as much finer along every axis."""
    if axes.around == axes.dimension:
        return plan.waves * features // plan.features
    return _odd(plan.waves * (features / plan.features) ** (axes.around / axes.dimension))


def _beside(own: Sequence[Rung], step: float, count: float) -> Plan | None:
    """More waves if the most were best, fewer if the fewest were; None if it is one between."""
    best, tried = min(own, key=lambda r: r.outcome.residual).plan, [r.plan.waves for r in own]
    if len(tried) >= MOST_TRIED:
        return None
    for beyond, factor in ((max(tried), step), (min(tried), 1 / step)):
        waves = _odd(factor * best.waves)
        if best.waves == beyond and waves not in tried and 3 <= waves < 0.5 * count:
            return replace(best, waves=waves)
    return None


def _odd(number: float) -> int:
    """A constant, and a cosine and a sine for each number of turns."""
    return 2 * max(1, round((number - 1) / 2)) + 1
