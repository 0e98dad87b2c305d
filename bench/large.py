"""Many parameters on one device: steps against what they are made of, products without matrices, and two large problems.

Each result is one line of JSON in bench/results/large.jsonl, written as soon as it is there; a part that has used up its
seconds begins nothing new.

    python bench/large.py --parts dense free growth plan --budget 95 75 60 25
    python bench/large.py --parts hundred --budget 250
    python bench/large.py --parts beltrami --budget 250
    python bench/large.py --small                          # all parts in small, on a processor

- dense: a step of `auto` against its features and JᵀJ, S = 5 P rows;
- free: products with JᵀJ for a million parameters and 100 000 rows without any matrix, and a step of `large`; the same
  products in single precision;
- growth: how the time of a step grows with P and with S, with fitted exponents;
- plan: what `anagram plan` says of a step on half of the rows, and what it takes;
- hundred: Poisson's equation in 100 dimensions;
- beltrami: a flow in space and time, Navier–Stokes with its exact solution.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))

import argparse
import json
import time
import traceback
import warnings
from pathlib import Path

import jax

import large_growth
import large_problems
import large_steps

PARTS = {
    "dense": large_steps.dense,
    "free": large_steps.free,
    "growth": large_growth.growth,
    "plan": large_growth.plan,
    "hundred": large_problems.hundred,
    "beltrami": large_problems.beltrami,
}


class Report:
    """Where results go, and how much time is left for them."""

    def __init__(self, path, small):
        self.path, self.small, self.part, self.end = path, small, "", 0.0

    def begin(self, part, budget):
        self.part, self.end = part, time.perf_counter() + budget

    @property
    def left(self):
        """Seconds of this part."""
        return self.end - time.perf_counter()

    def __call__(self, **values):
        line = {"part": self.part, **{k: _rounded(v) for k, v in values.items()}}
        line |= {"device": jax.devices()[0].device_kind, "small": self.small}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
        print(json.dumps(line), flush=True)


def _rounded(value):
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(v) for v in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--budget", nargs="+", type=float, default=[180.0], help="seconds, for each part or for all")
    parser.add_argument("--only", nargs="*", default=[], help="settings of hundred and beltrami, by name")
    parser.add_argument("--results", type=Path, default=Path(__file__).parent / "results" / "large.jsonl")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    report = Report(arguments.results, arguments.small)
    budgets = arguments.budget
    if len(budgets) not in (1, len(arguments.parts)):
        parser.error("--budget needs one number, or one for each part")
    for number, part in enumerate(arguments.parts):
        report.begin(part, budgets[number] if len(budgets) > 1 else budgets[0])
        began = time.perf_counter()
        try:
            PARTS[part](report, arguments.only)
        except Exception as error:
            traceback.print_exc()
            report(failed=f"{type(error).__name__}: {str(error)[:300]}")
        report(seconds=time.perf_counter() - began)


if __name__ == "__main__":
    main()
