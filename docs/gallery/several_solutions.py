"""Two solutions of one problem, and two modes of one drum.

Bratu's problem on the disk, Δu + eᵘ = 0, u = 0 on the circle, has a low and a high solution: the second is found with
the first one divided out. The modes of a drum, −Δu = λu, are orthogonal to each other.
"""

import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anagram as ag

ROOT = np.sqrt(8)
ZEROS = (2.404825557695773, 5.520078110286311)  # of Bessel's function J₀


def problem() -> ag.Problem:
    """Bratu's problem of the catalogue, with a strength of one."""
    return ag.catalogue.problem("bratu")


def exact(radius: np.ndarray, b: float) -> np.ndarray:
    """Liouville's solutions, b = 3 ± √8."""
    return 2 * np.log((1 + b) / (1 + b * radius**2))


def draw(found: list[ag.Solution], drums: list[ag.Solution]) -> None:
    """Both solutions along a radius, and both modes."""
    r = np.linspace(0, 1, 201)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for solution, b, colour in zip(found, (3 - ROOT, 3 + ROOT), ("#1f77b4", "#ff7f0e"), strict=True):
        left.plot(r, solution(x=r, y=0.0), color=colour)
        left.plot(r[::10], exact(r[::10], b), ".", color=colour)
    left.set(title="Bratu: two solutions (dots: Liouville)", xlabel="r", ylabel="u")
    for mode, colour in zip(drums, ("#1f77b4", "#ff7f0e"), strict=True):
        right.plot(r, mode(x=r, y=0.0), color=colour, label=f"λ = {mode.coefficients['square']:.6f}")
    right.axhline(0, color="0.8", lw=0.8)
    right.set(title="a drum: the first two round modes", xlabel="r", ylabel="u")
    right.legend()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Find them, say how well, draw them."""
    begin = time.perf_counter()
    found = ag.solutions(problem(), 2, guesses=[lambda x, y: 4 * (1 - x**2 - y**2)], tol=1e-6)
    r = np.linspace(0, 1, 201)
    for solution, b in zip(found, (3 - ROOT, 3 + ROOT), strict=True):
        off = solution(x=r, y=0.0) - exact(r, b)
        error = np.linalg.norm(off) / np.linalg.norm(exact(r, b))
        print(
            f"u(0) = {solution(x=0.0, y=0.0):.8f}, error {error:.1e}, {solution.relative_error_estimate:.1e} estimated"
        )
    print(f"{time.perf_counter() - begin:.0f} s")
    begin = time.perf_counter()
    drums = ag.modes(ag.catalogue.problem("drum"), 2, first_guesses=[28.0], tol=1e-6)
    for mode, zero in zip(drums, ZEROS, strict=True):
        value = mode.coefficients["square"]
        print(f"λ = {value:.8f}, relative error {abs(value / zero**2 - 1):.1e}")
    print(f"{time.perf_counter() - begin:.0f} s")
    draw(found, drums)


if __name__ == "__main__":
    main()
