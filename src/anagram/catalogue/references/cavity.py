"""The lid-driven cavity by Chebyshev collocation for the stream function, and Newton's method.

On [−1, 1]², with ψ = 0 on the walls, ψ_y = g on the lid y = 1 and no other slope: Δ²ψ/Re' = ψ_y Δψ_x − ψ_x Δψ_y at the
inner points, Re' for half of the side. Values next to the walls are those that make the slopes right, so that the
polynomial is clamped, and the lid, which jumps in the corners of the real cavity, falls to zero between the last
points. That is what limits the accuracy, to about 1e-4 of ψ: from degree 32 to 44 it changes by 9e-5 at Re = 100, from
44 to 56 by 3e-5 at Re = 1000, where velocities on the centre lines agree with Botella and Peyret's to 4e-5.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev

from anagram.keeping.cache import cached_arrays

CONTINUED = (100.0, 400.0, 1000.0)  # Reynolds numbers at which Newton's method begins anew


@dataclass(frozen=True)
class CavityReference:
    """ψ at any (x, y) of [0, 1]² for a Reynolds number; the lid is slower within about `ends` of its ends."""

    reynolds: float
    ends: float = 0.0
    degree: int = 44

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values at points (n, 2), columns x and y."""
        return self.derivative(points, 0, 0)

    def derivative(self, points: np.ndarray, along_x: int, along_y: int) -> np.ndarray:
        """A derivative of ψ at points (n, 2)."""
        series = self.series
        for axis, order in enumerate((along_x, along_y)):
            series = chebyshev.chebder(series, order, axis=axis) * 2.0**order if order else series
        # The side of the cavity is one, and ψ of the square of twice the size is twice as large.
        return 0.5 * chebyshev.chebval2d(2 * points[:, 0] - 1, 2 * points[:, 1] - 1, series)

    @functools.cached_property
    def series(self) -> np.ndarray:
        """Chebyshev coefficients (degree + 1, degree + 1) of ψ on [−1, 1]²."""
        name = f"cavity-1-{self.reynolds:.17g}-{self.ends:.17g}-{self.degree}"
        return cached_arrays(name, lambda: {"series": self.compute()})["series"]

    def compute(self) -> np.ndarray:
        """Newton's method, at growing Reynolds numbers."""
        nodes = np.cos(np.pi * np.arange(self.degree + 1) / self.degree)
        clamped, lifted = _clamped(self.degree)
        # The lid is a clamped polynomial along x, too.
        lid = clamped @ np.asarray(lid_speed((nodes[2:-2] + 1) / 2, self.ends))
        base = np.outer(lid, lifted)
        inner = np.zeros((self.degree - 3,) * 2)
        for reynolds in [r for r in CONTINUED if r < self.reynolds] + [self.reynolds]:
            inner = _newton(inner, base, clamped, reynolds / 2)
        values = clamped @ inner @ clamped.T + base
        to_series = np.linalg.inv(chebyshev.chebvander(nodes, self.degree))
        return to_series @ values @ to_series.T


def lid_speed(x: Any, ends: float) -> Any:
    """The speed of the lid at x of [0, 1]: one, but for its ends."""
    return 1.0 - jnp.cosh((x - 0.5) / ends) / np.cosh(0.5 / ends) if ends else 1.0 + 0 * x


def _differentiation(degree: int) -> np.ndarray:
    """The derivative at Chebyshev points, a matrix."""
    nodes = np.cos(np.pi * np.arange(degree + 1) / degree)
    scale = np.where((np.arange(degree + 1) % degree) == 0, 2.0, 1.0) * (-1.0) ** np.arange(degree + 1)
    matrix = np.outer(scale, 1 / scale) / (nodes[:, None] - nodes + np.eye(degree + 1))
    return matrix - np.diag(matrix.sum(axis=1))


def _clamped(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Inner values to all those of a clamped polynomial, and the one with the slope 1 at the upper end alone.

    Values at the ends vanish; those next to them follow from the slopes.
    """
    slopes = _differentiation(degree)[[0, -1]]
    solve = np.linalg.inv(slopes[:, [1, -2]])
    clamped = np.zeros((degree + 1, degree - 3))
    clamped[2:-2] = np.eye(degree - 3)
    clamped[[1, -2]] = -solve @ slopes[:, 2:-2]
    lifted = np.zeros(degree + 1)
    lifted[[1, -2]] = solve @ [1.0, 0.0]
    return clamped, lifted


def _newton(inner: np.ndarray, base: np.ndarray, clamped: np.ndarray, reynolds: float) -> np.ndarray:
    first = _differentiation(len(base) - 1)
    powers = [np.linalg.matrix_power(first, n)[2:-2] for n in range(5)]  # derivatives at inner points, of all values
    basis = [p @ clamped for p in powers]  # the same, of inner values

    def d(m: int, n: int, psi: np.ndarray) -> np.ndarray:
        return powers[m] @ psi @ powers[n].T

    count = inner.size
    biharmonic = np.kron(basis[4], basis[0]) + 2 * np.kron(basis[2], basis[2]) + np.kron(basis[0], basis[4])
    along_x, along_y = np.kron(basis[1], basis[0]), np.kron(basis[0], basis[1])
    swirl_x = np.kron(basis[3], basis[0]) + np.kron(basis[1], basis[2])
    swirl_y = np.kron(basis[2], basis[1]) + np.kron(basis[0], basis[3])
    for _ in range(20):
        psi = clamped @ inner @ clamped.T + base
        px, py = d(1, 0, psi), d(0, 1, psi)
        wx, wy = d(3, 0, psi) + d(1, 2, psi), d(2, 1, psi) + d(0, 3, psi)
        residual = (d(4, 0, psi) + 2 * d(2, 2, psi) + d(0, 4, psi)) / reynolds - py * wx + px * wy
        matrix = biharmonic / reynolds
        for factor, part, sign in ((py, swirl_x, -1), (wx, along_y, -1), (px, swirl_y, 1), (wy, along_x, 1)):
            matrix = matrix + sign * factor.reshape(count, 1) * part
        change = np.linalg.solve(matrix, residual.ravel()).reshape(inner.shape)
        inner = inner - change
        if np.abs(change).max() < 1e-10:
            return inner
    raise RuntimeError("Newton's method did not settle: take a smaller Reynolds number or a higher degree")
