"""The page itself: one HTML file with its styles, its program and its data inside."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from anagram.errors import FileError
from anagram.keeping.atomic import prepare_folder, write_atomically
from anagram.keeping.solutions import found_nowhere, read_solution
from anagram.showing.report.page.data import run_data
from anagram.showing.report.page.encode import json_html, number, number_html, script_json
from anagram.showing.report.page.ladder import ladders_html
from anagram.showing.report.page.runs import Run, Source, model_text, read_runs
from anagram.showing.report.page.table import table_html
from anagram.showing.report.rungs import shown_rungs
from anagram.training.reached import Reached
from anagram.version import __version__

# In the order in which they build on each other; together they are one program.
SCRIPTS = ("base", "scale", "colour", "tip", "plot", "map", "controls", "history", "ladder", "grid", "fields", "main")
RECORD_SHOWN = 200_000  # characters of a record at most


def write_page(
    sources: Source | Iterable[Source],
    path: str | Path,
    read: Callable[[Path], Reached] = read_solution,
    equation_of: Callable[[Mapping[str, Any]], str | None] = found_nowhere,
) -> Path:
    """Write the page of one run, or of several side by side.

    Args:
        sources: solutions or folders of runs, one or several.
        path: the file to write.
        read: reads the solution in a folder; `anagram.load` also finds problems of the catalogue.
        equation_of: the equation of a problem by its origin, as `anagram.catalogue.equation`.

    The page needs no network and no other file.
    """
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write the page '{target}': it is a folder, give the name of a file")
    runs = read_runs(sources, read, equation_of)
    prepare_folder(target.parent)
    text = page_html(runs)
    write_atomically(target, lambda p: p.write_text(text, encoding="utf-8", newline="\n"))
    return target


def page_html(runs: Sequence[Run]) -> str:
    """The page as text."""
    style, program = _asset("page.css"), _program()
    data = {"runs": [_run_data(run) for run in runs]}
    # One substitution of everything: nothing that stands in a run is looked at again.
    return Template(_asset("page.html")).substitute(
        policy=_policy(style, program),
        title=escape(_title(runs)),
        heading=escape(_heading(runs)),
        lead=_lead(runs),
        table=table_html(runs),
        ladders=ladders_html(runs),
        records="".join(_record(run) for run in runs),
        footer=escape(f"Made by anagram {__version__} on {time.strftime('%Y-%m-%d')}"),
        style=style,
        program=program,
        data=script_json(data),
    )


def _run_data(run: Run) -> dict[str, Any]:
    """What is drawn; a record that has numbers of the wrong kind is named."""
    try:
        return run_data(run)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        where = f"the run in '{run.folder}'" if run.folder is not None else f"the run of {run.label}"
        raise FileError(f"{where} is damaged: its numbers cannot be drawn ({error})") from error


def _asset(name: str) -> str:
    return (resources.files("anagram.showing.report.page") / "assets" / name).read_text(encoding="utf-8")


def _program() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"


def _policy(style: str, program: str) -> str:
    """Nothing is fetched, and no program runs but this one, whatever stands in a run."""
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii") for text in (program, style)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _title(runs: Sequence[Run]) -> str:
    return f"{_heading(runs)} – anagram"


def _heading(runs: Sequence[Run]) -> str:
    problems = list(dict.fromkeys(str(run.summary["problem"]) for run in runs))
    return problems[0] if len(runs) == 1 else f"{', '.join(problems)}: {len(runs)} runs compared"


def _lead(runs: Sequence[Run]) -> str:
    """What was solved and how, in a sentence; the numbers that matter most."""
    equations = {str(run.summary["problem"]): text for run in runs if (text := run.equation) is not None}
    several = len({str(run.summary["problem"]) for run in runs}) > 1
    texts = [f"{problem}: {text}" if several else text for problem, text in equations.items()]
    lines = "".join(f'<p class="equation">{escape(text)}</p>' for text in texts)
    return lines if len(runs) > 1 else lines + _abstract(runs[0]) + _highlights(runs[0])


def _abstract(run: Run) -> str:
    summary = run.summary
    if shown_rungs(summary):
        return _abstract_of_climb(run)
    parameters = number_html(summary.get("parameters", run.solution.model.parameters))
    points = f" on {number_html(summary['points'])} points" if number(summary.get("points")) is not None else ""
    return (
        f'<p class="abstract">{escape(model_text(run))} with {parameters} parameters, trained{points} by the method '
        f"<em>{escape(str(summary['method']))}</em> in {number_html(summary['steps'])} steps; seed "
        f"{number_html(summary['seed'])}. It ended with “{escape(str(summary['stopped_because']))}”.</p>"
    )


def _abstract_of_climb(run: Run) -> str:
    summary, rungs = run.summary, shown_rungs(run.summary)
    parameters = number_html(summary.get("parameters", run.solution.model.parameters))
    tol, reached = number(summary.get("tol")), summary.get("reached")
    relative = summary.get("relative_error_estimate")
    came = "" if number(relative) is None else f": the estimated relative error is {number_html(relative, 2)}"
    estimate = summary.get("error_estimate")
    if came and not (isinstance(estimate, dict) and estimate.get("reliable") is True):
        came += ", which is not to be relied on"
    goal = f"{tol:.0e}".replace("e-0", "e-") if tol else "0, which is rounding,"
    said = "was reached" if reached is True else "was not reached" if reached is False else "was aimed at"
    stretches = summary.get("stretches")
    parts = f", in {len(stretches) - 1} stretches" if isinstance(stretches, list) and len(stretches) > 2 else ""
    tried = f"{len(rungs)} networks were" if len(rungs) > 1 else "One network was"
    return (
        f'<p class="abstract">A relative error of {goal} {said}{came}. {tried} trained by the method '
        f"<em>{escape(str(summary['method']))}</em>, seed {number_html(summary['seed'])}; the solution is "
        f"{escape(model_text(run))} with {parameters} parameters{parts}. It ended with "
        f"“{escape(str(summary['stopped_because']))}”.</p>"
    )


def _highlights(run: Run) -> str:
    summary = run.summary
    estimate = summary.get("error_estimate")
    estimated = estimate.get("value") if isinstance(estimate, dict) else None
    error = ("L² error", summary["l2_error"], "")
    if number(summary["l2_error"]) is None:
        error = ("estimated L² error", estimated, "")
    shown = [
        error,
        ("estimated relative error", summary.get("relative_error_estimate"), ""),
        ("loss on fresh points", summary["validation_loss"], ""),
        ("training time", summary.get("seconds"), " s"),
        ("parameters", summary.get("parameters"), ""),
    ]
    items = "".join(
        f"<div><dt>{name}</dt><dd>{number_html(value)}{unit}</dd></div>"
        for name, value, unit in shown
        if number(value) is not None
    )
    return f'<dl class="highlights">{items}</dl>'


def _record(run: Run) -> str:
    """How to do the run again: its command, and its record to unfold and to copy."""
    name = f'<span class="letter">{escape(run.letter)}</span> {escape(run.label)}' if run.letter else ""
    heading = f"<h3>{name}</h3>" if name else ""
    return f'<div class="record">{heading}{_command(run)}{_details(run)}</div>'


def _command(run: Run) -> str:
    if run.folder is None:
        return '<p class="note">This run was not saved; <code>solution.save("folder")</code> writes what is below.</p>'
    origin = run.record.get("origin")
    in_file = isinstance(origin, dict) and "file" in origin
    command = f"anagram repeat {shlex.quote(str(run.folder))}{' --trust' if in_file else ''}"
    trust = ' <span class="note">It executes problem.py in that folder: look at it first.</span>' if in_file else ""
    return (
        f'<p class="command"><code>{escape(command)}</code> '
        f'<button type="button" class="copy" data-copies="previous">Copy</button>{trust}</p>'
    )


def _details(run: Run) -> str:
    try:
        shown = json_html(run.record)
    except RecursionError:
        shown = escape(json.dumps(run.record, ensure_ascii=False))
    cut = len(shown) > RECORD_SHOWN
    if cut:  # markup must not be cut in the middle
        shown = escape(json.dumps(run.record, ensure_ascii=False, indent=2)[:RECORD_SHOWN])
    note = '<p class="note">It is long: this is its beginning, the rest is in the file.</p>' if cut else ""
    return (
        "<details><summary>run.json: the whole configuration and its summary</summary>"
        '<button type="button" class="copy" data-copies="next">Copy</button>'
        f'<pre tabindex="0">{shown}</pre>{note}</details>'
    )
