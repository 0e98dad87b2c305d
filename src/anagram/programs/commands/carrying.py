"""A run that is carried out: trained, estimated, drawn and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anagram.programs.clock import Clock
from anagram.programs.commands.common import err, escape
from anagram.training.interrupts import Interrupts

if TYPE_CHECKING:
    from anagram.programs.commands.planned import Planned
    from anagram.solution import Solution


def carry_out(
    planned: Planned,
    checkpoint: float,
    logs: list[str],
    json_path: Path | None,
    *,
    estimate: bool,
    quiet: bool,
) -> Solution:
    """Run, estimate, write pictures."""
    from anagram.compound.processes import is_first
    from anagram.keeping.atomic import json_text, write_atomically

    clock = Clock()
    monitors, close = _loggers(logs if is_first() else [], planned)
    Interrupts.last_words.append(lambda: _last_words(planned))
    try:
        solution = planned.start(checkpoint_every=checkpoint, progress=not quiet, monitors=monitors)
    finally:
        Interrupts.last_words.clear()
        close()
    climbed = "rungs" in solution.summary
    if not (climbed and planned.resumed):  # rungs of before took their time then
        clock.note("compile and estimate" if climbed else "compile", solution.summary["compile_seconds"])
    clock.note("train", None if planned.resumed else solution.summary["seconds"])
    where = solution.folder or planned.folder
    if solution.stopped_because != "interrupted":
        if not climbed:
            with clock.timed("estimate"):
                if estimate and not solution.failed:
                    solution.summary["error_estimate"] = _estimate(solution)
        if not is_first():
            return solution
        with clock.timed("pictures"):
            solution.plot_convergence(where / "convergence.png")
            solution.plot(where / "solution.png")
        solution.summary["wall_seconds"] = clock.read()
        solution.save(where)
    if json_path is not None and is_first():
        write_atomically(json_path, lambda p: p.write_text(json_text(solution.summary), encoding="utf-8"))
    return solution


def _last_words(planned: Planned) -> None:
    """What is said when a second Ctrl-C ends the program at once."""
    from anagram.keeping.runrecord import RECORD

    if (planned.folder / RECORD).exists():
        err.print(f"Stopped at once; the last checkpoint stands. Go on with:  {escape(planned.command)}")
    else:
        err.print("Stopped before the first step; there is nothing to keep.")


def _loggers(names: list[str], planned: Planned) -> tuple[list[Any], Callable[[], None]]:
    """Monitors for other programs, and what closes them."""
    if not names:
        return [], lambda: None
    from anagram.errors import FileError
    from anagram.keeping.runfolder import RUNGS
    from anagram.showing.report.figures import solution_figure
    from anagram.showing.report.tensorboard import TensorBoard

    events = planned.folder / "tensorboard"
    if events.is_symlink():  # a run folder may come from someone else
        raise FileError(f"'{events}' is a link to another place: remove it first")
    writer = TensorBoard(events)

    def remember(_: dict[str, Any], run: Any) -> None:
        # Every network of a climb begins at step 0: from the second on they have folders of their own.
        done = sum(1 for _ in (planned.folder / RUNGS).glob("*/run.json"))
        writer.move_to(events / f"rung-{done + 1}" if done else events)
        writer.picture = lambda: solution_figure(run.solution())

    return [remember, writer], writer.close


def _estimate(solution: Solution) -> dict[str, Any]:
    """The estimated error for the summary, or why there is none."""
    from anagram.errors import AnagramError
    from anagram.tangent.estimate import ESTIMATE_AT_MOST, LARGE

    if solution.model.parameters > ESTIMATE_AT_MOST:
        return {"value": None, "reasons": [LARGE]}
    try:
        found = solution.estimate_error()
    except AnagramError as error:
        return {"value": None, "reasons": [str(error)]}
    solution.note_worst_members(found)
    return found.as_json()
