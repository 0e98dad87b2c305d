"""Rungs of sums of products of functions of one axis each: how many terms they have, and polynomials of what degree.

In many dimensions features are too few for all directions, and networks are slow to come to many digits. A solution
that is a sum of a few products is found at once. Each rung begins where the best one before it ended: with more
polynomials or terms, whose coefficients are zero or small at first. The coefficients of the last polynomials say how
many are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from anagram.training.rungs import Plan, Rung

FIRST_TERMS, FIRST_DEGREE = 2, 6
MOST_TERMS, MOST_DEGREE = 16, 24
TRIED_TERMS = 4  # with which a solution that is such a sum should have been found, roughly
RATIO = 0.2  # ρ*: steps need not be close to the edge
DENSITY = 4.0  # rows for each parameter
SMALL = 320  # parameters: as many as the networks of a race have, about
HELD = 0.3  # residuals above are those of nothing
TAIL = 0.3  # of the error that is aimed at: what the last polynomials may have
FINER, FINEST = 1.15, 2.4  # times the degree: less is not worth a rung, more is not believed
PAYS = 3.0  # twice as many terms that improve by less do not pay
ALIKE = 2.0  # times the residual of the best: about as good
ROUNDING = 1e-14  # tails below are rounding


class Sought(Protocol):
    """What these rungs depend on: numbers of axes and unknown fields, the error aimed at, the number of parameters."""

    @property
    def dimension(self) -> int:
        """The number of axes."""
        ...

    @property
    def fields(self) -> int:
        """The number of unknown fields."""
        ...

    @property
    def goal(self) -> float:
        """The error that is aimed at."""
        ...

    @property
    def most_parameters(self) -> int:
        """How many parameters a model may have that is trained as a whole."""
        ...


def next_of_terms(sought: Sought, rungs: Sequence[Rung]) -> Plan | None:
    """The next rung of products; None if there is none worth trying."""
    own = [r for r in rungs if r.plan.terms]
    if not own:
        return _allowed(sought, Plan(0, ratio=RATIO, density=DENSITY, terms=FIRST_TERMS, degree=FIRST_DEGREE))
    best = _simplest(own)
    held, most = best.outcome.residual <= HELD, max(r.plan.terms for r in own)
    if not held and most >= TRIED_TERMS:
        return None
    tried = {(r.plan.terms, r.plan.degree) for r in own}
    degree = needed_degree(sought, best)
    if held and degree > FINER * best.plan.degree and _degree_pays(own, best):
        finer = _allowed(sought, _with(best.plan, best.plan.terms, degree))
        if finer is not None and (finer.terms, finer.degree) not in tried:
            return finer
    if most > FIRST_TERMS and not _terms_pay(own, most):
        return None
    more = _allowed(sought, _with(best.plan, 2 * most, best.plan.degree))
    return None if more is None or (more.terms, more.degree) in tried else more


def come_first(sought: Sought, rungs: Sequence[Rung], plan: Plan, *, raced: bool) -> bool:
    """Whether products are tried before larger networks: small ones in any case, others if they are ahead."""
    if _size(sought, plan) <= SMALL:
        return True
    products, networks = ([r.outcome.residual for r in rungs if kind(r.plan)] for kind in (_has_terms, _is_network))
    return raced and bool(products) and min(products) <= min(networks, default=np.inf)


def _has_terms(plan: Plan) -> bool:
    return plan.terms > 0


def _is_network(plan: Plan) -> bool:
    return plan.is_network


def _simplest(own: Sequence[Rung]) -> Rung:
    """The smallest of those that are about as good as the best one."""
    least = min(r.outcome.residual for r in own)
    return min((r for r in own if r.outcome.residual <= ALIKE * least), key=lambda r: r.plan.terms * r.plan.degree)


def _degree_pays(own: Sequence[Rung], best: Rung) -> bool:
    """Whether polynomials of a higher degree may help: not where they did not, with as many terms."""
    lower = [r.outcome.residual for r in own if r.plan.degree < best.plan.degree and r.plan.terms == best.plan.terms]
    higher = [r for r in own if r.plan.degree > best.plan.degree and r.plan.terms >= best.plan.terms]
    return not higher and (not lower or best.outcome.residual * PAYS <= min(lower))


def needed_degree(sought: Sought, rung: Rung) -> int:
    """The degree of polynomials whose last ones are small enough: they fall geometrically."""
    tail, allowed = rung.outcome.fine_tail, max(TAIL * sought.goal, ROUNDING)
    times = np.log(allowed) / np.log(np.clip(tail, ROUNDING, 0.9))
    return min(MOST_DEGREE, int(np.ceil(rung.plan.degree * np.clip(times, 1.0, FINEST))))


def _terms_pay(own: Sequence[Rung], most: int) -> bool:
    """Whether the last rungs with more terms were better than those with fewer."""
    residuals = {more: min(r.outcome.residual for r in own if (r.plan.terms == most) is more) for more in (False, True)}
    return residuals[True] * PAYS <= residuals[False] or residuals[True] > HELD


def _with(plan: Plan, terms: int, degree: int) -> Plan:
    return Plan(plan.level, ratio=plan.ratio, density=plan.density, terms=terms, degree=degree)


def _allowed(sought: Sought, plan: Plan) -> Plan | None:
    """A plan that is not too large."""
    return plan if plan.terms <= MOST_TERMS and _size(sought, plan) <= sought.most_parameters else None


def _size(sought: Sought, plan: Plan) -> int:
    """The number of parameters."""
    return sought.fields * plan.terms * sought.dimension * (plan.degree + 1)
