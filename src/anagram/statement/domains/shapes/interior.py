"""What lies inside of a smooth closed curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains.shape import SPACE
from anagram.statement.domains.shapes.curves import Wave
from anagram.statement.domains.shapes.outlines import Loop, Piece
from anagram.statement.domains.shapes.planar import Planar
from anagram.statement.domains.shapes.rings import crossing

BLOCK = 512  # places at which a curve is evaluated at once
MOST = 4096  # places at which a curve is sampled
ROUNDING = 1e-14  # relative size of harmonics that are rounding
RESOLVED = 1e-11  # relative size of the last harmonics of a curve that is smooth


class Interior(Planar):
    """What lies inside of a smooth closed curve: ``Interior(lambda s: (2 * jnp.cos(s), jnp.sin(s)))``.

    The curve is kept as its Fourier series, to rounding; a curve that does not close, or not smoothly, has none that
    converges, and is refused.

    Args:
        curve: a function s ↦ (x, y), written with `jax.numpy` or `math`; it may go round either way.
        period: where s begins and ends.
        name: of the boundary.
        axes: names of the coordinates.
    """

    def __init__(
        self,
        curve: Callable[[Any], Any],
        period: tuple[float, float] = (0.0, 2 * np.pi),
        *,
        name: str = "curve",
        axes: Sequence[str] = SPACE[:2],
    ) -> None:
        super().__init__(axes)
        self.name = str(name)
        try:
            begin, end = (float(v) for v in period)
        except (TypeError, ValueError):
            begin, end = 0.0, 0.0
        if not (begin < end and np.isfinite(end - begin)):
            raise ProblemError(f"period= of the curve '{name}' needs two finite ends, the lower first, not {period!r}")
        wave = self._series(curve, begin, end)
        if wave.area < 0:
            wave = Wave(-wave.harmonics, wave.amplitudes)
        self.wave = wave
        self._refuse_crossings()

    def _series(self, curve: Callable[[Any], Any], begin: float, end: float) -> Wave:
        sampled = _sampler(curve, self.name)
        ends = sampled(np.array([begin, end]))
        count = 32
        while True:
            x = sampled(begin + (end - begin) * np.arange(count) / count)
            size = float(np.ptp(x, axis=0).max())
            if size == 0:
                raise ProblemError(f"the curve '{self.name}' stands still: it is a point")
            if count == 32 and not np.linalg.norm(ends[1] - ends[0]) <= 1e-9 * size:
                raise ProblemError(
                    f"the curve '{self.name}' is not closed: it begins at ({ends[0][0]:.6g}, {ends[0][1]:.6g}) "
                    f"and ends at ({ends[1][0]:.6g}, {ends[1][1]:.6g})"
                )
            amplitudes = np.fft.fft(x[:, 0] + 1j * x[:, 1]) / count
            harmonics = np.round(np.fft.fftfreq(count, 1 / count)).astype(int)
            tail = np.abs(amplitudes[np.abs(harmonics) >= 3 * count // 8]).max()
            if tail <= ROUNDING * size or (count == MOST and tail <= RESOLVED * size):
                kept = np.abs(amplitudes) > 0.1 * ROUNDING * size
                order = np.argsort(np.abs(harmonics[kept]), kind="stable")
                return Wave(harmonics[kept][order], amplitudes[kept][order])
            if count == MOST:
                raise ProblemError(
                    f"the curve '{self.name}' is not smooth, perhaps where it closes: {MOST} places do not resolve it. "
                    "Shapes with corners are made of several by |, & and -"
                )
            count *= 2

    def _refuse_crossings(self) -> None:
        slope = self.wave.slope(self.wave.edges)
        speed = np.linalg.norm(slope, axis=1)
        if not speed.min() > 1e-9 * speed.max():
            raise ProblemError(f"the curve '{self.name}' stands still somewhere: it has a cusp there")
        fine = (self.wave.edges[:-1, None] + np.diff(self.wave.edges)[:, None] * np.arange(3) / 3).ravel()
        place = crossing([self.wave.at(fine)])
        if place is not None:
            raise ProblemError(f"the curve '{self.name}' crosses itself near ({place[0]:.6g}, {place[1]:.6g})")

    def loops(self) -> list[Loop]:
        return [[Piece(self.wave, self.name)]]

    def __repr__(self) -> str:
        return f"Interior('{self.name}')"


def _sampler(curve: Callable[[Any], Any], name: str) -> Callable[[np.ndarray], np.ndarray]:
    """A function from parameters (n,) to points (n, 2) of a curve."""

    def point(s: Any) -> Any:
        return jnp.stack([jnp.asarray(value, dtype=float) for value in curve(s)])

    program = jax.jit(jax.vmap(point))

    def values(s: np.ndarray) -> np.ndarray:
        try:
            # In blocks of one size: one program is compiled for all of them.
            blocks = np.resize(s, (-(-len(s) // BLOCK), BLOCK))
            return np.concatenate([np.asarray(program(block)) for block in blocks])[: len(s)]
        except Exception:  # no function for arrays of JAX: then for one number after the other
            return np.array([[float(value) for value in curve(float(one))] for one in s])

    def sampled(s: np.ndarray) -> np.ndarray:
        try:
            x = values(s)
        except Exception as error:
            raise ProblemError(f"the curve '{name}' failed with {type(error).__name__}: {error}") from error
        if x.shape != (len(s), 2):
            raise ProblemError(f"the curve '{name}' must give two numbers at a point: lambda s: (x, y)")
        if not np.all(np.isfinite(x)):
            raise ProblemError(f"the curve '{name}' is not finite everywhere")
        return x

    return sampled
