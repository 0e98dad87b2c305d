"""What the plots of a page show of a run: its history, its spectrum and its fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from anagram.showing.report.page.encode import array, number
from anagram.showing.report.page.fields import field_data
from anagram.showing.report.page.ladder import ladder_data
from anagram.showing.report.page.runs import Run
from anagram.showing.report.stages import beginnings, column, sketches, stretch_ends
from anagram.training.history import History

POINTS = 1500  # of a curve at most
SPECTRUM_LOOKS, SPECTRUM_VALUES = 400, 96  # of the picture of a spectrum at most
TRACES = (
    ("rank", "rank", False),
    ("damping", "damping λ", True),
    ("cutoff", "cutoff", True),
    ("step_length", "step length η", True),
    ("step_norm", "length of the step in θ", True),
)


def run_data(run: Run) -> dict[str, Any]:
    """Everything about a run that is drawn."""
    history = run.solution.history
    return {
        "letter": run.letter,
        "label": run.label,
        "problem": str(run.summary["problem"]),
        "curves": _curves(history),
        "traces": _traces(history),
        "sketch": sketches(history),
        "anew": beginnings(history),
        "stretches": stretch_ends(history, run.summary),
        "spectrum": _spectrum(history),
        "ladder": ladder_data(run),
        "fields": field_data(run.solution),
    }


def thinned(values: np.ndarray, limit: int = POINTS) -> np.ndarray:
    """Indices of at most `limit` values among which are the extremes of every stretch, and both ends."""
    if len(values) <= limit:
        return np.arange(len(values))
    finite = np.isfinite(values)
    low, high = np.where(finite, values, np.inf), np.where(finite, values, -np.inf)
    stretches = np.array_split(np.arange(len(values)), limit // 2 - 1)
    kept = {s[np.argmin(low[s])] for s in stretches} | {s[np.argmax(high[s])] for s in stretches}
    return np.array(sorted(kept | {0, len(values) - 1}))


def _curves(history: History) -> list[dict[str, Any]]:
    """The losses and the error, over steps and over training time."""
    steps, seconds, loss = _column(history, "step"), _column(history, "seconds"), column(history, "loss")
    curves = []
    if len(loss):
        times = column(history, "seconds")
        times = times if len(times) == len(loss) else np.full(len(loss), np.nan)
        counted, first = np.arange(1, len(loss) + 1), _column(history, "loss")[:1]
        if len(first) and steps[0] == 0:  # the loss before the first step is known from the first block
            counted, times = np.append(0, counted), np.append(seconds[0], times)
            loss = np.append(first, loss)
        curves.append(_curve("loss", counted, times, loss))
    for key in ("validation_loss", "l2_error"):
        values = _column(history, key)
        if np.any(values > 0):
            curves.append(_curve(key, steps, seconds, values))
    return curves


def _curve(key: str, steps: np.ndarray, seconds: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    kept = thinned(values)
    return {"key": key, "step": array(steps[kept]), "seconds": array(seconds[kept]), "value": array(values[kept], "f8")}


def _traces(history: History) -> list[dict[str, Any]]:
    traces = []
    for key, label, logarithmic in TRACES:
        values = column(history, key)
        if np.isfinite(values).any() and (not logarithmic or np.any(values > 0)):
            kept = thinned(values)
            trace = {"key": key, "label": label, "log": logarithmic}
            traces.append(trace | {"step": array(kept + 1), "value": array(values[kept], "f8")})
    return traces


def _spectrum(history: History) -> dict[str, Any] | None:
    """Singular values at the steps at which they were looked at, the largest first; None where they never were."""
    looks = [(number(block.get("step")), block.get("spectrum")) for block in history.blocks]
    known = [(step, values) for step, values in looks if step is not None and isinstance(values, list) and values]
    if not known:
        return None
    width = len(known[0][1])
    kept = [known[k] for k in _spread(len(known), SPECTRUM_LOOKS) if len(known[k][1]) == width]
    places = _spread(width, SPECTRUM_VALUES)
    values = [[np.nan if number(row[k]) is None else row[k] for k in places] for _, row in kept]
    return {
        "steps": [int(step) for step, _ in kept],
        "places": [float(place) / max(1, width - 1) for place in places],
        **array(values),
    }


def _spread(count: int, limit: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, limit)).round().astype(int))


def _column(history: History, key: str) -> np.ndarray:
    """A column of the records of blocks, NaN where there is no number."""
    found = (number(block.get(key)) for block in history.blocks)
    return np.array([np.nan if value is None else value for value in found], dtype=float)
