"""Progress that can be watched: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as RichProgress

if TYPE_CHECKING:
    from anagram.statement.problem import Problem
    from anagram.training.budget import Budget

LINE_SECONDS = 2.0


class Progress:
    """A monitor for `solve` that shows step, losses, error, rank, step length and the time left."""

    def __init__(self, problem: Problem, budget: Budget) -> None:
        self.name, self.budget = problem.name, budget
        self.console = Console(file=sys.stderr)
        self.bar: RichProgress | None = None
        self.task: TaskID | None = None
        self.last_line = -float("inf")

    def __enter__(self) -> Progress:
        if self.console.is_terminal:
            self.bar = RichProgress(
                TextColumn("[bold]{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[text]}"),
                console=self.console,
                transient=True,
            )
            self.bar.start()
            self.task = self.bar.add_task(self.name, total=1.0, text="compiling")
        else:
            print(f"{self.name}  compiling", file=sys.stderr, flush=True)
        return self

    def begins(self, run: Any) -> None:
        """A rung is about to be compiled."""
        text = f"{run.model.parameters} parameters: compiling"
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, text=text)

    def rung(self, rung: Any) -> None:
        """A rung is done: one line that stays."""
        line = rung_in_words(rung)
        if self.bar is not None:
            self.bar.console.print(line, highlight=False)
        else:
            print(line, file=sys.stderr, flush=True)

    def __call__(self, record: dict[str, Any]) -> None:
        text = describe(record, self._left(record))
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, completed=self._fraction(record), text=text)
        elif time.monotonic() - self.last_line >= LINE_SECONDS:
            self.last_line = time.monotonic()
            print(f"{self.name}  {text}", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def _fraction(self, record: dict[str, Any]) -> float:
        parts = [record["step"] / self.budget.steps if self.budget.steps else 1.0]
        if self.budget.seconds is not None:
            parts.append(record["seconds"] / self.budget.seconds)
        return min(1.0, max(parts))

    def _left(self, record: dict[str, Any]) -> float | None:
        pace = record.get("seconds_per_step")
        if pace is None:
            return None
        left = (self.budget.steps - record["step"]) * pace
        if self.budget.seconds is not None:
            left = min(left, self.budget.seconds - record["seconds"])
        return max(left, 0.0)


def rung_in_words(rung: Any) -> str:
    """One line about a rung: parameters, points, estimate, seconds."""
    outcome = rung.outcome
    if outcome.estimate is None:
        estimate = f"residual {outcome.residual:.0e}"
    else:
        estimate = f"estimate {outcome.estimate:.1e}" + ("" if outcome.trusted else " (in doubt)")
    known = "" if outcome.relative_error is None else f"  error {outcome.relative_error:.1e}"
    size = f"{outcome.parameters:5d} parameters  {outcome.points:6d} points"
    return f"  {size}  {estimate:24}{known}  {outcome.seconds:7.2f} s"


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
