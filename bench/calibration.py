"""How good is the estimated error? Runs of many kinds are stopped at every power of ten of their error; at each of
these stages the estimate is compared with the error that was made.

    python bench/calibration.py laplace-2d heat --methods auto anagram adam --seeds 0:3
    python bench/calibration.py burgers --set nu=0.001 --methods auto --seeds 0
    python bench/calibration.py --report docs/figures/calibration.png

Records are appended to bench/results/calibration.jsonl; the report is made of all that are there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

import anagram as ag
from accuracy import numbers
from anagram import catalogue
from anagram.programs.reproduce.runner import machine
from anagram.tangent.estimate import Estimator
from anagram.training.budget import Budget
from anagram.training.defaults import complete
from anagram.training.trainer import Trainer

HERE = Path(__file__).parent
# Enough to see a method at work; the paper's own numbers of steps take hours on two cores.
STEPS = {"auto": None, "anagram": 1500, "engd": 600, "lbfgs": 2000, "adam": 5000, "gd": 3000}
LEVELS = 10.0 ** -np.arange(0, 15)


def measure(name: str, method: str, seed: int, parameters: dict[str, float], steps: int | None) -> list[dict]:
    """The stages of one run: errors and their estimates."""
    problem = catalogue.problem(name, paper=method != "auto", **parameters)
    setting = complete(problem.setting or ag.Setting(), problem)
    if method not in ("auto", "anagram"):
        setting = replace(setting.with_method(method), options={})
    steps = steps or STEPS[method] or setting.steps
    trainer = Trainer(problem, replace(setting, steps=steps), seed)
    stages: list[tuple[int, float, np.ndarray]] = []
    levels = list(LEVELS)

    def look(record: dict) -> None:
        error = record["l2_error"]
        if not stages or (levels and error <= levels[0]):
            while levels and error <= levels[0]:
                levels.pop(0)
            stages.append((record["step"], error, np.asarray(trainer.state.theta)))

    solution = trainer.train(Budget(steps, patience=steps), [look], 0.05)
    stages.append((solution.summary["steps"], solution.l2_error, solution.theta))
    estimator = Estimator(problem, trainer.model, solution.summary["points"])
    records = []
    for step, error, theta in stages:
        estimate = estimator(theta)
        started = time.perf_counter()
        estimator(theta)
        records.append(
            {
                "problem": name,
                "parameters": parameters,
                "method": method,
                "seed": seed,
                "step": step,
                "last": step == stages[-1][0],
                "error": error,
                "estimate": estimate.value,
                "seen": estimate.seen,
                "disagreement": estimate.disagreement,
                "unseen": estimate.unseen,
                "reliable": estimate.reliable,
                "seconds": time.perf_counter() - started,
                "seconds_per_step": trainer.seconds / max(1, solution.summary["steps"]),
                "machine": machine(),
            }
        )
    return records


def load(path: Path) -> list[dict]:
    """All records."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def within(records: list[dict], factor: float) -> float:
    """The share of the estimates within a factor of the error."""
    ratios = np.array([r["estimate"] / r["error"] for r in records])
    return float(np.mean((ratios <= factor) & (ratios >= 1 / factor)))


def row(label: str, records: list[dict]) -> str:
    """One row of the table."""
    good = [r for r in records if r["reliable"]]
    ratios, all_ratios = (np.array([r["estimate"] / r["error"] for r in group]) for group in (good, records))
    relied = "– | – | –"
    if good:
        relied = f"{np.median(ratios):.2f} | {ratios.min():.2g} – {ratios.max():.2g} | {100 * within(good, 3):.0f} %"
    return (
        f"| {label} | {len(records)} | {len(records) - len(good)} | {relied} | "
        f"{all_ratios.min():.2g} – {all_ratios.max():.2g} |"
    )


def table(records: list[dict]) -> str:
    """Markdown, a row for each problem and method."""
    lines = [
        "| problem, method | stages | not relied on | median ratio | ratios | within 3× | ratios of all |",
        "|---|---|---|---|---|---|---|",
    ]
    groups: dict[str, list[dict]] = {}
    for record in records:
        groups.setdefault(label(record), []).append(record)
    lines += [row(name, group) for name, group in sorted(groups.items())]
    return "\n".join([*lines, row("**all**", records)])


def label(record: dict) -> str:
    """Problem, its parameters and the method."""
    given = "".join(f" {k}={v:g}" for k, v in record["parameters"].items())
    return f"{record['problem']}{given}, {record['method']}"


def figure(records: list[dict], path: Path) -> None:
    """Estimates against errors."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    from anagram.showing.report.style import STYLE

    colours = {"laplace-2d": "#20639b", "heat": "#e07a1f", "laplace-5d": "#3a8f5c", "allen-cahn": "#b5446e"}
    with rc_context(STYLE):
        drawing = Figure(figsize=(6.4, 5.6), layout="constrained")
        ax = drawing.subplots()
        line = np.array([1e-16, 10])
        ax.fill_between(line, line / 3, 3 * line, color="0.92", lw=0, label="within a factor of 3")
        ax.plot(line, line, color="0.6", lw=0.8)
        for problem in dict.fromkeys(r["problem"] for r in records):
            for reliable in (True, False):
                chosen = [r for r in records if r["problem"] == problem and r["reliable"] == reliable]
                colour = colours.get(problem, "#6b4fa0")
                ax.plot(
                    [r["error"] for r in chosen],
                    [r["estimate"] for r in chosen],
                    "o" if reliable else "x",
                    ms=4 if reliable else 5,
                    color=colour,
                    mec=colour,
                    alpha=0.75,
                    ls="none",
                    label=problem if reliable else None,
                )
        ax.plot([], [], "x", color="0.3", ls="none", label="said to be unreliable")
        ax.set(xscale="log", yscale="log", xlabel="true L² error", ylabel="estimated L² error")
        errors = [r["error"] for r in records]
        ax.set_xlim(min(errors) / 3, 3)
        ax.set_ylim(min(errors) / 3, max(3, 2 * max(r["estimate"] for r in records)))
        ax.legend()
        drawing.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=[])
    parser.add_argument("--methods", nargs="+", default=["auto"], choices=list(STEPS))
    parser.add_argument("--seeds", type=numbers, default=numbers("0:3"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--set", nargs="*", default=[], help="parameters of the problem, nu=0.001")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "calibration.jsonl")
    parser.add_argument("--report", type=Path, help="draw the figure")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ag.PointsWarning)
    parameters = {k: float(v) for k, v in (text.split("=") for text in args.set)}
    args.results.parent.mkdir(parents=True, exist_ok=True)
    for name in args.problems:
        for method in args.methods:
            for seed in args.seeds:
                records = measure(name, method, seed, parameters, args.steps)
                with args.results.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(r) + "\n" for r in records)
                worst = max(records, key=lambda r: abs(np.log(r["estimate"] / r["error"])))
                print(
                    f"{label(records[0])}, seed {seed}: {len(records)} stages, error {records[-1]['error']:.1e}, "
                    f"estimate {records[-1]['estimate']:.1e}; worst ratio {worst['estimate'] / worst['error']:.2g}",
                    flush=True,
                )
    records = load(args.results)
    if records:
        print("\n" + table(records))
    if args.report and records:
        figure(records, args.report)


if __name__ == "__main__":
    main()
