"""Error against training time of every problem, seed by seed: the table and the figure of docs/accuracy.md.

Three columns for each problem:

- `default`: what `anagram solve NAME --seed s` does;
- `auto, paper's setting`: the default method with the paper's network and number of points;
- `anagram, paper's setting`: the paper's method with its cutoff, network and points.

Every run is written to the results as soon as it ends; a bench that was interrupted goes on where it stopped.

    python bench/accuracy.py --seeds 0:10 --columns default auto anagram laplace-2d heat "burgers:nu=0.001"
    python bench/accuracy.py --report           # only the table and the figure, from the results there are
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import anagram as ag
from anagram.programs.reproduce.plan import paper_setting_for_auto
from anagram.programs.reproduce.runner import machine
from anagram.training import budget

HERE = Path(__file__).parent
PROBLEMS = ("laplace-2d", "heat", "laplace-5d", "allen-cahn", "burgers")
COLUMNS = {
    "default": "defaults",
    "auto": "auto, paper's setting",
    "anagram": "anagram, paper's setting",
}
LEVELS = (1e-3, 1e-5, 1e-7)
# Training seconds of the fastest other program to these errors (2 CPU cores, one seed) and the medians of the paper.
PEERS = {
    "laplace-2d": (0.10, 0.19, 7.5),
    "heat": (0.21, 1.1, 25.0),
    "laplace-5d": (1.1, 37.0, None),
    "allen-cahn": (90.0, None, None),
}
PAPER = {"laplace-2d": 2.4e-9, "heat": 6.5e-7, "laplace-5d": 3.8e-5, "allen-cahn": 2.5e-3}


def stated(name: str, paper: bool) -> ag.Problem:
    """A problem of the catalogue by name, with parameters after a colon."""
    base, _, text = name.partition(":")
    parameters = dict(pair.split("=") for pair in text.split(",") if pair)
    return ag.catalogue.problem(base, paper=paper, **{k: float(v) for k, v in parameters.items()})


def prepare(name: str, column: str) -> ag.Problem:
    """The problem with the setting of a column."""
    if column == "auto":
        return paper_setting_for_auto(name)
    return stated(name, paper=column == "anagram")


def measure(problem: ag.Problem, name: str, column: str, seed: int, seconds: float | None) -> dict:
    """One run as a record: what it reached, and its error against time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The paper's runs go on where the loss stands still, and some of them get away after hundreds of steps.
        patience = problem.setting.steps if column == "anagram" else 100
        # Nothing is stopped at a tolerance: the table shows how far runs come.
        solution = ag.solve(problem, seed=seed, seconds=seconds, patience=patience, progress=False, tol=0)
    summary = solution.summary
    blocks = solution.history.blocks
    kept = sorted({*range(0, len(blocks), max(1, len(blocks) // 150)), *range(min(60, len(blocks))), len(blocks) - 1})
    curve = [(round(blocks[k]["seconds"], 4), float(f"{blocks[k]['l2_error']:.3g}")) for k in kept]
    columns = ("steps", "seconds", "compile_seconds", "loss", "validation_loss", "l2_error", "parameters", "points")
    return {
        "problem": name,
        "column": column,
        "seed": seed,
        "machine": machine(),
        **{key: summary[key] for key in columns},
        "stopped_because": summary["stopped_because"],
        "curve": curve,
    }


def load(path: Path) -> list[dict]:
    """The records there are; a last line cut off by an interruption is left out."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records


def time_to(record: dict, level: float) -> float:
    """Training seconds until the error was first below a level."""
    return next((seconds for seconds, error in record["curve"] if error <= level), np.inf)


def shown_time(seconds: float) -> str:
    return "–" if not np.isfinite(seconds) else f"{seconds:.2g}"


def table(records: list[dict]) -> str:
    """Markdown: medians and worst seeds, and the times to each level beside the fastest other program."""
    lines = [
        "| problem | column | machine | seeds | median error | worst | seconds | to 1e-3 / 1e-5 / 1e-7 (s) | peers |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        groups.setdefault((record["problem"], record["column"], record["machine"]), []).append(record)
    for (name, column, where), runs in sorted(groups.items(), key=_order):
        errors = [r["l2_error"] for r in runs]
        levels = " / ".join(shown_time(np.median([time_to(r, level) for r in runs])) for level in LEVELS)
        peers = " / ".join("–" if v is None else f"{v:g}" for v in PEERS.get(name, (None,) * 3))
        lines.append(
            f"| {name} | {COLUMNS[column]} | {where} | {len(runs)} | {np.median(errors):.1e} | {max(errors):.1e} | "
            f"{np.median([r['seconds'] for r in runs]):.3g} | {levels} | {peers if column != 'default' else ''} |"
        )
    return "\n".join([*lines, "", *speed_lines(groups)])


def speed_lines(groups: dict[tuple, list[dict]]) -> list[str]:
    """Time to the paper's median error, ours as a fraction of what the paper's method needs or gives up at."""
    lines = [
        "| problem | the paper's median error | auto (s), seeds there | anagram (s), seeds there | ratio |",
        "|---|---|---|---|---|",
    ]
    for name, error in PAPER.items():
        for (problem, column, where), ours in groups.items():
            theirs = groups.get((name, "anagram", where))
            if problem != name or column != "auto" or theirs is None:
                continue
            quick = np.median([time_to(r, error) for r in ours])
            slow = np.median([min(time_to(r, error), r["seconds"]) for r in theirs])
            there = [f"{sum(time_to(r, error) < np.inf for r in runs)} of {len(runs)}" for runs in (ours, theirs)]
            ratio = f"1/{slow / quick:.1f}" if np.isfinite(quick) else "–"
            lines.append(
                f"| {name} | {error:.1e} | {shown_time(quick)}, {there[0]} | {slow:.2g}, {there[1]} | {ratio} |"
            )
    return lines


def _order(item: tuple) -> tuple:
    (name, column, where), _ = item
    known = [n for n in PROBLEMS if name.startswith(n)]
    return (PROBLEMS.index(known[0]) if known else 99, name, list(COLUMNS).index(column), where)


def figure(records: list[dict], path: Path) -> None:
    """Error against training time: one line a seed, thick where half of the seeds are below."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from anagram.showing.report.style import BLUE, GREEN, ORANGE, STYLE

    records = [r for r in records if "cores" in r["machine"]]
    names = sorted({r["problem"] for r in records}, key=lambda n: ([not n.startswith(p) for p in PROBLEMS], n))
    if not names:
        return
    colours = {"default": BLUE, "auto": GREEN, "anagram": ORANGE}
    with mpl.rc_context(STYLE):
        drawing = Figure(figsize=(3.7 * min(3, len(names)), 3.2 * -(-len(names) // 3)), layout="constrained")
        axes = np.ravel(drawing.subplots(-(-len(names) // 3), min(3, len(names)), squeeze=False))
        for ax, name in zip(axes, names, strict=False):
            for column, colour in colours.items():
                runs = [r for r in records if (r["problem"], r["column"]) == (name, column)]
                for r in runs:
                    ax.loglog(*zip(*r["curve"][1:], strict=True), color=colour, lw=0.5, alpha=0.4)
                if runs:
                    times = np.geomspace(0.02, max(r["seconds"] for r in runs), 200)
                    ax.loglog(times, median_curve(runs, times), color=colour, lw=2, label=COLUMNS[column])
            for level, seconds in zip(LEVELS, PEERS.get(name, ()), strict=False):
                if seconds is not None:
                    ax.plot(seconds, level, "x", color="0.2", ms=6, mew=1.5)
            ax.set_title(name, loc="left")
            ax.set_xlabel("training time (s)")
            ax.grid(visible=True, which="major", color="0.9", lw=0.6)
        for ax in axes[len(names) :]:
            ax.set_visible(False)
        axes[0].set_ylabel("RMS error")
        handles, labels = axes[0].get_legend_handles_labels()
        cross = mpl.lines.Line2D([], [], color="0.2", marker="x", ls="", label="fastest other program")
        drawing.legend(
            [*handles, cross], [*labels, cross.get_label()], loc="outside lower center", ncols=4, frameon=False
        )
        FigureCanvasAgg(drawing)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path)


def median_curve(runs: list[dict], times: np.ndarray) -> np.ndarray:
    """The median over seeds of the error at these times."""
    values = []
    for r in runs:
        seconds, errors = map(np.array, zip(*r["curve"], strict=True))
        values.append(errors[np.maximum(0, np.searchsorted(seconds, times, side="right") - 1)])
    return np.median(values, axis=0)


def numbers(text: str) -> list[int]:
    """`0:10` or `0,3,5`."""
    if ":" in text:
        first, last = text.split(":")
        return list(range(int(first), int(last)))
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=PROBLEMS)
    parser.add_argument("--seeds", type=numbers, default=numbers("0:10"))
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=["default"])
    parser.add_argument("--seconds", type=float, help="the largest training time of a run")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "accuracy.jsonl")
    parser.add_argument("--figure", type=Path, default=HERE / "results" / "accuracy.png")
    parser.add_argument("--report", action="store_true", help="run nothing")
    args = parser.parse_args()
    budget.BLOCK_SECONDS = 0.02  # errors are looked at often; looking does not count as training time
    done = {(r["problem"], r["column"], r["seed"], r["machine"]) for r in load(args.results)}
    args.results.parent.mkdir(parents=True, exist_ok=True)
    for name in () if args.report else args.problems:
        for column in args.columns:
            if column != "default" and name not in PAPER:
                continue
            problem = prepare(name, column)
            for seed in args.seeds:
                if (name, column, seed, machine()) in done:
                    continue
                record = measure(problem, name, column, seed, args.seconds)
                if record["stopped_because"] == "interrupted":
                    return
                with args.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")
                print(
                    f"{name:12} {column:8} seed {seed}: error {record['l2_error']:.1e} "
                    f"after {record['steps']} steps, {record['seconds']:.1f} s; {record['stopped_because']}",
                    flush=True,
                )
    records = load(args.results)
    if records:
        print("\n" + table(records))
        figure(records, args.figure)


if __name__ == "__main__":
    main()
