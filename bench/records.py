"""Beside published records: one problem after the other on a machine with an accelerator, with a time limit for each.

    python bench/records.py --budget 60                    # all problems, one line of JSON for each result
    python bench/records.py --budget 60 wave burgers       # some
    python bench/records.py --jobs 2 --budget 90           # two at a time on one accelerator
    python bench/records.py --small --budget 60            # tiny models: only to see that it runs
    python bench/records.py --report                       # only the table, from the results there are

Each problem is solved in several ways that the documentation has: to rounding with nothing else set (`tol=0`), with
features of some widths, with a network that is trained as a whole and features on top of it, in stretches of time. Each
way is one line, written as soon as it is known. A problem is a process of its own, ended when its time is over; what it
came to until then stands in the results.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several of them share one accelerator

HERE = Path(__file__).parent
ROUNDING = 1e-15  # a tolerance that no model given reaches: natural sizes are used, and nothing ends it early

# What has been published, relative in L², for problems of these names; which equations they are is not always the same.
# For those in AIMS nothing that we know of has been published: the number is an aim of our own.
PUBLISHED = {
    "burgers": 5e-9,
    "allen-cahn": 1e-8,
    "wave": 1e-15,
    "kdv": 8e-11,
    "cavity": 1e-4,
    "kuramoto-sivashinsky": 5e-7,
    "poisson-10d": 6e-12,
}
AIMS = {"allen-cahn": "in 20 s"}
Way = tuple[str, Callable[[float], Any]]  # what it is called, and the solution within so many seconds of training


# -- ways ---------------------------------------------------------------------------------------------------
def to_rounding(problem: Any) -> Way:
    """With nothing set."""
    import anagram as ag

    return "tol=0", lambda left: ag.solve(problem, tol=0, seconds=left, progress=False)


def to_tolerance(problem: Any, tol: float) -> Way:
    """With nothing set but the tolerance."""
    import anagram as ag

    return f"tol={tol:g}", lambda left: ag.solve(problem, tol=tol, seconds=left, progress=False)


def features(problem: Any, width: int, steepness: Any, nodes: int, **options: Any) -> Way:
    """Features alone."""
    import anagram as ag

    name = f"Features({width}, steepness={steepness}), {nodes}² points"
    name += f", stretches={options['stretches']}" if "stretches" in options else ""
    model = ag.Features(width, steepness=steepness)
    points = ag.GaussLegendre(nodes)
    return name, lambda left: ag.solve(
        problem, model, tol=ROUNDING, points=points, seconds=left, progress=False, **options
    )


def network(problem: Any, model: Any, steps: int | None, points: Any = None, options: Any = None) -> Way:
    """A network that is trained as a whole; the default one if none is given."""
    import anagram as ag

    name = "the default network" if model is None else repr(model)
    return f"{name}, {steps} steps", lambda left: ag.solve(
        problem, model, method="auto", steps=steps, points=points, seconds=left, options=options, progress=False
    )


def on_top(problem: Any, below: Way, widths: list[int], rows: float, finer: float = 1.0) -> Iterator[Way]:
    """A network, and features on top of its hidden layers, from its solution on.

    There are so many rows for each feature, and so many times as many nodes along the second axis.
    """
    import anagram as ag
    from anagram.climbing.starts import layers_of

    found, axes = [], problem.domain.axes

    def first(left: float) -> Any:
        found.append(below[1](left))
        return found[0]

    yield below[0], first
    for width in widths:

        def above(left: float, width: int = width) -> Any:
            trained = layers_of(found[0])
            assert trained is not None
            model = ag.Features(width, steepness=1.0, trained=trained, activation=trained["activation"])
            each = (rows * width / finer) ** 0.5
            points = ag.GaussLegendre(**{axes[0]: round(each), axes[1]: round(finer * each)})
            begun = problem.restated(guess=found[0])
            return ag.solve(begun, model, tol=ROUNDING, points=points, seconds=left, progress=False)

        yield f"{width} features on top of it, {rows:g} rows each", above


# -- problems -----------------------------------------------------------------------------------------------
def ways(name: str, small: bool) -> Iterator[Way]:
    """The ways in which a problem is solved, the quick ones first."""
    import anagram as ag

    state = ag.catalogue.problem
    scale = 16 if small else 1
    steps = 12 if small else None
    match name:
        case "burgers":
            problem = state("burgers", nu=0.01 / 3.141592653589793)
            yield to_tolerance(problem, 1e-8)
            below = network(problem, None, steps or 600)
            yield from on_top(problem, below, [2560 // scale, 5120 // scale], 37.0, finer=8.0)
        case "allen-cahn":
            problem = state("allen-cahn")
            yield to_tolerance(problem, 1e-8)
            below = network(problem, None, steps or 600)
            yield from on_top(problem, below, [2560 // scale, 5120 // scale], 37.0, finer=3.0)
            yield to_rounding(problem)
        case "wave":
            problem = state("wave")
            yield to_tolerance(problem, 1e-13)
            for width, steepness in ((1280, 7.0), (2560, 8.0), (5120, 9.0)):
                yield features(problem, width // scale, steepness, round((3 * width / scale) ** 0.5))
            yield features(problem, 1800 // scale, 6.0, round((4 * 1800 / scale) ** 0.5), stretches=4)
            yield to_rounding(problem)
        case "kdv":
            problem = state("kdv")
            below = network(problem, ag.MLP(20, 20), steps or 250)
            yield from on_top(problem, below, [2560 // scale, 5120 // scale], 15.0)
            yield to_rounding(problem)
        case "cavity":
            problem = state("cavity")
            yield to_tolerance(problem, 1e-4)
            below = network(problem, ag.MLP(20, 20), steps or 250)
            yield from on_top(problem, below, [2560 // scale, 5120 // scale], 15.0)
            yield to_rounding(problem)
        case "kuramoto-sivashinsky":
            problem = state("kuramoto-sivashinsky", end=20.0)
            yield to_tolerance(problem, 5e-7)
            for width, steepness in ((1280, 12.0), (3600, 20.0)):
                yield features(problem, width // scale, steepness, round((4 * width / scale) ** 0.5), stretches=10)
            yield to_rounding(problem)
        case "poisson-10d":
            problem = state("poisson-10d")
            yield network(problem, ag.MLP(200 // scale), steps or 400, 24_000 // scale)
            yield network(problem, ag.MLP(96 // scale, activation="sin"), steps or 200, 12_000 // scale)


# -- one problem --------------------------------------------------------------------------------------------
def solve_one(name: str, budget: float, path: Path, small: bool) -> None:
    """All ways, as long as there is time."""
    began = time.perf_counter()
    import anywhere
    from anagram.programs.reproduce.runner import machine

    warnings.simplefilter("ignore")
    for way, solve in ways(name, small):
        left = budget - (time.perf_counter() - began)
        if left < 5:
            return
        start = time.perf_counter()
        record: dict[str, Any] = {"problem": name, "way": way, "published": PUBLISHED[name], "small": small}
        try:
            solution = solve(0.8 * left)
            wall = time.perf_counter() - start
            errors, _ = anywhere.true_errors(solution, {})
            summary = solution.summary
            record |= {"error": max(errors.values()), "errors": errors, "wall_seconds": round(wall, 2)}
            kept = ("seconds", "compile_seconds", "relative_error_estimate", "parameters", "points", "steps")
            record |= {key: summary.get(key) for key in (*kept, "stopped_because", "loss", "rungs", "stretches")}
            if name == "cavity":
                record["ghia"] = from_ghia(solution)
        except Exception as error:  # the next way may do
            record |= {"error": None, "stopped_because": f"{type(error).__name__}: {error}"[:300]}
        record["machine"] = machine()
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, default=float) + "\n")
        print(line(record), flush=True)


# Ghia, Ghia and Shin, 1982, Re 100: u along x = ½ and v along y = ½.
GHIA_Y = (0.9766, 0.9688, 0.9609, 0.9531, 0.8516, 0.7344, 0.6172, 0.5, 0.4531, 0.2813, 0.1719, 0.1016, 0.0703, 0.0547)
GHIA_U = "84123 78871 73722 68717 23151 332 -13641 -20581 -21090 -15662 -10150 -6434 -4775 -3717"


def from_ghia(solution: Any) -> float:
    """The largest distance from Ghia's table of u on the middle line, as a share of the speed of the lid."""
    import numpy as np

    y = np.array(GHIA_Y)
    u = solution.evaluate(lambda psi: psi.d("y"), x=np.full(len(y), 0.5), y=y)
    return float(np.max(np.abs(np.asarray(u).ravel() - np.array(GHIA_U.split(), dtype=float) / 1e5)))


# -- all of them --------------------------------------------------------------------------------------------
def line(record: dict[str, Any]) -> str:
    error = record["error"]
    said = "broke down" if error is None else f"{error:.1e} in {record['seconds']:.1f} s ({record['wall_seconds']} s)"
    why = record["stopped_because"]
    return f"{record['problem']}, {record['way']}: {said}; published {record['published']:.0e}; {why}"


def report(path: Path) -> str:
    """Markdown: the best result of each problem beside what was published."""
    records = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    records = [r for r in records if not r["small"]]
    rows = ["| problem | way | relative error | training (s) | from start to end (s) | published | passed |"]
    rows.append("|---|---|---|---|---|---|---|")
    for name, published in PUBLISHED.items():
        own = [r for r in records if r["problem"] == name and r["error"] is not None]
        for r in sorted(own, key=lambda r: r["error"]):
            passed = "yes" if r["error"] <= published else "no"
            beside = f"{published:.0e}" + (f" {AIMS[name]}, an aim of our own" if name in AIMS else "")
            rows.append(
                f"| {name} | {r['way']} | {r['error']:.1e} | {r['seconds']:.1f} | {r['wall_seconds']:.0f} | "
                f"{beside} | {passed} |"
            )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="all of them if none is named")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds for each problem, all in all")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "records.jsonl")
    parser.add_argument("--jobs", type=int, default=1, help="problems at a time")
    parser.add_argument("--small", action="store_true", help="tiny models, to see that it runs")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = [name for name in args.problems if name not in PUBLISHED]
    if unknown:
        parser.error(f"there is no problem '{unknown[0]}'; there are {', '.join(PUBLISHED)}")
    if args.one:
        solve_one(args.problems[0], args.budget, args.results, args.small)
        return
    if not args.report:
        args.results.parent.mkdir(parents=True, exist_ok=True)
        waiting, running = list(args.problems or PUBLISHED), []
        while waiting or running:
            while waiting and len(running) < args.jobs:
                command = [sys.executable, __file__, "--one", waiting.pop(0), "--budget", str(args.budget)]
                command += ["--results", str(args.results), *(["--small"] if args.small else [])]
                running.append((subprocess.Popen(command), time.perf_counter()))
            for process, began in list(running):
                if process.poll() is None and time.perf_counter() - began > args.budget:
                    process.kill()
                    process.wait()
                if process.poll() is not None:
                    running.remove((process, began))
            time.sleep(0.1)
    if args.results.exists():
        print(report(args.results))


if __name__ == "__main__":
    main()
