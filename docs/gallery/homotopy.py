"""Problems that are not found from nothing, by way of easier ones: logistic growth and van der Pol's oscillator.

u' = ρ u (1 − u), u(0) = 0.001 with ρ = 40 looks solved by u ≈ 0.001 to a network; from ρ = 1 on it is found. The same
with the relaxation μ of u'' − 10 μ (1 − u²) u' + 100 u = 0.
"""

import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

import anagram as ag

line = ag.Box(t=(0, 1))
TIMES = np.linspace(0, 1, 801)
MODEL, STEPS = ag.MLP(10, 10), 150


def growth(rate: float) -> ag.Problem:
    """Logistic growth from a thousandth."""
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("t") - rate * u * (1 - u)),
        start=ag.Condition(lambda u: u, on=line.face(t=0), equals=1e-3),
        name="logistic growth",
    )


def oscillator(relaxation: float) -> ag.Problem:
    """Van der Pol's oscillator, ten radians long."""
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("t", "t") - 10 * relaxation * (1 - u**2) * u.d("t") + 100 * u),
        place=ag.Condition(lambda u: u, on=line.face(t=0), equals=2.0),
        speed=ag.Condition(lambda u: u.d("t"), on=line.face(t=0)),
        name="van der Pol",
    )


def problem() -> ag.Problem:
    """The first of them, as hard as it is wanted."""
    return growth(40.0)


def oscillation(relaxation: float) -> np.ndarray:
    """The reference, by LSODA."""

    def rates(_: float, y: np.ndarray) -> list[float]:
        return [y[1], 10 * relaxation * (1 - y[0] ** 2) * y[1] - 100 * y[0]]

    return solve_ivp(rates, (0, 1), [2.0, 0.0], method="LSODA", t_eval=TIMES, rtol=1e-10, atol=1e-11).y[0]


CASES = (
    (growth, [1.0, 5.0, 10.0, 20.0, 40.0], 1 / (1 + 999 * np.exp(-40 * TIMES))),
    (oscillator, [0.1, 1.0, 2.0, 4.0], oscillation(4.0)),
)


def shown(ax: plt.Axes, state: Callable[[float], ag.Problem], values: list[float], exact: np.ndarray) -> None:
    """One problem in two ways, with what was found on the way."""
    between: list[tuple[float, np.ndarray]] = []
    setting = {"model": MODEL, "steps": STEPS, "progress": False}
    ways = {
        "from nothing": lambda: ag.solve(state(values[-1]), **setting),
        "homotopy": lambda: ag.homotopy(state, values, told=lambda v, s: between.append((v, s(t=TIMES))), **setting),
    }
    name = state(values[-1]).name
    for way, colour in zip(ways, ("#d62728", "#1f77b4"), strict=True):
        begin = time.perf_counter()
        found = ways[way]()(t=TIMES)
        error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
        print(f"{name:16} {way:13} relative error {error:.1e}, {time.perf_counter() - begin:.0f} s")
        ax.plot(TIMES, found, color=colour, label=f"{way}, error {error:.0e}", lw=1.6)
    print("  values on the way:", ", ".join(f"{value:.3g}" for value, _ in between))
    for _, values_between in between[:-1]:
        ax.plot(TIMES, values_between, color="0.8", lw=0.8, zorder=0)
    ax.plot(TIMES[::20], exact[::20], "k.", ms=3, label="reference")
    ax.set(title=name, xlabel="t", ylabel="u")
    ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncol=3)


def main() -> None:
    """Solve both, from nothing and along the way, and draw them."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.0), layout="constrained")
    for ax, case in zip(panels, CASES, strict=True):
        shown(ax, *case)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
