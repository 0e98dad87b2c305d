"""Members of families: domains and regions without the axes of their parameters, which are held at some values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.box import Box, Face
from anagram.statement.domains.domain import Domain
from anagram.statement.domains.outline import Outlined
from anagram.statement.domains.patch import Patch, Patches
from anagram.statement.domains.region import WITHIN, PointSet, Region, Union
from anagram.statement.domains.shape import Patched, Product
from anagram.statement.domains.slices import Slice

Held = Mapping[str, float | None]  # None where the value does not matter


def checked_member(domain: Domain, held: Mapping[str, object]) -> dict[str, float]:
    """The values at which parameters are held; an error if one is no parameter, or lies outside of its values."""
    parameters = domain.parameter_axes
    if not parameters:
        raise ProblemError(f"{domain!r} has no parameters: an axis such as nu=ag.parameter(0.01, 1) is one")
    if not held:
        raise ProblemError(f"name the parameters that are held, as in at({parameters[0]}=...)")
    found: dict[str, float] = {}
    for axis, value in held.items():
        if axis not in parameters:
            what = "a coordinate, and no parameter" if axis in domain.axes else "no parameter"
            raise ProblemError(f"'{axis}' is {what}: the parameters are {', '.join(parameters)}")
        low, high = domain.intervals[axis]
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not low <= float(value) <= high:  # pyright: ignore[reportArgumentType]
            raise ProblemError(f"the parameter {axis} is a number between {low:g} and {high:g}, not {value!r}")
        found[axis] = float(value)  # pyright: ignore[reportArgumentType]
    return found


def member_domain(domain: Domain, held: Held) -> Domain:
    """The domain of one member of a family: without the axes of the parameters that are held."""
    rest = {axis: interval for axis, interval in domain.intervals.items() if axis not in held}
    if not rest:
        raise ProblemError(f"nothing is left of {domain!r} if all of its axes are held")
    if isinstance(domain, Box):
        return Box(**rest)
    if isinstance(domain, Product):
        factors = [f for f in (_factor(factor, held) for factor in domain.factors) if f is not None]
        return Product(*factors) if len(factors) > 1 else domain.shape
    if isinstance(domain, Outlined):
        return Outlined(rest, domain.space, domain.outline(), domain.name)
    return domain


def _factor(factor: Box | Patched, held: Held) -> Box | Patched | None:
    if not isinstance(factor, Box):
        return factor
    rest = {axis: interval for axis, interval in factor.intervals.items() if axis not in held}
    return Box(**rest) if rest else None


def member_region(region: Region, held: Held) -> Region | None:
    """The part of a region that belongs to one member of a family; None if it has none.

    Isolated points belong to the member whose parameters they have.
    """
    if isinstance(region, Patches):
        owner = member_domain(region.owner, held) if isinstance(region.owner, Domain) else region.owner
        return Patches([_patch(p, held) for p in region.parts if isinstance(p, Patch)], region.label, owner)
    if isinstance(region, Domain):
        own = {axis: value for axis, value in held.items() if axis in region.axes}
        inside = [v is None or region.intervals[a][0] <= v <= region.intervals[a][1] for a, v in own.items()]
        return member_domain(region, own) if all(inside) else None
    if isinstance(region, Union):
        parts = [part for part in (member_region(part, held) for part in region.parts) if part is not None]
        return Union(tuple(parts)) if parts else None
    if isinstance(region, Patch):
        return _patch(region, held)
    if isinstance(region, Face):
        box = member_domain(region.box, held)
        return Face(box, region.axis, region.upper) if isinstance(box, Box) else None
    if isinstance(region, Slice):
        if any(held.get(axis) not in (None, value) for axis, value in region.held.items()):
            return None
        rest, box = {a: v for a, v in region.held.items() if a not in held}, member_domain(region.box, held)
        return type(region)(box, rest) if rest else box
    if isinstance(region, PointSet):
        return _points(region, held)
    raise ProblemError(f"nobody knows what {region!r} is for one member of a family")


def of_every_member(region: Region, parameters: Sequence[str]) -> Region:
    """A region that is the same for all members of a family, without the axes of the parameters."""
    if not parameters:
        return region
    for part in region.parts:
        single = [axis for axis in parameters if isinstance(part, Slice) and axis in part.held]
        if single:
            raise ProblemError(
                f"{region!r} holds the parameter {single[0]}, and integrals are those of every member: integrate "
                f"u.at({single[0]}=...) over a region in which it is not held"
            )
    found = member_region(region, dict.fromkeys(parameters))
    assert found is not None
    return found


def _patch(patch: Patch, held: Held) -> Patch:
    axes = tuple(axis for axis in patch.axes if axis not in held)
    box = {axis: interval for axis, interval in patch.box.items() if axis not in held}
    return Patch(patch.chart, patch.space, patch.size, axes, box, patch.held)


def _points(points: PointSet, held: Held) -> PointSet | None:
    near = np.ones(len(points.x), dtype=bool)
    for axis, value in held.items():
        if value is not None:
            near &= np.abs(points.x[:, points.axes.index(axis)] - value) <= WITHIN * max(1.0, abs(value))
    axes = tuple(axis for axis in points.axes if axis not in held)
    kept = [points.axes.index(axis) for axis in axes]
    return PointSet(axes, points.x[near][:, kept]) if near.any() else None
