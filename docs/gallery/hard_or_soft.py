"""Five problems twice: conditions as rows of the least squares, and built into the model by exact=True."""

import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import anagram as ag

TOLERANCE = 1e-6
SECONDS = 30  # that each of them may train


def laplace(exact: bool) -> ag.Problem:
    """Δu = 0 on a square, values on its sides."""
    square = ag.Box(x=(0, 1), y=(0, 1))

    def known(x, y):
        return jnp.exp(2 * x) * jnp.sin(2 * y)

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian()),
        sides=ag.Condition(lambda u: u, on=square.boundary(), equals=known, exact=exact),
        solution=known,
        name="Laplace, square",
    )


def heat(exact: bool) -> ag.Problem:
    """A rod that cools, its ends held at zero."""
    rod = ag.Box(t=(0, 0.2), x=(0, 1))
    return ag.Problem(
        rod,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=rod.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x), exact=exact),
        ends=ag.Condition(lambda u: u, on=rod.faces("x"), exact=exact),
        solution=lambda t, x: jnp.exp(-(jnp.pi**2) * t) * jnp.sin(jnp.pi * x),
        name="heat",
    )


def wave(exact: bool) -> ag.Problem:
    """A string with two modes, at rest when it is let go."""
    string = ag.Box(t=(0, 1), x=(0, 1))

    def known(t, x):
        modes = ((1, 1.0), (2, 0.5))
        return sum(size * jnp.cos(n * jnp.pi * t) * jnp.sin(n * jnp.pi * x) for n, size in modes)

    return ag.Problem(
        string,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=string.face(t=0), equals=lambda x: known(0.0, x), exact=exact),
        rest=ag.Condition(lambda u: u.d("t"), on=string.face(t=0), exact=exact),
        ends=ag.Condition(lambda u: u, on=string.faces("x"), exact=exact),
        solution=known,
        name="wave, two modes",
    )


def poisson(exact: bool) -> ag.Problem:
    """−Δu = f on a disk, values on the circle."""
    disk = ag.Disk()

    def known(x, y):
        return jnp.exp(x) * jnp.sin(2 * y)

    return ag.Problem(
        disk,
        equation=ag.Condition(lambda u: -u.laplacian(), equals=lambda x, y: 3 * known(x, y)),
        circle=ag.Condition(lambda u: u, on=disk.boundary(), equals=known, exact=exact),
        solution=known,
        name="Poisson, disk",
    )


def growth(exact: bool) -> ag.Problem:
    """Logistic growth: u' = u (1 − u)."""
    times = ag.Box(t=(0, 8))
    return ag.Problem(
        times,
        equation=ag.Condition(lambda u: u.d("t") - u * (1 - u)),
        start=ag.Condition(lambda u: u, on=times.face(t=0), equals=0.1, exact=exact),
        solution=lambda t: 1 / (1 + 9 * jnp.exp(-t)),
        name="logistic growth",
    )


STATED = (laplace, heat, wave, poisson, growth)


def problem() -> ag.Problem:
    """The first of them, its conditions built in."""
    return laplace(exact=True)


def solved(stated: ag.Problem) -> tuple[float, float, int, float]:
    """Error, its estimate, steps of all networks that were tried, and seconds."""
    begin = time.perf_counter()
    solution = ag.solve(stated, tol=TOLERANCE, seconds=SECONDS, progress=False)
    steps = sum(rung["steps"] for rung in solution.rungs)
    estimate = solution.relative_error_estimate  # None if time was up before one was made
    return solution.relative_l2_error, np.nan if estimate is None else estimate, steps, time.perf_counter() - begin


def draw(names: list[str], soft: np.ndarray, hard: np.ndarray) -> None:
    """Errors and seconds beside each other."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    rows = np.arange(len(names))
    for ax, column, title in ((panels[0], 0, "relative error"), (panels[1], 3, "seconds")):
        ax.barh(rows - 0.18, soft[:, column], 0.34, color="0.65", label="soft")
        ax.barh(rows + 0.18, hard[:, column], 0.34, color="tab:blue", label="exact=True")
        ax.set(title=title, yticks=rows, yticklabels=names)
        ax.spines[["top", "right"]].set_visible(False)
    panels[0].axvline(TOLERANCE, color="k", lw=1, ls=":")
    panels[0].set(xscale="log", xlim=(1e-17, 1e-3))
    panels[0].invert_yaxis()
    panels[1].legend(frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Solve all of them both ways, print a table, draw it."""
    names, found = [], []
    print(f"{'':18}{'':6}  relative error  estimated  steps  seconds")
    for state in STATED:
        both = []
        for exact in (False, True):
            stated = state(exact)
            error, estimate, steps, seconds = solved(stated)
            both.append((error, estimate, steps, seconds))
            kind = "exact" if exact else "soft"
            print(f"{stated.name:18}{kind:6}  {error:14.1e}  {estimate:9.1e}  {steps:5d}  {seconds:7.1f}", flush=True)
        names.append(stated.name)
        found.append(both)
    table = np.array(found)
    draw(names, table[:, 0], table[:, 1])


if __name__ == "__main__":
    main()
