"""Weights for points of a solid or of a surface, with which they integrate polynomials exactly.

The integrals of polynomials over a set that triangles bound are sums over the triangles, to rounding. Weights of
points that are spread evenly need to change but little to give the same sums.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial.legendre import leggauss, legvander

HIGHEST = 10  # degree of polynomials that are integrated exactly over a solid
ON_SURFACES = 6
MOST_WORK = 5e8  # products for the moments of one set
CHUNK = 20_000  # nodes of triangles at a time


class Moments:
    """Integrals over triangles, or what they enclose, of products of Legendre polynomials.

    Args:
        corners: of the triangles (f, 3, 3).
        areas: their outward normals, as long as their areas (f, 3).
        count: of the points that get weights.
        solid: whether the integrals are over what they enclose.
    """

    def __init__(self, corners: np.ndarray, areas: np.ndarray, count: int, *, solid: bool) -> None:
        self.corners, self.areas, self.count, self.solid = corners, areas, count, solid
        self.sizes = np.linalg.norm(areas, axis=1)
        low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
        self.middle, half = (low + high) / 2, (high - low) / 2
        # What is flat along an axis is constant along it.
        self.half = np.where(half > 1e-9 * half.max(), half, half.max())

    @functools.cached_property
    def highest(self) -> int:
        """The highest degree that can be had with these points, and in a short time."""
        degree = HIGHEST if self.solid else ON_SURFACES
        while degree > 1 and (2 * len(_powers(degree)) > self.count or self._work(degree) > MOST_WORK):
            degree -= 1
        return degree

    def _work(self, degree: int) -> float:
        return len(self.corners) * (degree / 2 + 2) ** 2 * (degree + 2) ** 3

    def _vander(self, x: np.ndarray, degree: int) -> list[np.ndarray]:
        return [legvander(column, degree) for column in ((x - self.middle) / self.half).T]

    def wanted(self, degree: int, *, normals: bool = False) -> np.ndarray:
        """The integrals of polynomials up to a degree, or of those times each component of the normal."""
        tensors = self._with_normals if normals else self._without
        return np.concatenate([tensor[tuple(_powers(degree).T)] for tensor in tensors])

    @functools.cached_property
    def _without(self) -> np.ndarray:
        return self._tensors(self.areas[:, 2:] if self.solid else self.sizes[:, None])

    @functools.cached_property
    def _with_normals(self) -> np.ndarray:
        return self._tensors(self.areas)

    def _tensors(self, factors: np.ndarray) -> np.ndarray:
        """The integrals of all products up to the highest degree along each axis, times each column of factors."""
        degree = self.highest
        order = (degree + 2) // 2 + 1  # products of a higher total degree are not asked for
        node, weight = leggauss(order)
        u, v = ((g.ravel() + 1) / 2 for g in np.meshgrid(node, node, indexing="ij"))
        w = np.outer(weight, weight).ravel() / 2 * u  # of a triangle with the area 1
        local = np.stack([1 - u, u * (1 - v), u * v], axis=1)
        sums = np.zeros((factors.shape[1], *(degree + 1,) * 3))
        step = max(1, CHUNK // len(w))
        for begin in range(0, len(self.corners), step):
            these = slice(begin, begin + step)
            x = np.einsum("qc,fci->fqi", local, self.corners[these]).reshape(-1, 3)
            px, py, pz = self._vander(x, degree + 1)
            pz = self._integrated(pz) if self.solid else pz[:, :-1]
            xy = (px[:, :-1, None] * py[:, None, :-1]).reshape(len(x), -1)
            for k, factor in enumerate(factors[these].T):
                sums[k] += (xy.T @ (np.outer(factor, w).reshape(-1, 1) * pz)).reshape((degree + 1,) * 3)
        return sums

    def _integrated(self, pz: np.ndarray) -> np.ndarray:
        """Antiderivatives of Legendre polynomials along the third axis."""
        found = np.empty_like(pz[:, :-1])
        found[:, 0] = pz[:, 1]
        for k in range(1, found.shape[1]):
            found[:, k] = (pz[:, k + 1] - pz[:, k - 1]) / (2 * k + 1)
        return found * self.half[2]

    def values(self, x: np.ndarray, degree: int) -> np.ndarray:
        """All polynomials up to a degree at points (n, 3)."""
        px, py, pz = self._vander(x, degree)
        i, j, k = _powers(degree).T
        return (px[:, i] * py[:, j] * pz[:, k]).T

    def weights(self, x: np.ndarray, normal: np.ndarray | None, measure: float) -> np.ndarray:
        """Weights (n,) that sum to one, none of them negative, exact to the highest degree for which there are any.

        On a surface first for polynomials with and without the normal, then for those without alone.
        """
        start = np.full(len(x), 1 / len(x))
        if normal is None:
            for degree in range(self.highest, 0, -1):
                found = _nearest_solution(self.values(x, degree), self.wanted(degree) / measure, start)
                if found is not None:
                    return found
            return start
        found, first = start, 0
        fixed, wanted = np.zeros((0, len(x))), np.zeros(0)
        for degree in range(self.highest):
            values = self.values(x, degree)
            rows = np.concatenate([values, *(values * normal[:, axis] for axis in range(3))])
            sums = np.concatenate([self.wanted(degree), self.wanted(degree, normals=True)]) / measure
            new = _nearest_solution(rows, sums, start)
            if new is None:
                break
            found, first = new, degree + 1
            fixed, wanted = rows[len(values) :], sums[len(values) :]
        for degree in range(first, self.highest + 1):
            rows = np.concatenate([self.values(x, degree), fixed])
            new = _nearest_solution(rows, np.concatenate([self.wanted(degree) / measure, wanted]), start)
            if new is None:
                break
            found = new
        return found


def _powers(degree: int) -> np.ndarray:
    """The exponents of polynomials of three variables up to a total degree (m, 3)."""
    grid = np.stack(np.meshgrid(*[np.arange(degree + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid[grid.sum(axis=1) <= degree]


def _nearest_solution(rows: np.ndarray, wanted: np.ndarray, start: np.ndarray) -> np.ndarray | None:
    """The solution of rows @ w = wanted nearest to a start, or None if it is not positive."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    keep = values > 1e-13 * values[-1]
    if 2 * np.sum(keep) > len(start):
        return None
    w = start
    for _ in range(4):  # refinement: the product of the rows has squared their condition number
        gap = wanted - rows @ w
        w = w + rows.T @ (vectors[:, keep] @ ((vectors[:, keep].T @ gap) / values[keep]))
    exact = np.max(np.abs(wanted - rows @ w)) <= 1e-12 * max(1.0, float(np.max(np.abs(wanted))))
    return w if exact and np.all(w > 0) else None
