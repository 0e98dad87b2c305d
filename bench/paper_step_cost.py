"""Milliseconds a step of the method `anagram` in the paper's setting, beside a plain transcription of the algorithm.

The transcription is what one would write down first: features by vmap of grad, the SVD of the whole S×P matrix, 31
losses, a Python loop around jitted pieces. Both run alternately in the same process; only ratios mean something.

    python bench/paper_step_cost.py [--steps 30] [problem ...]
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 2) // 2)))

import argparse
import time
import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.compound.batch import unweighted
from anagram.methods.search import full_grid, refined_grid
from anagram.training.blocks import run_block

NAMES = ("laplace-2d", "heat", "laplace-5d", "allen-cahn")


def transcription(compound, batch, cutoff, relative):
    """Algorithm 2 of the paper, line by line."""
    plain = unweighted(batch)

    def rows(theta, key, part):
        return jax.vmap(lambda p: compound.point_rows(key, theta, p)[0])(part)

    @jax.jit
    def residual(theta):
        return jnp.concatenate([rows(theta, key, plain[key]) for key in compound.problem.conditions])

    @jax.jit
    def features(theta):
        def gradients(key):
            return jax.vmap(jax.grad(lambda t, p: compound.point_rows(key, t, p)[0]), (None, 0))(theta, plain[key])

        return jnp.concatenate([gradients(key) for key in compound.problem.conditions])

    @jax.jit
    def direction(phi, gradient):
        u, s, vt = jnp.linalg.svd(phi, full_matrices=False)
        threshold = cutoff * s[0] if relative else cutoff
        return vt.T @ (jnp.where(s > threshold, 1 / s, 0.0) * (u.T @ gradient))

    loss = jax.jit(lambda theta: compound.loss(theta, batch))
    lengths = 2.0 ** -np.arange(31)

    def step(theta):
        d = direction(features(theta), residual(theta))
        losses = [float(loss(theta - eta * d)) for eta in lengths]
        return theta - lengths[int(np.argmin(losses))] * d

    return step


def measure(name, steps):
    problem = ag.catalogue.problem(name, paper=True)
    setting = problem.setting
    model = ag.ParametricModel(problem.sought, setting.model, 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, setting.points)
    plain = transcription(compound, batch, setting.options["cutoff"], setting.options["relative"])
    blocks, states = {}, {}
    for search in ("full", "refined"):
        method = replace(setting, options={**setting.options, "search": search}).make_method()
        states[search] = jax.jit(lambda t, method=method: method.init(compound, t, batch))(model.theta)
        block = jax.jit(lambda s, b, n, method=method: run_block(method, compound, s, b, n))
        blocks[search] = block.lower(states[search], batch, jnp.asarray(0)).compile()
    theta = plain(model.theta)
    times = {"plain": [], "full": [], "refined": []}
    for _ in range(steps // 5):
        started = time.perf_counter()
        for _ in range(5):
            theta = plain(theta)
        jax.block_until_ready(theta)
        times["plain"].append((time.perf_counter() - started) / 5)
        for search, block in blocks.items():
            started = time.perf_counter()
            states[search], _, taken = jax.block_until_ready(block(states[search], batch, jnp.asarray(5)))
            times[search].append((time.perf_counter() - started) / max(1, int(taken)))
    return {key: 1e3 * float(np.median(values)) for key, values in times.items()}


def agreement(name, steps):
    """How often the search with fewer losses takes the same length as the whole grid, along a run."""
    problem = ag.catalogue.problem(name, paper=True)
    model = ag.ParametricModel(problem.sought, problem.setting.model, 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, problem.setting.points)
    method = problem.setting.make_method()

    @jax.jit
    def both(state):
        after, info = method.step(compound, state, batch)
        d = jnp.where(info["step_length"] > 0, (after.theta - state.theta) / info["step_length"], 0.0)

        def along(eta):
            return compound.loss(state.theta + eta * d, batch)

        return after, full_grid(along, state.loss)[0] == refined_grid(along, state.loss)[0]

    state, same = method.init(compound, model.theta, batch), []
    for _ in range(steps):
        state, equal = both(state)
        same.append(bool(equal))
    return float(np.mean(same))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", default=NAMES)
    parser.add_argument("--steps", type=int, default=30)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ag.PointsWarning)
    columns = f"{'plain ms':>9} {'ours ms':>9} {'ratio':>6} {'refined ms':>11} {'ratio':>6} {'same length':>12}"
    print(f"{'problem':12} {columns}")
    for name in arguments.problems:
        t = measure(name, arguments.steps)
        same = agreement(name, arguments.steps)
        print(
            f"{name:12} {t['plain']:9.2f} {t['full']:9.2f} {t['plain'] / t['full']:6.1f} "
            f"{t['refined']:11.2f} {t['plain'] / t['refined']:6.1f} {same:12.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
