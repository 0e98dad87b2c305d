"""What a study came to: a table, and figures of errors over options, over time and over steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from anagram.programs.sweep.grid import Combination
from anagram.programs.sweep.runner import Outcome
from anagram.showing.report.style import STYLE, finish

COLOURS = ("#20639b", "#e07a1f", "#3a8f5c", "#b5446e", "#6b4fa0", "#8c6d46", "#4d9db4", "#7f7f7f")
COLUMNS = ("runs", "failed", "median error", "best", "worst", "loss on fresh points", "steps", "seconds")
MOST_LINES = 12  # in one figure
FINE = 200


def grouped(outcomes: Sequence[Outcome]) -> dict[Combination, list[Outcome]]:
    """The seeds of each combination together."""
    groups: dict[Combination, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.combination, []).append(outcome)
    return groups


def rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One row for each combination: medians over its seeds, and the range of the errors."""
    result = []
    for combination, group in grouped(outcomes).items():
        good = [o.solution for o in group if o.solution is not None and not o.solution.failed]
        errors = _known([s.l2_error for s in good])
        result.append(
            {
                **{k: v for k, v in combination.options if k in combination.swept},
                "method": combination.method,
                "runs": len(group),
                "failed": len(group) - len(good),
                "median error": _median(errors),
                "best": min(errors, default=None),
                "worst": max(errors, default=None),
                "loss on fresh points": _median([s.validation_loss for s in good]),
                "steps": _median([s.summary["steps"] for s in good]),
                "seconds": _median([s.summary["seconds"] for s in good]),
            }
        )
    return result


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The table, with the lowest error, or else the lowest loss, in bold."""
    table = rows(outcomes)
    keys = list(dict.fromkeys(k for row in table for k in row))
    key = "median error" if any(r["median error"] is not None for r in table) else "loss on fresh points"
    known = [r[key] for r in table if r[key] is not None]
    lines = [f"| {' | '.join(keys)} |", f"|{'---|' * len(keys)}"]
    for row in table:
        best = bool(known) and row[key] == min(known)
        cells = [f"**{cell(row.get(k))}**" if best and k == key else cell(row.get(k)) for k in keys]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(value: Any) -> str:
    """A value as the table shows it."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 0.01 else f"{value:.1e}"
    return str(value).replace("|", "\\|")


def study_figure(outcomes: Sequence[Outcome], title: str, path: str | Path | None = None) -> Figure:
    """Errors (losses on fresh points where no solution is known) of all runs, over the first option and over time."""
    groups = grouped([o for o in outcomes if o.solution is not None])
    name = _quantity(outcomes)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        key, places = _places(list(groups))
        for line, members in _lines(groups, key).items():
            colour = COLOURS[list(_lines(groups, key)).index(line) % len(COLOURS)]
            medians = []
            for combination in members:
                values = [_value(o, name) for o in groups[combination]]
                seconds = [o.solution.summary["seconds"] for o in groups[combination] if o.solution is not None]
                x = places[combination]
                left.plot([x] * len(values), values, "o", color=colour, ms=4, alpha=0.55, mew=0)
                right.plot(seconds, values, "o", color=colour, ms=4, alpha=0.75, mew=0)
                medians.append((x, float(np.nanmedian(values))))
            medians.sort()
            left.plot(*zip(*medians, strict=True), "-", marker="_", ms=12, color=colour, lw=1.2, label=line or None)
        if key is not None and _wide(list(places.values())) and _numeric(list(groups), key):
            left.set_xscale("log")
        # Every value that was tried has its tick, and no other.
        labels = {x: _category(c, key) for c, x in places.items()}
        left.set_xticks(list(labels), list(labels.values()), rotation=20 if max(map(len, labels.values())) > 6 else 0)
        left.set_xticks([], minor=True)
        left.margins(x=0.15)
        left.set(xlabel=key or "", ylabel=f"{name} (dots: seeds, bars: medians)", yscale="log")
        times = [o.solution.summary["seconds"] for o in outcomes if o.solution is not None]
        right.set(xlabel="training time (s)", yscale="log", xscale="log" if _wide(times) else "linear")
        if not _wide(times):
            right.set_xlim(left=0)
        for ax in (left, right):
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
        if len(_lines(groups, key)) > 1:
            left.legend(fontsize=8)
        figure.suptitle(title, fontsize=11)
        return finish(figure, path)


def convergence_figure(outcomes: Sequence[Outcome], title: str, path: str | Path | None = None) -> Figure:
    """Medians over the seeds against steps and training time, with the range of all seeds."""
    groups = grouped([o for o in outcomes if o.solution is not None])
    name, column = _quantity(outcomes), "l2_error" if _quantity(outcomes) == "L² error" else "validation_loss"
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.5, 4.2), layout="constrained")
        for ax, against, label in zip(
            figure.subplots(1, 2, sharey=True), ("step", "seconds"), ("step", "training time (s)"), strict=True
        ):
            for k, (combination, group) in enumerate(list(groups.items())[:MOST_LINES]):
                x, middle, low, high = _band(group, against, column)
                colour = COLOURS[k % len(COLOURS)]
                style = "-" if k < len(COLOURS) else "--"
                ax.fill_between(x, low, high, color=colour, alpha=0.15, lw=0)
                ax.plot(x, middle, style, color=colour, lw=1.5, label=combination.label)
            ax.set(xlabel=label, yscale="log")
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
            if against == "step":
                ax.set_ylabel(f"{name} (median and range)")
                ax.legend(fontsize=8)
        more = f" (the first {MOST_LINES} of {len(groups)})" if len(groups) > MOST_LINES else ""
        figure.suptitle(title + more, fontsize=11)
        return finish(figure, path)


def _band(group: list[Outcome], against: str, column: str) -> tuple[np.ndarray, ...]:
    """Median and range on a common axis, each run held at its end."""
    histories = [o.solution.history for o in group if o.solution is not None]
    x = np.linspace(0, max(float(h.column(against)[-1]) for h in histories), FINE)
    curves = []
    for history in histories:
        places, values = history.column(against), history.column(column)
        curves.append(values[np.clip(np.searchsorted(places, x, side="right") - 1, 0, len(values) - 1)])
    stacked = np.where(np.stack(curves) > 0, np.stack(curves), np.nan)
    return x, np.nanmedian(stacked, axis=0), np.nanmin(stacked, axis=0), np.nanmax(stacked, axis=0)


def _quantity(outcomes: Sequence[Outcome]) -> str:
    known = any(o.solution is not None and o.solution.l2_error is not None for o in outcomes)
    return "L² error" if known else "loss on fresh points"


def _value(outcome: Outcome, name: str) -> float:
    assert outcome.solution is not None
    value = outcome.solution.l2_error if name == "L² error" else outcome.solution.validation_loss
    return float("nan") if value is None or not value > 0 else value


def _places(found: list[Combination]) -> tuple[str | None, dict[Combination, float]]:
    """The option on the horizontal axis, a number if there is one, and where each combination stands on it."""
    swept = found[0].swept if found else ()
    key = next((k for k in swept if _numeric(found, k)), swept[0] if swept else None)
    if key is not None and _numeric(found, key):
        return key, {c: float(dict(c.options)[key]) for c in found}
    names = list(dict.fromkeys(_category(c, key) for c in found))
    return key, {c: float(names.index(_category(c, key))) for c in found}


def _category(combination: Combination, key: str | None) -> str:
    return combination.label if key is None else str(dict(combination.options)[key])


def _lines(groups: dict[Combination, Any], key: str | None) -> dict[str, list[Combination]]:
    """Combinations that differ only by the option on the axis belong to one line."""
    lines: dict[str, list[Combination]] = {}
    for combination in groups:
        rest = [f"{k}={v}" for k, v in combination.options if k in combination.swept and k != key]
        label = " ".join([combination.method, *rest]) if key is not None else ""
        lines.setdefault(label, []).append(combination)
    return lines


def _wide(values: list[float]) -> bool:
    return min(values) > 0 and max(values) > 8 * min(values)


def _numeric(found: list[Combination], key: str) -> bool:
    values = [dict(c.options)[key] for c in found]
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)


def _known(values: list[Any]) -> list[float]:
    return [v for v in values if v is not None]


def _median(values: list[Any]) -> float | None:
    known = [float(v) for v in values if v is not None]
    return float(np.median(known)) if known else None
