"""A wave that is carried around a ring almost five times: u_t + 30 u_x = 0, u(0, x) = sin x."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anagram as ag


def wave(t: np.ndarray | float, x: np.ndarray) -> np.ndarray:
    """What begins as a sine is one forever."""
    return np.sin(x - 30 * t)


ring = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi))
problem = ag.Problem(
    ring,
    equation=ag.Condition(lambda u: u.d("t") + 30 * u.d("x")),
    start=ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: wave(0.0, x)),
    solution=wave,
    name="transport around a ring",
)

if __name__ == "__main__":
    print(problem)
    solution = ag.solve(problem, tol=1e-9)
    print(f"error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}")
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
