"""Δu = 0 on an L, whose solution is singular at the corner that points inward: u = r^⅔ sin ⅔φ.

Networks are enriched with what belongs to the corner by themselves; one that is given as a model is not, and is stuck.
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


def draw(enriched: ag.Solution, plain: ag.Solution) -> None:
    """The solution, and the errors with and without what belongs to the corner, in the same colours."""
    values = [solution.to_numpy({"x": 201, "y": 201}) for solution in (enriched, plain)]
    x, y = values[0]["x"], values[0]["y"]
    known = np.asarray(exact(x[:, None], y[None]))
    errors = [np.log10(np.abs(v["u"] - known) + 1e-17) for v in values]
    shown = (("u", values[0]["u"], "viridis"), ("enriched", errors[0], "magma"), ("not enriched", errors[1], "magma"))
    figure, panels = plt.subplots(1, 3, figsize=(11.5, 3.4), layout="constrained")
    for ax, (title, data, colours) in zip(panels, shown, strict=True):
        limits = {"vmin": -12, "vmax": -2} if colours == "magma" else {}
        image = ax.pcolormesh(x, y, data.T, cmap=colours, shading="nearest", rasterized=True, **limits)
        figure.colorbar(image, ax=ax, label="log₁₀ |error|" if limits else "")
        ax.plot([0, 1, 1, -1, -1, 0, 0], [0, 0, 1, 1, -1, -1, 0], color="0.2", lw=1, clip_on=False)
        ax.spines[:].set_visible(False)
        ax.set(title=title, xlabel="x", ylabel="y", aspect="equal")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Solve it both ways, say how well, draw it."""
    found = []
    for label, model, tol in (("enriched", None, 1e-8), ("not enriched", ag.MLP(20, 20), 1e-4)):
        begin = time.perf_counter()
        solution = ag.solve(problem(), model, tol=tol, seconds=60)
        print(
            f"{label}: relative error {solution.relative_l2_error:.1e}, "
            f"estimated {solution.relative_error_estimate:.1e}, {time.perf_counter() - begin:.0f} s"
        )
        found.append(solution)
    draw(*found)


if __name__ == "__main__":
    main()
