"""Corners of a domain at which solutions are not smooth, found from the problem."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from anagram.models.features import Features
from anagram.models.mlp import MLP
from anagram.models.singular import Enriched, Singular
from anagram.statement.domains import Box
from anagram.statement.problem import Problem
from anagram.statement.sizes import unknowns_in
from anagram.statement.stretches import evolution_axis

MOST_CORNERS = 6  # that a model is enriched at: those with the smallest exponents
REENTRANT = np.pi + 0.02  # angles from here on; polygons with many sides that stand for a curve have smaller ones
STEP = 1e-3  # of the size of a shape: how far along a side it is asked what is given there
ON = 1e-6  # of the size: points nearer than this lie on a part of the boundary


@functools.lru_cache(maxsize=32)
def singular_corners(problem: Problem) -> tuple[Singular, ...]:
    """The corners at which solutions of an equation of the second order are not smooth, the sharpest first."""
    corners = problem.domain.corners()
    if not corners or not _is_second_order(problem):
        return ()
    found = []
    for corner in corners:
        sides = corner.start, corner.start + corner.angle
        kinds = tuple(_given(problem, corner.point, direction) for direction in sides)
        singular = Singular(corner.point.tolist(), corner.angle, corner.start, _KINDS.get(kinds, "any"))
        if singular.terms:
            found.append(singular)
    return tuple(sorted(found, key=lambda s: s.terms[0][0])[:MOST_CORNERS])


def rough_corners(problem: Problem) -> tuple[tuple[float, float], ...]:
    """Where a solution may not be smooth, whatever the equation: those of corners that turn inward, the sharpest first.

    Of a box in the plane they are all four: what is given on two sides may not fit together.
    """
    domain = problem.domain
    if domain.dimension != 2 or domain.periodic_axes or domain.parameter_axes or not domain.plane:
        return ()
    if isinstance(domain, Box):
        (a, b), (c, d) = domain.intervals.values()
        return () if evolution_axis(problem) is not None else ((a, c), (b, c), (b, d), (a, d))
    corners = sorted((c for c in domain.corners() if c.angle > REENTRANT), key=lambda c: -c.angle)
    return tuple((float(c.point[0]), float(c.point[1])) for c in corners[:MOST_CORNERS])


def corners_seen(model: Any) -> tuple[tuple[float, float], ...]:
    """The corners that a recipe sees, see `anagram.MLP`; of a module of one's own nothing is known."""
    if isinstance(model, Mapping):
        return tuple(dict.fromkeys(corner for one in model.values() for corner in corners_seen(one)))
    if isinstance(model, Enriched):
        return corners_seen(model.model)
    return model.corners if isinstance(model, MLP | Features) else ()


_KINDS: dict[tuple[str | None, ...], str] = {
    ("value", "value"): "values",
    ("slope", "slope"): "slopes",
    ("value", "slope"): "value-slope",
    ("slope", "value"): "slope-value",
}


def _columns(problem: Problem) -> list[int]:
    """The places of the axes of the shape among those of its domain."""
    return [problem.domain.axes.index(a) for a in problem.domain.space]


def _is_second_order(problem: Problem) -> bool:
    columns = _columns(problem)
    read = [u.index for key in problem.inside for node in problem.expressions[key] for u in unknowns_in(node)]
    return max((sum(index[k] for k in columns) for index in read), default=0) == 2


def _given(problem: Problem, corner: np.ndarray, direction: float) -> str | None:
    """What the conditions give on one side of a corner: a value, a slope, or something else."""
    columns = _columns(problem)
    size = float(np.max(problem.domain.lengths[columns]))
    x = problem.domain.middle
    x[columns] = corner + STEP * size * np.array([np.cos(direction), np.sin(direction)])
    found = set()
    for key in problem.conditions:
        region = problem.region(key)
        if region.dimension != problem.domain.dimension - 1 or not region.has_normal or region.end is not None:
            continue
        if min(float(part.distance(x[None])[0]) for part in region.parts) < ON * size:
            read = [sum(u.index) for node in problem.expressions[key] for u in unknowns_in(node)]
            found |= {"value" if order == 0 else "slope" for order in read[:1]} if len(set(read)) == 1 else {"both"}
    return found.pop() if len(found) == 1 else None
