"""A cosine breaks up into solitons: u_t + u u_x + 0.022² u_xxx = 0 on a ring, after Zabusky and Kruskal.

It is solved in stretches of time that the program chooses, each from where the last one ended. The tolerance, and how
many seconds it may train, are the arguments: ``python kdv.py 1e-3 180``.
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import anagram as ag

DISPERSION = 0.022**2
MOMENTS = 21  # at which the solution is compared with the reference


def problem() -> ag.Problem:
    """The equation and where it begins; a ring has no ends to state anything about."""
    ring = ag.Box(t=(0, 1), x=ag.periodic(-1, 1))
    return ag.Problem(
        ring,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") + DISPERSION * u.d("x", "x", "x")),
        start=ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: np.cos(np.pi * x)),
        name="Korteweg–de Vries",
    )


def reference(modes: int = 512, steps: int = 20_000) -> np.ndarray:
    """u at the moments on an even grid of the ring, (moments, modes).

    A Fourier series, its dispersion by an integrating factor and the rest by the classical Runge–Kutta rule; the upper
    third of the modes is left out of products.
    """
    number = np.fft.fftfreq(modes, 1 / modes)
    slope = 1j * np.pi * np.where(np.abs(number) < modes / 2, number, 0)
    kept = np.abs(number) < modes / 3
    step = 1 / steps
    half = np.exp(-0.5 * step * DISPERSION * slope**3)

    def rest(series: np.ndarray) -> np.ndarray:
        return -0.5 * slope * kept * np.fft.fft(np.fft.ifft(series * kept).real ** 2)

    series = np.fft.fft(np.cos(np.pi * grid(modes)))
    found = [series]
    for count in range(1, steps + 1):
        one = rest(series)
        two = rest(half * (series + 0.5 * step * one))
        three = rest(half * series + 0.5 * step * two)
        four = rest(half * (half * series + step * three))
        series = half * (half * (series + step / 6 * one) + step / 3 * (two + three)) + step / 6 * four
        if count % (steps // (MOMENTS - 1)) == 0:
            found.append(series)
    return np.fft.ifft(np.array(found), axis=1).real


def grid(modes: int) -> np.ndarray:
    """An even grid of the ring, without its second end."""
    return -1 + 2 * np.arange(modes) / modes


def relative(difference: np.ndarray, values: np.ndarray) -> float:
    """A relative root mean square."""
    return float(np.sqrt(np.mean(difference**2) / np.mean(values**2)))


def show(solution: ag.Solution, seconds: float) -> None:
    """Say how good a solution is, and draw it."""
    known, other = reference(), reference(384, 10_000)
    t, x = np.linspace(0, 1, MOMENTS), grid(512)
    values = solution(t=t[:, None], x=x[None])
    print(f"the reference agrees with a coarser one to {relative(known[:, ::4] - other[:, ::3], known):.0e}")
    estimate = solution.relative_error_estimate
    estimated = "not estimated, because it did not come to the end" if estimate is None else f"estimated {estimate:.1e}"
    print(f"relative error {relative(values - known, known):.1e}, {estimated}, {seconds:.0f} s")
    for moment in (4, 8, MOMENTS - 1):
        print(f"at t = {t[moment]:g}: relative error {relative(values[moment] - known[moment], known[moment]):.1e}")
    shown = solution.to_numpy({"t": 301, "x": 401})
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    image = left.pcolormesh(shown["t"], shown["x"], shown["u"].T, shading="nearest", rasterized=True)
    figure.colorbar(image, ax=left)
    left.set(title="u", xlabel="t", ylabel="x, periodic")
    for place, colour in ((0, "0.6"), (8, "tab:blue"), (MOMENTS - 1, "tab:red")):
        right.plot(x, values[place], color=colour, lw=1.4, label=f"t = {t[place]:g}")
        right.plot(x, known[place], "k:", lw=1)
    right.set(xlabel="x", title="and the reference, dotted")
    right.legend()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Train as long as it may, say how well it is solved, draw it."""
    begin = time.perf_counter()
    tol, seconds = (float(given) for given in (sys.argv[1:] + ["1e-6", "600"][len(sys.argv) - 1 :])[:2])
    solution = ag.solve(problem(), tol=tol, seconds=seconds)
    show(solution, time.perf_counter() - begin)


if __name__ == "__main__":
    main()
