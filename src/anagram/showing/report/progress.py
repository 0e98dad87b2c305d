"""Progress that can be watched: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from anagram.statement.problem import Problem
    from anagram.training.budget import Budget

LINE_SECONDS = 2.0
SMALLEST = 1e-13  # a residual that is rounding, about


class Progress:
    """A monitor for `solve` that shows step, losses, error, rank, step length and the time left.

    A climb tells it when a rung begins (`begins`) and when it is done (`rung`); the bar then shows how many of the
    digits that are wanted the residual has.
    """

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.name, self.budget = problem.name, budget
        self.whole = problem.domain.intervals
        self.console = Console(file=sys.stderr)
        self.bar: RichProgress | None = None
        self.task: TaskID | None = None
        self.last_line = -float("inf")
        self.done, self.spent = 0, 0.0  # rungs, and seconds of training in them
        self.now, self.stretch = "", ""

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self.bar = RichProgress(
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[text]}", markup=False),
                console=self.console,
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task(escape(self.name), total=1.0, text="compiling")
        else:
            print(f"{self.name}  compiling", file=sys.stderr, flush=True)
        return self

    def begins(self, run: Any) -> None:
        """A rung is about to be compiled."""
        self.stretch = stretch_in_words(self.whole, run.problem.domain.intervals)
        self.now = f"rung {self.done + 1}"
        self._show(f"{self.now}  {run.model.parameters} parameters{self.stretch}  compiling", 0.0)

    def rung(self, rung: Any) -> None:
        """A rung is done: one line that stays."""
        self.done += 1
        self.spent += rung.outcome.seconds
        line = f"rung {self.done:2d}  {rung_in_words(rung)}{self.stretch}"
        if self.bar is not None:
            self.bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
        else:
            print(f"{self.name}  {line}", file=sys.stderr, flush=True)

    def __call__(self, record: dict[str, Any]) -> None:
        text = describe(record, self._left(record))
        self._show(f"{self.now}  {text}" if self.now else text, self._fraction(record))

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _show(self, text: str, fraction: float) -> None:
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=fraction, text=text)
        elif time.monotonic() - self.last_line >= LINE_SECONDS:
            self.last_line = time.monotonic()
            print(f"{self.name}  {text}", file=sys.stderr, flush=True)

    def _fraction(self, record: dict[str, Any]) -> float:
        if self.now:
            goal = math.log(max(self.budget.tol or 0.0, SMALLEST))
            residual = math.sqrt(2 * record["validation_loss"]) if record["validation_loss"] > 0 else SMALLEST
            return min(1.0, max(0.0, math.log(max(residual, SMALLEST)) / goal)) if math.isfinite(residual) else 0.0
        parts = [record["step"] / self.budget.steps if self.budget.steps else 1.0]
        if self.budget.seconds is not None:
            parts.append(record["seconds"] / self.budget.seconds)
        return min(1.0, max(parts))

    def _left(self, record: dict[str, Any]) -> float | None:
        if self.now:  # how many rungs there will be is not known
            seconds = self.budget.seconds
            return None if seconds is None else max(0.0, seconds - self.spent - record["seconds"])
        pace = record.get("seconds_per_step")
        if pace is None:
            return None
        left = (self.budget.steps - record["step"]) * pace
        if self.budget.seconds is not None:
            left = min(left, self.budget.seconds - record["seconds"])
        return max(left, 0.0)


def rung_in_words(rung: Any) -> str:
    """One line about a rung, in columns: parameters, points, steps, estimate, error if it is known, seconds."""
    outcome = rung.outcome
    if outcome.estimate is None:
        estimate = f"residual {outcome.residual:.1e}"
    else:
        estimate = f"estimate {outcome.estimate:.1e}" + ("" if outcome.trusted else " in doubt")
    known = "" if outcome.relative_error is None else f"  error {outcome.relative_error:.1e}"
    size = f"{outcome.parameters:5d} parameters  {outcome.points:6d} points  {outcome.steps:4d} steps"
    return f"{size}  {estimate:25}{known}  {outcome.seconds:7.2f} s"


def stretch_in_words(whole: Mapping[str, Any], part: Mapping[str, Any]) -> str:
    """Of which part of the domain a rung is; nothing if it is of all of it."""
    others = [(axis, interval) for axis, interval in part.items() if tuple(whole.get(axis, ())) != tuple(interval)]
    return "".join(f"  {axis} from {low:.4g} to {high:.4g}" for axis, (low, high) in others)


def describe(record: dict[str, Any], left: float | None) -> str:
    """One line about a block."""
    parts = [f"step {record['step']}", f"loss {record['loss']:.1e}", f"fresh {record['validation_loss']:.1e}"]
    if record.get("l2_error") is not None:
        parts.append(f"error {record['l2_error']:.1e}")
    for key, name, form in (("rank", "rank", "d"), ("damping", "λ", ".0e"), ("step_length", "η", ".0e")):
        if record.get(key) is not None:
            parts.append(f"{name} {record[key]:{form}}")
    if left is not None:
        parts.append(f"{left:.0f} s left")
    return "  ".join(parts)
