"""Allen–Cahn by a Legendre–Galerkin method in space and Radau collocation in time.

u_t = ν u_xx + 5(u − u³) on [−1, 1], u(t, ±1) = −1, u(0, x) = x² cos πx. The solution is even, so only
even polynomials are used. With w = u + 1 and the basis φ_k = (L_k − L_{k+2})/√(4k+6), whose stiffness matrix
is the identity, the eigenvectors of the mass matrix decouple diffusion exactly and without the rounding
errors of differentiation matrices. In time, each slab is a Radau IIA collocation of high order, solved by
iterating on the reaction term; slabs are graded towards t = 0, where the data are not compatible in the
corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anagram.keeping.cache import cached_arrays

DIFFUSIVITY = 1e-3
REACTION = 5.0


@dataclass(frozen=True)
class AllenCahnReference:
    """u at any (t, x) of [0, 1]×[−1, 1]; about 1e-11 accurate with the standard resolution."""

    modes: int = 400
    stages: int = 9
    slab: float = 0.01
    first_slab: float = 1e-7

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Values at points (n, 2), columns t and x."""
        data = self._load()
        t = np.clip(points[:, 0], 0.0, 1.0)
        index = np.clip(np.searchsorted(data["edges"], t, side="right") - 1, 0, len(data["edges"]) - 2)
        local = (t - data["edges"][index]) / np.diff(data["edges"])[index]
        in_time = _lagrange(np.concatenate([[0.0], radau(self.stages)[0]]), local)
        values = np.empty(len(points))
        for start in range(0, len(points), 2000):
            part = slice(start, start + 2000)
            coefficients = np.einsum("ns,nsk->nk", in_time[part], data["coefficients"][index[part]])
            values[part] = np.einsum("nk,nk->n", coefficients, _basis(points[part, 1], self.modes)) - 1.0
        return values

    def _load(self) -> dict[str, np.ndarray]:
        name = f"allen-cahn-1-{self.modes}-{self.stages}-{self.slab:g}-{self.first_slab:g}"
        return cached_arrays(name, self.compute)

    def compute(self) -> dict[str, np.ndarray]:
        """Integrate from 0 to 1: slab edges, and coefficients (slabs, stages + 1, modes) of the basis φ."""
        mu, vectors = _eigenmodes(self.modes)
        nodes, weights = np.polynomial.legendre.leggauss(4 * self.modes)
        half = nodes > 0
        nodes, weights = nodes[half], 2 * weights[half]
        to_points = _basis(nodes, self.modes) @ vectors
        to_modes = (to_points * weights[:, None] / mu).T
        _, matrix = radau(self.stages)
        edges = _graded(self.first_slab, self.slab)

        state = to_modes @ (nodes**2 * np.cos(np.pi * nodes) + 1.0)
        stored = []
        inverse, known_length = np.zeros(0), 0.0
        for length in np.diff(edges):
            if abs(length - known_length) > 1e-12 * length:
                shifts = length * DIFFUSIVITY / mu
                inverse = np.linalg.inv(np.eye(self.stages) + shifts[:, None, None] * matrix)
                known_length = length
            stages = _solve_slab(state, length * matrix, inverse, to_points, to_modes)
            stored.append(np.concatenate([state[None], stages.T]))
            state = stages[:, -1]
        return {"edges": edges, "coefficients": np.stack(stored) @ vectors.T}


def _solve_slab(
    state: np.ndarray, integral: np.ndarray, inverse: np.ndarray, to_points: np.ndarray, to_modes: np.ndarray
) -> np.ndarray:
    stages = np.repeat(state[:, None], len(integral), axis=1)
    for _ in range(60):
        u = to_points @ stages - 1.0
        reaction = to_modes @ (REACTION * (u - u**3))
        update = np.einsum("kij,kj->ki", inverse, state[:, None] + reaction @ integral.T)
        change = np.abs(update - stages).max()
        stages = update
        if change < 1e-14:
            return stages
    raise RuntimeError("the reaction term did not settle: take shorter slabs")


def _basis(x: np.ndarray, modes: int) -> np.ndarray:
    """φ_k(x) for k = 0, 2, 4, …: shape (n, modes)."""
    below, here = np.ones_like(x), x.copy()
    even = [below]
    for k in range(1, 2 * modes):
        below, here = here, ((2 * k + 1) * x * here - k * below) / (k + 1)
        if k % 2 == 1:
            even.append(here)
    k = 2 * np.arange(modes)
    legendre = np.stack(even, axis=1)
    return (legendre[:, :-1] - legendre[:, 1:]) / np.sqrt(4 * k + 6)


def _eigenmodes(modes: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of the (tridiagonal) mass matrix of the even basis."""
    from scipy.linalg import eigh_tridiagonal

    k = 2 * np.arange(modes)
    scale = 1 / np.sqrt(4 * k + 6)
    diagonal = scale**2 * (2 / (2 * k + 1) + 2 / (2 * k + 5))
    off = -scale[:-1] * scale[1:] * 2 / (2 * k[:-1] + 5)
    values, vectors = eigh_tridiagonal(diagonal, off)[:2]
    return np.asarray(values), np.asarray(vectors)


def radau(stages: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes in (0, 1] and the matrix ∫₀^{c_i} ℓ_j of the Radau IIA method."""
    from scipy.special import roots_jacobi

    inner = roots_jacobi(stages - 1, 1.0, 0.0)[0]
    nodes = (np.concatenate([inner, [1.0]]) + 1) / 2
    x, w = np.polynomial.legendre.leggauss(stages)
    samples = (x + 1) / 2
    integral = [0.5 * c * w @ _lagrange(nodes, c * samples) for c in nodes]
    return nodes, np.array(integral)


def _lagrange(nodes: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Lagrange polynomials of the nodes at x: shape (n, nodes)."""
    columns = []
    for j, node in enumerate(nodes):
        others = np.delete(nodes, j)
        columns.append(np.prod((x[:, None] - others) / (node - others), axis=1))
    return np.stack(columns, axis=1)


def _graded(first: float, largest: float) -> np.ndarray:
    """Slab edges from 0 to 1 whose lengths double from `first` up to `largest`."""
    edges = [0.0]
    length = first
    while length < largest and edges[-1] + length < 1.0:
        edges.append(edges[-1] + length)
        length *= 2
    count = int(np.ceil((1.0 - edges[-1]) / largest))
    return np.concatenate([edges, np.linspace(edges[-1], 1.0, count + 1)[1:]])
