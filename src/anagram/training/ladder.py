"""The ladder: which network to train next, from what those before it showed.

Networks are small at first and trained from scratch on every rung: a step costs about the third power of the number of
parameters, so that all smaller rungs together cost a fraction of the last one. How many layers are best differs from
problem to problem by factors of up to a thousand, and is found by a race at the small end. Points become more where the
residual on fresh points says so. Where the problem itself says that there are fronts or narrow bumps, networks made for
these come first. Nothing here looks at a clock: the same problem and seed climb the same rungs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from anagram.statement.detail import Detail
from anagram.training.rungs import LEVELS, Plan, Rung
from anagram.training.terms import come_first, next_of_terms
from anagram.training.wide import MOST, MOST_DIMENSIONS, SIZES, Width, next_above, next_near_corners, next_spread

SEES_BUMPS = 480  # features of a field with which narrow bumps in the data of a linear equation are looked for
DEAR = 960  # features that cost more than small networks do
FEW_DIGITS = 1e-4  # tolerances from here on are tried with the smallest network first
RACE = 1  # the level at which numbers of layers race
# Numbers of layers in the order in which they race: in two dimensions at most, in three, and in more.
DEPTHS, DEPTHS_IN_SPACE, DEPTHS_IN_MANY = (2, 3, 1), (2, 1, 3), (1, 2)
LOOSE, CLOSE, CLOSEST = 0.2, 0.075, 0.02  # ρ*: steps far from the edge are quick and end early
DENSER = 2.5
FRONTS = 8.0  # rows for each parameter of a network made for fronts
FINE, FINEST = 36.0, 60.0  # polynomials that data need: they have narrow bumps; a small network does not hold them
THIN = 32.0  # half waves from which the highest derivatives of an equation outweigh its other terms: it makes fronts
PERHAPS = 0.5  # of these numbers: fronts and bumps are not ruled out
BEHIND = 10.0  # times the residual of the best: a number of layers that is out of the race
LOST = 3e-3  # residuals above say that a solution is not got hold of
DENSEST = 40.0  # rows for each parameter at most
ENOUGH = 3.0  # a level that improves by less than this factor does not pay
ALIKE, ALIKE_WITHIN = 3, 1.2  # so many rungs with residuals within this factor
FITTED = 0.1  # residuals above, in natural sizes, are those of data that are not fitted at all
NEAR_ROUNDING = 1e-10  # residuals below which one level that does not pay is enough
ROUNDING = 1e-13  # relative errors below are rounding


@dataclass(frozen=True)
class Facts:
    """What the choice of rungs depends on besides the rungs themselves."""

    dimension: int
    linear: bool
    has_data: bool
    tol: float
    most_parameters: int
    points_given: bool = False
    detail: Detail = field(default_factory=Detail)
    fields: int = 1
    has_noise: bool = False  # whether it is said of the data how noisy they are: their residual then tells
    wide: bool = True  # whether networks of which only the last layer is learned are tried
    known: Plan | None = None  # features that were good enough for a problem much like this one
    most_features: int = MOST
    marches: bool = False  # whether it is a stretch of an evolution in space
    bent: bool = False  # whether coordinates are bent for narrow bumps in its data
    corners: int = 0  # re-entrant ones of a shape in the plane
    fine: int = 0  # axes that share the functions of a split, see `fine_axes`; 0 where splits are not for this domain

    @property
    def fineness(self) -> float:
        """How much the problem itself says of fronts and bumps; from 1 on they are expected."""
        thin = 0.0 if self.linear else self.detail.operator / THIN
        return max(self.detail.data / FINE, thin)

    def width(self, most: int | None = None) -> Width:
        """What the width of features depends on, and how many of them there may be."""
        most = self.most_features if most is None else most
        race = 0
        if self.detail.data >= FINE:  # narrow bumps are not seen by few points
            race = next((s for s in SIZES if SEES_BUMPS * self.fields <= s <= self.most_features), self.most_features)
        known = self.known
        most = max(most, min(2 * known.features, self.most_features)) if known is not None else most
        splits = {"known": known, "fine": self.fine, "marches": self.marches, "bent": self.bent}
        splits |= {"corners": self.corners}
        return Width(self.dimension, self.fields, self.goal, self.linear, most, race, **splits)

    @property
    def goal(self) -> float:
        """The relative error that is aimed at."""
        return max(self.tol, ROUNDING)


def first_plan(facts: Facts) -> Plan:
    """A network that is small, and as large as the number of digits asks for; or one for fronts that are expected."""
    if facts.fineness < 1 or facts.points_given:
        return _base(facts, 0 if facts.tol >= FEW_DIGITS else RACE)
    # Fronts that an equation makes by itself are not where the data are: a small network finds another solution.
    held = facts.detail.data < FINEST and (facts.linear or facts.detail.operator < THIN)
    allowed = sum(size <= facts.most_parameters for size in LEVELS)
    return _made_for_fronts(facts, max(0, min(RACE if held else RACE + 1, allowed - 1)))


def next_plan(facts: Facts, rungs: Sequence[Rung]) -> Plan | None:
    """The network after these; None if no other is worth trying."""
    if facts.has_data and _all_alike(rungs) and (not facts.has_noise or best(rungs).outcome.residual < FITTED):
        return None
    networks = [r for r in rungs if r.plan.is_network]
    other = _next_wide(facts, rungs, networks) or _next_of_terms(facts, rungs, networks)
    if other is not None:
        return other
    if not networks:
        return first_plan(facts)
    plan, tried = _next(facts, networks), {r.plan for r in networks}
    while plan in tried:
        plan = _higher(facts, networks, plan)
    return plan


def _next_wide(facts: Facts, rungs: Sequence[Rung], networks: Sequence[Rung]) -> Plan | None:
    """A wide network of which only the last layer is learned: first of all, and on top of every network that holds."""
    if facts.points_given or not facts.wide:
        return None
    spread = None
    # Where not even small networks see all of the data, others come first.
    if facts.linear or facts.known is not None or facts.bent or facts.marches or facts.detail.data < FINE:
        # A nonlinear equation is solved several times: small networks are cheaper than very many features.
        dear = (
            not facts.linear
            and not facts.marches
            and all(r.plan.level < RACE for r in networks)
            and not best_is_waves(rungs)
        )
        spread = next_spread(facts.width(DEAR if dear else None), rungs)
        spread = spread or next_near_corners(facts.width(), rungs)
    return spread or next_above(facts.width(), rungs)


def _next_of_terms(facts: Facts, rungs: Sequence[Rung], networks: Sequence[Rung]) -> Plan | None:
    """A sum of products, in dimensions that are too many for features."""
    if facts.points_given or facts.dimension <= MOST_DIMENSIONS:
        return None
    raced = {r.plan.depth for r in networks if r.plan.level == RACE} >= set(_depths(facts))
    plan = next_of_terms(facts, rungs)
    return plan if plan is not None and come_first(facts, rungs, plan, raced=raced) else None


def _next(facts: Facts, rungs: Sequence[Rung]) -> Plan | None:
    last = rungs[-1]
    if all(_is_for_fronts(r.plan) for r in rungs) and best(rungs).outcome.residual > LOST:
        return _base(facts, RACE)  # there may be none
    denser = _denser(facts, last, rungs)
    if denser is not None:
        return denser
    level = last.plan.level
    here = [r for r in rungs if r.plan.level == level]
    racing = [r for r in here if not _is_for_fronts(r.plan)]
    if level == RACE and racing and not _on_course(facts, rungs):
        for depth in _depths(facts):
            if all(r.plan.depth != depth for r in racing):
                return replace(best(racing).plan, depth=depth)
        if _is_lost(facts, here):
            return _for_fronts(facts, rungs, level + 1)
    if level > RACE:
        other = _variant(rungs, here)
        if other is not None:
            return other
    return _above(facts, rungs, here)


def best_is_waves(rungs: Sequence[Rung]) -> bool:
    """Whether waves are better than what else was tried: then more of them are, too."""
    return bool(rungs) and best(rungs).plan.waves > 0


def best(rungs: Sequence[Rung]) -> Rung:
    """The one with the smallest residual on fresh points."""
    return min(rungs, key=lambda r: r.outcome.residual)


def _base(facts: Facts, level: int) -> Plan:
    return Plan(level, _depths(facts)[0], ratio=_ratio(facts, level), density=_density(facts))


def _higher(facts: Facts, rungs: Sequence[Rung], plan: Plan) -> Plan | None:
    level = plan.level + 1
    if level >= len(LEVELS) or LEVELS[level] > facts.most_parameters:
        return None
    tried = sorted({r.plan.level for r in rungs})
    residuals = [best([r for r in rungs if r.plan.level == k]).outcome.residual for k in tried]
    if len(tried) > 1 and residuals[-2] < NEAR_ROUNDING and residuals[-1] * ENOUGH > residuals[-2]:
        return None
    # Two levels in a row that do not pay: a floor that no network of this kind gets below.
    if len(tried) > 3 and residuals[-1] * ENOUGH > residuals[-2] and residuals[-2] * ENOUGH > residuals[-3]:
        return None
    # Above the race ρ* is the best one of those that were tried.
    ratio = plan.ratio if plan.level > RACE else min(plan.ratio, _ratio(facts, level))
    return replace(plan, level=level, ratio=ratio)


def _denser(facts: Facts, last: Rung, rungs: Sequence[Rung]) -> Plan | None:
    """The same network on more points, where it fits those it has and not the equation between them.

    Where not even these are fitted to the tolerance a larger network will be needed anyway: it has more points at once.
    Up to the race another try costs little, and which network is best is not seen on too few points.
    """
    outcome = last.outcome
    fits = outcome.own_residual <= ENOUGH * facts.goal or last.plan.level <= RACE
    same = [r for r in rungs if (r.plan.level, r.plan.depth) == (last.plan.level, last.plan.depth)]
    if not outcome.overfitted or outcome.residual <= facts.goal or not fits or len(same) > 2:
        return None
    return _with_more_points(facts, last.plan)


def _with_more_points(facts: Facts, plan: Plan) -> Plan | None:
    """A plan with more points; where there are many already, with cells that move to where the residual is."""
    if facts.points_given or plan.cells:
        return None
    if plan.density > _density(facts) and facts.dimension <= 2:
        return replace(plan, cells=True)
    denser = plan.density * DENSER
    return replace(plan, density=denser) if denser <= DENSEST else None


def _above(facts: Facts, rungs: Sequence[Rung], here: Sequence[Rung]) -> Plan | None:
    """The best plan of a level, on the next one; with more points if it had too few, and more were not tried."""
    now = best(here)
    higher = _higher(facts, rungs, now.plan)
    if higher is None or not now.outcome.overfitted or now.outcome.residual <= facts.goal:
        return higher
    if any(r.plan.depth == now.plan.depth and r.plan.density > now.plan.density for r in here):
        return higher
    return _with_more_points(facts, higher) or higher


def _on_course(facts: Facts, rungs: Sequence[Rung]) -> bool:
    """Whether errors fall so fast with the size that the next level should be enough."""
    lower = [r for r in rungs if r.plan.level == RACE - 1]
    now = best([r for r in rungs if r.plan.level == RACE]).outcome.residual
    before = best(lower).outcome.residual if lower else 1.0
    return now**2 / max(before, now) <= facts.goal


def _all_alike(rungs: Sequence[Rung]) -> bool:
    """Whether networks of all kinds end at the same residual: that of data with noise, which none of them fits."""
    residuals = [r.outcome.residual for r in rungs[-ALIKE:]]
    return len(residuals) == ALIKE and max(residuals) < ALIKE_WITHIN * min(residuals)


def _is_lost(facts: Facts, here: Sequence[Rung]) -> bool:
    """Whether no number of layers got hold of the solution, and it may be one with fronts or bumps.

    The residual of a nonlinear equation may be small all the same: it is that of another solution.
    """
    # A network that fits its points may need more of them, and nothing else.
    lost = best(here).outcome.own_residual > LOST and facts.dimension <= 2
    if not facts.linear:
        return lost
    return lost and any(r.outcome.overfitted for r in here) and not _are_smooth(facts)


def _are_smooth(facts: Facts) -> bool:
    """Whether the solutions of a linear equation have neither layers nor bumps, by its data and terms."""
    looked_at = facts.dimension == 2
    return looked_at and facts.detail.data < PERHAPS * FINE and facts.detail.operator < PERHAPS * THIN


def _is_for_fronts(plan: Plan) -> bool:
    return plan.cells and plan.scale > 1


def _made_for_fronts(facts: Facts, level: int) -> Plan:
    """A network with steep inputs, and points in cells that move to where the residual is."""
    ratio = LOOSE if facts.tol >= FEW_DIGITS else CLOSE
    return Plan(level, depth=3, scale=2.0, cells=True, ratio=ratio, density=FRONTS)


def _for_fronts(facts: Facts, rungs: Sequence[Rung], level: int) -> Plan | None:
    """A network made for fronts of this level, on as many points as were needed so far."""
    higher = _higher(facts, rungs, replace(best(rungs).plan, level=level - 1))
    if higher is None:
        return None
    return replace(_made_for_fronts(facts, level), density=max(FRONTS, higher.density))


def _variant(rungs: Sequence[Rung], here: Sequence[Rung]) -> Plan | None:
    """Another form of a level that did not pay: other layers, steps closer to the edge, or steeper inputs.

    Numbers of layers that did not race may be better; those that lost by far are left out.
    """
    lower = [r for r in rungs if r.plan.level < here[0].plan.level]
    now = best(here)
    held = now.outcome.residual <= LOST
    first = len(here) == 1 and now.plan.level == RACE + 1
    if first and held and now.plan.ratio > CLOSE and not now.plan.cells:
        # Loose steps end early: closer to the edge the same network may do, for less than a larger one costs.
        return replace(now.plan, ratio=CLOSE)
    if not lower or now.outcome.residual * ENOUGH < best(lower).outcome.residual or len(here) > 3:
        return None
    raced = {r.plan.depth for r in lower}
    level_with = BEHIND * best(lower).outcome.residual
    behind = {d for d in raced if best([r for r in lower if r.plan.depth == d]).outcome.residual > level_with}
    tried = {(r.plan.depth, r.plan.ratio, r.plan.scale) for r in here}
    base = now.plan
    # Fronts want three layers: what is chosen for them is not raced.
    depths = [] if _is_for_fronts(base) else [d for d in DEPTHS if d != base.depth]
    # Steps that were quick below and slow here, with little gain, are taken quickly here too.
    looser = max(best(lower).plan.ratio, base.ratio) if held else base.ratio
    closer = CLOSE if base.ratio > CLOSE and (held or _is_for_fronts(base)) else CLOSEST
    others = [
        replace(base, ratio=looser),
        *(replace(base, depth=depth) for depth in depths if depth not in raced),
        replace(base, ratio=closer),
        *(replace(base, depth=depth) for depth in depths if depth in raced - behind),
        replace(base, scale=2.0),
    ]
    return next((p for p in others if (p.depth, p.ratio, p.scale) not in tried), None)


def _depths(facts: Facts) -> tuple[int, ...]:
    if facts.dimension > 3:
        return DEPTHS_IN_MANY
    return DEPTHS if facts.dimension <= 2 else DEPTHS_IN_SPACE


def _ratio(facts: Facts, level: int) -> float:
    """ρ*: the larger, the sooner the first digits come, and the fewer there are in the end."""
    return LOOSE if facts.tol >= FEW_DIGITS or (facts.tol >= 1e-7 and level <= RACE) else CLOSE


def _density(facts: Facts) -> float:
    return 4.0 if facts.dimension <= 3 else 6.0
