"""Domains, regions and points cut along an axis: what of them lies between two values of it."""

from __future__ import annotations

import numpy as np

from anagram.errors import SettingError
from anagram.statement.domains.box import Box, Face
from anagram.statement.domains.domain import Domain
from anagram.statement.domains.intervals import Interval, between
from anagram.statement.domains.outline import Outlined
from anagram.statement.domains.patch import Held, Patch, Patches
from anagram.statement.domains.region import Region, Union
from anagram.statement.domains.rules import Chosen
from anagram.statement.domains.shape import Product
from anagram.statement.domains.slices import Along, Slice


def can_be_cut(domain: Domain, axis: str) -> bool:
    """Whether an axis has two ends between which the domain is everywhere the same."""
    kinds = isinstance(domain, Box | Product | Outlined)
    others = (*domain.periodic_axes, *domain.space)
    return kinds and axis in domain.axes and axis not in others


def cut_domain(domain: Domain, axis: str, low: float, high: float) -> Domain | None:
    """The domain between two values of an axis; None where it cannot be cut along it."""
    if not can_be_cut(domain, axis):
        return None
    if isinstance(domain, Product):
        # The shape stays the same one, with all that it knows already.
        return Product(*(_cut_box(f, axis, low, high) if isinstance(f, Box) else f for f in domain.factors))
    if isinstance(domain, Outlined):
        return domain.between(axis, low, high)
    return _cut_box(domain, axis, low, high) if isinstance(domain, Box) else None


def begins(region: Region, axis: str, at: float) -> bool:
    """Whether a part of a region lies on the face where an axis begins."""
    if region.end != (axis, False):
        return False
    return (isinstance(region, Face) and region.value == at) or (
        isinstance(region, Patch) and region.held is not None and region.held.value == at
    )


def cut_region(region: Region, domain: Domain, axis: str, whole: Interval) -> Region | None:
    """The part of a region that lies in a domain that was cut out; None if it is not the same all along the axis.

    Regions where the axis begins are those where the cut begins.

    Args:
        region: a region of the whole domain.
        domain: what was cut out of it.
        axis: the axis that was cut.
        whole: its interval before.
    """
    low, high = domain.intervals[axis]
    if isinstance(region, Patches):
        patches = [cut_region(patch, domain, axis, whole) for patch in region.parts]
        return None if None in patches else Patches([p for p in patches if isinstance(p, Patch)], region.label, domain)
    if isinstance(region, Domain):
        return cut_domain(region, axis, low, high) if tuple(region.intervals[axis]) == tuple(whole) else None
    if isinstance(region, Union):
        parts = [cut_region(part, domain, axis, whole) for part in region.parts]
        return None if None in parts else Union(tuple(p for p in parts if p is not None))
    if isinstance(region, Patch):
        return _cut_patch(region, axis, whole, low, high)
    if not isinstance(region, Face | Slice) or tuple(region.box.intervals[axis]) != tuple(whole):
        return None
    box = cut_domain(region.box, axis, low, high)
    if isinstance(region, Face) and isinstance(box, Box):
        return Face(box, region.axis, region.upper) if region.end != (axis, True) else None
    if isinstance(region, Slice) and not isinstance(region, Along) and box is not None and axis not in region.held:
        return Slice(box, region.held)
    return None


def cut_points(points: Chosen, axis: str, low: float, high: float) -> Chosen:
    """Those of the points that were chosen that lie between two values of an axis."""
    if axis not in points.columns:
        return points
    kept = (points.columns[axis] >= low) & (points.columns[axis] <= high)
    if not np.any(kept):
        raise SettingError(f"Chosen has no points between {axis}={low:g} and {axis}={high:g}: each stretch needs some")
    weights = None if points.weights is None else points.weights[kept]
    return Chosen(weights=weights, **{name: values[kept] for name, values in points.columns.items()})


def _cut_box(box: Box, axis: str, low: float, high: float) -> Box:
    if axis not in box.axes:
        return box
    return Box(**{**box.intervals, axis: between(box.intervals[axis], low, high)})


def _cut_patch(patch: Patch, axis: str, whole: Interval, low: float, high: float) -> Patch | None:
    if tuple(patch.box.get(axis, ())) != tuple(whole) or patch.end == (axis, True):
        return None
    held = Held(axis, low, False) if patch.end == (axis, False) else patch.held
    box = {**patch.box, axis: between(patch.box[axis], low, high)}
    return Patch(patch.chart, patch.space, patch.size, patch.axes, box, held)
