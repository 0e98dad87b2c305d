"""What a run came to, in words: the summary that ``anagram solve`` prints."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anagram.programs.clock import time_in_words
from anagram.programs.commands.common import escape, out

if TYPE_CHECKING:
    from anagram.showing.report.rungs import ShownRung

MOST_RUNGS = 24  # that are printed


def print_summary(summary: dict[str, Any], where: Path) -> None:
    """What a run came to, as a table."""
    from anagram.showing.report.rungs import shown_rungs

    rungs = shown_rungs(summary)
    sized = "; rows in their natural sizes" if rungs else ""
    rows = [
        ("problem", f"{summary['problem']}  (method {summary['method']}, seed {summary['seed']})"),
        *_tolerance_rows(summary, rungs),
        ("model", f"{summary['model']}, {summary['parameters']} parameters, {summary['points']} points"),
        ("steps", _steps_in_words(summary, rungs)),
        *([("time", time_in_words(summary["wall_seconds"]))] if "wall_seconds" in summary else []),
        ("loss", f"{summary['loss']:.2e}  (on fresh points {summary['validation_loss']:.2e}{sized})"),
        ("", _losses_in_words(summary["condition_losses"], summary.get("given_points", []))),
    ]
    if summary["l2_error"] is not None:
        rows.append(
            ("L² error", f"{summary['l2_error']:.2e}  (relative {summary['relative_l2_error'] or float('nan'):.2e})")
        )
    else:
        rows.append(("L² error", "not known: the problem gives no exact solution or reference"))
    estimate = summary.get("error_estimate")
    if estimate is not None:
        rows.append(("estimated", _in_words(estimate, summary["method"])))
    rows += [
        ("worst", f"{axis} = {found['at']:.4g}: estimated relative error {found['relative']:.1e}")
        for axis, found in summary.get("worst_members", {}).items()
    ]
    errors = (estimate or {}).get("coefficients", {})
    kind = "standard error" if summary.get("uncertainty") else "estimated error"
    rows += [
        (f"  {name}", f"{value:.10g}" + (f"  ({kind} {errors[name]:.1e})" if name in errors else ""))
        for name, value in summary["coefficients"].items()
    ]
    rows += _noise_rows(summary.get("uncertainty") or {})
    rows += [
        ("stopped", summary["stopped_because"]),
        ("solution", f"{where}/  (read it with anagram.load; look at it with anagram report {where})"),
    ]
    if (where / "solution.png").exists():
        rows.insert(-1, ("pictures", f"{where}/solution.png, convergence.png"))
    for name, text in rows:
        out.print(f"[bold]{escape(name):9}[/] {escape(text)}", highlight=False)
    if summary.get("reached") is True:
        out.print("More digits: --tol with a smaller number, or --tol 0 for as many as rounding leaves.")


def _noise_rows(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The noise of data, and what speaks against the standard errors."""
    how = "given" if found.get("freedom") is None else "estimated"
    rows = [("noise", f"{sigma:.3g} in '{key}' ({how})") for key, sigma in found.get("noise", {}).items()]
    return rows + [("finding", str(finding)) for finding in found.get("findings", [])]


def _steps_in_words(summary: dict[str, Any], rungs: list[ShownRung]) -> str:
    """How many steps were taken, and in which time."""
    total = summary.get("total_steps", summary["steps"])
    kept = "these networks" if summary.get("stretches") else "this network"
    more = f" of {kept}, {total} of all {len(rungs)}," if len(rungs) > 1 else ""
    others = "compilation and estimates" if rungs else "compilation"
    return (
        f"{summary['steps']}{more} in {summary['seconds']:.2f} s (and {summary['compile_seconds']:.2f} s of {others})"
    )


def _tolerance_rows(summary: dict[str, Any], rungs: list[ShownRung]) -> list[tuple[str, str]]:
    """Whether the tolerance was reached, and the networks that were tried."""
    if not rungs:
        return []
    stretches = summary.get("stretches")
    parts = f", in {len(stretches) - 1} stretches of time" if isinstance(stretches, list) and len(stretches) > 2 else ""
    rows = [("tolerance", _tolerance_in_words(summary) + parts)]
    if summary.get("missing"):
        rows.append(
            ("", str(summary["missing"]).replace("seconds=", "--seconds").replace("on: resume", "on: --resume"))
        )
    lines = rung_table(rungs)
    return [*rows, ("rungs", lines[0]), *(("", line) for line in lines[1:])]


def _tolerance_in_words(summary: dict[str, Any]) -> str:
    relative = summary.get("relative_error_estimate")
    known = "no estimate" if relative is None else f"estimated relative error {relative:.1e}"
    if relative is not None and not (summary.get("error_estimate") or {}).get("reliable"):
        known += " (not to be relied on)"
    reached = summary.get("reached")
    if reached is None:
        return f"0 (rounding): {known}"
    return f"{summary['tol']:g} {'reached' if reached else 'not reached'}: {known}"


def rung_table(rungs: list[ShownRung]) -> list[str]:
    """The rungs in columns, below a line that names these; of many, the first and the last."""
    errors = not all(math.isnan(r.error) for r in rungs)
    lines = [f"{'':3} parameters  points  steps  residual  estimate  {'   error  ' if errors else ''} seconds"]
    for rung in rungs:
        doubt = " " if rung.trusted or math.isnan(rung.estimate) else "?"
        error = f"{_short(rung.error):>8}  " if errors else ""
        lines.append(
            f"{rung.number:3d} {rung.parameters:10d}  {rung.points:6d}  {rung.steps:5d}  {_short(rung.residual):>8}  "
            f"{_short(rung.estimate):>8}{doubt} {error}{rung.seconds:8.2f}"
        )
    if len(lines) > 1 + MOST_RUNGS:
        half = MOST_RUNGS // 2
        between = f"    … {len(rungs) - 2 * half} more, all of them in run.json …"
        lines = [*lines[: 1 + half], between, *lines[-half:]]
    if any("?" in line for line in lines):
        lines.append("    ? an estimate that is not to be relied on")
    return lines


def _short(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1e}"


def _losses_in_words(losses: dict[str, float], given: list[str]) -> str:
    """The losses of conditions: on fresh points, or on their own where these are given."""
    fresh = ", ".join(f"{k} {v:.1e}" for k, v in losses.items() if k not in given)
    own = ", ".join(f"{k} {v:.1e}" for k, v in losses.items() if k in given)
    said = [f"{fresh} on fresh points"] if fresh else []
    return "; ".join([*said, f"{own} on the given points"] if own else said)


def _in_words(estimate: dict[str, Any], method: str) -> str:
    reasons = "; ".join(estimate["reasons"])
    if estimate["value"] is None:
        return f"not computed: {reasons}"
    doubt = "" if estimate["reliable"] else f"; not to be relied on: {reasons}"
    relative = estimate.get("relative")
    size = "" if relative is None else f"relative {relative:.2e}; "
    # Wide networks are compared with each other.
    whence = "networks with other features" if method == "newton" else "the residual on fresh points"
    return f"{estimate['value']:.2e}  ({size}from {whence}{doubt})"
