"""Our methods on classical least-squares problems, beside optimistix's Levenberg–Marquardt and MINPACK's.

    python bench/least_squares.py

First problems of Moré, Garbow and Hillstrom and of NIST's Statistical Reference Datasets, from their usual starts: the
excess of the sum of squares over the known minimum (relative to it unless it is zero), steps, and calls of the
residual function, those for derivatives among them. Then forty sums of four Gaussian peaks with noise, started near the
truth: how many are fitted.
"""

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import scipy.optimize

import anagram as ag

TOLERANCE = 1e-10
STEPS = 2000


# -- problems: residual, start, least sum of squares -----------------------------------------------------------
def exponentials(y, x):
    return sum(y[i] * jnp.exp(-y[i + 1] * x) for i in (0, 2, 4))


def saturating(y, x):
    return y[0] * (1 - jnp.exp(-y[1] * x))


def helical(y):
    angle = jnp.arctan2(y[1], y[0]) / (2 * jnp.pi)
    return jnp.stack([10 * (y[2] - 10 * angle), 10 * (jnp.hypot(y[0], y[1]) - 1), y[2]])


def freudenstein_roth(y):
    a, b = y
    return jnp.stack([-13 + a + ((5 - b) * b - 2) * b, -29 + a + ((b + 1) * b - 14) * b])


def wood(y):
    a, b, c, d = y
    valleys = [10 * (b - a**2), 1 - a, 90**0.5 * (d - c**2), 1 - c]
    return jnp.stack([*valleys, 10**0.5 * (b + d - 2), (b - d) / 10**0.5])


def powell_singular(y):
    a, b, c, d = y
    return jnp.stack([a + 10 * b, 5**0.5 * (c - d), (b - 2 * c) ** 2, 10**0.5 * (a - d) ** 2])


def brown_dennis(y):
    t = jnp.arange(1, 21) / 5
    return (y[0] + t * y[1] - jnp.exp(t)) ** 2 + (y[2] + y[3] * jnp.sin(t) - jnp.cos(t)) ** 2


def bard(y):
    u = jnp.arange(1, 16.0)
    v, w = 16 - u, jnp.minimum(u, 16 - u)
    data = "0.14 0.18 0.22 0.25 0.29 0.32 0.35 0.39 0.37 0.58 0.73 0.96 1.34 2.10 4.39"
    return numbers(data) - (y[0] + u / (v * y[1] + w * y[2]))


def jennrich_sampson(y):
    i = jnp.arange(1, 11.0)
    return 2 + 2 * i - jnp.exp(i * y[0]) - jnp.exp(i * y[1])


def rosenbrock(y):
    return jnp.stack([1 - y[0], 10 * (y[1] - y[0] ** 2)])


def powell_scaled(y):
    return jnp.stack([1e4 * y[0] * y[1] - 1, jnp.exp(-y[0]) + jnp.exp(-y[1]) - 1.0001])


def brown_scaled(y):
    return jnp.stack([y[0] - 1e6, y[1] - 2e-6, y[0] * y[1] - 2])


def numbers(text):
    return np.array(text.split(), dtype=float)


def fit(model, x, measured):
    x, measured = (numbers(a) if isinstance(a, str) else a for a in (x, measured))
    return lambda y: model(y, x) - measured


MISRA1A = fit(
    saturating,
    "77.6 114.9 141.1 190.8 239.9 289.0 332.8 378.4 434.8 477.3 536.8 593.1 689.1 760.0",
    "10.07 14.73 17.94 23.93 29.61 35.18 40.02 44.82 50.76 55.05 61.01 66.40 75.47 81.78",
)
BOXBOD = fit(saturating, "1 2 3 5 7 10", "109 149 149 191 213 224")
DANWOOD = fit(
    lambda y, x: y[0] * x ** y[1], "1.309 1.471 1.490 1.565 1.611 1.680", "2.138 3.421 3.597 4.340 4.882 5.660"
)
RAT42 = fit(
    lambda y, x: y[0] / (1 + jnp.exp(y[1] - y[2] * x)),
    "9 14 21 28 42 57 63 70 79",
    "8.930 10.800 18.590 22.330 39.350 56.110 61.730 64.620 67.080",
)
MGH09 = fit(
    lambda y, x: y[0] * (x**2 + x * y[1]) / (x**2 + x * y[2] + y[3]),
    "4 2 1 0.5 0.25 0.167 0.125 0.1 0.0833 0.0714 0.0625",
    "0.1957 0.1947 0.1735 0.1600 0.0844 0.0627 0.0456 0.0342 0.0323 0.0235 0.0246",
)
MGH10 = fit(
    lambda y, x: y[0] * jnp.exp(y[1] / (x + y[2])),
    np.arange(50, 126, 5.0),
    "34780 28610 23650 19630 16370 13720 11540 9744 8261 7030 6005 5147 4427 3820 3307 2872",
)
GRID = 0.05 * np.arange(24)
LANCZOS = fit(exponentials, GRID, np.asarray(exponentials((0.0951, 1, 0.8607, 3, 1.5576, 5), GRID)))

PROBLEMS = {
    "Rosenbrock": (rosenbrock, (-1.2, 1), 0),
    "Rosenbrock, far": (rosenbrock, (-120, 100), 0),
    "Powell singular": (powell_singular, (3, -1, 0, 1), 0),
    "Powell badly scaled": (powell_scaled, (0, 1), 0),
    "Brown badly scaled": (brown_scaled, (1, 1), 0),
    "helical valley": (helical, (-1, 0, 0), 0),
    "Wood": (wood, (-3, -1, -3, -1), 0),
    "Lanczos": (LANCZOS, (1.2, 0.3, 5.6, 5.5, 6.5, 7.6), 0),
    "Freudenstein-Roth": (freudenstein_roth, (0.5, -2), 48.9842536792),
    "Jennrich-Sampson": (jennrich_sampson, (0.3, 0.4), 124.362182356),
    "Bard": (bard, (1, 1, 1), 8.21487730657e-3),
    "Brown-Dennis": (brown_dennis, (25, 5, -5, -1), 85822.2016264),
    "Misra1a": (MISRA1A, (500, 1e-4), 1.2455138894e-1),
    "BoxBOD": (BOXBOD, (1, 1), 1.1680088766e3),
    "DanWood": (DANWOOD, (1, 5), 4.3173084083e-3),
    "Rat42": (RAT42, (100, 1, 0.1), 8.0565229338),
    "MGH09": (MGH09, (25, 39, 41.5, 39), 3.0750560385e-4),
    "MGH10": (MGH10, (2, 400000, 25000), 87.945855171),
    "MGH10, near": (MGH10, (0.02, 4000, 250), 87.945855171),
}

SOLVERS = {
    "auto": ag.interop.LeastSquares("auto", TOLERANCE, TOLERANCE),
    "auto, ratio=0.9": ag.interop.LeastSquares("auto", TOLERANCE, TOLERANCE, ratio=0.9),
    "anagram": ag.interop.LeastSquares("anagram", TOLERANCE, TOLERANCE),
    "optimistix LM": optx.LevenbergMarquardt(TOLERANCE, TOLERANCE),
}


def excess(squares, known):
    return (squares - known) / known if known else squares


def cell(squares, known, steps, calls, successful):
    return f"{excess(squares, known):9.1e} {steps:5d} {calls:6d} {'' if successful else '!':1s}"


def run_counted(residual, start, known, solver):
    count = 0

    def note():
        nonlocal count
        count += 1

    def counted(y, _):
        jax.debug.callback(note)
        return residual(y)

    solution = optx.least_squares(counted, solver, jnp.array(start, float), max_steps=STEPS, throw=False)
    squares = float(jnp.sum(residual(solution.value) ** 2))
    jax.effects_barrier()
    return cell(squares, known, int(solution.stats["num_steps"]), count, solution.result == optx.RESULTS.successful)


def run_minpack(residual, start, known):
    rows, features = jax.jit(residual), jax.jit(jax.jacfwd(residual))
    found = scipy.optimize.least_squares(
        lambda y: np.asarray(rows(y)),
        np.array(start, float),
        jac=lambda y: np.asarray(features(y)),
        method="lm",
        x_scale="jac",
        xtol=TOLERANCE,
        ftol=1e-14,
        gtol=1e-14,
        max_nfev=STEPS,
    )
    return cell(2 * found.cost, known, found.njev, found.nfev, found.success)


# -- peaks ---------------------------------------------------------------------------------------------------------
X = np.linspace(0, 10, 200)


def peaks(y, measured):
    height, centre, width = y
    return jnp.sum(height * jnp.exp(-(((X[:, None] - centre) / width) ** 2) / 2), axis=1) - measured


def peaks_problem(seed):
    random = np.random.default_rng(seed)
    centre, height, width = random.uniform(1, 9, 4), random.uniform(0.5, 2, 4), random.uniform(0.2, 0.6, 4)
    measured = np.asarray(peaks((height, centre, width), 0.0)) + 0.01 * random.normal(size=X.size)
    return measured, (np.ones(4), centre + 0.2 * random.normal(size=4), np.full(4, 0.5))


def run_peaks(solver, count=40):
    measured, guess = jax.tree.map(lambda *a: jnp.stack(a), *[peaks_problem(seed) for seed in range(count)])

    def solve(measured, guess):
        solution = optx.least_squares(peaks, solver, guess, args=measured, max_steps=500, throw=False)
        return jnp.sum(peaks(solution.value, measured) ** 2), solution.stats["num_steps"]

    squares, steps = jax.jit(jax.vmap(solve))(measured, guess)
    # Noise of size 0.01 leaves 0.02 on 200 points.
    return f"{int((squares < 0.04).sum())} of {count} fitted, {int(np.median(steps))} steps in the median"


def main():
    print("excess, steps, calls; ! where the solver says that it failed")
    print(f"{'':20s}" + "".join(f"| {name:22s} " for name in [*SOLVERS, "MINPACK lm"]))
    for name, problem in PROBLEMS.items():
        cells = [*(run_counted(*problem, solver) for solver in SOLVERS.values()), run_minpack(*problem)]
        print(f"{name:20s}" + "".join(f"| {text:22s} " for text in cells), flush=True)
    print("\nfour peaks")
    for name, solver in SOLVERS.items():
        print(f"{name:20s} {run_peaks(solver)}", flush=True)


if __name__ == "__main__":
    main()
