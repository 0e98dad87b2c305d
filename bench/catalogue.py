"""How far does every entry of the catalogue come? `ag.solve(problem, tol=..., seconds=...)` with nothing else set.

The true error of every run is written beside the estimated one. Every run is a process of its own, written to the
results as soon as it ends; runs that are there already are not done again, those that broke down are.

    python bench/catalogue.py --seconds 40
    python bench/catalogue.py --jobs 8 wave kdv           # so many runs at once, each on two cores of its own
    python bench/catalogue.py "gray-scott end=200"        # with parameters
    python bench/catalogue.py --report                    # only the table, from the results there are
"""

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anywhere import (
    HERE,
    broke_down,
    claims_too_much,
    error_of,
    key,
    load,
    machine_of,
    measured,
    run_all,
    shares,
    totals,
    trained,
)

# Entries with other parameters, whose page says something of them.
OTHERS = (
    "pendulum end=100",
    "three-body periods=0.25",
    "gray-scott end=200",
    "porous-medium reach=3",
    "cavity ends=0.1",
)
# What learned coefficients are, by entry.
COEFFICIENTS = {"drum": {"square": 2.404825557695773**2}, "hydrogen": {"energy": -0.5}}


def stated(name: str) -> Any:
    """The problem that a name with parameters stands for."""
    import anagram as ag

    entry, *given = name.split()
    parameters = {key: json.loads(value) for key, _, value in (text.partition("=") for text in given)}
    return ag.catalogue.problem(entry, **parameters)


def names() -> list[str]:
    """All that is run: every entry, and those with other parameters after their entry."""
    import anagram as ag

    return [name for entry in ag.catalogue.names() for name in (entry, *(o for o in OTHERS if o.split()[0] == entry))]


def table(records: list[dict[str, Any]], order: list[str]) -> str:
    """Markdown: what each entry came to; claims that are not true are bold."""
    lines = [
        "| problem | true error | estimated | reached | training (s) | from start to end (s) |",
        "|---|---|---|---|---|---|",
    ]
    found: Mapping[str, dict[str, Any]] = {r["problem"]: r for r in records}
    for name in (n for n in order if n in found):
        r = found[name]
        if broke_down(r):
            lines.append(f"| {name} | – | – | {r['stopped_because']} | – | {r['wall_seconds']:.0f} |")
            continue
        said = "**yes**" if claims_too_much(r) else "yes" if r["reached"] else "no"
        lines.append(
            f"| {name} | {error_of(r):.1e} | {estimated(r)} | {said} | {trained(r):.3g} | {r['wall_seconds']:.0f} |"
        )
    return "\n".join([*lines, "", *totals(list(found.values()))])


def estimated(record: Mapping[str, Any]) -> str:
    """The estimated relative error, if there is one."""
    value = record.get("relative_error_estimate")
    return "–" if value is None or not math.isfinite(value) else f"{value:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="all of them if none is named")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=40.0, help="the largest training time of a run")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once, each on two cores of its own")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "catalogue.jsonl")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--one", nargs=3, metavar=("PROBLEM", "TOL", "SEED"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, tol, seed = args.one
        true = COEFFICIENTS.get(name.split()[0], {})
        record = measured(name, lambda: stated(name), float(tol), int(seed), args.seconds, true)
        print(json.dumps(record, default=float))
        return
    order = args.problems or names()
    if not args.report:
        args.results.parent.mkdir(parents=True, exist_ok=True)
        machine = machine_of(shares(args.jobs)[0])
        done = {key(r) for r in load(args.results) if not broke_down(r)}
        tasks = [(n, args.tol, args.seed) for n in order if (n, args.tol, args.seed, machine) not in done]
        for count, record in enumerate(run_all(tasks, args.seconds, args.jobs, __file__), 1):
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(
                f"{count}/{len(tasks)}  {record['problem']}: error {error_of(record):.1e}, "
                f"estimated {estimated(record)}, {trained(record):.1f} of {record['wall_seconds']:.0f} s; "
                f"{record['stopped_because']}",
                flush=True,
            )
    records = [r for r in load(args.results) if r["problem"] in order and r["tol"] == args.tol]
    records = list({r["problem"]: r for r in records}.values())  # the last one of each, whatever the machine
    for machine in dict.fromkeys(r["machine"] for r in records):
        print(f"\n### {machine}\n\n" + table([r for r in records if r["machine"] == machine], order))


if __name__ == "__main__":
    main()
