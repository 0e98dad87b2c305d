"""Tables: our numbers beside the paper's, as Markdown."""

from __future__ import annotations

from anagram.catalogue import ENTRIES
from anagram.programs.reproduce.plan import METHODS, PROBLEMS
from anagram.programs.reproduce.results import STATISTICS, Results, of_problem, paper_numbers

TITLES = {"l2_error": "L² error", "test_loss": "Test loss"}


def markdown(results: list[Results]) -> str:
    """All tables of the results there are."""
    parts = ["# Results", "", *_machines(results), "", *_medians(results)]
    for problem in PROBLEMS:
        rows = list(of_problem(results, problem))
        if not rows:
            continue
        parts += ["", f"## {ENTRIES[problem].title}", ""]
        parts += _burgers(rows) if problem == "burgers" else _problem(problem, rows)
    return "\n".join(parts) + "\n"


def _machines(results: list[Results]) -> list[str]:
    used: dict[str, set[str]] = {}
    for result in results:
        for run in result.chosen():
            used.setdefault(run.machine, set()).add(result.experiment.problem)
    return [
        "Our numbers and, in italics, the paper's. Losses are sums of mean squares, without the factor ½, as in the "
        "code of the paper's authors. Times are compared only as ratios, between methods that ran on the same machine; "
        "seeds that ran side by side have each their share of the time.",
        "",
        *(f"- {machine}: {', '.join(p for p in PROBLEMS if p in names)}" for machine, names in sorted(used.items())),
    ]


def _medians(results: list[Results]) -> list[str]:
    """All medians on one page, as multiples of the paper's; more than a factor of three apart is bold."""
    lines = [
        "| medians | L² error | *paper* | ratio | test loss | *paper* | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in results:
        problem, method = row.experiment.problem, row.experiment.method
        paper = paper_numbers().get(problem, {}).get(method)
        if problem == "burgers" or not row.chosen():
            continue
        cells = []
        for quantity in TITLES:
            ours = row.statistics(quantity)["median"]
            theirs = paper[quantity]["median"] if paper else None
            cells += [f"{ours:.1e}", f"*{theirs:.1e}*" if theirs else "–", _ratio(ours / theirs) if theirs else "–"]
        lines.append(f"| {ENTRIES[problem].title}, {METHODS[method]} | {' | '.join(cells)} |")
    return lines if len(lines) > 2 else []


def _ratio(value: float) -> str:
    text = f"{value:.2g}" if value < 100 else f"{value:.0f}"
    return text if 1 / 3 <= value <= 3 else f"**{text}**"


def _problem(problem: str, rows: list[Results]) -> list[str]:
    paper = paper_numbers()[problem]
    lines: list[str] = []
    for quantity, title in TITLES.items():
        lines += [
            f"| {title} | seeds | steps | {' | '.join(STATISTICS)} |",
            f"|---|---|---|{'---|' * len(STATISTICS)}",
        ]
        for row in rows:
            method, ours = row.experiment.method, row.statistics(quantity)
            numbers = " | ".join(f"{ours[s]:.2e}" for s in STATISTICS)
            lines.append(f"| {METHODS[method]} | {len(row.chosen())} | {_steps(row)} | {numbers} |")
            if method in paper:
                numbers = " | ".join(f"*{paper[method][quantity][s]:.2e}*" for s in STATISTICS)
                lines.append(f"| | | *paper* | {numbers} |")
        lines.append("")
    return lines + _times(paper, rows)


def _steps(row: Results) -> str:
    """The steps that were taken; a range where seeds stopped by themselves."""
    taken = [run.steps[-1] for run in row.chosen()]
    return str(taken[0]) if min(taken) == max(taken) else f"{min(taken)}–{max(taken)}"


def _times(paper: dict, rows: list[Results]) -> list[str]:
    """Seconds, and the same as multiples of those of `anagram` on the same machine."""
    unit = {row.machine: row.median_seconds() for row in rows if row.experiment.method == "anagram"}
    lines = [
        "| Time | machine | s per step | s in all | per step, × ANaGRAM | in all, × ANaGRAM "
        "| *paper: per step* | *in all* |",
        "|---|---|---|---|---|---|---|---|",
    ]
    theirs = paper["anagram"]["cpu_seconds"]
    for row in rows:
        method, (step, whole) = row.experiment.method, row.median_seconds()
        here = unit.get(row.machine)
        ours = f"{step / here[0]:.2g} | {whole / here[1]:.2g}" if here else "– | –"
        cells = "– | –"
        if method in paper:
            seconds = paper[method]["cpu_seconds"]
            cells = f"*{seconds['per_step'] / theirs['per_step']:.2g}* | *{seconds['full'] / theirs['full']:.2g}*"
        lines.append(f"| {METHODS[method]} | {row.machine} | {step:.2g} | {whole:.3g} | {ours} | {cells} |")
    return lines


def _burgers(rows: list[Results]) -> list[str]:
    lines = ["| ν | steps | train loss | test loss | L² error | s per step |", "|---|---|---|---|---|---|"]
    for row in rows:
        (run,) = row.chosen()[:1]
        lines.append(
            f"| {row.experiment.viscosity:g} | {run.steps[-1]} | {run.last('loss'):.2e} | "
            f"{run.last('test_loss'):.2e} | {run.last('l2_error'):.2e} | {run.seconds_per_step:.2g} |"
        )
    if any(row.experiment.coarse for row in rows):
        lines += ["", "On a coarser grid than the paper's, because the plan was scaled down."]
    return lines
