"""Do the corrections of Theorem 1 help? The paper's networks, trained along φ̂† ∇L̂ with the correction terms or without.

    python bench/corrections.py --problems laplace-2d heat
    python bench/corrections.py --problems laplace-5d allen-cahn --steps 300 --seeds 2

The batch is a fine grid (Sobol points in five dimensions), which stands for the metric of L²; φ̂ has only some of its
rows: as many as the paper has, or half as many as there are parameters. All runs choose their step length by the loss
on the fine grid.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import anagram as ag
from anagram import catalogue
from anagram.methods.anagram import CORRECTIONS

PAPER_ROWS = {"laplace-2d": 1020, "heat": 990, "laplace-5d": 4500, "allen-cahn": 990}
CUTOFF = 1e-6
QUADRATURE = {"laplace-5d": {"equation": ag.Sobol(12000), "walls": ag.Sobol(1500)}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", default=["laplace-2d", "heat"], choices=list(PAPER_ROWS))
    parser.add_argument("--corrections", nargs="+", default=list(CORRECTIONS), choices=CORRECTIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "corrections.jsonl")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ag.PointsWarning)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    print("| problem | rows of φ̂ | corrections | errors of the seeds | s per step |\n|---|---|---|---|---|")
    for name in args.problems:
        problem = catalogue.problem(name, paper=True)
        model = ag.MLP(*catalogue.ENTRIES[name].paper.model.widths, init="glorot", scale=0)
        parameters = ag.ParametricModel(problem.sought, model).parameters
        for rows in (PAPER_ROWS[name], parameters // 2):
            for corrections in args.corrections:
                method = ag.Anagram(CUTOFF, search="paper", corrections=corrections, empirical=rows, rows="paper")
                runs = [
                    ag.solve(
                        problem,
                        model,
                        method,
                        points=QUADRATURE.get(name, ag.Grid(60)),
                        steps=args.steps,
                        seed=seed,
                        patience=args.steps,
                        progress=False,
                    )
                    for seed in range(args.seeds)
                ]
                errors = [run.l2_error for run in runs]
                pace = float(np.median([run.summary["seconds"] / run.summary["steps"] for run in runs]))
                shown = ", ".join(f"{e:.1e}" for e in errors)
                print(f"| {name} | {rows} | {corrections} | {shown} | {pace:.3f} |", flush=True)
                record = {"problem": name, "rows": rows, "corrections": corrections, "errors": errors, "pace": pace}
                with args.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
