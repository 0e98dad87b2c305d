"""How the functions of a wide rung on a box are split: many along the fine axes, a few polynomials along the rest.

A solution may be fine along space and slow in time, or the other way round. Around periodic axes functions are waves.
The parameters of the last functions along an axis say whether more of them are needed there: where a solution is
resolved they are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from anagram.training.rungs import Plan, Rung

DENSITY = 2.0  # rows for each parameter: √2 times as many points along each axis as functions, in a plane
DENSITY_OF_ALL = 3.0  # where points are no grid
FEWER = 0.85  # times as many fine functions: a split that is a little worse, to compare with
MOST_TRIED = 4  # splits of one width, in the race
UNLIKE = 1.2  # times as many fine functions: a split that is another one
BALANCED = 3.0  # times as many fine functions at most from one split to the next
SHRINKS, GROWS = 0.5, 5.0  # times as many functions along an axis at least and at most
NARROWER = 0.5  # times as wide at most: a split before the one that should do
LONGEST = 3.0  # times as wide at most
TAIL = 0.3  # of the error that is aimed at: what the last functions may have
PAYS = 3.0  # a wider split that improves by less than this factor does not pay
FEWEST_COARSE = 3  # functions over the shortest of stretches
MUCH = 0.4  # of the functions of a split that was enough: with so many needed it stays as it is
ALWAYS = 4.0  # functions over the shortest of stretches that are needed for many digits
MOST_COARSE, SMALL = 12, 800  # functions over a stretch, and in all: with more of them it is cut
ROUNDING = 1e-14  # of all parameters: tails below are rounding


class Axes(Protocol):
    """What a split depends on besides the rungs: numbers of axes and of unknown fields, the error aimed at."""

    @property
    def dimension(self) -> int:
        """The number of axes."""
        ...

    @property
    def fine(self) -> int:
        """The number of those that share its functions, see `fine_axes`; 0 where splits are not for this domain."""
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
    if not axes.fine:
        return None
    count = like.features / axes.fields
    if not own:
        density = DENSITY_OF_ALL if axes.fine == axes.dimension > 2 else DENSITY
        return replace(like, waves=_odd(count ** (axes.fine / axes.dimension)), density=density, times=1.0, axis=0)
    if axes.fine == axes.dimension or len(own) >= MOST_TRIED:
        return None  # where there is nothing but waves nothing can be split
    best = min(own, key=lambda r: r.outcome.residual)
    fine, coarse = needed(axes, best)
    # As many functions, in the proportion in which they are needed.
    share = np.sqrt(fine / coarse / (best.plan.waves**2 / count))
    waves = _odd(best.plan.waves * float(np.clip(share, 1 / BALANCED, BALANCED)))
    unlike = all(max(waves, r.plan.waves) >= UNLIKE * min(waves, r.plan.waves) for r in own)
    return replace(best.plan, waves=waves) if unlike and 3 <= waves < 0.5 * count else None


def next_to(axes: Axes, rungs: Sequence[Rung], sizes: Sequence[int]) -> Plan | None:
    """What follows splits that are better than anything else: one to compare with, or a wider one."""
    best = min(rungs, key=lambda r: r.outcome.residual)
    fine, coarse = needed(axes, best)
    wanted = axes.fields * fine * coarse
    if wanted <= best.plan.features:
        beside = replace(best.plan, waves=_odd(FEWER * best.plan.waves))
        if axes.fine < axes.dimension and all(r.plan != beside for r in rungs):
            return beside
    widths = sorted({r.plan.features for r in rungs})
    residuals = [min(r.outcome.residual for r in rungs if r.plan.features == w) for w in widths]
    if len(widths) > 1 and residuals[-1] * PAYS > residuals[-2]:
        return None
    wider = [size for size in sizes if widths[-1] < size <= LONGEST * widths[-1]]
    if not wider:
        return None
    size = next((s for s in wider if s >= wanted), wider[-1])
    return replace(best.plan, features=size, waves=_shared(axes, best, fine, coarse, size))


def fitting(axes: Axes, rung: Rung, sizes: Sequence[int], times: float = 1.0, finer: float = 1.0) -> Plan:
    """The split with which a problem much like that of a rung begins: as many functions as its tails ask for.

    It is that many times as long along the axes that are not fine, and that many times as fine along those that are.
    """
    fine, coarse = needed(axes, rung)
    fine, coarse = fine * finer, over(coarse, times)
    wanted = axes.fields * fine * coarse
    there = rung.plan.waves, rung.plan.features / axes.fields / rung.plan.waves
    if fine <= there[0] and coarse <= there[1] and wanted >= MUCH * rung.plan.features:
        return rung.plan  # nothing has to be compiled for it
    allowed = [s for s in sizes if s <= LONGEST * rung.plan.features]
    size = next((s for s in allowed if s >= wanted), allowed[-1])
    return replace(rung.plan, features=size, waves=_shared(axes, rung, fine, coarse, size))


def over(coarse: float, times: float) -> float:
    """How many functions are needed over a stretch that is so many times as long.

    Polynomials of the first few degrees are needed on the shortest of stretches.
    """
    always = min(ALWAYS, coarse)
    return max(2.0, always + (coarse - always) * times)


def _shared(axes: Axes, rung: Rung, fine: float, coarse: float, size: int) -> int:
    """How many fine functions there are among so many, where so many fine and coarse ones are needed.

    Where that is too much, what would grow most is cut: what is needed of the rest is known better.
    """
    room = size / (axes.fields * fine * coarse)
    others = axes.dimension - axes.fine
    if room < 1 and others:
        before = rung.plan.waves, rung.plan.features / axes.fields / rung.plan.waves
        growth = (fine / before[0]) ** (1 / axes.fine), (coarse / before[1]) ** (1 / others)
        # Growth along each axis is cut at the same number.
        least, most = min(growth), max(growth)
        powers = (axes.fine, others)
        larger = powers[growth.index(most)]
        alone = most * room ** (1 / larger)
        cut = alone if alone >= least else (most**larger * least ** (sum(powers) - larger) * room) ** (1 / sum(powers))
        fine = before[0] * min(growth[0], cut) ** axes.fine
    else:
        fine *= room ** (axes.fine / axes.dimension)
    return min(_odd(fine), size // axes.fields)


def narrower(axes: Axes, plan: Plan, sizes: Sequence[int]) -> Plan:
    """A smaller split in the same proportion, whose steps cost far less: what comes after it begins near its end."""
    size = max((s for s in sizes if s <= NARROWER * plan.features), default=min(sizes[0], plan.features))
    waves = _odd(plan.waves * (size / plan.features) ** (axes.fine / axes.dimension))
    return replace(plan, features=size, waves=min(waves, size // axes.fields))


def is_too_long(axes: Axes, rung: Rung) -> bool:
    """Whether so many functions are needed along the axes that are not fine that two halves of it cost less."""
    fine, coarse = needed(axes, rung)
    return axes.fine == axes.dimension - 1 and coarse > MOST_COARSE and axes.fields * fine * coarse > SMALL


def is_too_fine(axes: Axes, rungs: Sequence[Rung], sizes: Sequence[int]) -> bool:
    """Whether so many functions are needed along the fine axes that no stretch is short enough for them."""
    best = min(rungs, key=lambda r: r.outcome.residual)
    if best.plan.features == rungs[0].plan.features:
        return False  # tails of a race say little
    return axes.fields * needed(axes, best)[0] * FEWEST_COARSE > LONGEST * sizes[-1]


def needed(axes: Axes, rung: Rung) -> tuple[float, float]:
    """How many functions along the fine axes, and along the others, have tails as small as they should be.

    Tails fall geometrically with the number of functions along an axis.
    """
    allowed = max(TAIL * axes.goal, ROUNDING)
    width = rung.plan.features / axes.fields
    if axes.fine == axes.dimension:
        return width * _times(rung.outcome.fine_tail, allowed) ** axes.fine, 1.0
    fine, coarse = rung.plan.waves, width / rung.plan.waves
    others = axes.dimension - axes.fine
    return (
        fine * _times(rung.outcome.fine_tail, allowed) ** axes.fine,
        coarse * _times(rung.outcome.coarse_tail, allowed) ** others,
    )


def _times(tail: float, allowed: float) -> float:
    """How many times as many functions along an axis have this tail."""
    return float(np.clip(np.log(allowed) / np.log(np.clip(tail, ROUNDING, 0.9)), SHRINKS, GROWS))


def _odd(number: float) -> int:
    """A constant, and a cosine and a sine for each number of turns."""
    return 2 * max(1, round((number - 1) / 2)) + 1
