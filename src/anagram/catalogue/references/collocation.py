"""Ordinary differential equations by collocation at Chebyshev points, piece by piece of time.

In every piece y is a polynomial that satisfies y' = slope(t, y) at Chebyshev points. Picard's iteration finds it where
pieces are short for the equation; with the Jacobian of the slope, for stiff equations, Newton's does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev

Slope = Callable[[Any, Any], Any]


def integrated(slope: Slope, start: tuple[float, ...], end: float, pieces: int) -> list[Callable[..., Any]]:
    """y' = slope(t, y), y(0) = start, until `end`: functions of t, one for each component."""
    path = Trajectory(slope, start, (0.0, end), pieces)
    return [path.component(k) for k in range(len(start))]


@dataclass(frozen=True)
class Trajectory:
    """The solution of y' = slope(t, y), y(first) = start, for a span of time; it is found when it is first asked for.

    `slope` takes t (n,) and y (components, n); `jacobian` gives its derivatives (components, components, n).
    """

    slope: Slope
    start: tuple[float, ...]
    span: tuple[float, float]
    pieces: int
    jacobian: Slope | None = None
    count: int = 20

    def component(self, k: int) -> Callable[..., Any]:
        """One component, a function of t."""
        return lambda t: self.at(t, k)

    def at(self, t: Any, k: int) -> Any:
        """One component at t, by Clenshaw's recurrence."""
        length = (self.span[1] - self.span[0]) / self.pieces
        since = (t - self.span[0]) / length
        piece = jnp.clip(jnp.floor(since), 0, self.pieces - 1).astype(int)
        s = 2 * (since - piece) - 1
        ahead = behind = 0.0
        coefficients = jnp.asarray(self.series[:, k])[piece]
        for n in range(self.count, 0, -1):
            ahead, behind = 2 * s * ahead - behind + coefficients[..., n], ahead
        return s * ahead - behind + coefficients[..., 0]

    @functools.cached_property
    def series(self) -> np.ndarray:
        """Chebyshev coefficients (pieces, components, count + 1)."""
        length = (self.span[1] - self.span[0]) / self.pieces
        nodes = np.cos(np.pi * (np.arange(self.count) + 0.5) / self.count)
        to_series = np.linalg.inv(chebyshev.chebvander(nodes, self.count - 1))
        integral = chebyshev.chebint(to_series, lbnd=-1) * length / 2
        at_nodes = chebyshev.chebvander(nodes, self.count) @ integral
        y, series = np.array(self.start, dtype=float), []
        for k in range(self.pieces):
            t = self.span[0] + length * (k + (nodes + 1) / 2)
            slopes = np.array(self.slope(t, self._settled(t, y, at_nodes)))
            series.append(slopes @ integral.T)
            series[-1][:, 0] += y
            y = y + slopes @ integral.sum(axis=0)
        return np.stack(series)

    def _settled(self, t: np.ndarray, y: np.ndarray, at_nodes: np.ndarray) -> np.ndarray:
        """The values at the nodes of one piece."""
        values = np.repeat(y[:, None], self.count, axis=1)
        for _ in range(100):
            change = y[:, None] + np.array(self.slope(t, values)) @ at_nodes.T - values
            if self.jacobian is not None:
                # d/dvalues of the line above: the identity less at_nodes times the derivatives of the slopes.
                coupling = np.einsum("abj,ij->aibj", np.array(self.jacobian(t, values)), at_nodes)
                matrix = np.eye(values.size) - coupling.reshape(values.size, values.size)
                change = np.linalg.solve(matrix, change.ravel()).reshape(values.shape)
            values = values + change
            if np.all(np.abs(change).max(axis=1) <= 4e-16 * np.abs(values).max(axis=1)):
                break
        return values
