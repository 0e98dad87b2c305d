"""Δu = 0 on an L, whose solution is singular at the corner that points inward: u = r^⅔ sin ⅔φ.

Networks are enriched with what belongs to the corner by themselves. A network that only sees the corner, its distance
and direction, need not be told what the solution looks like there; a plain one is stuck.
"""

import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import anagram as ag


def exact(x, y):
    """The solution; φ is the angle from the side along x, up to 3π/2."""
    angle = jnp.mod(jnp.arctan2(y, x), 2 * jnp.pi)
    return jnp.hypot(x, y) ** (2 / 3) * jnp.sin(2 / 3 * angle)


def problem() -> ag.Problem:
    """Laplace's equation, with the values of the solution on all sides."""
    ell = ag.Box(x=(-1, 1), y=(-1, 1)) - ag.Box(x=(0, 1), y=(-1, 0))
    return ag.Problem(
        ell,
        equation=ag.Condition(lambda u: u.laplacian()),
        sides=ag.Condition(lambda u: u, on=ell.boundary(), equals=exact),
        solution=exact,
        name="Laplace on an L",
    )


def draw(solutions: dict[str, ag.Solution]) -> None:
    """The solution, and the errors of all models, in the same colours."""
    values = {label: solution.to_numpy({"x": 201, "y": 201}) for label, solution in solutions.items()}
    first = next(iter(values.values()))
    x, y = first["x"], first["y"]
    known = np.asarray(exact(x[:, None], y[None]))
    shown = {"u": first["u"]} | {label: np.log10(np.abs(v["u"] - known) + 1e-17) for label, v in values.items()}
    figure, panels = plt.subplots(1, 4, figsize=(14.5, 3.3), layout="constrained")
    for ax, (title, data) in zip(panels, shown.items(), strict=True):
        limits = {} if title == "u" else {"vmin": -12, "vmax": -2, "cmap": "magma"}
        image = ax.pcolormesh(x, y, data.T, shading="nearest", rasterized=True, **limits)
        figure.colorbar(image, ax=ax, label="log₁₀ |error|" if limits else "")
        ax.plot([0, 1, 1, -1, -1, 0, 0], [0, 0, 1, 1, -1, -1, 0], color="0.2", lw=1, clip_on=False)
        ax.spines[:].set_visible(False)
        ax.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Solve it in three ways, say how well, draw it."""
    corner, found = [(0.0, 0.0)], {}
    for label, model, points, tol in (
        ("enriched", None, None, 1e-8),
        ("sees the corner", ag.MLP(20, 20, corners=corner), ag.Graded(30, 3, corner), 1e-6),
        ("plain network", ag.MLP(20, 20), None, 1e-4),
    ):
        begin = time.perf_counter()
        found[label] = solution = ag.solve(problem(), model, points=points, tol=tol, seconds=60)
        print(
            f"{label}: relative error {solution.relative_l2_error:.1e}, "
            f"estimated {solution.relative_error_estimate:.1e}, {time.perf_counter() - begin:.0f} s"
        )
    draw(found)


if __name__ == "__main__":
    main()
