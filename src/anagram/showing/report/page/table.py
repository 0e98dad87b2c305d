"""The summary of runs: what they were, what they came to, and on which machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from anagram.showing.report.page.encode import number, number_html
from anagram.showing.report.page.ladder import verdict
from anagram.showing.report.page.runs import Run, model_text
from anagram.statement.domains import Interval, Parameter, Periodic

NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """One line of the summary: HTML for every run, and the values of which the least is the best."""

    label: str
    cells: list[str]
    values: list[float | None] | None = None

    @property
    def empty(self) -> bool:
        """Whether no run has anything to say."""
        return all(cell == NOTHING for cell in self.cells)


@dataclass(frozen=True)
class Block:
    """Lines that belong together."""

    title: str
    rows: list[Row]


def summary_blocks(runs: Sequence[Run]) -> list[Block]:
    """The summary of all runs."""
    return [
        Block(
            "Run",
            [
                _texts("Problem", runs, _problem),
                _texts("Equation", runs, lambda r: r.equation),
                _texts("Domain", runs, _domain),
                _texts("Method", runs, lambda r: r.summary["method"]),
                _texts("Model", runs, model_text),
                _numbers("Parameters", runs, lambda r: r.summary.get("parameters", r.solution.model.parameters)),
                _numbers("Points", runs, lambda r: r.summary.get("points")),
                _numbers("Seed", runs, lambda r: r.summary["seed"]),
            ],
        ),
        Block(
            "Result",
            [
                _numbers("Loss", runs, lambda r: r.summary["loss"], best=True),
                _numbers("Loss on fresh points", runs, lambda r: r.summary["validation_loss"], best=True),
                _numbers("L² error", runs, lambda r: r.summary["l2_error"], best=True),
                _numbers("Relative L² error", runs, lambda r: r.summary.get("relative_l2_error"), best=True),
                Row("Estimated error", [_estimate(r) for r in runs]),
                _numbers("Estimated relative error", runs, _relative_estimate, best=True),
                _texts("Worst member", runs, _worst),
                _texts("Tolerance", runs, verdict),
                *(_coefficient(name, runs) for name in _coefficient_names(runs)),
            ],
        ),
        Block(
            "Cost",
            [
                _numbers("Steps", runs, lambda r: r.summary["steps"]),
                _numbers("Steps of all rungs", runs, lambda r: r.summary.get("total_steps")),
                _numbers("Training time", runs, lambda r: r.summary.get("seconds"), " s", best=True),
                _numbers("Compilation", runs, lambda r: r.summary.get("compile_seconds"), " s"),
                _texts("Stopped because", runs, lambda r: r.summary["stopped_because"]),
                _texts("Device", runs, lambda r: _device(_versions(r).get("device"))),
                _texts("Versions", runs, _programs),
                _texts("Folder", runs, lambda r: r.folder),
            ],
        ),
    ]


def table_html(runs: Sequence[Run]) -> str:
    """A table with one column a run; for a run that is alone, lists that stand beside each other."""
    blocks = [Block(b.title, [row for row in b.rows if not row.empty]) for b in summary_blocks(runs)]
    return _lists(blocks) if len(runs) == 1 else _columns(blocks, runs)


def _relative_estimate(run: Run) -> Any:
    """That of a climb, or else of the one network."""
    found, noted = run.summary.get("relative_error_estimate"), run.summary.get("error_estimate")
    return noted.get("relative") if found is None and isinstance(noted, dict) else found


def _lists(blocks: Sequence[Block]) -> str:
    parts = []
    for block in blocks:
        items = "".join(f"<dt>{escape(row.label)}</dt><dd>{row.cells[0]}</dd>" for row in block.rows)
        parts.append(f'<section class="facts"><h3>{escape(block.title)}</h3><dl>{items}</dl></section>')
    return f'<div class="fact-lists">{"".join(parts)}</div>'


def _columns(blocks: Sequence[Block], runs: Sequence[Run]) -> str:
    comparable = len({str(run.summary["problem"]) for run in runs}) == 1
    heads = "".join(
        f'<th role="columnheader" scope="col"><span class="letter c{k % 8 + 1}">{escape(run.letter)}</span> '
        f"{escape(run.label)}</th>"
        for k, run in enumerate(runs)
    )
    bodies = []
    for block in blocks:
        lines = (
            f'<tr role="row"><th role="rowheader" scope="row">{escape(row.label)}</th>{_cells(row, comparable)}</tr>'
            for row in block.rows
        )
        bodies.append(f'<tbody role="rowgroup">{"".join(lines)}</tbody>')
    note = '<p class="note">Bold: the least of its line.</p>' if comparable else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Summary of all runs">'
        f'<table role="table" class="runs n{len(runs)}"><thead role="rowgroup"><tr role="row">'
        f'<td role="cell"></td>{heads}</tr></thead>{"".join(bodies)}</table></div>{note}'
    )


def _cells(row: Row, comparable: bool) -> str:
    """What all runs have in common is said once."""
    if len(set(row.cells)) == 1:
        return f'<td role="cell" class="common" colspan="{len(row.cells)}">{row.cells[0]}</td>'
    best = _best(row.values) if comparable else set()
    return "".join(
        f'<td role="cell"{" class=best" if k in best else ""}>{cell}</td>' for k, cell in enumerate(row.cells)
    )


def _best(values: Sequence[float | None] | None) -> set[int]:
    """The places of the least value, unless all are the same or unknown."""
    known = [v for v in values or [] if v is not None]
    if len(set(known)) < 2:
        return set()
    return {k for k, value in enumerate(values or []) if value == min(known)}


def _texts(label: str, runs: Sequence[Run], read: Callable[[Run], Any]) -> Row:
    return Row(label, [NOTHING if (text := read(run)) is None else escape(str(text)) for run in runs])


def _numbers(label: str, runs: Sequence[Run], read: Callable[[Run], Any], unit: str = "", best: bool = False) -> Row:
    found = [read(run) for run in runs]
    cells = [NOTHING if number(value) is None else number_html(value) + unit for value in found]
    return Row(label, cells, [number(value) for value in found] if best else None)


def _estimate(run: Run) -> str:
    """The estimated error, and whether it can be relied on."""
    estimate = run.summary.get("error_estimate")
    if not isinstance(estimate, dict):
        return NOTHING
    reasons = estimate.get("reasons")
    why = escape("; ".join(str(reason) for reason in reasons)) if isinstance(reasons, list) and reasons else ""
    if number(estimate.get("value")) is None:
        return f'<span class="doubt">not computed{": " if why else ""}{why}</span>'
    value = number_html(estimate["value"])
    if estimate.get("reliable") is True:
        return f'{value} <span class="sure">reliable</span>'
    return f'{value} <span class="doubt">not to be relied on{": " if why else ""}{why}</span>'


def _coefficient_names(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(name for run in runs for name in _mapping(run.summary, "coefficients")))


def _coefficient(name: str, runs: Sequence[Run]) -> Row:
    cells = []
    for run in runs:
        value = _mapping(run.summary, "coefficients").get(name)
        estimated = _mapping(_mapping(run.summary, "error_estimate"), "coefficients").get(name)
        size = number(estimated)
        doubt = "" if size is None else f" (estimated error {number_html(abs(size), 2)})"
        cells.append(NOTHING if number(value) is None else number_html(value, 8) + doubt)
    return Row(f"Coefficient {name}", cells)


def _mapping(holder: dict[str, Any], key: str) -> dict[str, Any]:
    found = holder.get(key)
    return found if isinstance(found, dict) else {}


def _worst(run: Run) -> str | None:
    """By parameter of a family, where the estimated error is largest."""
    found = _mapping(run.summary, "worst_members")
    said = [f"{axis} = {_mapping(found, axis)['at']:.4g}: {_mapping(found, axis)['relative']:.1e}" for axis in found]
    return "; ".join(said) or None


def _problem(run: Run) -> str:
    """Its name, and the parameters of a problem of the catalogue."""
    parameters = _mapping(_mapping(run.record, "origin"), "parameters")
    given = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    return f"{run.summary['problem']}{f' ({given})' if given else ''}"


def _domain(run: Run) -> str:
    if run.solution.domain.space:
        return repr(run.solution.domain)
    intervals = run.solution.domain.intervals
    if len(intervals) > 3 and len(set(intervals.values())) == 1:
        return f"{', '.join(intervals)} ∈ {_interval(next(iter(intervals.values())))}"
    return ", ".join(f"{axis} ∈ {_interval(interval)}" for axis, interval in intervals.items())


def _interval(interval: Interval) -> str:
    low, high = interval
    kind = (
        ", periodic" if isinstance(interval, Periodic) else ", a parameter" if isinstance(interval, Parameter) else ""
    )
    return f"[{low:g}, {high:g}]{kind}".replace("-", "−")


def _versions(run: Run) -> dict[str, Any]:
    return _mapping(run.record, "versions")


def _device(device: Any) -> str | None:
    """`cpu cpu` says no more than `cpu`."""
    return None if device is None else " ".join(dict.fromkeys(str(device).split()))


def _programs(run: Run) -> str | None:
    programs = [f"{name} {version}" for name, version in _versions(run).items() if name != "device"]
    return ", ".join(programs) or None
