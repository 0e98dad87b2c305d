"""Tables and the figure of what `paper_open.py` ran: results/paper-open.jsonl beside the paper's numbers.

python bench/paper_tables.py            # docs/results/open.md and docs/results/figures/open.png
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from anagram.programs.reproduce.results import paper_numbers
from paper_runs import QUANTITIES, read
from paper_trials import Trial, trials

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs" / "results"
LOOKS = 24  # points that are kept of a curve
PARTS = {
    "a": "Allen–Cahn",
    "b": "Laplace 2D, ANaGRAM: first parameters and points",
    "c": "Burgers, ν = 0.001",
    "d": "E-NGD and L-BFGS, one thing changed at a time",
}
TEXTS = {
    "a-anagram-public": "ANaGRAM, grid and draws of the public code",
    "a-anagram-small": "ANaGRAM, grid of the public code, draws of our own",
    "a-anagram-svd": "the same for 100 steps, SVD of J in place of its Gram matrix",
    "a-lbfgs-public": "L-BFGS, grid, draws and line search of the public code",
    "a-engd-public": "E-NGD, second derivative of the energy, grid and draws of the public code",
    "a-engd-script": "E-NGD as the public script has it",
    "b-small": "0.1·N(0, 1), points of the text",
    "b-glorot": "Glorot normal, points of the text",
    "b-public": "draws and grid of the public code",
    "b-public-svd": "the same, SVD of J at every step",
    "c-public": "draws of the public code (its default seed 42, and two more)",
    "c-small": "draws of our own",
    "d-engd-ours": "E-NGD, ours",
    "d-engd-svd": "SVD of the Gram matrix",
    "d-engd-doubled": "gradient of 2ℓ: the longest length is 2",
    "d-engd-measures": "boundary four times in the Gram matrix, once in the loss",
    "d-engd-grid": "28² points inside, 4·29 on the boundary",
    "d-engd-draws": "draws of the public code",
    "d-engd-public": "all five together",
    "d-lbfgs-ours": "L-BFGS, ours",
    "d-lbfgs-trials": "at most 15 lengths in place of 20",
    "d-lbfgs-keep": "the search begins at the last length",
    "d-lbfgs-grid": "28² points inside, 4·29 on the boundary",
    "d-lbfgs-draws": "draws of the public code",
    "d-lbfgs-public": "all four together",
    "d-heat-lbfgs-ours": "heat, L-BFGS, ours",
    "d-heat-lbfgs-public": "heat, L-BFGS, all as in the public code",
    "d-5d-lbfgs-keep": "Laplace 5D, L-BFGS, 15 lengths, the search begins at the last one",
}
METHODS = {"anagram": "ANaGRAM", "engd": "E-NGD", "lbfgs": "L-BFGS"}


def method_of(trial: Trial) -> str:
    """The paper's name of the method of a trial."""
    return next((m for m in METHODS if m in trial.name), "anagram")


def ends(records: list[dict[str, Any]], quantity: str, step: int | None = None) -> np.ndarray:
    """The last values of the runs, or those at the last look up to a step."""
    values = []
    for record in records:
        steps = np.asarray(record["steps"])
        index = len(steps) - 1 if step is None else int(np.searchsorted(steps, step, side="right")) - 1
        value = record[quantity][index]
        values.append(np.nan if value is None else value)
    return np.asarray(values)


def spread(values: np.ndarray) -> str:
    """Median, minimum and maximum as cells."""
    return f"{np.median(values):.2e} | {np.min(values):.2e} | {np.max(values):.2e}"


def tables(found: dict[tuple[str, int], dict[str, Any]]) -> str:
    """All of them as Markdown."""
    head = "| | seeds | steps | L² error: median | min | max | test loss: median | min | max | train loss: median |"
    lines = [
        "# What was open",
        "",
        "Made by `python bench/paper_tables.py` from the runs of `python bench/paper_open.py`, which says what words",
        "mean. Losses are sums of mean squares; where the public code counts walls apart, so do they. In italics the",
        "paper's. A run that was cut short counts with its last step.",
    ]
    for part, title in PARTS.items():
        rows = [(t, records_of(found, t)) for t in trials() if t.part == part and records_of(found, t)]
        if not rows:
            continue
        lines += ["", f"## {title}", "", head, "|---" * 10 + "|"]
        told = ""
        for trial, records in rows:
            paper = paper_numbers().get(trial.problem, {}).get(method_of(trial))
            key = f"{trial.problem} {method_of(trial)}"
            if paper and key != told:
                told = key
                cells = [
                    f"*{paper[q][s]:.2e}*" for q in ("l2_error", "test_loss") for s in ("median", "minimum", "maximum")
                ]
                lines.append(f"| *{METHODS[method_of(trial)]}, the paper* | | | {' | '.join(cells)} | |")
            lines.append(_row(trial, records))
    return "\n".join(lines) + "\n"


def records_of(found: dict[tuple[str, int], dict[str, Any]], trial: Trial) -> list[dict[str, Any]]:
    """The runs of a trial."""
    return [record for (name, _), record in sorted(found.items()) if name == trial.name]


def _row(trial: Trial, records: list[dict[str, Any]]) -> str:
    taken = [record["step"] for record in records]
    steps = str(taken[0]) if min(taken) == max(taken) else f"{min(taken)}–{max(taken)}"
    cells = f"{spread(ends(records, 'l2_error'))} | {spread(ends(records, 'test_loss'))}"
    train = f"{np.median(ends(records, 'loss')):.2e}"
    return f"| {TEXTS.get(trial.name, trial.name)} | {len(records)} | {steps} | {cells} | {train} |"


def figure(found: dict[tuple[str, int], dict[str, Any]], path: Path) -> None:
    """Every run as a dot, trial by trial, on the paper's range and median."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullFormatter

    from anagram.programs.reproduce.figures import COLOURS, PRINT

    panels = {
        "Laplace 2D, E-NGD": [t for t in trials() if t.name.startswith("d-engd")],
        "Laplace 2D, L-BFGS, after 1000 steps": [t for t in trials() if t.name.startswith("d-lbfgs")],
        "Laplace 2D, ANaGRAM": [t for t in trials() if t.part == "b"],
        "Allen–Cahn": [t for t in trials() if t.part == "a" and len(t.seeds) > 2],
    }
    with mpl.rc_context(PRINT):
        drawn = Figure(figsize=(6.8, 6.4), layout="constrained")
        heights = [1 + sum(bool(records_of(found, t)) for t in chosen) for chosen in panels.values()]
        places = np.ravel(drawn.subplots(4, 1, height_ratios=heights))
        for ax, (title, chosen) in zip(places, panels.items(), strict=True):
            rows = [(t, records_of(found, t)) for t in chosen if records_of(found, t)]
            for place, (trial, records) in enumerate(rows):
                method = method_of(trial)
                paper = paper_numbers()[trial.problem][method]["l2_error"]
                ax.fill_betweenx(
                    [place - 0.4, place + 0.4], paper["minimum"], paper["maximum"], color="0.9", lw=0, zorder=0
                )
                ax.plot([paper["median"]] * 2, [place - 0.4, place + 0.4], color="0.55", lw=1.2, zorder=1)
                values = ends(records, "l2_error", 1000 if trial.name.startswith("d-lbfgs") else None)
                beside = place + np.linspace(-0.25, 0.25, len(values)) if len(values) > 1 else [place]
                ax.plot(values, beside, "o", color=COLOURS[method], ms=3, alpha=0.7, mec="none")
                ax.plot([np.median(values)] * 2, [place - 0.4, place + 0.4], color=COLOURS[method], lw=1.6)
            ax.set_yticks(range(len(rows)), [_label(*row) for row in rows], fontsize=7)
            ax.set_xscale("log")
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.invert_yaxis()
            ax.set_title(title, loc="left")
            ax.grid(visible=True, axis="x", color="0.92", lw=0.6)
        drawn.supxlabel("L² error of each seed, and the median; grey: the paper's median and range", fontsize=8)
        FigureCanvasAgg(drawn)
        path.parent.mkdir(parents=True, exist_ok=True)
        drawn.savefig(path, dpi=200)


def _label(trial: Trial, records: list[dict[str, Any]]) -> str:
    """What a row of the figure shows; where runs were cut short, after how many steps."""
    cut = [record["step"] for record in records if not record["finished"]]
    some = "" if len(cut) == len(records) else f"{len(cut)} of {len(records)} "
    return TEXTS[trial.name] + (f"\n({some}cut short after {max(cut)} of {trial.steps} steps)" if cut else "")


def add(files: list[Path], results: Path) -> None:
    """The furthest record of every run in the results and in some files, in one file; curves are thinned."""
    found = read(results)
    for path in files:
        for key, record in read(path).items():
            if key not in found or record["step"] > found[key]["step"]:
                found[key] = record
    lines = []
    for record in (found[key] for key in sorted(found)):
        kept = sorted({round(k) for k in np.linspace(0, len(record["steps"]) - 1, LOOKS)})
        curves = {q: [record[q][k] for k in kept] for q in ("steps", *QUANTITIES)}
        lines.append(json.dumps({**record, **curves}))
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "paper-open.jsonl")
    parser.add_argument("--docs", type=Path, default=DOCS)
    parser.add_argument("--add", type=Path, nargs="+", default=[], help="files whose runs are added to the results")
    args = parser.parse_args()
    if args.add:
        add(args.add, args.results)
    found = read(args.results)
    args.docs.mkdir(parents=True, exist_ok=True)
    (args.docs / "open.md").write_text(tables(found), encoding="utf-8")
    figure(found, args.docs / "figures" / "open.png")
    print(tables(found))


if __name__ == "__main__":
    main()
