"""What users say to `Problem`, checked and put in order: conditions, unknowns, coefficients, known solutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import parameter_names
from anagram.statement.condition import Condition, Mapped
from anagram.statement.domains import Domain, Region
from anagram.statement.unknowns import Unknown


def gathered_conditions(groups: Sequence[Mapping[str, Condition]]) -> dict[str, Condition]:
    """All conditions by name, from several groups of them."""
    gathered: dict[str, Condition] = {}
    for group in groups:
        if not isinstance(group, Mapping):
            raise ProblemError(f"conditions are given by name, as in equation=Condition(...), not {group!r}")
        for key, condition in group.items():
            if key in gathered:
                raise ProblemError(f"two conditions have the name '{key}': rename one of them")
            if not isinstance(condition, Condition):
                raise ProblemError(f"'{key}' must be a Condition(...), not {type(condition).__name__}")
            gathered[key] = condition
    if not gathered:
        raise ProblemError("a problem needs at least one condition, as in equation=Condition(lambda u: ...)")
    return gathered


def first_guess(name: str, guess: Any) -> float:
    """The first guess of a coefficient."""
    value = np.asarray(guess)
    if value.ndim or not np.issubdtype(value.dtype, np.number) or np.iscomplexobj(value) or not np.isfinite(value):
        raise ProblemError(f"the coefficient '{name}' needs a finite real number as its first guess, not {guess!r}")
    return float(value)


def check_names(
    conditions: Mapping[str, Condition],
    unknowns: Sequence[str],
    coefficients: Mapping[str, float],
    axes: tuple[str, ...],
) -> None:
    """Every unknown and coefficient is used by some condition, and none is called like an axis."""
    if "outside" in axes:
        raise ProblemError(
            "the axis 'outside' needs another name: outside= says what a solution gives outside of its domain"
        )
    used = [parameter_names(condition.operator) for condition in conditions.values()]
    for kind, names in (("unknown field", unknowns), ("coefficient", coefficients)):
        for name in names:
            if name in axes:
                raise ProblemError(f"the {kind} '{name}' is called like an axis: rename it")
            if all(parameters is not None and name not in parameters for parameters in used):
                raise ProblemError(f"no condition says anything about the {kind} '{name}': no operator takes it")


def stated_unknowns(
    given: Any, conditions: Mapping[str, Condition], coefficients: Mapping[str, float], domain: Domain
) -> tuple[Unknown, ...]:
    """The unknowns, as they were said or as operators name them."""
    if given is None:
        return (Unknown(_only_name(conditions, coefficients, domain)),)
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, Mapping):
        unknowns = tuple(_unknown(str(name), kind, domain) for name, kind in given.items())
    else:
        unknowns = tuple(Unknown(str(n)) for n in given)
    names = [u.name for u in unknowns]
    if not names or len(set(names)) != len(names):
        raise ProblemError(f"unknowns need different names, at least one; got {names}")
    return unknowns


def _unknown(name: str, said: Any, domain: Domain) -> Unknown:
    """An unknown by its kind, by the region it lives on, by both, or by the axes that it depends on."""
    said = said if isinstance(said, tuple | list) else (said,)
    kinds = [s for s in said if s in (float, complex)]
    regions = [s for s in said if isinstance(s, Region)]
    along = tuple(s for s in said if isinstance(s, str))
    if len(kinds) + len(regions) + len(along) < len(said) or len(kinds) > 1 or len(regions) > 1 or not said:
        raise ProblemError(
            f"the unknown '{name}' must be float or complex, live on a region, or have names of axes, not {said!r}"
        )
    if along:
        return Unknown(name, complex in kinds, None, _own_axes(name, along, regions, domain))
    on = next(iter(regions), None)
    if on is not None and (on.dimension < domain.dimension or not on.lies_in(domain)):
        raise ProblemError(f"the unknown '{name}' lives on {on!r}, which is no part of {domain!r} with an inside")
    return Unknown(name, complex in kinds, None if on is domain else on)


def _own_axes(name: str, along: tuple[str, ...], regions: Sequence[Region], domain: Domain) -> tuple[str, ...] | None:
    """The axes that an unknown depends on; None if these are all of them."""
    wrong = [axis for axis in along if axis not in domain.axes]
    if wrong or len(set(along)) < len(along):
        raise ProblemError(
            f"the unknown '{name}' depends on {', '.join(along)}: name axes of the domain, each once; they are "
            f"{', '.join(domain.axes)}"
        )
    if regions:
        raise ProblemError(f"the unknown '{name}' lives on a region and depends on some axes only: say one of the two")
    if not domain.is_box:
        raise ProblemError(f"the unknown '{name}' depends on some axes only, which needs a box, not {domain!r}")
    return None if set(along) == set(domain.axes) else tuple(axis for axis in domain.axes if axis in along)


def _only_name(conditions: Mapping[str, Condition], coefficients: Mapping[str, float], domain: Domain) -> str:
    """The name by which every operator calls the one unknown."""
    seen: dict[str, str] = {}
    for key, condition in conditions.items():
        names = [n for n in parameter_names(condition.operator) or () if n not in domain.parameter_axes]
        for name in names:
            if name in domain.axes and len(names) > 1:
                raise ProblemError(
                    f"condition '{key}': operators take fields, not coordinates; write domain.coordinate('{name}') "
                    f"in place of the parameter '{name}'"
                )
            if name not in coefficients:
                seen.setdefault(name, key)
    if len(seen) > 1:
        uses = ", ".join(f"'{name}' (in '{key}')" for name, key in seen.items())
        raise ProblemError(
            f"the operators name several unknowns: {uses}. If these are different fields, list them: "
            f"unknowns={tuple(seen)!r}; if they are one, call it the same everywhere; "
            "a number to be learned is listed in coefficients={...}"
        )
    return next(iter(seen), "u")


def known_solutions(
    given: Any, unknowns: Sequence[Unknown], axes: tuple[str, ...]
) -> dict[str, Callable[..., Any]] | None:
    """Known solutions by unknown, as functions of many points."""
    if given is None:
        return None
    names = [u.name for u in unknowns]
    if callable(given):
        if len(names) > 1:
            raise ProblemError(f"with several unknowns the solution is given by name: solution={{'{names[0]}': ...}}")
        given = {names[0]: given}
    if not isinstance(given, Mapping) or not set(given) <= set(names) or not given:
        raise ProblemError(f"solution= must be a function of the point, or functions by unknown ({', '.join(names)})")
    return {name: Mapped(function, axes, f"the solution '{name}'") for name, function in given.items()}
