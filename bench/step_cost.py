"""What a step of the default method costs, and what a user waits for besides: ratios measured in one run.

    python bench/step_cost.py [--parts steps orders traces waiting] [problem ...]

- steps: a step of `auto` over (features + JᵀJ), by plain and by balanced normal equations; on an accelerator also for
  1981 parameters and about 10 000 rows;
- orders: features and residuals of Δ²u over those of Δu, same network and points;
- traces: how often a user's operators are called in one run, from the statement to the pictures;
- waiting: `anagram solve` with nothing compiled before and with everything compiled, seconds without training.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.environment import has_accelerator
from anagram.methods import Auto
from anagram.training.blocks import run_block
from anagram.training.defaults import complete, default_points
from anagram.training.setting import Setting

NAMES = ("laplace-2d", "heat", "laplace-5d", "allen-cahn")
PARTS = ("steps", "orders", "traces", "waiting")
FLOW = """
import anagram as ag

square = ag.Box(x=(0, 1), y=(0, 1))
problem = ag.Problem(
    square,
    momentum=ag.Condition(
        lambda u, v, p: (
            u * u.d("x") + v * u.d("y") + p.d("x") - 0.05 * u.laplacian(),
            u * v.d("x") + v * v.d("y") + p.d("y") - 0.05 * v.laplacian(),
        )
    ),
    mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
    walls=ag.Condition(lambda u, v: (u, v), on=square.boundary(), equals=(lambda x, y: y, lambda x, y: x)),
    level=ag.Condition(lambda p: p, on=square.points(x=[0.0], y=[0.0])),
    unknowns=("u", "v", "p"),
)
"""


def best_of(program, *arguments, times=7):
    """Milliseconds of a call, the median of several."""
    jax.block_until_ready(program(*arguments))
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        jax.block_until_ready(program(*arguments))
        seconds.append(time.perf_counter() - started)
    return 1e3 * float(np.median(seconds))


def state(problem, model, points):
    parametric = ag.ParametricModel(problem.sought, model, 0)
    return ag.Compound(problem, parametric), ag.sample(problem, points)


def step_ratios(label, compound, batch, options, steps):
    """Steps from the same parameters on, after some that are not counted."""
    theta, count = compound.model.theta, jnp.asarray(0)
    gram = jax.jit(compound.gram).lower(theta, batch).compile()
    unit = best_of(gram, theta, batch)
    for kind, squared_until in (("plain", 0.0), ("balanced", 1e9)):
        method = Auto(**{**options, "squared_until": squared_until, "sketch": 0})
        begun = jax.jit(lambda t, b, m=method: m.init(compound, t, b))(theta, batch)
        lowered = jax.jit(lambda s, b, n, m=method: run_block(m, compound, s, b, n)).lower(begun, batch, count)
        started = time.perf_counter()
        block = lowered.compile()
        compiled = time.perf_counter() - started
        now, _, _ = block(begun, batch, jnp.asarray(steps))
        units, each, trials = [], [], []
        for _ in range(3):
            started = time.perf_counter()
            now, log, taken = jax.block_until_ready(block(now, batch, jnp.asarray(steps)))
            each.append(1e3 * (time.perf_counter() - started) / max(1, int(taken)))
            trials.append(float(np.mean(np.asarray(log["trials"])[: int(taken)])))
            units.append(best_of(gram, theta, batch, times=3))
        unit, cost = float(np.median(units)), float(np.median(each))
        print(
            f"{label:28} {kind:9} step {cost:8.2f} ms   features + JᵀJ {unit:7.2f} ms   ratio {cost / unit:5.2f}   "
            f"trials {np.mean(trials):.1f}   compiled in {compiled:.1f} s",
            flush=True,
        )


def steps(names):
    for name in names:
        problem = ag.catalogue.problem(name)
        setting = complete(Setting(), problem)
        method = setting.make_method()
        parametric = ag.ParametricModel(problem.sought, setting.model, 0)
        points = default_points(problem, method, parametric.parameters)
        compound, batch = state(problem, setting.model, points)
        few = parametric.parameters > 400
        step_ratios(f"{name}, P = {parametric.parameters}", compound, batch, setting.options, 4 if few else 30)
    if has_accelerator():
        compound, batch = state(ag.catalogue.problem("allen-cahn"), ag.MLP(30, 30, 30), 10_000)
        step_ratios("allen-cahn, P = 1981", compound, batch, {}, 20)


def orders(_):
    square = ag.Box(x=(0, 1), y=(0, 1))
    operators = {
        "Δu": lambda u: u.laplacian(),
        "Δ(Δu)": lambda u: u.laplacian().laplacian(),
        "u_xxxx + 2u_xxyy + u_yyyy": lambda u: (
            u.d("x", "x", "x", "x") + 2 * u.d("x", "x", "y", "y") + u.d("y", "y", "y", "y")
        ),
    }
    costs = {}
    for name, operator in operators.items():
        problem = ag.Problem(square, equation=ag.Condition(operator))
        compound, batch = state(problem, ag.MLP(14, 14), ag.Grid(32))
        theta = compound.model.theta
        costs[name] = [
            best_of(jax.jit(function), theta, batch, times=41) for function in (compound.features, compound.residual)
        ]
        features, residual = costs[name]
        print(
            f"{name:28} features {features:6.2f} ms ({features / costs['Δu'][0]:.2f} of Δu)   "
            f"residual {residual:6.2f} ms ({residual / costs['Δu'][1]:.2f} of Δu)",
            flush=True,
        )


def traces(_):
    calls = []

    def counted(operator):
        def called(u):
            calls.append(operator)
            return operator(u)

        return called

    square = ag.Box(x=(0, 1), y=(0, 1))
    problem = ag.Problem(
        square,
        equation=ag.Condition(counted(lambda u: u.laplacian()), equals=1.0),
        walls=ag.Condition(counted(lambda u: u), on=square.boundary()),
    )
    with tempfile.TemporaryDirectory() as folder:
        solution = ag.solve(problem, ag.MLP(8), steps=5, progress=False, folder=folder)
        solution.estimate_error()
        solution.plot(Path(folder) / "solution.png")
    print(f"calls of the two operators of a problem in one run: {len(calls)}", flush=True)


def waiting(_):
    with tempfile.TemporaryDirectory() as folder:
        flow = Path(folder) / "flow.py"
        flow.write_text(FLOW, encoding="utf-8")
        for target, more in (("laplace-2d", []), ("heat", []), (str(flow), ["--set", "widths=10,10", "--steps", "60"])):
            seen = {}
            for when in ("nothing compiled before", "everything compiled"):
                result = Path(folder) / "result.json"
                told = {**os.environ, "ANAGRAM_CACHE": str(Path(folder) / f"cache-{Path(target).stem}")}
                told.pop("JAX_COMPILATION_CACHE_DIR", None)
                command = [str(Path(sys.executable).with_name("anagram")), "solve", target, "--quiet", *more]
                command += ["--json", str(result), "--out", str(Path(folder) / f"{Path(target).stem}-{len(seen)}")]
                started = time.perf_counter()
                subprocess.run(command, check=True, env=told, cwd=folder)
                total = time.perf_counter() - started
                seen[when] = parts = json.loads(result.read_text(encoding="utf-8"))["wall_seconds"]
                shown = ", ".join(f"{seconds:.1f} {part}" for part, seconds in parts.items() if part != "total")
                print(f"{Path(target).stem:12} {when:24} {total:5.1f} s: {shown}", flush=True)
            cold, warm = ({**p, "train": 0.0, "total": 0.0} for p in seen.values())
            print(f"{'':12} compilation {sum(cold.values()) - sum(warm.values()) + _traced(warm):.1f} s", flush=True)


def _traced(parts):
    """Tracing is done every time; it counts as compilation."""
    return parts["compile"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=NAMES)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"device {jax.devices()[0].device_kind}, {os.cpu_count()} cores")
    for part in arguments.parts:
        {"steps": steps, "orders": orders, "traces": traces, "waiting": waiting}[part](arguments.problems)


if __name__ == "__main__":
    main()
