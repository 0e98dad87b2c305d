"""The ladder of a run that was to reach a tolerance: its rungs as a table, and as the curves that are drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from anagram.showing.report.page.encode import array, number_html
from anagram.showing.report.page.runs import Run
from anagram.showing.report.rungs import ShownRung, shown_rungs, tolerance_of

MOST_ROWS = 200
QUANTITIES = ("residual", "estimate", "error")
# Heading, and whether it has room on a phone.
COLUMNS = (
    ("Rung", True),
    ("Layers", False),
    ("Parameters", True),
    ("Points", False),
    ("Steps", False),
    ("Residual", False),
    ("Estimated error", True),
    ("True error", False),
    ("Time", True),
)


def ladder_data(run: Run) -> dict[str, Any] | None:
    """What is drawn of the rungs of a run; None if it had none."""
    rungs = shown_rungs(run.summary)
    if not rungs:
        return None
    curves = {key: [getattr(rung, key) for rung in rungs] for key in QUANTITIES}
    return {
        "tol": tolerance_of(run.summary),
        "parameters": array([rung.parameters for rung in rungs], "f8"),
        "seconds": array([rung.spent for rung in rungs], "f8"),
        "curves": {key: array(values, "f8") for key, values in curves.items() if any(v > 0 for v in values)},
    }


def ladders_html(runs: Sequence[Run]) -> str:
    """The rungs of all runs that have some, as tables; nothing if none has."""
    parts = [_ladder(run, rungs) for run in runs if (rungs := shown_rungs(run.summary))]
    return "".join(parts)


def verdict(run: Run) -> str | None:
    """Whether the tolerance was reached, in a few words; None if there was none."""
    tol, reached = run.summary.get("tol"), run.summary.get("reached")
    if not shown_rungs(run.summary):
        return None
    if not isinstance(tol, int | float) or isinstance(tol, bool):
        return None
    if reached is None:
        return "0: as small as rounding allows"
    return f"{tol:g} {'reached' if reached is True else 'not reached'}".replace("e-0", "e-")


def _ladder(run: Run, rungs: Sequence[ShownRung]) -> str:
    name = f'<h3><span class="letter">{escape(run.letter)}</span> {escape(run.label)}</h3>' if run.letter else ""
    missing = run.summary.get("missing")
    said = f'<p class="doubt">Not reached: {escape(missing)}.</p>' if isinstance(missing, str) else ""
    keeps = [k for k, _ in enumerate(COLUMNS) if k != 7 or any(r.error > 0 for r in rungs)]
    head = "".join(f'<th scope="col"{_wide(k)}>{COLUMNS[k][0]}</th>' for k in keeps)
    rows = []
    for rung in rungs[:MOST_ROWS]:
        cells = _cells(rung)
        rows.append(f"<tr>{''.join(f'<td{_wide(k)}>{cells[k]}</td>' for k in keeps)}</tr>")
    more = len(rungs) - MOST_ROWS
    cut = f'<p class="note">And {more} more, in run.json.</p>' if more > 0 else ""
    doubted = any(not r.trusted and not math.isnan(r.estimate) for r in rungs)
    note = '<p class="note">?: an estimate that is not to be relied on.</p>' if doubted else ""
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{name}{said}<table class="rungs">{body}</table>{cut}{note}'


def _wide(column: int) -> str:
    return "" if COLUMNS[column][1] else ' class="wide-only"'


def _cells(rung: ShownRung) -> list[str]:
    doubt = "" if rung.trusted or math.isnan(rung.estimate) else ' <span class="doubt">?</span>'
    points = number_html(rung.points) + (" in cells" if rung.cells else "")
    numbers = [number_html(value, 2) for value in (rung.residual, rung.estimate, rung.error)]
    return [
        number_html(rung.number),
        number_html(rung.layers),
        number_html(rung.parameters),
        points,
        number_html(rung.steps),
        numbers[0],
        numbers[1] + doubt,
        numbers[2],
        f"{number_html(rung.seconds)} s",
    ]
