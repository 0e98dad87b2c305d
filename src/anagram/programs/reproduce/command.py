"""The whole plan: run what is missing, then write tables and figures."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from anagram.errors import SettingError
from anagram.keeping.atomic import prepare_folder, write_atomically
from anagram.programs.reproduce.plan import METHODS, PROBLEMS, Experiment, plan
from anagram.programs.reproduce.results import Results, all_results
from anagram.programs.reproduce.runner import run_experiment
from anagram.training.interrupts import Interrupts

LINE_SECONDS = 20.0


class Outlook:
    """How far the plan is, and how long it will take.

    What is left is weighed with the costs written in the plan; how many seconds a unit of them takes is measured on
    the runs of this call. Before anything has been measured nothing is promised.
    """

    def __init__(self, experiments: Sequence[Experiment], folder: Path) -> None:
        self.cost = {e.name: e.cost * len(Results.read(folder, e).missing) / len(e.seeds) for e in experiments}
        self.total = sum(self.cost.values())
        self.finished = 0.0
        self.first: dict[str, float] = {}
        self.started = time.monotonic()

    def finish(self, experiment: Experiment) -> None:
        """An experiment is done."""
        self.finished += self.cost[experiment.name]

    def at(self, experiment: Experiment, fraction: float) -> tuple[float, float | None]:
        """The fraction of the plan that is done, and the seconds left if that can be said."""
        # What an earlier call did of the experiments that were resumed is no work of this one.
        self.first.setdefault(experiment.name, fraction)
        done = self.finished + fraction * self.cost[experiment.name]
        worked = done - sum(first * self.cost[name] for name, first in self.first.items())
        spent = time.monotonic() - self.started
        left = (self.total - done) * spent / worked if worked > 0.01 * self.total else None
        return (done / self.total if self.total else 1.0), left


def reproduce(
    folder: str | Path,
    problems: Sequence[str] = PROBLEMS,
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = tuple(range(10)),
    scale: float = 1.0,
    only_report: bool = False,
    quiet: bool = False,
) -> tuple[list[Results], bool]:
    """Run the plan into a folder; returns its results and whether all of it is done.

    Tables and figures are of all that the folder holds, from this call or from earlier ones.
    """
    experiments = plan(problems, methods, seeds, scale)
    path = prepare_folder(folder)
    prepare_folder(path / "runs")
    done = only_report or _run(experiments, path, quiet)
    there = [results for results in all_results(path) if results.chosen()]
    if there:
        write_report(there, path)
    elif only_report:
        raise SettingError(f"there are no results in '{path}': run it without --only-report first")
    if only_report:
        return there, True
    results = [Results.read(path, experiment) for experiment in experiments]
    return results, done and not any(r.missing for r in results)


def write_report(results: list[Results], folder: Path) -> None:
    """Tables and figures of what there is."""
    from anagram.programs.reproduce.figures import draw
    from anagram.programs.reproduce.tables import markdown

    text = markdown(results)
    write_atomically(folder / "tables.md", lambda p: p.write_text(text, encoding="utf-8"))
    draw(results, folder / "figures")


def _run(experiments: Sequence[Experiment], folder: Path, quiet: bool) -> bool:
    """Run what is missing; False after an interruption."""
    outlook = Outlook(experiments, folder)
    with Interrupts() as interrupts, Display(quiet) as display:
        for experiment in experiments:

            def report(fraction: float, text: str, experiment: Experiment = experiment) -> None:
                display.show(experiment, *outlook.at(experiment, fraction), text)

            run_experiment(experiment, folder, interrupts, report)
            if interrupts.seen:
                return False
            outlook.finish(experiment)
    return True


class Display:
    """One bar over the whole plan; plain lines where the output is no terminal."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.console = Console(file=sys.stderr)
        self.last = -float("inf")
        self.name = ""

    def __enter__(self) -> Display:
        self.bar = None
        if not self.quiet and self.console.is_terminal:
            self.bar = Progress(
                BarColumn(bar_width=24), TextColumn("{task.fields[text]}"), console=self.console, transient=True
            )
            self.bar.start()
            self.task = self.bar.add_task("", total=1.0, text="compiling")
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, experiment: Experiment, done: float, left: float | None, text: str) -> None:
        """Where the plan is."""
        if self.quiet:
            return
        line = f"{100 * done:3.0f} %  {duration(left)}  {experiment.name}  {text}"
        if self.bar is not None:
            self.bar.update(self.task, completed=done, text=line)
        elif time.monotonic() - self.last >= LINE_SECONDS or experiment.name != self.name:
            self.last, self.name = time.monotonic(), experiment.name
            print(line, file=sys.stderr, flush=True)


def duration(seconds: float | None) -> str:
    """A rough time in words."""
    if seconds is None:
        return "time left unknown yet"
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"
