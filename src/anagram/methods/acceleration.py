"""Geodesic acceleration: the second-order term of the curve along which r goes to zero.

With r_pp = d²/dt² r(θ + t·p) at t = 0 the acceleration of a step p is a = −(JᵀJ + λI)⁻¹ Jᵀ r_pp, and the step becomes
p + a/2. Neighbouring dampings have almost the same direction p/‖p‖, and r_pp is quadratic in p: it is computed for one
of them and scaled by ‖p‖² for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import Linearisation, Unformed
from anagram.spectrum import Damped

NEIGHBOURS = 0.5  # in log λ: so far away the second derivative is computed again


class Curvature(NamedTuple):
    """Jᵀ r_pp/‖p‖² for the step p of a damping, and the logarithm of that damping."""

    pulled: Float[Array, " params"]
    at: Float[Array, ""]


class Bent(NamedTuple):
    """A step with its acceleration, how strong that is (2‖a‖/‖p‖), and the curvature it rests on."""

    move: Float[Array, " params"]
    bend: Float[Array, ""]
    curvature: Curvature


def unknown_curvature(theta: Float[Array, " params"]) -> Curvature:
    """What is known before the first trial."""
    return Curvature(jnp.zeros_like(theta), jnp.asarray(jnp.inf))


def accelerated(
    linear: Linearisation | Unformed,
    damped: Damped,
    damping: Float[Array, ""],
    known: Curvature,
    most: float,
    neighbours: float = NEIGHBOURS,
) -> Bent:
    """The step p + a/2 if 2‖a‖ ≤ most·‖p‖, and p alone otherwise; `most` = 0 never bends.

    It costs least where the step was solved for beside what is known of the curvature.
    """
    p = damped.step.direction
    if most <= 0:
        return Bent(p, jnp.asarray(0.0), known)
    square = jnp.maximum(p @ p, 1e-300)

    beside = damped.solve(known.pulled) if damped.beside is None else damped.beside

    def fresh() -> tuple[Curvature, Float[Array, " params"]]:
        curvature = Curvature(linear.bend(p) / square, jnp.log(damping))
        return curvature, damped.solve(curvature.pulled)

    # A distance that is not finite asks for a fresh one.
    near = jnp.abs(jnp.log(damping) - known.at) <= neighbours
    curvature, solved = jax.lax.cond(near, lambda: (known, beside), fresh)
    a = -solved * square
    bend = 2 * jnp.linalg.norm(a) / jnp.sqrt(square)
    return Bent(jnp.where(bend <= most, p + 0.5 * a, p), bend, curvature)
