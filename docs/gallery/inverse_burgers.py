"""Two coefficients of Burgers' equation from 2000 values with 1 % noise: u_t + a u u_x − ν u_xx = 0.

Nothing is said of where u begins or of what it is at the walls, and the noise is estimated. The true values are a = 1
and ν = 0.01/π. ``python inverse_burgers.py 3`` takes another draw of points and noise.
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anagram as ag

VALUES = 2000
NOISE = 0.01  # of the standard deviation of the values
TRUE = {"a": 1.0, "nu": 0.01 / np.pi}
BOX = ag.Box(t=(0, 1), x=(-1, 1))


def measured(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (t, x) and values with noise, from the solution of the catalogue."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.uniform(0, 1, VALUES), rng.uniform(-1, 1, VALUES)], axis=1)
    exact = ag.catalogue.problem("burgers", nu=TRUE["nu"]).exact(x)
    assert exact is not None
    values = exact["u"]
    return x, values + NOISE * np.std(values) * rng.standard_normal(VALUES)


def problem(seed: int = 0) -> ag.Problem:
    """First guesses are half of a, and three times ν."""
    x, values = measured(seed)
    return ag.Problem(
        BOX,
        equation=ag.Condition(lambda u, a, nu: u.d("t") + a * u * u.d("x") - nu * u.d("x", "x")),
        data=ag.Condition(lambda u: u, on=BOX.points(t=x[:, 0], x=x[:, 1]), equals=values, noise="estimate"),
        coefficients={"a": 0.5, "nu": 0.01},
        name="Burgers' equation with unknown coefficients",
    )


def show(solution: ag.Solution, seed: int, seconds: float) -> None:
    """Say how good the coefficients are, and draw them with the field."""
    for name, value in solution.coefficients.items():
        off, true = value - TRUE[name], TRUE[name]
        assert value.std is not None
        print(
            f"{name}: {100 * off / true:+.2f} %, {off / value.std:+.1f} standard errors "
            f"of {100 * value.std / true:.2f} % each"
        )
    print(f"{seconds:.0f} s")
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.4), layout="constrained")
    t, x = np.linspace(0, 1, 201), np.linspace(-1, 1, 301)
    image = left.pcolormesh(t, x, solution(t=t[None], x=x[:, None]), cmap="RdBu_r", shading="nearest", rasterized=True)
    figure.colorbar(image, ax=left)
    left.plot(*measured(seed)[0].T, ".", color="k", ms=1, alpha=0.5)
    left.set(title="u, and where it was measured", xlabel="t", ylabel="x")
    found = solution.uncertainty()
    centre = [found.values[name] for name in found.names]
    lengths, axes = np.linalg.eigh(found.covariance)
    turn = np.linspace(0, 2 * np.pi, 200)
    circle = axes @ (np.sqrt(lengths)[:, None] * np.stack([np.cos(turn), np.sin(turn)]))
    for reach, share in ((1.52, "68 %"), (2.45, "95 %")):  # of a Gaussian in the plane
        ellipse = np.array(centre)[:, None] + reach * circle
        right.plot(
            ellipse[0], 1e3 * ellipse[1], color="tab:blue", lw=1.5, alpha=0.5 if share == "95 %" else 1, label=share
        )
    right.plot(centre[0], 1e3 * centre[1], "o", color="tab:blue", label="found")
    right.plot(TRUE["a"], 1e3 * TRUE["nu"], "k+", ms=11, mew=2, label="true")
    right.set(xlabel="a", ylabel="1000 ν", title="the coefficients, with 68 % and 95 % regions")
    right.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Fit, say how well, draw it."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    begin = time.perf_counter()
    solution = ag.solve(problem(seed), ag.MLP(12, 12, 12, scale=2.0), points=6000, steps=300, tol=0.02)
    print(solution.uncertainty())
    show(solution, seed, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
