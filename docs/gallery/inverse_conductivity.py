"""An unknown conductivity from 400 measured values: −div(k grad u) = f on a square, noise of 1 %.

k = exp(a), so that it is positive; a is taken to be smooth as far as the data do not say otherwise. How much this
counts is decided by the marginal likelihood of the data. ``python inverse_conductivity.py 3`` takes another draw of
the noise.
"""

import sys
import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import anagram as ag

VALUES = 400
NOISE = 0.01  # of the standard deviation of the values
BOX = ag.Box(x=(0, 1), y=(0, 1))


def potential(x, y):
    """The true solution."""
    return jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)


def conductivity(x, y):
    """The true conductivity: a hill and a valley."""
    return jnp.exp(0.6 * jnp.sin(2 * jnp.pi * x) * jnp.sin(jnp.pi * y))


def source(x, y):
    """The source that belongs to both."""
    pi = jnp.pi
    k, u = conductivity(x, y), potential(x, y)
    slopes = 1.2 * pi * jnp.cos(2 * pi * x) * jnp.sin(pi * y), 0.6 * pi * jnp.sin(2 * pi * x) * jnp.cos(pi * y)
    along = pi * jnp.cos(pi * x) * jnp.sin(pi * y), pi * jnp.sin(pi * x) * jnp.cos(pi * y)
    return -k * (slopes[0] * along[0] + slopes[1] * along[1] - 2 * pi**2 * u)


def measured(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Points, values and the standard deviation of their noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, (VALUES, 2))
    values = np.asarray(potential(*x.T))
    sigma = NOISE * float(np.std(values))
    return x, values + sigma * rng.standard_normal(VALUES), sigma


def problem(seed: int = 0) -> ag.Problem:
    """Potential and logarithm of the conductivity are both unknown."""
    x, values, sigma = measured(seed)
    return ag.Problem(
        BOX,
        equation=ag.Condition(
            lambda u, a: -(np.exp(a) * u.d("x")).d("x") - (np.exp(a) * u.d("y")).d("y"), equals=source
        ),
        walls=ag.Condition(lambda u: u, on=BOX.boundary()),
        data=ag.Condition(lambda u: u, on=BOX.points(x=x[:, 0], y=x[:, 1]), equals=values, noise=sigma),
        rough=ag.smooth("a"),
        unknowns=("u", "a"),
        name="an unknown conductivity",
    )


def show(solution: ag.Solution, seed: int, seconds: float) -> None:
    """Say how good the conductivity is, and draw it."""
    line = np.linspace(0, 1, 81)
    x, y = np.meshgrid(line, line)
    true, found = np.asarray(conductivity(x, y)), np.exp(solution(x=x, y=y)["a"])
    error = found * solution.std(x=x, y=y)["a"]
    inside = np.abs(found - true) < 1.96 * error
    relative = np.sqrt(np.mean((found - true) ** 2) / np.mean(true**2))
    said = np.sqrt(np.mean(error**2) / np.mean(true**2))
    print(f"relative error of k {relative:.1e}, by its standard errors {said:.1e}, {seconds:.0f} s")
    print(f"within two standard errors at {100 * inside.mean():.0f} % of the points")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained")
    reach = {"vmin": true.min(), "vmax": true.max()}
    shown = (("k, true", true, reach), ("k from 400 noisy values", found, reach), ("its standard error", error, {}))
    for ax, (title, values, limits) in zip(axes, shown, strict=True):
        image = ax.pcolormesh(x, y, values, shading="nearest", rasterized=True, **limits)
        figure.colorbar(image, ax=ax)
        ax.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    points = measured(seed)[0]
    axes[2].plot(*points.T, ".", color="white", ms=2)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Fit, say how well, draw it."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    begin = time.perf_counter()
    solution = ag.solve(problem(seed), ag.MLP(12, 12), points=1000, steps=200, tol=0.05)
    print(solution.uncertainty())
    show(solution, seed, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
