"""Steps of many parameters: dense ones against their JᵀJ, and products without matrices. See bench/large.py."""

import time

import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.environment import step_compilation
from anagram.methods import Auto, Large


def timed(program, *arguments, times=3):
    """Seconds of a call, the median of several; and what it returns."""
    result = jax.block_until_ready(program(*arguments))
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        result = jax.block_until_ready(program(*arguments))
        seconds.append(time.perf_counter() - started)
    return float(np.median(seconds)), result


def compiled(function, *arguments):
    """A program, and the seconds of its compilation."""
    started = time.perf_counter()
    program = jax.jit(function, compiler_options=step_compilation()).lower(*arguments).compile()
    return program, time.perf_counter() - started


def held(program):
    """Gigabytes that a program holds."""
    memory = program.memory_analysis()
    total = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return (total - memory.alias_size_in_bytes) / 2**30


def peak():
    """Gigabytes at most so far; on processors nobody counts."""
    return ((jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use") or 0) / 2**30


def cube_problem():
    """Poisson's equation on a cube."""
    cube = ag.Box(x=(0, 1), y=(0, 1), z=(0, 1))
    return ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y, z: jnp.sin(3 * x) * jnp.cos(2 * y) * z),
        walls=ag.Condition(lambda u: u, on=cube.boundary()),
    )


def width_for(parameters, layers=2, axes=3):
    """The width of layers that make about so many parameters."""
    width = 1
    while width * (axes + 2) + (layers - 1) * width * (width + 1) + 1 <= parameters:
        width += 1
    return width - 1


def state(width, rows, layers=2, chunk_bytes=None):
    """A compound model on the cube, and points with so many rows."""
    problem = cube_problem()
    model = ag.ParametricModel(problem.sought, ag.MLP(*[width] * layers), 0)
    walls = rows // 10
    batch = ag.sample(problem, {"equation": ag.Uniform(rows - walls), "walls": ag.Uniform(walls)})
    return ag.Compound(problem, model, chunk_bytes), batch


def step_seconds(method, compound, batch, times=3):
    """Seconds of a step after the first one, trials of each, seconds of compilation, gigabytes; and the last state."""
    theta = compound.model.theta
    begun, first = compiled(lambda t, b: method.init(compound, t, b), theta, batch)
    now = jax.block_until_ready(begun(theta, batch))
    step, second = compiled(lambda s, b: method.step(compound, s, b), now, batch)
    now, _ = jax.block_until_ready(step(now, batch))
    seconds, trials, info = [], [], {}
    for _ in range(times):
        started = time.perf_counter()
        now, info = jax.block_until_ready(step(now, batch))
        seconds.append(time.perf_counter() - started)
        trials.append(int(info.get("trials", 1)))
    return float(np.median(seconds)), trials, first + second, held(step), info


def dense(report, _):
    """One step against its JᵀJ; eigenvectors, which balanced normal equations need, of small ones alone."""
    cases = [(300, "plain"), (600, "plain"), (300, "balanced")]
    if not report.small:
        cases = [(2000, "plain"), (8000, "plain"), (20_000, "plain"), (2000, "balanced")]
    for parameters, kind in cases:
        large = parameters > 10_000
        if report.left < (0 if report.small else 45 if large else 15):
            report(skipped=f"P = {parameters} {kind}: no time")
            continue
        compound, batch = state(width_for(parameters), 5 * parameters)
        theta, rows = compound.model.theta, compound.count_rows(batch)
        gram, _ = compiled(compound.gram, theta, batch)
        unit, _ = timed(gram, theta, batch, times=2 if large else 3)
        method = Auto(squared_until=0.0 if kind == "plain" else 1e9, sketch=0)
        seconds, trials, compilation, gigabytes, _ = step_seconds(method, compound, batch, 3 if large else 5)
        actual = int(theta.size)
        report(
            P=actual, S=rows, kind=kind, gram_seconds=unit, step_seconds=seconds, ratio=seconds / unit,
            trials=trials, compile_seconds=compilation, step_gb=gigabytes, peak_gb=peak(),
            gram_tflops=2e-12 * rows * actual**2 / unit, chunk_mb=compound.chunk_bytes / 2**20,
        )  # fmt: skip
    if not report.small and report.left > 15:
        for chunk_mb in (64, 512):
            compound, batch = state(width_for(8000), 40_000, chunk_bytes=chunk_mb * 2**20)
            gram, _ = compiled(compound.gram, compound.model.theta, batch)
            unit, _ = timed(gram, compound.model.theta, batch)
            report(P=compound.model.parameters, S=40_000, kind="chunks", chunk_mb=chunk_mb, gram_seconds=unit)


def free(report, _):
    """Products without matrices."""
    parameters, rows = (3000, 2000) if report.small else (1_000_000, 100_000)
    width = width_for(parameters, layers=3)
    compound, batch = state(width, rows, layers=3)
    theta, P = compound.model.theta, compound.model.parameters
    vector = jax.random.normal(jax.random.key(0), (1, P))
    product, compilation = compiled(compound.normal_times, theta, batch, vector)
    seconds, exact = timed(product, theta, batch, vector)
    report(P=P, S=compound.count_rows(batch), kind="product", seconds=seconds, fifty=50 * seconds,
           compile_seconds=compilation, product_gb=held(product), peak_gb=peak())  # fmt: skip
    del product
    single(report, width, batch, vector, exact)
    if report.left < (0 if report.small else 30):
        report(skipped="a step of large: no time")
        return
    options = {"modes": 16} if report.small else {}
    method = Large(**options)
    seconds, trials, compilation, gigabytes, info = step_seconds(method, compound, batch, 1)
    report(P=P, S=compound.count_rows(batch), kind="step of large", seconds=seconds, trials=trials,
           compile_seconds=compilation, step_gb=gigabytes, peak_gb=peak(), modes=method.modes,
           loss=float(info["loss"]))  # fmt: skip


def single(report, width, batch, vector, exact):
    """The same product in single precision: how fast, and how far from the other one."""
    with jax.enable_x64(False):
        problem = cube_problem()
        model = ag.ParametricModel(problem.sought, ag.MLP(width, width, width), 0)
        compound = ag.Compound(problem, model)
        few = jax.tree.map(lambda a: jnp.asarray(np.asarray(a), jnp.float32), batch)
        theta, v = jnp.asarray(np.asarray(model.theta), jnp.float32), jnp.asarray(np.asarray(vector), jnp.float32)
        for name in ("highest", "tensorfloat32"):
            with jax.default_matmul_precision(name):
                product, _ = compiled(compound.normal_times, theta, few, v)
                seconds, found = timed(product, theta, few, v)
            off = np.linalg.norm(np.asarray(found, float) - np.asarray(exact)) / np.linalg.norm(np.asarray(exact))
            report(kind=f"product in float32, {name}", seconds=seconds, relative_difference=float(off))
