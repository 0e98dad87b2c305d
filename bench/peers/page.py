"""The page about runs of bench/peers.py: docs/peers.md with tables and what they say, and docs/figures/peers.png."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from common_problems import PROBLEMS
from counting import lines_of
from environments import ENTRANTS
from watch import NOT_POSSIBLE

DOCS = Path(__file__).parent.parent.parent / "docs"
LEVELS = (1e-3, 1e-5, 1e-7)
NEVER = math.inf
BUSY = 1.75  # processes for each core before a run, above which others are at work too
Record = dict[str, Any]


def level_name(level: float) -> str:
    """1e-3, as people write it."""
    return f"{level:.0e}".replace("e-0", "e-")


# -- what runs came to --------------------------------------------------------------------------------------
def of(records: Iterable[Record], problem: str, entrant: str, cache: str | None = None) -> list[Record]:
    """Runs of one entrant with one problem; of anagram those with an empty or a filled cache."""
    wanted = cache if cache is not None else ("cold" if entrant == "anagram" else "")
    return [r for r in records if (r["problem"], r["entrant"], r["cache"]) == (problem, entrant, wanted)]


def time_to(records: list[Record], level: float, column: int = 0) -> float:
    """Median over the seeds of the seconds until the error was below a level; column 2 counts from a cold start.

    Several runs with one seed are those of anagram with several tolerances: the quickest that is good enough counts.
    """
    seeds: dict[int, float] = {}
    for r in records:
        first = next((line[column] for line in r.get("curve", []) if line[1] <= level), NEVER)
        seeds[r["seed"]] = min(first, seeds.get(r["seed"], NEVER))
    return statistics.median_high(seeds.values()) if seeds else NEVER


def best_error(records: list[Record]) -> float:
    """Median over the seeds of the smallest error."""
    seeds: dict[int, float] = {}
    for r in records:
        smallest = min((line[1] for line in r.get("curve", [])), default=NEVER)
        seeds[r["seed"]] = min(smallest, seeds.get(r["seed"], NEVER))
    return statistics.median_high(seeds.values()) if seeds else NEVER


def excuse(records: list[Record]) -> str | None:
    """Why there is no result, if there is none."""
    if not records:
        return "not run"
    if any(r.get("curve") for r in records):
        return None
    return records[0].get("failed", records[0].get("note", "no result")).removeprefix(NOT_POSSIBLE)


# -- tables -------------------------------------------------------------------------------------------------
def shown(seconds: float) -> str:
    return "–" if not math.isfinite(seconds) else f"{seconds:.2g}" if seconds < 100 else f"{seconds:.0f}"


def peak(records: list[Record]) -> str:
    sizes = [r["peak_megabytes"] for r in records if r.get("peak_megabytes")]
    return f"{max(sizes)}" if sizes else "–"


def row(records: list[Record], title: str, entrant: str, problem: str, firsts: list[float]) -> str:
    """One line of a table; the first at a level is set in bold."""
    lines = lines_of(ENTRANTS[entrant].script, problem)
    why = excuse(records)
    if why is not None:
        return f"| {title} | {why} " + "| " * 7 + "|"
    times = [time_to(records, level) for level in LEVELS]
    cells = [
        f"**{shown(t)}**" if t == first and math.isfinite(t) else shown(t)
        for t, first in zip(times, firsts, strict=True)
    ]
    cells += [
        f"{best_error(records):.1e}",
        shown(time_to(records, LEVELS[0], 2)),
        shown(time_to(records, LEVELS[2], 2)),
    ]
    cells += [peak(records), str(lines)]
    return f"| {title} | " + " | ".join(cells) + " |"


def table(records: list[Record], problem: str) -> list[str]:
    """One problem: a line for every entrant."""
    lines = [
        "| | to 1e-3 (s) | to 1e-5 (s) | to 1e-7 (s) | smallest error "
        "| cold start to 1e-3 (s) | to 1e-7 (s) | memory (MB) | lines |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups = {name: of(records, problem, name) for name in ENTRANTS}
    firsts = {
        kind: [
            min(time_to(group, level) for name, group in groups.items() if ENTRANTS[name].classical == kind)
            for level in LEVELS
        ]
        for kind in (False, True)
    }
    for name, entrant in ENTRANTS.items():
        lines.append(row(groups[name], entrant.title, name, problem, firsts[entrant.classical]))
        again = of(records, problem, name, "warm") if name == "anagram" else []
        if again:
            lines.append(row(again, "anagram, the second time", name, problem, [-1.0] * len(LEVELS)))
    return lines


# -- what the tables say ------------------------------------------------------------------------------------
def first_at(records: list[Record], level: float, names: Iterable[str]) -> dict[str, list[str]]:
    """For every entrant the problems in which it is the first of these at a level."""
    won: dict[str, list[str]] = {}
    for problem in PROBLEMS:
        times = {name: time_to(of(records, problem, name), level) for name in names}
        if times and math.isfinite(min(times.values())):
            won.setdefault(min(times, key=lambda name: times[name]), []).append(problem)
    return won


def summary(records: list[Record]) -> list[str]:
    """Sentences that are true of the tables, whoever wins."""
    networks = [name for name, entrant in ENTRANTS.items() if not entrant.classical]
    classical = [name for name, entrant in ENTRANTS.items() if entrant.classical]
    lines = []
    for level in LEVELS:
        won = first_at(records, level, networks)
        said = "; ".join(f"{ENTRANTS[name].title}: {', '.join(problems)}" for name, problems in won.items())
        lines.append(f"- First of the networks at {level_name(level)}, in training time: {said or 'none'}.")
        faster, only, none = [], [], []
        for problem in PROBLEMS:
            ours, theirs = (
                min((time_to(of(records, problem, name), level) for name in names), default=NEVER)
                for names in (networks, classical)
            )
            if theirs < ours:
                faster.append(problem)
            elif math.isfinite(ours) and not math.isfinite(theirs):
                only.append(problem)
            elif not math.isfinite(ours):
                none.append(problem)
        if faster:
            lines.append(
                f"- A classical solver is there before all networks at {level_name(level)}: {', '.join(faster)}."
            )
        if only:
            lines.append(f"- Only networks come to {level_name(level)}: {', '.join(only)}.")
        if none:
            lines.append(f"- Nobody comes to {level_name(level)}: {', '.join(none)}.")
    won = first_at_from_cold(records, networks)
    said = "; ".join(f"{ENTRANTS[name].title}: {', '.join(problems)}" for name, problems in won.items())
    lines.append(
        f"- First of the networks at {level_name(LEVELS[0])} from a cold start, compilation included: {said or 'none'}."
    )
    return lines


def first_at_from_cold(records: list[Record], names: Iterable[str]) -> dict[str, list[str]]:
    won: dict[str, list[str]] = {}
    for problem in PROBLEMS:
        times = {name: time_to(of(records, problem, name), LEVELS[0], 2) for name in names}
        if times and math.isfinite(min(times.values())):
            won.setdefault(min(times, key=lambda name: times[name]), []).append(problem)
    return won


def versions(records: list[Record]) -> str:
    """All packages with their versions."""
    found = {name: version for r in records for name, version in r.get("versions", {}).items()}
    return ", ".join(f"{name} {found[name]}" for name in sorted(found))


def conditions(records: list[Record]) -> str:
    """When, where and how long."""
    dates = sorted({r["date"] for r in records})
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    limits = sorted({r["limit"] for r in records})
    seeds = sorted({r["seed"] for r in records})
    told = f"seeds {', '.join(map(str, seeds))}, medians over them (the worse one of two)"
    told = told if len(seeds) > 1 else f"seed {seeds[0]}"
    machines = sorted({r["machine"] for r in records})
    busy = sum(r.get("load", NEVER) > BUSY for r in records)
    warning = ""
    if busy:
        warning = f" **The machine was busy with other work, or may have been, at {busy} of {len(records)} runs.**"
    return (
        f"Runs of {days} on {'; '.join(machines)}: at most {' or '.join(f'{v:g}' for v in limits)} seconds of training "
        f"each, {told}. "
        f"Versions: {versions(records)}.{warning}"
    )


TEMPLATE = Path(__file__).parent / "page.md"


def page(records: list[Record]) -> str:
    """The whole page."""
    how = "\n".join(f"- **{entrant.title}**: {entrant.how}" for entrant in ENTRANTS.values())
    tables = []
    for name, problem in PROBLEMS.items():
        tables += [f"## {name}", "", f"{problem.title}.", "", *table(records, name), ""]
    return TEMPLATE.read_text(encoding="utf-8").format(
        conditions=conditions(records),
        how=how,
        summary="\n".join(summary(records)),
        tables="\n".join(tables).rstrip(),
    )


def write(records: list[Record]) -> None:
    """Write the page and its figure."""
    from drawing import draw

    if not records:
        print("there are no runs yet")
        return
    (DOCS / "peers.md").write_text(page(records), encoding="utf-8")
    draw(records, DOCS / "figures" / "peers.png")
    print(f"wrote {DOCS / 'peers.md'} from {len(records)} runs")
