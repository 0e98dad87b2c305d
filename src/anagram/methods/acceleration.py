"""Geodesic acceleration: the second-order term of the curve along which r goes to zero."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.spectrum import Damped


class Bent(NamedTuple):
    """A step with its acceleration, and how strong that is: 2‖a‖/‖p‖."""

    move: Float[Array, " params"]
    bend: Float[Array, ""]


def accelerated(
    compound: ResidualMap, theta: Float[Array, " params"], batch: Batch, damped: Damped, most: float
) -> Bent:
    """P + a/2 with a = −(JᵀJ + λI)⁻¹ Jᵀ r_pp if 2‖a‖ ≤ most·‖p‖, and p alone otherwise; `most` = 0 never bends.

    Here r_pp is the second derivative of r(θ + t·p) at t = 0; it costs about three residuals.
    """
    p = damped.step.direction
    if most <= 0:
        return Bent(p, jnp.asarray(0.0))
    second = compound.second(theta, batch, p)
    a = -damped.solve(compound.transposed_times(theta, batch, second))
    bend = 2 * jnp.linalg.norm(a) / jnp.maximum(jnp.linalg.norm(p), 1e-300)
    return Bent(jnp.where(bend <= most, p + 0.5 * a, p), bend)
