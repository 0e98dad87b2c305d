"""Collocation at Chebyshev points in NumPy: what takes the place of a network on smooth problems in few dimensions.

Every problem is solved with more and more points, and each of these is a line of its own: `seconds` is what that one
took.
"""

import time

import numpy as np
from common_problems import RATE_START, RATE_U, RATE_X
from numpy.polynomial import chebyshev
from watch import STATES, main, states, user_code

pi = np.pi


@user_code
def points_and_slopes(count, low, high):
    """Chebyshev points of an interval, in falling order, and the matrix that differentiates there."""
    k = np.arange(count)
    x = np.cos(pi * k / (count - 1))
    sign = (-1.0) ** k * np.where((k == 0) | (k == count - 1), 2.0, 1.0)
    slopes = np.outer(sign, 1 / sign) / (x[:, None] - x + np.eye(count))
    slopes -= np.diag(slopes.sum(axis=1))
    return low + (high - low) * (x + 1) / 2, slopes * 2 / (high - low)


@user_code
def to_points(count, low, high, x):
    """The matrix from values at Chebyshev points to values at x."""
    nodes = np.cos(pi * np.arange(count) / (count - 1))
    inverse = np.linalg.inv(chebyshev.chebvander(nodes, count - 1))
    return chebyshev.chebvander(2 * (x - low) / (high - low) - 1, count - 1) @ inverse


@user_code
def poisson(count, dimensions, source, walls):
    """Δu = source on the unit cube with given walls, by the eigenvectors of the second derivative."""
    x, slopes = points_and_slopes(count, 0, 1)
    second = slopes @ slopes
    grid = np.meshgrid(*[x] * dimensions, indexing="ij")
    u, inside = walls(*grid), (slice(1, -1),) * dimensions
    u[inside] = 0
    right = source(*grid) - sum(np.moveaxis(np.tensordot(second, u, (1, k)), 0, k) for k in range(dimensions))
    values, vectors = np.linalg.eig(second[1:-1, 1:-1])
    values, vectors, right = values.real, vectors.real, right[inside]
    inverse = np.linalg.inv(vectors)
    for k in range(dimensions):
        right = np.moveaxis(np.tensordot(inverse, right, (1, k)), 0, k)
    right = right / sum(np.meshgrid(*[values] * dimensions, indexing="ij"))
    for k in range(dimensions):
        right = np.moveaxis(np.tensordot(vectors, right, (1, k)), 0, k)
    u[inside] = right
    return u


def at(u, points, low, high):
    """Values of a tensor of values on a grid at points, some at a time."""
    found = []
    for part in np.array_split(points, max(1, len(points) // 64)):
        values = np.broadcast_to(u, (len(part), *u.shape))
        for k in range(u.ndim):
            weights = to_points(u.shape[k], low[k], high[k], part[:, k])
            values = np.einsum("pi,pi...->p...", weights, values)
        found.append(values)
    return np.concatenate(found)


@states("laplace-2d")
def laplace_2d(count):
    return poisson(count, 2, lambda x, y: -2 * pi**2 * np.sin(pi * x) * np.sin(pi * y), lambda x, y: 0 * x)


@states("laplace-5d")
def laplace_5d(count):
    def sines(*x):
        return sum(np.sin(pi * v) for v in x)

    return poisson(count, 5, lambda *x: -(pi**2) * sines(*x), sines)


@states("heat")
def heat(count):
    """Space and time at once: the conditions replace rows of the equation."""
    x, slopes = points_and_slopes(count, 0, 1)
    one = np.eye(count)
    matrix = np.kron(slopes, one) - 0.25 * np.kron(one, slopes @ slopes)
    t, x = (v.ravel() for v in np.meshgrid(x, x, indexing="ij"))
    given = (t == 0) | (x == 0) | (x == 1)
    matrix[given] = np.eye(count**2)[given]
    return np.linalg.solve(matrix, np.where(given & (t == 0), np.sin(pi * x), 0)).reshape(count, count)


@states("allen-cahn")
def allen_cahn(count):
    """Fourth-order exponential time differencing, in the eigenvectors of diffusion; w = u + 1 vanishes at the ends."""
    steps = 4 * count
    x, slopes = points_and_slopes(count, -1, 1)
    values, vectors = np.linalg.eig(1e-3 * (slopes @ slopes)[1:-1, 1:-1])
    values, vectors = values.real, vectors.real
    inverse, h = np.linalg.inv(vectors), 1 / steps
    circle = np.exp(1j * pi * (np.arange(32) + 0.5) / 32)
    z = h * values[:, None] + circle
    e, half = np.exp(h * values), np.exp(h * values / 2)
    q = h * ((np.exp(z / 2) - 1) / z).real.mean(axis=1)
    a = h * ((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3).real.mean(axis=1)
    b = h * ((2 + z + np.exp(z) * (z - 2)) / z**3).real.mean(axis=1)
    c = h * ((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3).real.mean(axis=1)

    def reaction(modes):
        u = vectors @ modes - 1
        return inverse @ (5 * (u - u**3))

    v = inverse @ (x**2 * np.cos(pi * x) + 1)[1:-1]
    history, rates = [v], [values * v + reaction(v)]
    for _ in range(steps):
        n = reaction(v)
        first = half * v + q * n
        n_first = reaction(first)
        n_second = reaction(half * v + q * n_first)
        n_third = reaction(half * first + q * (2 * n_second - n))
        v = e * v + a * n + 2 * b * (n_first + n_second) + c * n_third
        history.append(v)
        rates.append(values * v + reaction(v))
    return np.array(history) @ vectors.T, np.array(rates) @ vectors.T


def between_steps(history, rates, points):
    """Values at points, by cubics between the steps in time."""
    steps, count = len(history) - 1, history.shape[1] + 2
    k = np.minimum((points[:, 0] * steps).astype(int), steps - 1)
    s = (points[:, :1] * steps) - k[:, None]
    w = (1 + 2 * s) * (1 - s) ** 2 * history[k] + s * s * (3 - 2 * s) * history[k + 1]
    w += (s * (1 - s) ** 2 * rates[k] - s * s * (1 - s) * rates[k + 1]) / steps
    return (to_points(count, -1, 1, points[:, 1])[:, 1:-1] * w).sum(axis=1) - 1


@states("hunt")
def hunt(count):
    """Six pieces of time one after the other, each at once by Newton's method."""
    _, slopes = points_and_slopes(count, 0, 1)
    start, pieces = (1.0, 1.0), []
    for _ in range(6):
        hares, lynxes = np.full(count, start[0]), np.full(count, start[1])
        for _ in range(30):
            r = np.concatenate([slopes @ hares - hares * (1 - lynxes / 2), slopes @ lynxes + lynxes * (1 - hares / 2)])
            matrix = np.block(
                [
                    [slopes - np.diag(1 - lynxes / 2), np.diag(hares / 2)],
                    [-np.diag(lynxes / 2), slopes + np.diag(1 - hares / 2)],
                ]
            )
            for row in (count - 1, 2 * count - 1):  # where a piece begins is its last point
                matrix[row], r[row] = np.arange(2 * count) == row, 0
            change = np.linalg.solve(matrix, r)
            hares, lynxes = hares - change[:count], lynxes - change[count:]
            if np.abs(change).max() < 1e-13:
                break
        start = hares[0], lynxes[0]
        pieces.append(np.stack([hares, lynxes], axis=1))
    return np.array(pieces)


@states("rate")
def rate(count):
    """u and k at once, by the method of Gauss and Newton."""
    x, slopes = points_and_slopes(count, 0, 1)
    second, measured = slopes @ slopes, to_points(count, 0, 1, RATE_X)
    u, k = 1 + 3 * (1 - x), RATE_START
    for _ in range(30):
        matrix = np.zeros((count + len(RATE_X), count + 1))
        matrix[:count, :count], matrix[:count, -1] = second - np.diag(2 * k * u), -(u**2)
        matrix[count:, :count] = measured
        r = np.concatenate([second @ u - k * u**2, measured @ u - RATE_U])
        for row, value in ((0, 1.0), (count - 1, 4.0)):
            matrix[row], matrix[row, row], r[row] = 0, 1, u[row] - value
        change = np.linalg.lstsq(matrix, r, rcond=None)[0]
        u, k = u - change[:-1], k - change[-1]
        if np.abs(change).max() < 1e-13:
            break
    return u, k


@states("disk")
def disk(count):
    """u = (1 − r²) q with a polynomial q, whose equation holds in the sense of least squares inside the disk."""
    angle = (np.sqrt(5) - 1) * pi * np.arange(3 * count**2)
    radius = np.sqrt((np.arange(3 * count**2) + 0.5) / (3 * count**2))
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    matrix = []
    for i in range(count):
        for j in range(count - i):
            p, q = chebyshev.Chebyshev.basis(i), chebyshev.Chebyshev.basis(j)
            laplacian = p.deriv(2)(x) * q(y) + p(x) * q.deriv(2)(y)
            slope = x * p.deriv()(x) * q(y) + y * p(x) * q.deriv()(y)
            matrix.append((1 - x**2 - y**2) * laplacian - 4 * slope - 4 * p(x) * q(y))
    source = -(2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * np.exp(x - y)
    return np.linalg.lstsq(np.array(matrix).T, source, rcond=None)[0]


def on_disk(count, coefficients, points):
    x, y = points.T
    terms = [
        chebyshev.Chebyshev.basis(i)(x) * chebyshev.Chebyshev.basis(j)(y)
        for i in range(count)
        for j in range(count - i)
    ]
    return (1 - x**2 - y**2) * (coefficients @ np.array(terms))


COUNTS = {
    "laplace-2d": (6, 8, 10, 12, 16, 20, 24),
    "heat": (6, 8, 10, 12, 14, 16, 20),
    "laplace-5d": (5, 6, 7, 8, 10, 12, 14),
    "allen-cahn": (64, 96, 128, 192, 256, 384),
    "hunt": (5, 6, 8, 10, 12, 14, 16, 20),
    "rate": (6, 8, 10, 12, 16, 20, 24, 28),
    "disk": (4, 6, 8, 10, 12, 14, 16),
}


def run(problem, seed, watch):
    STATES[problem](COUNTS[problem][0])  # the libraries wake up
    for count in COUNTS[problem]:
        started = time.perf_counter()
        found = STATES[problem](count)
        seconds = time.perf_counter() - started
        wall, points, looked = time.time() - watch.began_process - watch.away, watch.points, time.perf_counter()
        coefficients = {}
        if problem == "rate":
            coefficients["k"] = float(found[1])
            values = to_points(count, 0, 1, points[:, 0]) @ found[0]
        elif problem == "allen-cahn":
            values = between_steps(*found, points)
        elif problem == "disk":
            values = on_disk(count, found, points)
        elif problem == "hunt":
            piece = np.minimum(points[:, 0].astype(int), 5)
            values = np.einsum("pi,piu->pu", to_points(count, 0, 1, points[:, 0] - piece), found[piece])
        else:
            values = at(found, points, (0,) * found.ndim, (1,) * found.ndim)
        watch.report(seconds, wall, values, coefficients)
        watch.away += time.perf_counter() - looked


if __name__ == "__main__":
    main(run, "numpy")
