"""Functions that vanish on parts of a boundary and nowhere else in a domain, for conditions that hold exactly.

A straight or elliptic piece is where a polynomial vanishes. Where that polynomial vanishes elsewhere in the domain too,
because the piece is a part of a longer curve, it is trimmed (Rvachev): φ = √(f² + ((√(τ² + f⁴) − τ)/2)²) is zero where
f = 0 and τ ≥ 0 alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.environment import quick_compilation
from anagram.errors import ProblemError
from anagram.statement.domains.domain import Domain
from anagram.statement.domains.patch import Patch
from anagram.statement.domains.region import Region
from anagram.statement.domains.rules import GaussLegendre, Kronecker

PointFunction = Callable[[Float[Array, " axes"]], Any]
ON = 1e-9  # of its size: a function is taken to vanish below
MANY = 2000  # points of a domain at which signs are looked at


def along_axis(domain: Domain, axis: str, upper: bool) -> PointFunction:
    """The distance from one end of an axis, as a fraction of its length."""
    k, (low, high) = domain.axes.index(axis), domain.intervals[axis]
    return (lambda x: (high - x[k]) / (high - low)) if upper else (lambda x: (x[k] - low) / (high - low))


def vanishing(region: Region, domain: Domain, what: str) -> PointFunction:
    """A function that is zero on the curved and straight parts of a region that are no faces, positive elsewhere.

    `what` is named in errors.
    """
    inside = domain.draw(Kronecker(MANY), np.random.default_rng(0)).x
    factors: list[PointFunction] = []
    for part in region.parts:
        cloud = part.draw(GaussLegendre(6), np.random.default_rng(0))
        if any(_is_zero_on(factor, cloud.x) for factor in factors):
            continue  # another piece of the same line or curve
        factors.append(_of_part(part, inside, f"{what}: exact=True cannot be built in on {region!r}"))

    def product(x: Array) -> Array:
        return jnp.prod(jnp.stack([factor(x) for factor in factors]))

    scale = float(np.max(at_points(product, inside[:200])))
    return lambda x: product(x) / scale


def _of_part(part: Region, inside: np.ndarray, what: str) -> PointFunction:
    implicit = part.chart.implicit() if isinstance(part, Patch) else None
    if implicit is None or not isinstance(part, Patch):
        raise ProblemError(f"{what}, whose curve has no equation that is known: leave exact= out there")
    columns = np.array([part.axes.index(a) for a in part.space])
    chart, size = part.chart, part.size
    values = np.array([float(implicit(p)) for p in inside[:, columns]])
    sign = 1.0 if np.mean(values > 0) >= 0.5 else -1.0
    if np.all(sign * values > 0):
        return lambda x: sign * implicit(x[columns]) / size
    # Its curve goes on through the domain: only the piece itself may vanish.
    ends = chart(np.array([[0.0], [1.0]])).x if len(chart.intervals) == 1 else None
    if ends is None:
        raise ProblemError(f"{what}, whose surface goes on through the domain: leave exact= out there")
    middle, length = ends.mean(axis=0), float(np.linalg.norm(ends[1] - ends[0]))
    bulge = chart(np.array([[0.5]])).x[0]
    if np.linalg.norm(bulge - middle) > 0.45 * length:
        raise ProblemError(f"{what}, a long arc of a curve that goes on through the domain: leave exact= out there")

    def trimmed(x: Array) -> Array:
        point = x[columns]
        f = implicit(point) / size
        trim = ((length / 2) ** 2 - jnp.sum((point - middle) ** 2)) / (length * size)
        return jnp.sqrt(f**2 + ((jnp.sqrt(trim**2 + f**4) - trim) / 2) ** 2)

    return trimmed


def _is_zero_on(function: PointFunction, x: np.ndarray) -> bool:
    return bool(np.all(np.abs(at_points(function, x)) < ON))


def at_points(function: PointFunction, x: np.ndarray) -> np.ndarray:
    """A function of one point at many of them, compiled as one program."""
    return np.asarray(jax.jit(jax.vmap(function), compiler_options=quick_compilation())(x))
