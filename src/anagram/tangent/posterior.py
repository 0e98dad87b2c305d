"""What noisy data leave open: the linearised posterior of parameters, coefficients and fields.

Near the parameters that fit best, ½‖r‖²/ε² is minus the logarithm of their probability: rows of data are divided by
their noise, those of equations by ε, to within which they hold (see `anagram.statement.noise`). With J = ∂r/∂θ the
covariance of θ is ε²(JᵀJ)⁻¹, and a quantity with the gradient g has the variance ε² gᵀ(JᵀJ)⁻¹g. It comes from the
singular values of the triangular factor of J, with columns of length one, so that JᵀJ is never formed: equations with a
small ε leave directions that only the data see, and their singular values are many orders below the largest.

Parameters of a network that move no field are seen by no row, and by no quantity either: such singular values are held
at a floor, at which they add nothing to any variance. A quantity that does move along them is not determined; its
standard deviation comes out far larger than itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.compound.reuse import quick_jit, reuse, traced_text
from anagram.models import ParametricModel

FLOOR = 1e-11  # of the largest singular value, columns having length one: what is below is rounding
CHUNK = 2**22  # numbers of a matrix of gradients that are there at a time


@dataclass(frozen=True)
class Posterior:
    """The Gaussian that the parameters follow, given the data.

    Attributes:
        model: the family of fields.
        theta: the parameters that fit best.
        root: a matrix whose square, root·rootᵀ, is the covariance of θ.
        shares: by condition, how many parameters it determines: tr(J_c (JᵀJ)⁻¹ J_cᵀ).
        held: how many of the last columns of `root` are directions that nothing sees, held at the floor.
    """

    model: ParametricModel
    theta: Float[np.ndarray, " params"]
    root: Float[np.ndarray, "params modes"]
    shares: Mapping[str, float]
    held: int = 0

    @classmethod
    def of(cls, model: ParametricModel, theta: Any, triangles: Mapping[str, Any], tight: float) -> Posterior:
        """From the triangular factors of the rows of all conditions, and ε."""
        size = model.parameters
        parts = {key: np.asarray(factor)[:, :size] for key, factor in triangles.items()}
        root, held = inverse_root(np.concatenate(list(parts.values())))
        root = tight * root
        shares = {key: float(np.sum((part @ root) ** 2)) / tight**2 for key, part in parts.items()}
        return cls(model, np.asarray(theta), root, shares, held)

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients, in the order of rows and columns of `covariance`."""
        return tuple(self.model.sought.coefficients)

    @property
    def covariance(self) -> Float[np.ndarray, "coefficients coefficients"]:
        """The covariance of the coefficients."""
        half = self._coefficient_gradients() @ self.root
        return half @ half.T

    @property
    def open_std(self) -> Float[np.ndarray, " coefficients"]:
        """The part of the standard errors of coefficients that comes from directions which nothing sees."""
        return np.linalg.norm(self._coefficient_gradients() @ self.root[:, self.root.shape[1] - self.held :], axis=1)

    def std(self, x: Float[np.ndarray, "points axes"]) -> dict[str, np.ndarray]:
        """The standard deviation of every unknown at points; of a complex one, of the length of its error."""

        def at(units: Any, theta: Array, point: Array) -> Array:
            placed = self.model.placed(units)
            return jax.jacrev(lambda t: placed.values(t, point))(theta)

        errors, found, first = self.std_by(at, x), {}, 0
        for unknown in self.model.sought.unknowns:
            found[unknown.name] = np.linalg.norm(errors[:, first : first + unknown.components], axis=1)
            first += unknown.components
        return found

    def std_by(self, gradients: Callable[..., Array], x: np.ndarray) -> Float[np.ndarray, "points quantities"]:
        """Standard deviations of quantities at points, by gradients (units, θ, point) ↦ (quantities, params)."""
        units, theta = self.model.placement, jnp.asarray(self.theta)
        point = jax.ShapeDtypeStruct((self.model.sought.domain.dimension,), float)
        quantities = jax.eval_shape(gradients, units, theta, point).shape[0]
        text = traced_text(gradients, units, theta, point)
        program = reuse(f"gradients {text}", lambda: quick_jit(jax.vmap(gradients, (None, None, 0))))
        step = min(max(1, CHUNK // (theta.size * quantities)), max(1, len(x)))
        found = [np.zeros((0, quantities))]
        for start in range(0, len(x), step):
            part = x[start : start + step]
            filled = np.concatenate([part, np.repeat(part[-1:], step - len(part), axis=0)])
            rows = np.asarray(program(units, theta, jnp.asarray(filled)))[: len(part)]
            found.append(np.linalg.norm(rows @ self.root, axis=-1))
        return np.concatenate(found)

    def _coefficient_gradients(self) -> Float[np.ndarray, "coefficients params"]:
        """∂(coefficient)/∂θ: each of them is a parameter, in units of its first guess."""
        size = self.theta.size
        rows = np.zeros((len(self.names), size))
        if self.names:
            units = [float(self.model.placement["coefficients"][name]) for name in sorted(self.names)]
            # They come first in θ, sorted by name.
            for k, (name, unit) in enumerate(zip(sorted(self.names), units, strict=True)):
                rows[self.names.index(name), k] = unit
        return rows


def inverse_root(rows: Float[np.ndarray, "rows params"]) -> tuple[Float[np.ndarray, "params modes"], int]:
    """A matrix W with W·Wᵀ = (JᵀJ)⁻¹, singular values below the floor held at it; and how many are, its last ones."""
    factor = np.linalg.qr(rows, mode="r")
    lengths = np.linalg.norm(factor, axis=0)
    lengths = np.where(lengths > 0, lengths, 1.0)
    _, sigma, vt = np.linalg.svd(factor / lengths)
    whole = np.zeros(len(lengths))
    whole[: len(sigma)] = sigma
    floor = FLOOR * max(float(whole[0]), np.finfo(float).tiny)
    return vt.T / np.maximum(whole, floor) / lengths[:, None], int(np.sum(whole < floor))
