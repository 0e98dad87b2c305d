"""Polygons in the formats of others: GeoJSON and well-known text. Both are data: nothing is executed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError, ProblemError
from anagram.untrusted import read_json, read_text

MOST_VERTICES = 10_000  # of a polygon; each of them costs about one patch
LARGEST_FILE = 16 * 2**20  # bytes; far more than that many vertices take
FEATURES_DEEP = 8  # collections within each other

Rings = list[tuple[Any, Sequence[Any]]]  # outer rings, each with its holes


def from_geojson(source: str | PathLike[str]) -> Rings:
    """The rings in a file of GeoJSON, or in its text."""
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        if len(source) > LARGEST_FILE:
            raise ProblemError(f"GeoJSON is longer than {LARGEST_FILE} characters: simplify its polygons first")
        return _parsed(source)
    try:
        text = read_text(Path(source), LARGEST_FILE)
    except (OSError, ValueError, TypeError) as reason:
        raise FileError(f"'{source}' cannot be read as a file of GeoJSON: {reason}") from None
    try:
        return _parsed(text)
    except ProblemError as reason:
        raise FileError(f"the file '{source}' holds no usable polygon: {reason}") from None


def _parsed(text: str) -> Rings:
    try:
        value = read_json(text)
    except ValueError as reason:
        raise ProblemError(f"GeoJSON is broken or cut off: {reason}") from None
    return from_mapping(value)


def from_mapping(value: Any) -> Rings:
    """The rings of a geometry, feature or collection, as GeoJSON describes them."""
    rings = _rings(value, 0)
    if not rings:
        raise ProblemError("GeoJSON without a Polygon or MultiPolygon in it")
    return _counted(rings)


def _rings(value: Any, depth: int) -> Rings:
    kind = value.get("type") if isinstance(value, Mapping) else None
    if depth > FEATURES_DEEP:
        raise ProblemError("collections of GeoJSON are nested too deeply")
    if kind == "Feature":
        return _rings(value.get("geometry"), depth + 1)
    if kind in ("FeatureCollection", "GeometryCollection"):
        inner = value.get("features" if kind == "FeatureCollection" else "geometries")
        return [rings for entry in _listed(inner, kind) for rings in _rings(entry, depth + 1)]
    if kind not in ("Polygon", "MultiPolygon"):
        raise ProblemError(f"a Polygon or a MultiPolygon is needed, not {_shown(value if kind is None else kind)}")
    coordinates = _listed(value.get("coordinates"), kind)
    return [_piece(piece, kind) for piece in ([coordinates] if kind == "Polygon" else coordinates)]


def _listed(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise ProblemError(f"a {what} of GeoJSON has a list in it, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _piece(rings: Any, what: str) -> tuple[Any, Sequence[Any]]:
    found = [_ring(ring, what) for ring in _listed(rings, what)]
    if not found:
        raise ProblemError(f"a {what} of GeoJSON has no rings")
    return found[0], found[1:]


def _ring(ring: Any, what: str) -> np.ndarray:
    points = _listed(ring, what)
    if len(points) > MOST_VERTICES:
        raise ProblemError(f"a ring has {len(points)} vertices: at most {MOST_VERTICES} are read; simplify it first")
    pairs = []
    for point in points:
        # A third number is a height, which the plane does not have.
        if (
            not isinstance(point, list | tuple)
            or not 2 <= len(point) <= 4
            or not all(isinstance(v, int | float) and not isinstance(v, bool) for v in point)
        ):
            raise ProblemError(f"a vertex has two numbers, not {_shown(point)}")
        try:
            pairs.append((float(point[0]), float(point[1])))
        except OverflowError:
            raise ProblemError("a vertex is not finite") from None
    return _closed(np.array(pairs, dtype=float).reshape(-1, 2))


def _closed(ring: np.ndarray) -> np.ndarray:
    if len(ring) < 4 or not np.array_equal(ring[0], ring[-1]):
        raise ProblemError("a ring is not closed: it needs four vertices, and the last one is the first one again")
    return ring[:-1]


def _counted(rings: Rings) -> Rings:
    count = sum(len(ring) for outer, holes in rings for ring in (outer, *holes))
    if count > MOST_VERTICES:
        raise ProblemError(f"{count} vertices are more than the {MOST_VERTICES} that are read: simplify them first")
    return rings


# -- well-known text ------------------------------------------------------------------------------------
_HEAD = re.compile(r"\s*(?:SRID=\d+;)?\s*(MULTIPOLYGON|POLYGON)\s*(?:ZM?|M)?\s*", re.IGNORECASE)
_TOKEN = re.compile(r"\s*([(),]|[^\s(),]+)")


def from_wkt(text: str) -> Rings:
    """The rings in well-known text."""
    if not isinstance(text, str):
        raise ProblemError(f"well-known text is a str, not {_shown(text)}")
    if len(text) > LARGEST_FILE:
        raise ProblemError(f"well-known text is longer than {LARGEST_FILE} characters: simplify its polygons first")
    head = _HEAD.match(text)
    if head is None:
        raise ProblemError(f"well-known text begins with POLYGON or MULTIPOLYGON, not with {text[:40]!r}")
    nested = _nested(text[head.end() :])
    rings = [_piece(piece, "polygon") for piece in (nested if head[1].upper() == "MULTIPOLYGON" else [nested])]
    if not rings:
        raise ProblemError("well-known text without a polygon in it")
    return _counted(rings)


def _nested(text: str) -> list[Any]:
    """Brackets within brackets as lists; between commas stand the numbers of a vertex."""
    stack: list[list[Any]] = [[]]
    vertex: list[float] = []
    for token in _TOKEN.findall(text):
        if token in "(),":
            if vertex:
                stack[-1].append(vertex)
                vertex = []
            if token == "(":
                stack.append([])
            elif token == ")":
                if len(stack) == 1:
                    raise ProblemError("well-known text closes a bracket that it did not open")
                done = stack.pop()
                stack[-1].append(done)
            if len(stack) > 4:
                raise ProblemError("well-known text has too many brackets within each other")
        else:
            try:
                vertex.append(float(token))
            except ValueError:
                raise ProblemError(f"well-known text has {token[:40]!r} in the place of a number") from None
    if len(stack) != 1 or len(stack[0]) != 1 or vertex or not isinstance(stack[0][0], list):
        raise ProblemError("well-known text ends before its brackets are closed, or goes on after them")
    return stack[0][0]
