"""Which points to train on? The same number of points, placed in seven ways, on the paper's problems and networks.

    python bench/points.py laplace-2d heat --seeds 5

1.6 rows for each parameter: few enough for the choice to matter. The method is the default one without its sketch,
which would look at still fewer points.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

import anagram as ag
from anagram import catalogue
from anagram.statement.domains import PointRule

ROWS_PER_PARAMETER = 1.6
WAYS = {
    "uniform": ag.Uniform,
    "Sobol": ag.Sobol,
    "Sobol, redrawn": lambda n: ag.Redrawn(ag.Sobol(n), every=25),
    "residual": lambda n: ag.Tangent(n, "residual"),
    "leverage": lambda n: ag.Tangent(n, "leverage"),
    "pivoted": lambda n: ag.Tangent(n, "pivoted"),
    "greedy": lambda n: ag.Tangent(n, "greedy"),
}


def rules(problem: ag.Problem, way: str, parameters: int) -> dict[str, PointRule]:
    """The same numbers of points for all ways: a tenth of those inside on every boundary condition."""
    inside = ROWS_PER_PARAMETER * parameters / (1 + 0.1 * (len(problem.conditions) - 1))
    inner = problem.domain.dimension
    counts = {k: inside if problem.region(k).dimension == inner else 0.1 * inside for k in problem.conditions}
    return {key: WAYS[way](max(4, round(count))) for key, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=["laplace-2d", "heat"])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "points.jsonl")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ag.PointsWarning)
    args.results.parent.mkdir(parents=True, exist_ok=True)
    print("| problem | points | rows | median error | best | worst |\n|---|---|---|---|---|---|")
    for name in args.problems:
        problem = catalogue.problem(name)
        paper = catalogue.ENTRIES[name].paper.model
        model = ag.MLP(*paper.widths, activation=paper.activation)
        parameters = ag.ParametricModel(problem.sought, model).parameters
        for way in args.ways:
            runs = [
                ag.solve(
                    problem,
                    model,
                    "auto",
                    points=rules(problem, way, parameters),
                    options={"sketch": 0, "restarts": 0},
                    steps=args.steps,
                    patience=args.steps,
                    seed=seed,
                    progress=False,
                )
                for seed in range(args.seeds)
            ]
            errors = [run.l2_error for run in runs]
            rows = runs[0].summary["rows"]
            print(
                f"| {name} | {way} | {rows} | {np.median(errors):.1e} | {min(errors):.1e} | {max(errors):.1e} |",
                flush=True,
            )
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"problem": name, "way": way, "rows": rows, "errors": errors}) + "\n")


if __name__ == "__main__":
    main()
