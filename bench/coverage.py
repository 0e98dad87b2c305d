"""Do 95 % intervals hold the truth in 95 % of cases? Many draws of noise on problems whose answer is known.

    python bench/coverage.py                     # all problems, 200 draws each; goes on where it was stopped
    python bench/coverage.py decay heat --draws 50
    python bench/coverage.py --report            # the table

Every draw is a fit of its own, with other noise on the same points: one line in bench/results/coverage.jsonl. Programs
are compiled once for a problem, so that a draw costs a few steps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.models import ParametricModel
from anagram.tangent.settling import Settling
from anagram.tangent.uncertainty import quantile, uncertainty_of

RESULTS = Path(__file__).parent / "results" / "coverage.jsonl"
LINE = ag.Box(x=(0, 1))
PLACES = np.linspace(0.05, 0.95, 10)[:, None]  # at which an unknown field is looked at


@dataclass(frozen=True)
class Subject:
    """A problem with a known answer: exact values at points, the noise, and how it is stated for given values."""

    values: np.ndarray
    sigma: float
    state: Callable[[np.ndarray], ag.Problem]
    model: Any
    truth: dict[str, float]
    field: tuple[str, Callable[[np.ndarray], np.ndarray]] | None = None


def decay() -> Subject:
    """The rate of u' = −k u, its noise estimated."""
    box, t = ag.Box(t=(0, 2)), np.linspace(0.05, 2, 40)

    def state(y: np.ndarray) -> ag.Problem:
        return ag.Problem(
            box,
            equation=ag.Condition(lambda u, k: u.d("t") + k * u),
            start=ag.Condition(lambda u: u, on=box.face(t=0), equals=1.0),
            data=ag.Condition(lambda u: u, on=box.points(t=t), equals=y, noise="estimate"),
            coefficients={"k": 1.0},
        )

    return Subject(np.exp(-1.3 * t), 0.02, state, ag.Polynomial(9), {"k": 1.3})


def heat() -> Subject:
    """The diffusivity of u_t = κ u_xx."""
    box, rng = ag.Box(t=(0, 1), x=(0, 1)), np.random.default_rng(0)
    t, x = rng.uniform(0, 1, 100), rng.uniform(0, 1, 100)

    def state(y: np.ndarray) -> ag.Problem:
        return ag.Problem(
            box,
            equation=ag.Condition(lambda u, kappa: u.d("t") - kappa * u.d("x", "x")),
            start=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
            walls=ag.Condition(lambda u: u, on=box.face(x=0) | box.face(x=1)),
            data=ag.Condition(lambda u: u, on=box.points(t=t, x=x), equals=y, noise=0.02),
            coefficients={"kappa": 0.2},
        )

    exact = np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x)
    return Subject(exact, 0.02, state, ag.Polynomial(10), {"kappa": 0.3})


def source() -> Subject:
    """How strong a source in −u'' = A sin(πx) + B sin(2πx) + c is, from values of u at 30 places."""
    x = np.linspace(0.02, 0.98, 30)
    along = LINE.coordinate("x")

    def state(y: np.ndarray) -> ag.Problem:
        return ag.Problem(
            LINE,
            equation=ag.Condition(
                lambda u, A, B, c: -u.d("x", "x") - A * np.sin(np.pi * along) - B * np.sin(2 * np.pi * along) - c
            ),
            walls=ag.Condition(lambda u: u, on=LINE.boundary()),
            data=ag.Condition(lambda u: u, on=LINE.points(x=x), equals=y, noise=0.005),
            coefficients={"A": 1.0, "B": 1.0, "c": 1.0},
        )

    exact = 2 * np.sin(np.pi * x) / np.pi**2 + 3 * np.sin(2 * np.pi * x) / (4 * np.pi**2) + 0.5 * x * (1 - x) / 2
    return Subject(exact, 0.005, state, ag.Polynomial(12), {"A": 2.0, "B": 3.0, "c": 0.5})


def field() -> Subject:
    """An unknown field: the load s(x) of −u'' = s, smooth by its prior, from 60 values of u."""
    x = np.linspace(0.01, 0.99, 60)

    def state(y: np.ndarray) -> ag.Problem:
        return ag.Problem(
            LINE,
            equation=ag.Condition(lambda u, s: -u.d("x", "x") - s),
            walls=ag.Condition(lambda u: u, on=LINE.boundary()),
            data=ag.Condition(lambda u: u, on=LINE.points(x=x), equals=y, noise=0.001),
            rough=ag.smooth("s"),
            unknowns=("u", "s"),
        )

    exact = np.sin(np.pi * x) / np.pi**2 + 0.5 * np.sin(3 * np.pi * x) / (9 * np.pi**2)
    true = lambda p: np.sin(np.pi * p) + 0.5 * np.sin(3 * np.pi * p)  # noqa: E731
    return Subject(exact, 0.001, state, ag.Polynomial(14), {}, ("s", true))


SUBJECTS = {"decay": decay, "heat": heat, "source": source, "field": field}


def draw(subject: Subject, settling: Settling, theta: np.ndarray, seed: int) -> tuple[dict, np.ndarray]:
    """One fit to one draw of noise: what it found, and its parameters."""
    started = time.perf_counter()
    y = subject.values + subject.sigma * np.random.default_rng([11, seed]).standard_normal(len(subject.values))
    settling.batch = {**settling.batch, "data": settling.batch["data"]._replace(source=jnp.asarray(y)[:, None])}
    found = settling(theta)
    estimated = [key for key in settling.problem.measured if isinstance(settling.problem.conditions[key].noise, str)]
    told = uncertainty_of(found, estimated)
    off = {name: (told.values[name] - true) / told.std[name] for name, true in subject.truth.items()}
    if subject.field is not None:
        name, true = subject.field
        values = np.asarray([settling.model.quantities(found.theta, LINE.frame)[name].at(p) for p in PLACES])
        errors = found.posterior.std(PLACES)[name]
        off |= {
            f"{name}({p:.2f})": z for p, z in zip(PLACES[:, 0], (values - true(PLACES[:, 0])) / errors, strict=True)
        }
    reach = quantile(0.95, told.freedom)
    record = {
        "seed": seed,
        "off": {name: float(z) for name, z in off.items()},
        "inside": {name: bool(abs(z) <= reach) for name, z in off.items()},
        "kappa": found.kappa,
        "findings": list(told.findings),
        "seconds": time.perf_counter() - started,
    }
    return record, found.theta


def run(name: str, draws: int, path: Path) -> None:
    """The draws of a problem that are not there yet."""
    done = {r["seed"] for r in load(path) if r["problem"] == name}
    if set(range(draws)) <= done:
        return
    subject = SUBJECTS[name]()
    problem = subject.state(subject.values)
    model = ParametricModel(problem.sought, subject.model)
    settling = Settling(problem, model)
    theta = settling(model.theta).theta  # of values without noise: where all draws begin
    path.parent.mkdir(exist_ok=True)
    for seed in sorted(set(range(draws)) - done):
        record, _ = draw(subject, settling, theta, seed)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"problem": name, **record}) + "\n")
        if seed % 20 == 0:
            print(f"{name} {seed}: {record['seconds']:.2f} s", flush=True)


def load(path: Path) -> list[dict]:
    """All records."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(records: list[dict]) -> str:
    """Markdown, a row for each problem and what is sought in it; the places of a field together."""
    lines = [
        "| problem | sought | draws | inside 95 % | spread of (found − true)/error | mean |",
        "|---|---|---|---|---|---|",
    ]
    for problem in SUBJECTS:
        own = [r for r in records if r["problem"] == problem]
        if not own:
            continue
        groups: dict[str, list[str]] = {}
        for name in own[0]["inside"]:
            groups.setdefault(f"{name.split('(')[0]} at {len(PLACES)} places" if "(" in name else name, []).append(name)
        for sought, names in groups.items():
            inside = np.array([[r["inside"][n] for n in names] for r in own])
            off = np.array([[r["off"][n] for n in names] for r in own])
            lines.append(
                f"| {problem} | {sought} | {len(own)} | {100 * inside.mean():.1f} % | {np.sqrt(np.mean(off**2)):.2f} | "
                f"{off.mean():+.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("problems", nargs="*", default=list(SUBJECTS), help=f"of {', '.join(SUBJECTS)}")
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--report", action="store_true", help="only print the table")
    parser.add_argument("--results", type=Path, default=RESULTS)
    told = parser.parse_args()
    for name in () if told.report else told.problems:
        if name not in SUBJECTS:
            parser.error(f"there is no problem '{name}'; there are {', '.join(SUBJECTS)}")
        run(name, told.draws, told.results)
    print(table(load(told.results)))


if __name__ == "__main__":
    main()
