"""The compound model (D, B)∘u: residual r(θ), features J = ∂r/∂θ, and products with them.

This is the only file that maps over points; operators and models are written for a single one. Rows
of a condition are scaled so that ½‖r‖² is the loss ℓ(θ) of the paper (see `anagram.compound.batch.row_scale`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import products
from anagram.compound.batch import Batch, ConditionBatch, count_rows, filled, share_of, thinned, unweighted
from anagram.compound.laid import Laid
from anagram.compound.layout import BY_POINTS, EVERYWHERE, Layout, current
from anagram.compound.residual_map import Gram, ResidualMap, Theta, gram_of, triangle_of
from anagram.compound.reuse import traced_text
from anagram.environment import device_memory, has_accelerator
from anagram.models.parametric import ParametricModel
from anagram.statement.beyond import with_shared
from anagram.statement.condition import real_rows, with_fields
from anagram.statement.evaluation import evaluate
from anagram.statement.expressions import Node, free_numbers
from anagram.statement.fields import Frame
from anagram.statement.problem import Problem

Carry = TypeVar("Carry")

# The features of one chunk of points take about this much memory; a few such arrays exist at a time. A processor has
# them in its caches, in part; a GPU is busy only with thousands of points at once.
CHUNK_BYTES = 64 * 2**20
MOST_CHUNK_BYTES, CHUNK_SHARE = 2 * 2**30, 64  # on accelerators: this part of their memory, and not more
WHOLE = 8  # chunks: matrices up to this size are factorised as a whole, which is half the work or less


class Numbers(NamedTuple):
    """What compiled programs are told besides parameters and points: numbers in operators, units of the model."""

    operators: dict[str, Float[Array, " numbers"]]
    units: Any


class Compound(ResidualMap):
    """(D, B)∘u for a problem and a parametric model, evaluated on batches.

    Its points are spread over the devices of its layout, those of the run unless told otherwise. Rows that it
    returns are whole and in the order of the conditions all the same; `laid` has them as they lie.
    """

    def __init__(
        self,
        problem: Problem,
        model: ParametricModel,
        chunk_bytes: int | None = None,
        numbers: Numbers | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.layout = current() if layout is None else layout
        self.problem = problem
        self.model = model if numbers is None else model.placed(numbers.units)
        self.chunk_bytes = usual_chunk_bytes() if chunk_bytes is None else chunk_bytes
        self.numbers = Numbers(operator_numbers(problem), model.placement) if numbers is None else numbers

    def with_numbers(self, numbers: Numbers) -> Compound:
        """The same for other numbers: a compiled program takes these as arguments."""
        return Compound(self.problem, self.model, self.chunk_bytes, numbers, self.layout)

    @property
    def alone(self) -> Compound:
        """The same on one device."""
        return Compound(self.problem, self.model, self.chunk_bytes, self.numbers, Layout())

    @property
    def laid(self) -> ResidualMap:
        return self._laid or self

    @functools.cached_property
    def _laid(self) -> Laid | None:
        return Laid(self) if self.layout.spreads else None

    @functools.cached_property
    def fingerprint(self) -> str:
        """What tells the programs of this compound model from those of others, whatever its points and numbers."""
        problem, dimension = self.problem, self.problem.domain.dimension
        floats: Any = functools.partial(jax.ShapeDtypeStruct, dtype=float)
        digest = hashlib.sha256(f"{type(self.model.module).__qualname__} {self.chunk_bytes}{self.layout}".encode())
        for key in problem.soft:
            region, rows = problem.region(key), problem.rows(key)
            point = ConditionBatch(
                floats((dimension,)),
                floats((dimension,)) if region.has_normal else None,
                floats((rows,)),
                floats((rows,)),
            )

            def rows_of(numbers: Numbers, theta: Theta, point: ConditionBatch, key: str = key) -> Any:
                # With their gradient: a function may come with a rule for its derivatives.
                return self.with_numbers(numbers).point_features(key, theta, point)

            text = traced_text(rows_of, self.numbers, self.model.theta, point)
            # Linear operators have no second variation: a number that is zero may tell.
            digest.update(f"{key} {region.dimension} {problem.is_linear} {text}".encode())
        return digest.hexdigest()

    @property
    def is_affine(self) -> bool:
        return self.problem.is_linear and self.model.is_linear

    def rough(self, theta: Theta) -> Theta:
        return self.model.rough(theta)

    def thinned(self, batch: Batch, rows: int) -> Batch:
        return thinned(batch, rows)

    def count_rows(self, batch: Batch) -> int:
        return count_rows(batch)

    def unweighted(self, batch: Batch) -> Batch:
        return unweighted(batch)

    # -- one point ------------------------------------------------------------------------------------
    def operator_rows(
        self, key: str, theta: Theta, x: Float[Array, " axes"], normal: Array | None, shared: Sequence[Array] = ()
    ) -> Float[Array, " rows"]:
        """D[u_θ](x), its real components stacked; `shared` has the values of its shared parts if they are known."""
        problem, axes = self.problem, self.problem.domain.axes
        quantities = self.model.quantities(theta, Frame(axes))
        expressions: Sequence[Node] = problem.expressions[key]
        if shared:
            expressions = with_shared(expressions, problem.shared_parts[key], shared)
        nodes = with_fields(expressions, quantities, axes, normal, list(self.numbers.operators[key]))
        return real_rows(evaluate(nodes, x))

    def shared_values(self, key: str, theta: Theta) -> list[Array]:
        """The integrals, and values at fixed points, that are the same for all points of a condition."""
        axes = self.problem.domain.axes
        nodes = with_fields(self.problem.shared_parts[key], self.model.quantities(theta, Frame(axes)), axes)
        return evaluate(nodes, jnp.zeros(len(axes)))

    def point_rows(
        self, key: str, theta: Theta, point: ConditionBatch, shared: Sequence[Array] = ()
    ) -> Float[Array, " rows"]:
        """The scaled rows of one point: sqrt(weight·w_i)·(D[u_θ](x_i) − f(x_i))."""
        return point.scale * (self.operator_rows(key, theta, point.x, point.normal, shared) - point.source)

    def point_features(self, key: str, theta: Theta, point: ConditionBatch) -> tuple[Array, Array]:
        """The rows of one point and their gradients, by one reverse sweep for each row.

        What is the same at all points is differentiated by itself: mapped over points, that happens once.
        """
        if not self.problem.shared_parts[key]:
            rows, pull_back = jax.vjp(lambda t: self.point_rows(key, t, point), theta)
            return rows, jnp.stack([pull_back(row)[0] for row in jnp.eye(rows.size)])
        values = self.shared_values(key, theta)
        slopes = jax.jacrev(lambda t: real_rows(self.shared_values(key, t)))(theta)
        rows, pull_back = jax.vjp(
            lambda t, parts: self.point_rows(key, t, point, _complex_again(parts, values)), theta, real_rows(values)
        )
        pulled = [pull_back(row) for row in jnp.eye(rows.size)]
        return rows, jnp.stack([local + through @ slopes for local, through in pulled])

    # -- all points -----------------------------------------------------------------------------------
    def residual(self, theta: Theta, batch: Batch) -> Float[Array, " rows"]:
        """r(θ), all conditions stacked."""
        if self._laid is not None:
            return self._laid.in_order(self._laid.residual(theta, batch), batch)
        return jnp.concatenate([rows.ravel() for rows in self.rows(theta, batch).values()])

    def rows_at(self, key: str, theta: Theta, part: ConditionBatch) -> Float[Array, "points rows"]:
        """The scaled rows of some points of a condition."""
        if not self.layout.spreads:
            return jax.vmap(lambda point: self.point_rows(key, theta, point))(part)

        def share(numbers: Numbers, theta: Theta, part: ConditionBatch) -> Array:
            return self.alone.with_numbers(numbers).rows_at(key, theta, share_of(part, self.layout))

        lying = self.layout.over_points(share, EVERYWHERE, BY_POINTS)(self.numbers, theta, part)
        return jax.lax.with_sharding_constraint(lying, self.layout.everywhere)[: len(part.x)]

    def squares(self, theta: Theta, batch: Batch) -> dict[str, Float[Array, ""]]:
        """‖r‖² of each condition by itself; half their sum is the loss."""
        if self._laid is not None:
            return self._laid.squares(theta, batch)
        return {key: jnp.sum(rows**2) for key, rows in self.rows(theta, batch).items()}

    def features(self, theta: Theta, batch: Batch) -> tuple[Float[Array, " rows"], Float[Array, "rows params"]]:
        """R and J. All of J is in memory: see `gram` and `triangle` for batches that do not allow it."""
        if self._laid is not None:
            residual, features = self._laid.features(theta, batch)
            return self._laid.in_order(residual, batch), self._laid.in_order(features, batch)
        residuals, features = [], []
        for key, part in self._parts(batch):
            rows, jacobian = self._map(lambda p, key=key: self.point_features(key, theta, p), part, theta.size)
            residuals.append(rows.ravel())
            features.append(jacobian.reshape(-1, theta.size))
        return jnp.concatenate(residuals), jnp.concatenate(features)

    def loss(self, theta: Theta, batch: Batch) -> Float[Array, ""]:
        """ℓ(θ) = ½‖r(θ)‖²."""
        return super().loss(theta, batch) if self._laid is None else self._laid.loss(theta, batch)

    # -- sums over chunks of points: J is never whole ---------------------------------------------------
    def gram(self, theta: Theta, batch: Batch, basis: Float[Array, "params columns"] | None = None) -> Gram:
        """JᵀJ, Jᵀr and ‖r‖², summed chunk by chunk, with JV for J if a basis V is given."""
        if self._laid is not None:
            return self._laid.gram(theta, batch, basis)

        def add(total: Gram, rows: Array, jacobian: Array) -> Gram:
            return jax.tree.map(jnp.add, total, gram_of(rows, jacobian if basis is None else jacobian @ basis))

        columns = theta.size if basis is None else basis.shape[1]
        zero = Gram(jnp.zeros((columns, columns)), jnp.zeros(columns), jnp.zeros(()))
        return self._fold(theta, self._parts(batch), zero, add)

    def triangle(self, theta: Theta, batch: Batch) -> Float[Array, "params1 params1"]:
        """The triangular factor of [J r], chunk by chunk if J is large. Its last column is Qᵀr; Q is never formed."""
        if self._laid is not None:
            return self._laid.triangle(theta, batch)
        rows = sum(part.source.size for part in batch.values())
        if 8 * rows * (theta.size + 1) <= WHOLE * self.chunk_bytes:
            return triangle_of(*self.features(theta, batch))
        return self._folded_triangle(theta, self._parts(batch))

    def triangles(self, theta: Theta, batch: Batch) -> dict[str, Float[Array, "params1 params1"]]:
        """The triangular factors of the rows of each condition by themselves."""
        return {key: self._folded_triangle(theta, [(key, part)]) for key, part in self._parts(batch)}

    def _folded_triangle(self, theta: Theta, parts: list[tuple[str, ConditionBatch]]) -> Array:
        def add(factor: Array, rows: Array, jacobian: Array) -> Array:
            stacked = jnp.concatenate([jacobian, rows[:, None]], axis=1)
            return jnp.linalg.qr(jnp.concatenate([factor, stacked]), mode="r")

        # Each chunk is factorised with the triangle of those before: with fewer rows than that has, most of the work
        # would be done on the triangle again and again.
        return self._fold(theta, parts, jnp.zeros((theta.size + 1, theta.size + 1)), add, theta.size)

    # -- products with J, which is never there: see `anagram.compound.products` ---------------------------
    def square(self, theta: Theta, batch: Batch) -> Float[Array, ""]:
        if self._laid is not None:
            return self._laid.square(theta, batch)
        return products.square(self, theta, batch)

    def square_and_gradient(self, theta: Theta, batch: Batch) -> tuple[Float[Array, ""], Theta]:
        if self._laid is not None:
            return self._laid.square_and_gradient(theta, batch)
        return products.square_and_gradient(self, theta, batch)

    def normal_times(
        self, theta: Theta, batch: Batch, vectors: Float[Array, "vectors params"]
    ) -> Float[Array, "vectors params"]:
        if self._laid is not None:
            return self._laid.normal_times(theta, batch, vectors)
        return products.normal_times(self, theta, batch, vectors)

    def bend(self, theta: Theta, batch: Batch, v: Theta) -> Theta:
        if self._laid is not None:
            return self._laid.bend(theta, batch, v)
        return products.bend(self, theta, batch, v)

    def _parts(self, batch: Batch) -> list[tuple[str, ConditionBatch]]:
        # JAX sorts the keys of dictionaries that pass through jit: rows keep the order of the conditions.
        return [(key, batch[key]) for key in self.problem.soft]

    def rows(self, theta: Theta, batch: Batch) -> dict[str, Float[Array, "points rows"]]:
        """r(θ) by condition and point."""
        return {
            key: self._map(lambda p, key=key: self.point_rows(key, theta, p), part, theta.size)
            for key, part in self._parts(batch)
        }

    def fits(self, theta: Theta, batch: Batch) -> bool:
        """Whether J is small enough to be held as a whole."""
        if self._laid is not None:
            return self._laid.fits(theta, batch)
        return all(len(part.x) <= self.chunk(part, theta.size) for part in batch.values())

    def chunk(self, part: ConditionBatch, columns: int) -> int:
        """How many points are taken at once."""
        return max(1, self.chunk_bytes // (8 * columns * part.source.shape[1]))

    def _map(self, function: Callable[[ConditionBatch], Any], part: ConditionBatch, columns: int) -> Any:
        size = self.chunk(part, columns)
        if len(part.x) <= size:
            return jax.vmap(function)(part)
        return jax.lax.map(function, part, batch_size=size)

    def in_chunks(self, part: ConditionBatch, columns: int) -> ConditionBatch:
        """Points along two axes, chunk and place in it; places left over hold copies that weigh nothing."""
        return _in_chunks(part, self.chunk(part, columns))

    def _fold(
        self,
        theta: Theta,
        parts: list[tuple[str, ConditionBatch]],
        start: Carry,
        add: Callable[[Carry, Array, Array], Carry],
        fewest: int = 1,
    ) -> Carry:
        """Add up over chunks with at least so many rows."""
        total = start
        for key, part in parts:
            points, at_least = len(part.x), -(-fewest // part.source.shape[1])
            even = -(-points // max(1, points // at_least))
            chunks = _in_chunks(part, max(self.chunk(part, theta.size), even if fewest > 1 else 1))

            def update(carry: Carry, chunk: ConditionBatch, key: str = key) -> tuple[Carry, None]:
                rows, jacobian = jax.vmap(lambda p: self.point_features(key, theta, p))(chunk)
                return add(carry, rows.ravel(), jacobian.reshape(-1, theta.size)), None

            if chunks.x.shape[0] == 1:
                total, _ = update(total, jax.tree.map(lambda a: a[0], chunks))
            else:
                total, _ = jax.lax.scan(update, total, chunks)
        return total


def usual_chunk_bytes() -> int:
    """How much memory the features of one chunk of points take on the devices of this run."""
    there = device_memory() if has_accelerator() else None
    return CHUNK_BYTES if there is None else min(MOST_CHUNK_BYTES, max(CHUNK_BYTES, there // CHUNK_SHARE))


def operator_numbers(problem: Problem) -> dict[str, Float[Array, " numbers"]]:
    """The numbers that stand in the operators of each condition, such as the 0.25 of u_t − 0.25 u_xx."""
    return {
        key: jnp.asarray([float(number.value) for number in free_numbers(nodes)])
        for key, nodes in problem.expressions.items()
    }


def _complex_again(parts: Array, like: Sequence[Array]) -> list[Array]:
    """Values from their real components, of the kinds of others."""
    rest = iter(parts)
    return [jax.lax.complex(next(rest), next(rest)) if jnp.iscomplexobj(v) else next(rest) for v in like]


def _in_chunks(part: ConditionBatch, size: int) -> ConditionBatch:
    """Reshape to (chunks, size, …); the last chunk is filled with copies of a point that weigh nothing."""
    size = min(size, len(part.x))
    return jax.tree.map(lambda a: a.reshape(-1, size, *a.shape[1:]), filled(part, size))
