"""SciPy: `solve_ivp` for evolutions, in space by the method of lines, and `solve_bvp` with `least_squares`.

Every problem is solved to one tolerance after the other; `seconds` is what each took.
"""

import time

import numpy as np
from common_problems import RATE_START, RATE_U, RATE_X
from scipy.integrate import solve_bvp, solve_ivp
from scipy.optimize import least_squares
from watch import STATES, main, states

pi = np.pi


@states("laplace-2d")
def laplace_2d():
    """not possible: SciPy has no solver for boundary value problems in more than one dimension"""


@states("laplace-5d")
def laplace_5d():
    """not possible: SciPy has no solver for boundary value problems in more than one dimension"""


@states("disk")
def disk():
    """not possible: SciPy has no solver for boundary value problems in more than one dimension"""


@states("heat")
def heat(tol, count):
    """Second differences on a grid in space."""
    x = np.linspace(0, 1, count)

    def slope(t, u):
        u_t = np.zeros_like(u)
        u_t[1:-1] = 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2]) / (x[1] - x[0]) ** 2
        return u_t

    start = np.sin(pi * x)
    run = solve_ivp(slope, (0, 1), start, method="LSODA", lband=1, uband=1, rtol=tol, atol=tol, dense_output=True)
    return on_grid(run.sol, x)


@states("allen-cahn")
def allen_cahn(tol, count):
    """Second differences on a grid in space."""
    x = np.linspace(-1, 1, count)

    def slope(t, u):
        u_t = np.zeros_like(u)
        v = u[1:-1]
        u_t[1:-1] = 1e-3 * (u[2:] - 2 * v + u[:-2]) / (x[1] - x[0]) ** 2 + 5 * (v - v**3)
        return u_t

    start = x**2 * np.cos(pi * x)
    run = solve_ivp(slope, (0, 1), start, method="LSODA", lband=1, uband=1, rtol=tol, atol=tol, dense_output=True)
    return on_grid(run.sol, x)


def on_grid(path, x):
    """Not a user's: values between the points of the grid, by polynomials of degree 5."""

    def values(points):
        found = []
        for part in np.array_split(points, max(1, len(points) // 128)):
            first = np.clip(np.searchsorted(x, part[:, 1]) - 3, 0, len(x) - 6)
            near = first[:, None] + np.arange(6)
            s = (part[:, 1] - x[first]) / (x[1] - x[0])
            weights = np.ones((len(part), 6))
            for j in range(6):
                for other in set(range(6)) - {j}:
                    weights[:, j] *= (s - other) / (j - other)
            found.append((weights * path(part[:, 0])[near, np.arange(len(part))[:, None]]).sum(axis=1))
        return np.concatenate(found)

    return values, {}


@states("hunt")
def hunt(tol):
    def slope(t, y):
        return y[0] * (1 - y[1] / 2), -y[1] * (1 - y[0] / 2)

    run = solve_ivp(slope, (0, 6), (1.0, 1.0), method="DOP853", rtol=tol, atol=tol, dense_output=True)
    return lambda points: run.sol(points[:, 0]).T, {}


@states("rate")
def rate(tol):
    x = np.linspace(0, 1, 9)

    def solved(k):
        return solve_bvp(
            lambda x, y: (y[1], k * y[0] ** 2),
            lambda left, right: (left[0] - 4, right[0] - 1),
            x,
            (4 - 3 * x, np.full_like(x, -3)),
            tol=tol,
            max_nodes=100_000,
        ).sol

    fit = least_squares(lambda k: solved(k[0])(RATE_X)[0] - RATE_U, [RATE_START], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    path = solved(fit.x[0])
    return lambda points: path(points[:, 0])[0], {"k": float(fit.x[0])}


ASKED = {
    "heat": [(1e-3, 33), (1e-5, 129), (1e-6, 513), (1e-8, 2049)],
    "allen-cahn": [(1e-4, 257), (1e-5, 1025), (1e-6, 4097), (1e-7, 16385)],
    "hunt": [(10.0**-k,) for k in (3, 5, 7, 9, 11, 13)],
    "rate": [(10.0**-k,) for k in (3, 5, 7, 9)],
}


def run(problem, seed, watch):
    STATES[problem](*ASKED[problem][0])  # the libraries wake up
    spent = 0.0
    for asked in ASKED[problem]:
        started = time.perf_counter()
        values, coefficients = STATES[problem](*asked)
        seconds = time.perf_counter() - started
        spent += seconds
        wall, looked = time.time() - watch.began_process - watch.away, time.perf_counter()
        watch.report(seconds, wall, values(watch.points), coefficients)
        watch.away += time.perf_counter() - looked
        if spent > watch.limit:
            break


if __name__ == "__main__":
    main(run, "scipy", "numpy")
