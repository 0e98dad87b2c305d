"""The tangent space of a model, and of its compound model, at given parameters: kernels and Green's function.

All of them are products of the same few matrices. The features on quadrature points, J = U Σ Vᵀ with rows scaled as in
the loss, give the Gram matrix G = JᵀJ = V Σ² Vᵀ of the metric of L²(Ω)×L²(∂Ω), and an orthonormal basis of the tangent
space of the compound model: the functions ψ_k = ∂((D,B)∘u)·v_k/σ_k. What is evaluated anywhere else is made of ψ_k
there, so that no array is larger than (points × P).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram import spectrum
from anagram.compound import Compound
from anagram.compound.batch import ConditionBatch, Points, count_rows, enough_points, sample
from anagram.errors import PointsWarning, ProblemError, SettingError
from anagram.models import ParametricModel
from anagram.models.parametric import ModelLike
from anagram.statement.condition import Condition, real_rows
from anagram.statement.problem import Problem

CUTOFF = 1e-10  # of the largest singular value: modes below it are blurred by rounding when evaluated elsewhere
FIELDS = "fields"


class TangentSpace:
    """T_θΓ = Im d((D,B)∘u)_θ in L²(Ω)×L²(∂Ω), and with it T_θM = Im du_θ.

    Args:
        problem: gives the conditions; see `of_fields` for the tangent space of the model itself.
        model: the parametric model, or a recipe such as `MLP(32)`.
        theta: its parameters; the first ones of the model if left out.
        points: the quadrature of the metric, as in `anagram.sample`; by default three points for each parameter, and
            900 at least.
        seed: for random quadrature points.
        cutoff: singular values below this fraction of the largest one belong to no direction of the space.

    Weights of conditions are part of the metric, as they are part of the loss.
    """

    def __init__(
        self,
        problem: Problem,
        model: ParametricModel | ModelLike,
        theta: Any = None,
        points: Points = None,
        seed: int = 0,
        cutoff: float = CUTOFF,
    ) -> None:
        if not isinstance(cutoff, int | float) or isinstance(cutoff, bool) or not 0 <= cutoff < 1:
            raise SettingError(f"the cutoff is a fraction of the largest singular value, below 1; got {cutoff!r}")
        if not isinstance(model, ParametricModel):
            model = ParametricModel(problem.sought, model, seed)
        self.problem, self.model = problem, model
        self.theta = jnp.asarray(model.theta if theta is None else theta, dtype=float)
        if self.theta.shape != model.theta.shape:
            raise SettingError(f"the model has {model.parameters} parameters, not {self.theta.shape}")
        self.compound = Compound(problem, model)
        self.batch = sample(problem, points, seed, inside=max(enough_points(problem), 3 * model.parameters))
        rows = count_rows(self.batch)
        if rows < model.parameters:
            _warn_few(rows, model.parameters)
        layout = self.compound.layout
        triangle = np.asarray(layout.program(layout.jit(self.compound.triangle))(self.theta, self.batch))
        if not np.all(np.isfinite(triangle)):
            raise ProblemError("the features are not finite at these parameters: the model overflows")
        modes = spectrum.from_triangle(jnp.asarray(triangle), rows)
        kept = np.asarray(modes.sigma > jnp.maximum(cutoff * modes.largest, modes.floor))
        self.sigma = np.asarray(modes.sigma)[kept]
        self.directions = np.asarray(modes.lift)[kept].T
        self.coefficients = np.asarray(modes.projected)[kept]
        dropped = np.asarray(modes.projected)[~kept]
        self.outside = float(np.sqrt(modes.outside**2 + np.sum(dropped**2)))

    @classmethod
    def of_fields(
        cls, problem: Problem, model: ParametricModel, theta: Any = None, points: Points = None, **options: Any
    ) -> TangentSpace:
        """T_θM itself in L²(Ω): the operator is the identity, its only condition is called 'fields'."""
        return cls(regression(problem), model, theta, points, **options)

    # -- the space ------------------------------------------------------------------------------------
    @property
    def dimension(self) -> int:
        """How many directions there are."""
        return len(self.sigma)

    @property
    def basis(self) -> Float[np.ndarray, "params modes"]:
        """The parameters v_k/σ_k whose tangent functions are orthonormal."""
        return self.directions / self.sigma

    @property
    def gram(self) -> Float[np.ndarray, "params params"]:
        """G = ⟨∂_p((D,B)∘u), ∂_q((D,B)∘u)⟩."""
        scaled = self.directions * self.sigma
        return scaled @ scaled.T

    @property
    def natural_gradient(self) -> Float[np.ndarray, " params"]:
        """G† ⟨∂((D,B)∘u), ∇L⟩ = d((D,B)∘u)†(Π ∇L), the step of the natural gradient with η = 1, up to its sign."""
        return self.basis @ self.coefficients

    @property
    def orthogonal_share(self) -> float:
        """‖∇L − Π ∇L‖ / ‖∇L‖: how much of the residual no direction of the space can lessen."""
        whole = float(np.hypot(self.outside, np.linalg.norm(self.coefficients)))
        return self.outside / whole if whole > 0 else 0.0

    # -- functions at points --------------------------------------------------------------------------
    def features(self, condition: str, x: Any) -> Float[np.ndarray, "rows params"]:
        """∂_p((D,B)∘u)(x_i) for points (n, d) of a condition; its components one after the other at every point."""
        return self._gradients(self._key(condition), x)

    def field_features(self, x: Any) -> Float[np.ndarray, "rows params"]:
        """∂_p u(x_i) for points (n, d) of the domain."""
        return self._gradients(FIELDS, x)

    def modes(self, condition: str, x: Any) -> Float[np.ndarray, "rows modes"]:
        """ψ_k(x_i), orthonormal in L²(Ω)×L²(∂Ω) with the weights of the conditions."""
        return self.features(condition, x) @ self.basis

    def field_modes(self, x: Any) -> Float[np.ndarray, "rows modes"]:
        """The same directions as functions u: their images under (D, B) are the orthonormal ones."""
        return self.field_features(x) @ self.basis

    def project(self, values: Mapping[str, Any]) -> Float[np.ndarray, " modes"]:
        """The coefficients ⟨ψ_k, f⟩ of a function given on the quadrature points of `batch`, by condition."""
        total = np.zeros(self.dimension)
        for key, part in self.batch.items():
            if key not in values or np.size(values[key]) != part.source.size:
                raise ProblemError(f"a function to project needs {part.source.size} values for the condition '{key}'")
            given = np.asarray(values[key], dtype=float).reshape(part.source.shape)
            weighted = np.asarray(part.scale) ** 2 * given
            total += self.modes(key, part.x).T @ weighted.ravel()
        return total

    # -- kernels --------------------------------------------------------------------------------------
    def ntk(self, condition: str, x: Any, other: str | None = None, y: Any = None) -> np.ndarray:
        """NTK(x_i, y_j) = Σ_p ∂_p(x_i) ∂_p(y_j), between points of one condition or of two."""
        left = self.features(condition, x)
        _both_or_none(other, y)
        return left @ (left if y is None else self.features(other or condition, y)).T

    def nntk(self, condition: str, x: Any, other: str | None = None, y: Any = None) -> np.ndarray:
        """NNTK(x_i, y_j) = Σ_pq ∂_p(x_i) G†_pq ∂_q(y_j): the kernel of the projection on the tangent space.

        With the points y of one condition and the points x of any, these are the partial kernels NNTK^Ω, NNTK^∂Ω.
        """
        left = self.modes(condition, x)
        _both_or_none(other, y)
        return left @ (left if y is None else self.modes(other or condition, y)).T

    def green(self, x: Any, condition: str, y: Any) -> np.ndarray:
        """g(x_i, y_j) = Σ_pq ∂_p u(x_i) G†_pq ∂_q(D∘u)(y_j): what a unit residual of a condition at y adds at x.

        The generalised Green's function of the conditions on T_θM; of their linearisation at u_θ if they are not
        linear. Each condition has its own: that of the equation answers sources, that of a boundary its data.
        """
        return self.field_modes(x) @ self.modes(condition, y).T

    # -- inside ---------------------------------------------------------------------------------------
    def _key(self, condition: str) -> str:
        if condition not in self.problem.soft:
            raise ProblemError(f"there is no condition '{condition}'; there are {', '.join(self.problem.soft)}")
        return condition

    def _gradients(self, key: str, x: Any) -> np.ndarray:
        axes = self.problem.domain.axes
        if isinstance(x, str):
            raise ProblemError(f"points are expected before the condition '{x}', as in green(x, '{x}', y)")
        x = np.asarray(x, dtype=float)
        if x.ndim != 2 or x.shape[1] != len(axes):
            raise ProblemError(f"points are an array (n, {len(axes)}) with columns {', '.join(axes)}, not {x.shape}")
        if not np.all(np.isfinite(x)):
            raise ProblemError("some coordinates of the points are not finite numbers")
        normal = self.problem.region(key).normal_at(x) if key in self.problem.soft else None
        rows = self._compiled(key)(self.theta, jnp.asarray(x), None if normal is None else jnp.asarray(normal))
        return np.asarray(rows).reshape(-1, self.theta.size)

    @functools.cache  # noqa: B019  (a space is short-lived)
    def _compiled(self, key: str) -> Callable[..., Array]:
        def rows_at(theta: Array, x: Array) -> Array:
            fields = self.model.quantities(theta, self.problem.domain.frame)
            return real_rows([fields[unknown.name].at(x) for unknown in self.problem.unknowns])

        def gradients(theta: Array, x: Array, normal: Array | None) -> Array:
            if key in self.problem.conditions:
                plain = jnp.zeros(self.problem.rows(key))
                return self.compound.point_features(key, theta, ConditionBatch(x, normal, plain, plain + 1))[1]
            rows, pull_back = jax.vjp(lambda t: rows_at(t, x), theta)
            return jnp.stack([pull_back(row)[0] for row in jnp.eye(rows.size)])

        return jax.jit(
            lambda theta, x, normal: jax.vmap(gradients, (None, 0, None if normal is None else 0))(theta, x, normal)
        )


def regression(problem: Problem) -> Problem:
    """The unknown fields themselves as the only condition: (D, B)∘u = u."""
    unknowns = _kinds(problem)
    condition = Condition(
        lambda **fields: tuple(fields[name] for name in unknowns), equals=tuple(0.0 for _ in unknowns)
    )
    return Problem(problem.domain, {FIELDS: condition}, unknowns=unknowns, coefficients=None, name=problem.name)


def with_boundary_weight(problem: Problem, factor: float) -> Problem:
    """The same problem with a boundary that weighs more, for Green's functions that respect it."""
    if not 0 < factor < np.inf:
        raise SettingError(f"the factor of the boundary's weight must be positive, not {factor!r}")
    inner = problem.domain.dimension
    on_boundary = {key: problem.region(key).dimension < inner for key in problem.soft}
    weights = {key: problem.weight(key) * (factor if outer else 1.0) for key, outer in on_boundary.items()}
    return problem.restated(weights=weights)


def _both_or_none(other: Any, y: Any) -> None:
    if (other is None) != (y is None) or not isinstance(other, str | None):
        raise ProblemError("a kernel between two sets of points is kernel(condition, x, other, y), other again a name")


def _kinds(problem: Problem) -> dict[str, type]:
    """The unknowns as `Problem` takes them."""
    return {unknown.name: complex if unknown.is_complex else float for unknown in problem.unknowns}


def _warn_few(rows: int, parameters: int) -> None:
    warnings.warn(
        f"{rows} quadrature rows for {parameters} parameters: the Gram matrix cannot have full rank, and kernels are "
        "those of the points, not of the domain. Use more points.",
        PointsWarning,
        stacklevel=3,
    )
