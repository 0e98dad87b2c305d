"""The rungs of a climb as its summary tells them, read so that nothing in a file from someone else upsets a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 10_000  # rungs that are shown


@dataclass(frozen=True)
class ShownRung:
    """What is shown of a rung; NaN where nothing is known.

    Attributes:
        number: its place, from 1 on.
        parameters: of its network.
        points: in all conditions together.
        steps: taken.
        seconds: of training.
        spent: seconds of training up to its end.
        residual: root mean square on fresh points, in natural sizes.
        estimate: the estimated relative error.
        trusted: whether the estimate can be relied on.
        error: the true relative error.
        layers: hidden layers of its network.
        cells: whether its points move.
        stopped: why it ended.
    """

    number: int
    parameters: int
    points: int
    steps: int
    seconds: float
    spent: float
    residual: float
    estimate: float
    trusted: bool
    error: float
    layers: int
    cells: bool
    stopped: str


def shown_rungs(summary: Mapping[str, Any]) -> list[ShownRung]:
    """The rungs in a summary; none if the run was no climb."""
    rungs = summary.get("rungs")
    shown: list[ShownRung] = []
    spent = 0.0
    for rung in rungs[:MOST] if isinstance(rungs, list) else ():
        if not isinstance(rung, Mapping):
            continue
        seconds = _number(rung.get("seconds"))
        spent += 0.0 if math.isnan(seconds) else seconds
        loss = _number(rung.get("validation_loss"))
        shown.append(
            ShownRung(
                number=len(shown) + 1,
                parameters=_whole(rung.get("parameters")),
                points=_whole(rung.get("points")),
                steps=_whole(rung.get("steps")),
                seconds=seconds,
                spent=spent,
                residual=math.sqrt(2 * loss) if loss >= 0 else math.nan,
                estimate=_number(rung.get("estimate")),
                trusted=rung.get("trusted") is True,
                error=_number(rung.get("relative_error")),
                layers=_whole(rung.get("depth")),
                cells=rung.get("cells") is True,
                stopped=str(rung.get("stopped_because", "")),
            )
        )
    return shown


def tolerance_of(summary: Mapping[str, Any]) -> float | None:
    """The tolerance of a run if it had one that can be drawn."""
    tol = _number(summary.get("tol"))
    return tol if 0 < tol < 1 else None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value) if math.isfinite(value) else math.nan
    except OverflowError:
        return math.nan


def _whole(value: Any) -> int:
    found = _number(value)
    return 0 if math.isnan(found) or not 0 <= found < 2**53 else int(found)
