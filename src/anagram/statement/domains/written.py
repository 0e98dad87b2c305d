"""Domains as JSON, and back: enough of a shape to draw it and to know what lies outside."""

from __future__ import annotations

from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.box import Box
from anagram.statement.domains.domain import Domain, Outline
from anagram.statement.domains.intervals import Interval, Parameter, Periodic, parameter
from anagram.statement.domains.outline import Outlined, straightened

FINE = 256  # points of a curved piece
MOST = 20_000  # points of an outline that is written down or read
LONGEST_NAME = 400  # characters
OFF = 1e-6  # of the size: how far an outline may lie outside of the box around it, and two of them from each other


def domain_to_json(domain: Domain) -> dict[str, Any]:
    """Its axes; of a shape also its name and, in the plane, its outline: x, y, x, y, ... for each piece."""
    found: dict[str, Any] = {"axes": {axis: [float(v) for v in ends] for axis, ends in domain.intervals.items()}}
    if domain.periodic_axes:
        found["periodic"] = list(domain.periodic_axes)
    logs = {axis: i.log for axis, i in domain.intervals.items() if isinstance(i, Parameter)}
    if logs:
        found["parameters"] = logs
    if domain.space:
        pieces = [(part, straightened(points)) for part, points in domain.outline(FINE)]
        if sum(len(points) for _, points in pieces) > MOST:
            pieces = []
        outline = [[part, points.ravel().tolist()] for part, points in pieces]
        found["shape"] = {"axes": list(domain.space), "name": repr(domain)[:LONGEST_NAME], "outline": outline}
    return found


def domain_from_json(data: Any) -> Domain:
    """A box, or what is known of a shape; a ProblemError for anything that no domain is written as."""
    around = set(data.get("periodic") or ())
    if not around <= set(data["axes"]):
        raise ProblemError("an axis that is said to be periodic does not exist")
    logs = data.get("parameters") or {}
    if not isinstance(logs, dict) or not set(logs) <= set(data["axes"]) - around:
        raise ProblemError("an axis that is said to be a parameter does not exist, or is periodic")
    box = Box(**{axis: _interval(ends, axis in around, logs.get(axis)) for axis, ends in data["axes"].items()})
    shape = data.get("shape")
    if shape is None:
        return box
    space, name = list(shape["axes"]), shape["name"]
    if len(space) not in (2, 3) or len(set(space)) < len(space) or not set(space) <= set(box.axes):
        raise ProblemError(f"a shape has two or three of the axes, not {space!r}")
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
        raise ProblemError("the name of the shape is no line of text")
    return Outlined(box.intervals, space, _outline(shape["outline"], box, space), name)


def _interval(ends: Any, around: bool, log: bool | None = None) -> Interval:
    low, high = (float(end) for end in ends)
    if log is not None:
        return parameter(low, high, log=log)
    return Periodic(low, high) if around else (low, high)


def _outline(pieces: Any, box: Box, space: list[str]) -> Outline:
    if not isinstance(pieces, list) or (pieces and len(space) != 2):
        raise ProblemError("an outline is a list of pieces in a plane")
    if sum(len(numbers) for _, numbers in pieces) > 2 * MOST:
        raise ProblemError(f"the outline has more than {MOST} points")
    low, high = np.array([box.intervals[axis] for axis in space]).T if pieces else np.zeros((2, 2))
    found: Outline = []
    for part, numbers in pieces:
        if not isinstance(part, str) or not part.isprintable() or len(part) > LONGEST_NAME:
            raise ProblemError("a part of the outline has no name")
        if len(numbers) < 4 or len(numbers) % 2 or not all(type(v) in (int, float) for v in numbers):
            raise ProblemError(f"the part '{part}' of the outline is no list of points")
        points = np.array(numbers, dtype=float).reshape(-1, 2)
        slack = OFF * (high - low)
        if not np.all((points >= low - slack) & (points <= high + slack)):
            raise ProblemError(f"the part '{part}' of the outline lies outside of the axes")
        found.append((part, points))
    return found


def look_the_same(one: Domain, other: Domain) -> bool:
    """Whether two domains are the same as far as can be told from what is written down of them."""
    if one.intervals != other.intervals or one.space != other.space:
        return False
    mine, theirs = (domain_to_json(d).get("shape", {}).get("outline", []) for d in (one, other))
    if [(part, len(numbers)) for part, numbers in mine] != [(part, len(numbers)) for part, numbers in theirs]:
        return False
    gaps = [np.max(np.abs(np.subtract(a, b))) for (_, a), (_, b) in zip(mine, theirs, strict=True)]
    return max(gaps, default=0.0) <= OFF * float(np.max(one.lengths))
