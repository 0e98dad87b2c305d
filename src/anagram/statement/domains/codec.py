"""Rules for points as JSON, and back: a run must say where its points came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anagram.errors import SettingError
from anagram.statement.domains.bends import bends_as_lists, checked_bends
from anagram.statement.domains.cells import Cells
from anagram.statement.domains.graded import Graded
from anagram.statement.domains.rules import (
    Chosen,
    Counted,
    GaussLegendre,
    Grid,
    Kronecker,
    LatinHypercube,
    PerAxis,
    Redrawn,
    Sobol,
    Tangent,
    Uniform,
)

_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (Grid, GaussLegendre, Uniform, Sobol, Kronecker, LatinHypercube, Redrawn, Tangent, Cells, Graded)
}


def points_to_json(points: Any) -> Any:
    """What was said about points, as JSON; an error for rules that are not of this package."""
    if points is None or isinstance(points, str):
        return points
    if isinstance(points, int | np.integer) and not isinstance(points, bool):
        return int(points)
    if isinstance(points, Mapping):
        return {"conditions": {str(key): points_to_json(rule) for key, rule in points.items()}}
    kind = type(points).__name__
    if type(points) is Chosen:
        weights = None if points.weights is None else points.weights.tolist()
        return {"rule": kind, "columns": {a: v.tolist() for a, v in points.columns.items()}, "weights": weights}
    if _KINDS.get(kind) is not type(points):
        raise SettingError(f"the rule {points!r} for points is of a class of its own, which cannot be written down")
    if isinstance(points, PerAxis):
        axes = {axis: np.asarray(value).tolist() for axis, value in points.by_axis.items()}
        told = {"rule": kind, "count": None if points.count is None else int(points.count), "axes": axes}
        return {**told, "bends": bends_as_lists(points.bends)} if points.bends else told
    if isinstance(points, Redrawn):
        return {"rule": kind, "of": points_to_json(points.rule), "every": points.every}
    if isinstance(points, Counted):
        return {"rule": kind, "count": int(points.count)}
    if isinstance(points, Graded):
        return {"rule": kind, "count": points.count, "order": points.order, "corners": points.corners.tolist()}
    names = ("count", "order") if isinstance(points, Cells) else ("count", "how", "every", "candidates")
    return {"rule": kind, **{name: getattr(points, name) for name in names}}


def points_from_json(data: Any) -> Any:
    """The inverse of `points_to_json`."""
    if data is None or isinstance(data, str | int):
        return data
    options = dict(data)
    if "conditions" in options:
        return {str(key): points_from_json(rule) for key, rule in options["conditions"].items()}
    kind = options.pop("rule", None)
    if kind == "Chosen":
        return Chosen(weights=options["weights"], **options["columns"])
    if kind not in _KINDS:
        raise SettingError(f"there is no rule '{kind}' for points")
    if kind == "Redrawn":
        return Redrawn(points_from_json(options["of"]), options["every"])
    if issubclass(_KINDS[kind], PerAxis):
        axes = {axis: np.asarray(v, dtype=float) if isinstance(v, list) else v for axis, v in options["axes"].items()}
        rule = _KINDS[kind](**axes) if options["count"] is None else _KINDS[kind](options["count"])
        return rule.bent(checked_bends(options["bends"], kind)) if options.get("bends") else rule
    return _KINDS[kind](**options)
