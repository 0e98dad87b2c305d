"""Evolution equations on a ring, u_t = L u + N(u), by Fourier series and exponential time differencing.

L multiplies every mode by a number and is integrated exactly; N is evaluated at equispaced points, with a third of the
modes left to aliasing. In time it is the fourth-order scheme of Cox and Matthews, whose coefficients are means over
circles around the multipliers, as Kassam and Trefethen have it, because their formulas cancel near zero. Snapshots are
kept at equispaced times and interpolated by polynomials of ten points, which is more exact than the steps are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from anagram.keeping.cache import cached_arrays

NEIGHBOURS = 10  # snapshots that a value in between is interpolated from
CHUNK = 4096  # points that are evaluated at once


@dataclass(frozen=True)
class Equation:
    """u_t = L u + N(u) for one or several fields on a ring.

    `multipliers` gives L of the wave numbers, (fields, modes); `rest` gives N of the values (fields, points) and the
    wave numbers, either at the points or, if it is complex, in modes; `start` gives the values at the beginning.
    """

    name: str
    period: float
    end: float
    multipliers: Callable[[np.ndarray], np.ndarray]
    rest: Callable[[np.ndarray, np.ndarray], np.ndarray]
    start: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class RingReference:
    """The fields of an equation at any (t, x); they are computed when they are first asked for, and kept."""

    equation: Equation
    points: int = 128
    snapshots: int = 200
    steps: int = 10  # between two snapshots

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The first field at points (n, 2), columns t and x."""
        chunks = [points[k : k + CHUNK] for k in range(0, len(points), CHUNK)]
        return np.concatenate([self._values(np, chunk[:, 0], chunk[:, 1], 0) for chunk in chunks])

    def field(self, index: int) -> Callable[..., Any]:
        """One field, a function of t and x that JAX can trace."""
        return lambda t, x: self._values(jnp, t, x, index)

    def _values(self, xp: Any, t: Any, x: Any, field: int) -> Any:
        stored = xp.asarray(self.coefficients[:, field])
        since = xp.clip(xp.asarray(t) / self.equation.end, 0.0, 1.0) * self.snapshots
        first = xp.clip(xp.floor(since) - NEIGHBOURS // 2 + 1, 0, self.snapshots + 1 - NEIGHBOURS).astype(int)
        away = since[..., None] - first[..., None] - xp.arange(NEIGHBOURS)
        in_time = []
        for j in range(NEIGHBOURS):
            others = [k for k in range(NEIGHBOURS) if k != j]
            scale = float(np.prod([j - k for k in others]))
            in_time.append(xp.prod(away[..., np.array(others)], axis=-1) / scale)
        modes = xp.einsum(
            "...s,...sk->...k", xp.stack(in_time, axis=-1), stored[first[..., None] + xp.arange(NEIGHBOURS)]
        )
        wave = xp.exp(1j * self._wave_numbers() * xp.asarray(x)[..., None])
        return xp.real(xp.sum(modes * wave, axis=-1))

    @functools.cached_property
    def coefficients(self) -> np.ndarray:
        """Coefficients (snapshots + 1, fields, modes); real parts of their sums are the fields."""
        name = f"{self.equation.name}-{self.points}-{self.snapshots}-{self.steps}"
        return cached_arrays(name, lambda: {"coefficients": self.compute()})["coefficients"]

    def compute(self) -> np.ndarray:
        """Integrate from 0 to the end."""
        k = self._wave_numbers()
        step = self.equation.end / (self.snapshots * self.steps)
        full, half, to_half, weights = _exponentials(self.equation.multipliers(k), step)
        kept = k <= 2 / 3 * k[-1]

        def rest(modes: np.ndarray) -> np.ndarray:
            given = self.equation.rest(np.fft.irfft(modes, self.points), k)
            return kept * (given if np.iscomplexobj(given) else np.fft.rfft(given))

        x = np.arange(self.points) * self.equation.period / self.points
        modes = np.fft.rfft(self.equation.start(x))
        stored = [modes]
        for _ in range(self.snapshots):
            for _ in range(self.steps):
                here = rest(modes)
                a = half * modes + to_half * here
                at_a = rest(a)
                at_b = rest(half * modes + to_half * at_a)
                at_c = rest(half * a + to_half * (2 * at_b - here))
                modes = full * modes + weights[0] * here + 2 * weights[1] * (at_a + at_b) + weights[2] * at_c
            stored.append(modes)
        # Of a real field, half of the modes are kept: those that are left out are the conjugates of all but the first.
        return np.stack(stored) * np.where(k > 0, 2.0, 1.0) / self.points

    def _wave_numbers(self) -> np.ndarray:
        return 2 * np.pi / self.equation.period * np.arange(self.points // 2 + 1)


def _exponentials(multipliers: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """e^{hL}, e^{hL/2} and the coefficients of the scheme."""
    scaled = step * multipliers
    circle = np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    z = scaled[..., None] + circle
    grown = np.exp(z)

    def mean(values: np.ndarray) -> np.ndarray:
        return step * values.mean(axis=-1).real

    weights = [
        mean((-4 - z + grown * (4 - 3 * z + z**2)) / z**3),
        mean((2 + z + grown * (z - 2)) / z**3),
        mean((-4 - 3 * z - z**2 + grown * (4 - z)) / z**3),
    ]
    return np.exp(scaled), np.exp(scaled / 2), mean((np.exp(z / 2) - 1) / z), weights
