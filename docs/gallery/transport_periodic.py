"""A wave that is carried around a ring almost five times: u_t + 30 u_x = 0, u(0, x) = sin x."""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anagram as ag


def wave(t: np.ndarray | float, x: np.ndarray) -> np.ndarray:
    """What begins as a sine is one forever."""
    return np.sin(x - 30 * t)


def problem() -> ag.Problem:
    """The equation and where the wave begins; a ring has no ends to state anything about."""
    ring = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi))
    return ag.Problem(
        ring,
        equation=ag.Condition(lambda u: u.d("t") + 30 * u.d("x")),
        start=ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: wave(0.0, x)),
        solution=wave,
        name="transport around a ring",
    )


def draw(solution: ag.Solution) -> None:
    """The wave and its error."""
    values = solution.to_numpy({"t": 301, "x": 201})
    error = np.abs(values["u"] - wave(values["t"][:, None], values["x"][None]))
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for ax, data, title, colours in zip(
        panels, (values["u"], np.log10(error + 1e-17)), ("u", "log₁₀ |error|"), ("RdBu_r", "magma"), strict=True
    ):
        image = ax.pcolormesh(values["t"], values["x"], data.T, cmap=colours, shading="nearest", rasterized=True)
        figure.colorbar(image, ax=ax)
        ax.set(title=title, xlabel="t", ylabel="x, periodic")
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-9)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    draw(solution)


if __name__ == "__main__":
    main()
