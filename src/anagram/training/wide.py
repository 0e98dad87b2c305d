"""Rungs of wide networks of which only the last layer is learned: when they are tried, how wide and how steep.

A step of such a rung is a linear least-squares problem, so that a rung takes a fraction of a second and compiles
quickly. Where a solution is smooth its error falls faster than any power of the width, and these rungs are all there is
to do. They come first. How steep the features should be is found at the smallest width, where trying costs nothing.
Where a solution is not smooth, features are drawn on top of the hidden layers of a small network that was trained and
got hold of it. In many dimensions features are too few for all directions: those that depend on one axis or two are
tried, of which many solutions are sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from anagram.training.rungs import Plan, Rung
from anagram.training.splits import is_too_fine, is_too_long, narrower, next_split, next_to

SIZES = (160, 320, 640, 960, 1280, 1800, 2560, 3600, 5120, 7200)  # parameters
MOST, MOST_IN_SPACE, MOST_ON_ACCELERATORS = 2560, 5120, 7200  # of these: what is factorised in a few seconds
WORTH_A_TRY = 1280  # features with which a linear equation in space is tried, however slowly errors fall before
FIRST = {1: 160, 2: 320, 3: 320}  # at which steepness is found: as many as are compiled and solved in no time
MOST_DIMENSIONS = 3
STEEPNESS = {1: 0.2, 2: 0.35, 3: 0.3}  # times the d-th root of the number of parameters of a field
RACE = (1.0, 0.5, 2.0)  # times as steep
EDGE = {0.5: 0.25, 2.0: 4.0}  # where the best one of these is at the edge, what lies beyond
UNEVEN, MOST_UNEVEN = 3.0, 20.0  # times as steep along one axis as along the others
ABOVE = 1.0  # steepness of features on top of trained layers
DENSITY = {1: 4.0, 2: 3.0, 3: 3.0}  # rows for each parameter
DENSITY_IN_MANY = 6.0  # in more dimensions
COUPLED = (1, 2)  # axes that a feature depends on, in more dimensions
EACH_AXIS, FEWEST = 60, 24  # features for each axis there: how many there should be, and with how few it is tried
DENSITY_ABOVE = 6.0  # on top of trained layers, which are finer than a rule of few nodes
DENSER, DENSEST = 2.5, 40.0  # times as many points where they are too few, and rows for each parameter at most
TWICE = 2  # the parameters of a network, at least, are features on top of it
LONGEST = 2.8  # times as many parameters on the next rung at most
PAYS = 3.0  # a rung that improves by less than this factor does not pay
HOLDS = 0.3  # residuals below which a smooth solution may come out with more features
ASTRAY = 0.1  # residuals that are left where a nonlinear equation was not solved: more features do not help
GOT_HOLD = 0.05  # residuals of networks that know roughly what a solution looks like
FIRST_NEAR_CORNERS = 320  # features of a field that see corners: few of them see anything else
NEAR_CORNERS, DENSITY_NEAR_CORNERS = 3.0, 3.0  # their steepness, and rows for each, without those near corners
PAYS_NEAR_CORNERS = 1.5  # twice as many that improve by less do not pay
BETTER = 0.35  # of the residual of a network that features on top of it must come to
NEARBY = 0.8  # times as steep: other features that are about as good
ALIKE = 1.5  # times the residual of the best: about as good
ROUNDING = 1e-12  # residuals that are rounding


@dataclass(frozen=True)
class Width:
    """What the width of features depends on besides the rungs: dimensions, fields, the error that is aimed at.

    `race` is the width at which their steepness is found, if not `FIRST`, and `most` the largest one. `known` are
    features that were good enough for a problem much like this one: they come first, and there is no race. `fine` is
    the number of axes that share the functions of a split, 0 where splits are not for this domain. `marches` is
    said of a stretch of an evolution, `bent` where coordinates are bent for the data, and `corners` is the number of
    re-entrant corners.
    """

    dimension: int
    fields: int
    goal: float
    linear: bool
    most: int = MOST
    race: int = 0
    known: Plan | None = None
    fine: int = 0
    marches: bool = False
    bent: bool = False
    corners: int = 0

    @property
    def first(self) -> int:
        """The first width."""
        return self.race or FIRST[self.dimension]


def next_spread(facts: Width, rungs: Sequence[Rung]) -> Plan | None:
    """The next rung of features all over the domain; None if there is none worth trying."""
    own = [r for r in rungs if r.plan.features and r.plan.below < 0 and not r.plan.corners]
    if facts.dimension > MOST_DIMENSIONS:
        return _next_coupled(facts, own)
    if facts.fine and (facts.marches or facts.bent):
        return _next_of_splits(facts, own)
    first = facts.known or Plan(0, features=facts.first, steepness=_steepness(facts), density=DENSITY[facts.dimension])
    if not own:
        return first
    raced = [r for r in own if r.plan.features == first.features]
    if not facts.linear and _best(own).outcome.residual > ASTRAY:
        return None
    # Even the first one, if it is good, needs another to be compared with.
    alone = len(raced) == len(own) == 1
    if facts.known is not None and len(raced) == len(own):
        other = _beside_known(facts, first, raced)
        if other is not None:
            return other
    if facts.known is None and len(raced) == len(own) and (alone or not _is_enough(facts, _best(raced))):
        other = _raced(facts, first, raced)
        if other is not None:
            return other
    split = _split_in_space(facts, own)
    if split is not None:
        return split
    levels = _levels(_one_kind(own))
    if levels[-1].plan.waves:
        return next_to(facts, [r for r in own if r.plan.waves], [s for s in SIZES if s <= facts.most])
    if len(levels) == 1:
        # Of many features there must be many more to tell how fast errors fall.
        many = facts.race or facts.known is not None
        return _wider(facts, levels[-1], 2 * first.features if many else first.features + 1)
    return _onwards(facts, levels)


def next_near_corners(facts: Width, rungs: Sequence[Rung]) -> Plan | None:
    """The next rung of features that see the re-entrant corners; None if there is none worth trying.

    They are tried where features with singular functions, or smooth ones, did not do.
    """
    own = [r for r in rungs if r.plan.corners]
    if not facts.corners or facts.dimension > MOST_DIMENSIONS:
        return None
    if not own:
        wanted = FIRST_NEAR_CORNERS * facts.fields
        size = next((s for s in SIZES if wanted <= s <= facts.most), None)
        corners = {"steepness": NEAR_CORNERS, "density": DENSITY_NEAR_CORNERS, "corners": True}
        return None if size is None else Plan(0, features=size, **corners)
    if not facts.linear and _best(own).outcome.residual > ASTRAY:
        return None
    levels = _levels(own)
    residuals = [r.outcome.residual for r in levels]
    if len(levels) > 2 and residuals[-1] * PAYS_NEAR_CORNERS > min(residuals[:-1]):
        return None
    return _wider(facts, levels[-1], 2 * levels[-1].plan.features)


def _next_of_splits(facts: Width, own: Sequence[Rung]) -> Plan | None:
    """Splits alone: coordinates are bent for them, or their tails tell what the next stretch of an evolution needs."""
    sizes = [s for s in SIZES if s <= facts.most]
    if facts.known is not None and facts.known.waves:
        # What should do comes after something smaller: it begins there, and is compared with it.
        if not own:
            return narrower(facts, facts.known, sizes)
        if len(own) == 1 and own[0].plan != facts.known:
            return facts.known if facts.linear or own[0].outcome.residual <= ASTRAY else None
    else:
        other = next_split(facts, Plan(0, features=facts.first), own)
        if other is not None and all(r.plan.features == facts.first for r in own):
            return other
    if not facts.linear and _best(own).outcome.residual > ASTRAY:
        return None
    if facts.marches and is_too_fine(facts, own, sizes):
        return None
    plan = next_to(facts, own, sizes)
    # What takes so many functions over time is done sooner in two halves.
    return None if plan is not None and facts.marches and is_too_long(facts, _best(own)) else plan


def _split_in_space(facts: Width, own: Sequence[Rung]) -> Plan | None:
    """A wide split, where features won the race and did not do when there were more of them.

    In three dimensions the few polynomials of a race say little of what more of them do: their errors fall faster.
    """
    units, splits = ([r for r in own if bool(r.plan.waves) is split] for split in (False, True))
    sizes = [len({r.plan.features for r in kind}) for kind in (units, splits)]
    if facts.dimension < MOST_DIMENSIONS or sizes[0] < 2 or sizes[1] != 1:
        return None
    before = _best(splits).plan
    wider = [s for s in SIZES if 2 * before.features < s <= facts.most]
    if not wider:
        return None
    grown = (wider[0] / before.features) ** (facts.fine / facts.dimension)
    return replace(before, features=wider[0], waves=min(round(grown * before.waves), wider[0] // facts.fields))


def _one_kind(own: Sequence[Rung]) -> Sequence[Rung]:
    """Features and splits that raced; when both were made wider, those that came further."""
    wide = {split: [r for r in own if bool(r.plan.waves) is split] for split in (False, True)}
    if any(len({r.plan.features for r in kind}) < 2 for kind in wide.values()):
        return own
    return wide[_best(wide[True]).outcome.residual * PAYS < _best(wide[False]).outcome.residual]


def _beside_known(facts: Width, first: Plan, raced: Sequence[Rung]) -> Plan | None:
    """The next one beside features that were good enough before: to compare with, or because they no longer are."""
    if first.waves:
        return None  # what follows is said by their tails
    if _is_enough(facts, _best(raced)):
        return replace(first, steepness=NEARBY * first.steepness) if len(raced) == 1 else None
    return next_split(facts, first, raced)


def _raced(facts: Width, first: Plan, raced: Sequence[Rung]) -> Plan | None:
    """The next one in the race of the smallest size: how steep, then how much steeper along one axis."""
    even = [r for r in raced if r.plan.times == 1.0 and not r.plan.waves]
    tried = {round(r.plan.steepness / first.steepness, 3) for r in even}
    now = round(_best(even).plan.steepness / first.steepness, 3)
    for factor in (*RACE, EDGE.get(now)):
        if factor is not None and factor not in tried:
            return replace(first, steepness=factor * first.steepness)
    split = next_split(facts, first, raced)
    if split is not None or facts.dimension == 1:
        return split
    best, uneven = _best(even).plan, [r.plan for r in raced if r.plan.times > 1.0]
    for axis in range(facts.dimension):
        plan = replace(best, times=UNEVEN, axis=axis)
        if plan not in uneven:
            return plan
    winner = _best(raced).plan
    if winner.times == 1.0:
        return None
    # What was better than even features may be better still; and what was too flat along one axis no longer is.
    more = replace(winner, times=UNEVEN * winner.times)
    flatter = replace(winner, steepness=winner.steepness / 2)
    others = [more, flatter] if winner.times < MOST_UNEVEN else [flatter]
    steepnesses = {p.steepness for p in uneven}
    return next((p for p in others if p not in uneven and (p is more or len(steepnesses) == 1)), None)


def _next_coupled(facts: Width, own: Sequence[Rung]) -> Plan | None:
    """The next rung of features that depend on few axes; none, where the solution is no sum of such."""
    each = facts.dimension * facts.fields
    sizes = [s for s in SIZES if s <= facts.most]
    first = next((s for s in sizes if s >= EACH_AXIS * each), sizes[-1])
    if first < FEWEST * each:
        return None
    if not own:
        return _coupled(facts, first, COUPLED[0])
    best = _best(own)
    if len(own) == 1 and _is_enough(facts, best):
        return replace(best.plan, steepness=NEARBY * best.plan.steepness)
    raced = [r for r in own if r.plan.features == own[0].plan.features]
    untried = [n for n in COUPLED if all(r.plan.couples != n for r in raced)]
    if untried and not _is_enough(facts, best):
        return _coupled(facts, first, untried[0])
    if best.outcome.residual > GOT_HOLD:
        return None
    levels = _levels([r for r in own if r.plan.couples == best.plan.couples])
    return _wider(facts, levels[-1], 2 * first) if len(levels) == 1 else _onwards(facts, levels)


def _coupled(facts: Width, size: int, couples: int) -> Plan:
    """Features that depend on so many axes, as steep as those in so many dimensions."""
    sets = math.comb(facts.dimension, couples) * facts.fields
    steepness = STEEPNESS[couples] * max(1.0, size / sets) ** (1 / couples)
    return Plan(0, features=size, steepness=steepness, density=DENSITY_IN_MANY, couples=couples)


def next_above(facts: Width, rungs: Sequence[Rung]) -> Plan | None:
    """The next rung of features on top of the network that was trained last; None if none is worth trying."""
    networks = [(k, r) for k, r in enumerate(rungs) if r.plan.is_network]
    if facts.dimension > MOST_DIMENSIONS or not networks:
        return None
    place, base = networks[-1]
    own = [r for r in rungs if r.plan.below == place]
    if not own:
        others = [r for k, r in networks[:-1] if any(o.plan.below == k for o in rungs)]
        known = min((r.outcome.residual for r in others), default=np.inf)
        if base.outcome.residual > min(GOT_HOLD, BETTER * known):
            return None
        enough = [s for s in SIZES[1:] if TWICE * base.outcome.parameters <= s <= facts.most]
        if not enough:
            return None
        return Plan(0, features=enough[0], steepness=ABOVE, density=DENSITY_ABOVE, below=place)
    last = own[-1]
    if last.outcome.overfitted and last.outcome.residual > facts.goal:
        denser = replace(last.plan, density=DENSER * last.plan.density)
        if denser.density <= DENSEST and all(r.plan.density < denser.density for r in own):
            return denser
    if _best(own).outcome.residual > BETTER * base.outcome.residual:
        return None
    levels = _levels(own)
    return _wider(facts, levels[-1], 2 * levels[-1].plan.features) if len(levels) == 1 else _onwards(facts, levels)


def _onwards(facts: Width, levels: Sequence[Rung]) -> Plan | None:
    """A wider rung, as wide as the errors of those before it promise; None if they do not fall fast enough."""
    before, now = levels[-2], levels[-1]
    gained = before.outcome.residual / max(now.outcome.residual, 1e-300)
    if now.outcome.residual <= ROUNDING and gained < PAYS:
        return None
    dimension = now.plan.couples or facts.dimension
    sizes = [r.plan.features ** (1 / dimension) for r in (before, now)]
    rate = np.log(max(gained, 1e-300)) / (sizes[1] - sizes[0])
    if now.outcome.residual > HOLDS:
        return None
    # Waves are not seen at all by few features in space, where twice as many are hardly more along each axis.
    tries = facts.linear and facts.dimension == MOST_DIMENSIONS and now.plan.below < 0
    worth_a_try = _wider(facts, now, WORTH_A_TRY) if tries and now.plan.features < WORTH_A_TRY else None
    if gained < PAYS:
        return worth_a_try
    # What the error was for each unit of the residual, it will be.
    estimate = now.outcome.estimate
    each = estimate / now.outcome.residual if estimate and np.isfinite(estimate) else 1.0
    missing = np.log(max(now.outcome.residual * each / (0.3 * facts.goal), 1.0))
    wanted = (sizes[1] + missing / rate) ** dimension
    if wanted > LONGEST * facts.most:
        return worth_a_try  # too wide by far: a network that is trained as a whole will do better
    return _wider(facts, now, int(min(wanted, LONGEST * now.plan.features)))


def _wider(facts: Width, now: Rung, wanted: int) -> Plan | None:
    """The same features, more of them: the first size that is large enough, and larger than the last one."""
    sizes = [s for s in SIZES if now.plan.features < s <= facts.most]
    if not sizes:
        return None
    size = next((s for s in sizes if s >= wanted), sizes[-1])
    dimension = now.plan.couples or facts.dimension
    steeper = 1.0 if now.plan.below >= 0 else (size / now.plan.features) ** (1 / dimension)
    return replace(now.plan, features=size, steepness=steeper * now.plan.steepness)


def _steepness(facts: Width) -> float:
    return STEEPNESS[facts.dimension] * (facts.first / facts.fields) ** (1 / facts.dimension)


def _levels(rungs: Sequence[Rung]) -> list[Rung]:
    """The best rung of each size, from narrow to wide."""
    sizes = sorted({r.plan.features for r in rungs})
    return [_promising([r for r in rungs if r.plan.features == size]) for size in sizes]


def _promising(rungs: Sequence[Rung]) -> Rung:
    """The best one; of those that are about as good the flattest, whose errors will fall fastest with the width."""
    best = _best(rungs).outcome.residual
    return min((r for r in rungs if r.outcome.residual <= ALIKE * best), key=lambda r: r.plan.steepness)


def _best(rungs: Sequence[Rung]) -> Rung:
    return min(rungs, key=lambda r: r.outcome.residual)


def _is_enough(facts: Width, rung: Rung) -> bool:
    """Whether a rung is so good already that nothing has to be chosen any more."""
    return rung.outcome.residual <= max(facts.goal, ROUNDING)
