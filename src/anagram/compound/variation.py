"""The second variation of a nonlinear operator: D''(u)[∂_p u, ∂_q u], by automatic differentiation.

At a point x an operator sees of a change v of the unknowns only its Taylor polynomial there, whose order is the
order of the operator. With c the coefficients of that polynomial, D''(u)[v, w] = c(v)ᵀ H c(w), where H is the Hessian
of c ↦ D(u + polynomial)(x): a small matrix. What is left is the map from parameters to coefficients, ∂c/∂θ.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import Compound
from anagram.compound.batch import Batch, ConditionBatch
from anagram.errors import ProblemError
from anagram.statement.beyond import looks_beyond
from anagram.statement.condition import real_rows, with_fields
from anagram.statement.evaluation import evaluate
from anagram.statement.expressions import Unknown, degree, postorder
from anagram.statement.fields import Field, Frame, constant

HIGHEST_ORDER = 5

Powers = tuple[int, ...]


class SecondVariation:
    """Σ_i r_i D''(u)[∂_p u, ∂_q u](x_i) over the rows of a batch: what the Gram matrix of J leaves out."""

    def __init__(self, compound: Compound) -> None:
        self.compound = compound
        problem = compound.problem
        # Affine operators have no second variation, unless coefficients that are learned multiply the unknowns.
        bent = {
            k: problem.coefficients or any(degree(n) not in (0, 1) for n in problem.expressions[k])
            for k in problem.soft
        }
        self.powers = {key: _monomials(compound, key) for key in problem.soft if bent[key]}

    def matrix(self, theta: Float[Array, " params"], batch: Batch) -> Float[Array, "params params"]:
        """The P×P matrix, summed over all rows as the loss weighs them."""
        total = jnp.zeros((theta.size, theta.size))
        for key in self.powers:
            part = batch[key]
            same, points = (self.compound.numbers, theta), part._replace(scale=None)
            total += self.compound.layout.summed(functools.partial(self._added, key), same, points, part.scale)
        return total

    def _added(self, key: str, same: tuple[Any, Array], points: ConditionBatch, scale: Array) -> Array:
        """The matrix of some points of a condition."""
        numbers, theta = same
        compound = self.compound.alone.with_numbers(numbers)

        def add(total: Array, points: ConditionBatch) -> tuple[Array, None]:
            curvature, tangents = jax.vmap(lambda point: self._at_point(compound, key, theta, point))(points)
            left = jnp.einsum("ijk,ikp->ijp", curvature, tangents)
            return total + tangents.reshape(-1, theta.size).T @ left.reshape(-1, theta.size), None

        chunks = compound.in_chunks(points._replace(scale=scale), theta.size * len(self.powers[key]))
        return jax.lax.scan(add, jnp.zeros((theta.size, theta.size)), chunks)[0]

    def _at_point(self, compound: Compound, key: str, theta: Array, point: ConditionBatch) -> tuple[Array, Array]:
        """H, weighted with the residual, and ∂c/∂θ."""
        powers = self.powers[key]
        tangents = jax.jacrev(lambda t: _coefficients(compound, t, point.x, powers))(theta)
        rows = compound.point_rows(key, theta, point)
        zero = jnp.zeros(len(tangents))
        numbers = list(compound.numbers.operators[key])
        operator = _of_coefficients(compound, key, theta, point.x, point.normal, powers, numbers)
        return jax.hessian(lambda c: point.scale * rows @ operator(c))(zero), tangents


def _monomials(compound: Compound, key: str) -> list[Powers]:
    """The powers up to the order of an operator, which is that of the derivatives it is made of."""
    problem = compound.problem
    if looks_beyond(problem.expressions[key]):
        raise ProblemError(
            f"condition '{key}' reads values elsewhere or integrals: the second variation is made for operators that "
            "look at one point; choose another method, such as auto"
        )
    derivatives = [node for node in postorder(problem.expressions[key]) if isinstance(node, Unknown)]
    order = max((sum(node.index) for node in derivatives), default=0)
    if order >= HIGHEST_ORDER:
        raise ProblemError(
            f"condition '{key}' has derivatives of order {HIGHEST_ORDER} or more: the second variation is made for less"
        )
    return [p for p in itertools.product(range(order + 1), repeat=problem.domain.dimension) if sum(p) <= order]


def _components(compound: Compound) -> list[tuple[str, bool]]:
    """The real components of all unknowns: name, and whether it is an imaginary part."""
    return [
        (unknown.name, imaginary)
        for unknown in compound.problem.unknowns
        for imaginary in ((False, True) if unknown.is_complex else (False,))
    ]


def _coefficients(compound: Compound, theta: Array, x: Array, powers: list[Powers]) -> Float[Array, " coefficients"]:
    """The Taylor coefficients at x of all components of u_θ, then the learned coefficients."""
    axes = compound.problem.domain.axes
    quantities = compound.model.quantities(theta, Frame(axes))
    values = []
    for name, imaginary in _components(compound):
        for power in powers:
            names = [axis for axis, times in zip(axes, power, strict=True) for _ in range(times)]
            value = (quantities[name].d(*names) if names else quantities[name]).at(x)
            part = jnp.imag(value) if imaginary else jnp.real(value)
            values.append(part / math.prod(math.factorial(times) for times in power))
    return jnp.stack([*values, *(quantities[name].at(x) for name in compound.problem.coefficients)])


def _of_coefficients(
    compound: Compound,
    key: str,
    theta: Array,
    x: Array,
    normal: Array | None,
    powers: list[Powers],
    numbers: list[Array],
) -> Callable[[Array], Array]:
    """The map c ↦ D(u_θ + polynomial with the coefficients c around x), at x."""
    problem = compound.problem
    frame = Frame(problem.domain.axes)
    quantities = compound.model.quantities(theta, frame)
    components = _components(compound)

    def polynomial(c: Array, factor: complex | float) -> Field:
        def value(y: Array) -> Array:
            terms = [a * jnp.prod(jnp.stack(_products(y - x, p))) for a, p in zip(c, powers, strict=True)]
            return factor * jnp.sum(jnp.stack(terms))

        return Field(value, frame)

    def operator(c: Array) -> Array:
        changed = dict(quantities)
        parts = c[: len(components) * len(powers)].reshape(len(components), len(powers))
        for (name, imaginary), part in zip(components, parts, strict=True):
            changed[name] = changed[name] + polynomial(part, 1j if imaginary else 1.0)
        for name, shift in zip(problem.coefficients, c[len(components) * len(powers) :], strict=True):
            changed[name] = changed[name] + constant(shift, frame)
        nodes = with_fields(problem.expressions[key], changed, frame.axes, normal, numbers)
        return real_rows(evaluate(nodes, x))

    return operator


def _products(h: Array, powers: Powers) -> list[Array]:
    # Repeated products and not powers: h is zero, and derivatives of h**n there are not.
    return [jnp.ones(())] + [h[axis] for axis, times in enumerate(powers) for _ in range(times)]
