"""Do problems nobody has prepared for get solved? `ag.solve(problem, tol=..., seconds=...)` with nothing else set.

The problems are those of bench/touchstone.py, whose solutions are known. Every run is a process of its own, as a user
would start it. It is written to the results as soon as it ends; runs that are there already are not done again, those
that broke down are.

    python bench/anywhere.py --tol 1e-3 1e-6 1e-9 --seeds 0:5 --seconds 120
    python bench/anywhere.py --jobs 16 pendulum stokes    # so many runs at once, each on two cores of its own
    python bench/anywhere.py --report                     # only the tables and the figure, from the results there are
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CORES = 2  # of a run, where several go on at once
POINTS = 2**15  # at which errors are measured: narrow bumps need many
OVERTIME = 300.0  # seconds for all that is not training, before a run is ended
TRUSTED = 3.0  # a claim holds if the true error is below so many times what was asked for


# -- one run ------------------------------------------------------------------------------------------------
def measure(name: str, tol: float, seed: int, seconds: float) -> dict[str, Any]:
    """One run of a problem nobody has prepared for."""
    from touchstone import TOUCHSTONES

    stone = TOUCHSTONES[name]
    return {**measured(name, stone.state, tol, seed, seconds, stone.coefficients), "noise": stone.noise}


def measured(
    name: str, state: Callable[[], Any], tol: float, seed: int, seconds: float, coefficients: Mapping[str, float]
) -> dict[str, Any]:
    """One run as a record; `coefficients` are the true ones."""
    import anagram as ag
    from anagram.programs.reproduce.runner import machine

    began = time.perf_counter()
    problem = state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = ag.solve(problem, tol=tol, seconds=seconds, seed=seed, progress=False)
    wall = time.perf_counter() - began
    summary = solution.summary
    estimate = summary.get("error_estimate")
    errors, spread_errors = true_errors(solution, coefficients)
    return {
        "problem": name,
        "tol": tol,
        "seed": seed,
        "machine": machine(),
        "limit": seconds,
        "wall_seconds": round(wall, 3),
        "reached": bool(getattr(solution, "reached", summary.get("reached", False))),
        "error_estimate": estimate.get("value") if isinstance(estimate, Mapping) else estimate,
        "reliable": estimate.get("reliable") if isinstance(estimate, Mapping) else None,
        "true_error": max(errors.values()),
        "spread_error": max(spread_errors.values()),
        "errors": errors,
        **{
            key: summary.get(key)
            for key in (
                "relative_error_estimate",
                "seconds",
                "compile_seconds",
                "steps",
                "model",
                "parameters",
                "points",
                "rungs",
                "stopped_because",
            )
        },
    }


def true_errors(solution: Any, coefficients: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
    """Relative errors of all unknowns and coefficients.

    Root mean squares on fresh points, divided by that of the exact values; and divided by that of their deviations from
    their mean, which is what counts for 300 K and a little more.
    """
    import anagram as ag

    problem = solution.problem
    points = problem.domain.draw(ag.Sobol(POINTS), np.random.default_rng(20_250_101)).x
    found = solution(points)
    if not isinstance(found, dict):
        found = {problem.unknowns[0].name: found}
    errors, spread_errors = {}, {}
    for unknown, exact in problem.exact(points).items():
        error = rms(found[unknown] - exact)
        errors[unknown], spread_errors[unknown] = error / rms(exact), error / rms(exact - exact.mean())
    for coefficient, exact in coefficients.items():
        errors[coefficient] = spread_errors[coefficient] = rms(solution.coefficients[coefficient] / exact - 1)
    return errors, spread_errors


def rms(values: np.ndarray) -> float:
    """The root mean square; what is not a number is as wrong as can be."""
    return float(np.nan_to_num(np.sqrt(np.mean(np.abs(values) ** 2)), nan=np.inf))


# -- all runs -----------------------------------------------------------------------------------------------
def key(record: Mapping[str, Any]) -> tuple:
    return record["problem"], record["tol"], record["seed"], record["machine"]


def load(path: Path) -> list[dict[str, Any]]:
    """The last record of every run; a line cut off by an interruption is left out."""
    records = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[key(record)] = record
    return list(records.values())


def broke_down(record: Mapping[str, Any]) -> bool:
    """Whether there is no solution at all."""
    return record["true_error"] is None


class Run:
    """A process of a script that measures one run on some cores."""

    def __init__(self, task: tuple[str, float, int], seconds: float, cores: list[int] | None, script: str) -> None:
        self.task, self.cores = task, cores
        self.began, self.limit = time.perf_counter(), 2 * seconds + OVERTIME
        name, tol, seed = task
        arguments = ["--one", name, repr(tol), str(seed), "--seconds", repr(seconds)]
        self.said = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.complained = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, script, *arguments], stdout=self.said, stderr=self.complained, **on_cores(cores)
        )

    def ended(self) -> bool:
        if self.process.poll() is None and time.perf_counter() - self.began > self.limit:
            self.process.kill()
            self.process.wait()
        return self.process.poll() is not None

    def record(self, machine: str) -> dict[str, Any]:
        """What it measured, or how it broke down."""
        wall = time.perf_counter() - self.began
        lines, complaints = _lines(self.said), _lines(self.complained)
        if self.process.returncode == 0 and lines:
            return json.loads(lines[-1])
        name, tol, seed = self.task
        return {
            "problem": name,
            "tol": tol,
            "seed": seed,
            "machine": machine,
            "wall_seconds": round(wall, 3),
            "seconds": None,
            "reached": False,
            "true_error": None,
            "stopped_because": "killed: it took too long"
            if wall > self.limit
            else f"broke down ({self.process.returncode}): {(complaints or [''])[-1]}",
        }

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def _lines(file: Any) -> list[str]:
    with file:
        file.seek(0)
        return [text for text in file.read().splitlines() if text.strip()]


def on_cores(cores: list[int] | None) -> dict[str, Any]:
    """How a process is started that is to use these cores alone; without any it uses the machine as users would."""
    if cores is None:
        return {}
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
    return {"env": env, "preexec_fn": lambda: os.sched_setaffinity(0, cores)}


def shares(jobs: int) -> list[list[int] | None]:
    """The cores of every job: whole ones if there are enough, otherwise threads of them."""
    if jobs == 1:
        return [None]
    threads = sorted(os.sched_getaffinity(0))
    whole = sorted({_siblings(thread): thread for thread in threads}.values())
    cores = whole if len(whole) >= CORES * jobs else threads
    if len(cores) < CORES * jobs:
        raise SystemExit(f"{jobs} jobs need {CORES * jobs} cores, there are {len(cores)}")
    return [cores[CORES * k : CORES * (k + 1)] for k in range(jobs)]


def _siblings(thread: int) -> str:
    """What the threads of one core have in common."""
    path = Path(f"/sys/devices/system/cpu/cpu{thread}/topology/thread_siblings_list")
    return path.read_text(encoding="ascii") if path.exists() else str(thread)


def machine_of(cores: list[int] | None) -> str:
    """What a run calls the machine. It is asked in a process: here JAX would take memory from the runs."""
    code = "from anagram.programs.reproduce.runner import machine; print(machine())"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **on_cores(cores))
    return asked.stdout.splitlines()[-1]


def run_all(
    tasks: list[tuple[str, float, int]], seconds: float, jobs: int, script: str = __file__
) -> Iterator[dict[str, Any]]:
    """Records as they come."""
    free, running, waiting = shares(jobs), [], list(reversed(tasks))
    machine = machine_of(free[0])
    try:
        while waiting or running:
            while waiting and free:
                running.append(Run(waiting.pop(), seconds, free.pop(), script))
            for run in [r for r in running if r.ended()]:
                running.remove(run)
                free.append(run.cores)
                yield run.record(machine)
            time.sleep(0.05)
    finally:
        for run in running:
            run.end()


# -- what came of it ----------------------------------------------------------------------------------------
def ratio(record: Mapping[str, Any]) -> float:
    """The true error by what was asked for."""
    return np.inf if record["true_error"] is None else record["true_error"] / record["tol"]


def claims_too_much(record: Mapping[str, Any]) -> bool:
    return record["reached"] and not ratio(record) <= TRUSTED


def trained(record: Mapping[str, Any]) -> float:
    """Training seconds; a run that broke down has used its time."""
    seconds = record.get("seconds")
    return record["wall_seconds"] if seconds is None else seconds


def error_of(record: Mapping[str, Any]) -> float:
    return np.inf if record["true_error"] is None else record["true_error"]


def by_tolerance(records: list[dict[str, Any]]) -> dict[tuple[str, float], list[dict[str, Any]]]:
    """Records by machine and tolerance, the loosest first."""
    groups = defaultdict(list)
    for record in sorted(records, key=lambda r: (r["machine"], -r["tol"])):
        groups[record["machine"], record["tol"]].append(record)
    return dict(groups)


def table(machine: str, tol: float, records: list[dict[str, Any]], order: list[str]) -> str:
    """Markdown: what was reached, in what time, and how true it is; claims that are not true are bold."""
    lines = [
        f"### tol = {tol:g} ({machine})",
        "",
        "| problem | reached | median seconds | worst | median true error | worst | worst where reached |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in order:
        runs = [r for r in records if r["problem"] == name]
        if not runs:
            continue
        seconds, errors = [trained(r) for r in runs], [error_of(r) for r in runs]
        claimed = max((error_of(r) for r in runs if r["reached"]), default=None)
        claim = "–" if claimed is None else f"{claimed:.1e}"
        lines.append(
            f"| {name} | {sum(r['reached'] for r in runs)}/{len(runs)} | {np.median(seconds):.3g} | {max(seconds):.3g} "
            f"| {np.median(errors):.1e} | {max(errors):.1e} "
            f"| {f'**{claim}**' if any(map(claims_too_much, runs)) else claim} |"
        )
    return "\n".join([*lines, "", *totals(records), ""])


def totals(records: list[dict[str, Any]]) -> list[str]:
    """What all runs of a tolerance come to."""
    claims = [r for r in records if r["reached"]]
    good = [r for r in records if ratio(r) <= 1]
    seconds, quick = [trained(r) for r in records], [trained(r) for r in claims]
    lines = [
        f"- runs: {len(records)} of {len({r['problem'] for r in records})} problems; "
        f"reached {share(len(claims), len(records))}, the true error is below tol in {share(len(good), len(records))}",
        f"- training seconds: median {np.median(seconds):.3g}, worst {max(seconds):.3g}"
        + (f"; where it is reached: median {np.median(quick):.3g}, worst {max(quick):.3g}" if claims else ""),
    ]
    if claims:
        wrong, worst = [r for r in claims if claims_too_much(r)], max(claims, key=ratio)
        lines.append(
            f"- claims with a true error above {TRUSTED:g} tol: {share(len(wrong), len(claims))}; the worst ratio is "
            f"{ratio(worst):.2g} ({worst['problem']}, seed {worst['seed']})"
        )
    seeds = sorted({r["seed"] for r in records})
    if len(seeds) > 1:
        of = {seed: [r["reached"] for r in records if r["seed"] == seed] for seed in seeds}
        lines.append("- reached by seed: " + ", ".join(f"{s}: {sum(of[s])} of {len(of[s])}" for s in seeds))
    missed = defaultdict(list)
    for r in sorted((r for r in records if not r["reached"]), key=lambda r: r["seed"]):
        missed[r["problem"]].append(str(r["seed"]))
    if missed:
        lines.append("- not reached (seeds): " + ", ".join(f"{name} ({', '.join(s)})" for name, s in missed.items()))
    broken = Counter(r["problem"] for r in records if broke_down(r))
    if broken:
        lines.append("- broke down: " + ", ".join(f"{name} ({count})" for name, count in broken.items()))
    return lines


def share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({100 * part / max(1, whole):.0f} %)"


def figure(records: list[dict[str, Any]], smooth: Mapping[str, bool], path: Path) -> None:
    """True error against training time, a panel for each tolerance; claims that are not true have their name."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from anagram.showing.report.style import BLUE, ORANGE, STYLE

    groups = by_tolerance([r for r in records if not broke_down(r)])
    if not groups:
        return
    machines = list(dict.fromkeys(machine for machine, _ in groups))
    tolerances = sorted({tol for _, tol in groups}, reverse=True)
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(3.9 * len(tolerances), 3.6 * len(machines) + 0.4), layout="constrained")
        axes = drawing.subplots(len(machines), len(tolerances), squeeze=False, sharex=True, sharey=True)
        for (machine, tol), runs in groups.items():
            ax = axes[machines.index(machine)][tolerances.index(tol)]
            for r in runs:
                colour, place = BLUE if smooth[r["problem"]] else ORANGE, (max(trained(r), 1e-2), drawable(r))
                ax.plot(*place, "o", color=colour, mfc=colour if r["reached"] else "none", ms=4, mew=0.8, alpha=0.75)
                if claims_too_much(r):
                    ax.annotate(r["problem"], place, xytext=(4, 2), textcoords="offset points", fontsize=6.5)
            ax.axhline(tol, color="0.3", lw=1)
            ax.axhline(TRUSTED * tol, color="0.3", lw=0.7, ls=":")
            ax.set(xscale="log", yscale="log", title=f"tol = {tol:g}", xlabel="training time (s)")
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
        for row, machine in zip(axes, machines, strict=True):
            row[0].set_ylabel(f"true relative error\n({machine})")
        marks = [
            Line2D([], [], color=BLUE, marker="o", ls="", ms=4, label="smooth, reached"),
            Line2D([], [], color=ORANGE, marker="o", ls="", ms=4, label="layer, narrow or noisy, reached"),
            Line2D([], [], color="0.3", marker="o", mfc="none", ls="", ms=4, label="not reached"),
            Line2D([], [], color="0.3", lw=0.7, ls=":", label=f"{TRUSTED:g} tol"),
        ]
        drawing.legend(handles=marks, loc="outside lower center", ncols=4, frameon=False)
        FigureCanvasAgg(drawing)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path)


def drawable(record: Mapping[str, Any]) -> float:
    """The true error within what can be drawn."""
    return float(np.clip(record["true_error"], 1e-16, 10.0))


# -- the program --------------------------------------------------------------------------------------------
def main() -> None:
    from accuracy import numbers

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="all of them if none is named")
    parser.add_argument("--tol", type=float, nargs="+", default=[1e-3, 1e-6, 1e-9])
    parser.add_argument("--seeds", type=numbers, default=numbers("0:5"))
    parser.add_argument("--seconds", type=float, default=120.0, help="the largest training time of a run")
    parser.add_argument("--jobs", type=int, default=1, help=f"runs at once, each on {CORES} cores of its own")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "anywhere.jsonl")
    parser.add_argument("--beside", type=Path, nargs="+", default=[], help="more results, for tables and figure")
    parser.add_argument("--figure", type=Path, default=HERE.parent / "docs" / "figures" / "anywhere.png")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--one", nargs=3, metavar=("PROBLEM", "TOL", "SEED"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        name, tol, seed = args.one
        print(json.dumps(measure(name, float(tol), int(seed), args.seconds), default=float))
        return
    from touchstone import TOUCHSTONES

    names = args.problems or list(TOUCHSTONES)
    unknown = [name for name in names if name not in TOUCHSTONES]
    if unknown:
        parser.error(f"there is no problem '{unknown[0]}'; there are {', '.join(TOUCHSTONES)}")
    if not args.report:
        args.results.parent.mkdir(parents=True, exist_ok=True)
        machine = machine_of(shares(args.jobs)[0])
        done = {key(r) for r in load(args.results) if not broke_down(r)}
        # All problems with one seed come before the next: results that are not complete yet say something of all.
        wanted = [(name, tol, seed) for seed in args.seeds for tol in args.tol for name in names]
        tasks = [task for task in wanted if (*task, machine) not in done]
        for count, record in enumerate(run_all(tasks, args.seconds, args.jobs), 1):
            if record["stopped_because"] == "interrupted":
                return
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{count}/{len(tasks)}  {line(record)}", flush=True)
    records = [r for path in (args.results, *args.beside) for r in load(path) if r["problem"] in names]
    for (machine, tol), runs in by_tolerance(records).items():
        print("\n" + table(machine, tol, runs, list(TOUCHSTONES)))
    figure(records, {name: stone.smooth for name, stone in TOUCHSTONES.items()}, args.figure)


def line(record: Mapping[str, Any]) -> str:
    """A run for who watches."""
    said = "CLAIMS TOO MUCH" if claims_too_much(record) else "reached" if record["reached"] else "not reached"
    return (
        f"{record['problem']:18} tol {record['tol']:g} seed {record['seed']}: error {error_of(record):.1e}, {said}, "
        f"{trained(record):.1f} s; {record['stopped_because']}"
    )


if __name__ == "__main__":
    main()
