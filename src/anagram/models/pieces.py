"""Models in pieces: one network for each stretch of an axis, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.spec import ModelSpec, spec_from_json, spec_to_json
from anagram.statement.domains import Domain
from anagram.statement.domains.cutting import cut_domain
from anagram.statement.expressions import Index


class PieceByPiece(eqx.Module):
    """The module of the stretch that a point lies in."""

    parts: list[Any]
    edges: tuple[float, ...] = eqx.field(static=True)
    axis: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        return self._chosen(x, lambda part: jnp.ravel(part(x)))

    def jets(
        self, x: Array, indices: Sequence[Index], sums: Sequence[Any], inner: Callable[..., Any]
    ) -> tuple[dict[Index, Array], list[Array]]:
        """Derivatives of all outputs of the module of the stretch, which `inner` gives."""
        return self._chosen(x, lambda part: inner(part, x, indices, sums))

    def _chosen(self, x: Array, of: Callable[[Any], Any]) -> Any:
        """What a function makes of the part of the stretch that a point lies in.

        Parts of one kind are one program, run for each of them: it is compiled once, however many there are.
        """
        place = jnp.sum(x[self.axis] >= np.asarray(self.edges[1:-1]))
        found = jax.tree.map(lambda a: jnp.zeros(a.shape, a.dtype), jax.eval_shape(of, self.parts[0]))
        kinds: dict[Any, list[int]] = {}
        for k, part in enumerate(self.parts):
            kinds.setdefault(_kind(part), []).append(k)
        for numbers in kinds.values():
            arrays = [eqx.partition(self.parts[k], eqx.is_array)[0] for k in numbers]
            static = eqx.partition(self.parts[numbers[0]], eqx.is_array)[1]

            def taken(before: Any, part: Any, static: Any = static) -> tuple[Any, None]:
                number, own = part
                here = of(eqx.combine(own, static))
                return jax.tree.map(lambda a, b: jnp.where(place == number, a, b), here, before), None

            stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
            found = jax.lax.scan(taken, found, (jnp.asarray(numbers), stacked))[0]
        return found


def _kind(part: Any) -> Any:
    """What modules have in common that differ by their numbers only; others are of their own kind."""
    arrays, static = eqx.partition(part, eqx.is_array)
    leaves = jax.tree.leaves(arrays)
    if jax.tree.leaves(static):
        return id(part)
    return jax.tree.structure(part), tuple((leaf.shape, str(leaf.dtype)) for leaf in leaves)


class Pieces(ModelSpec):
    """Models side by side along an axis, each on a stretch of its own.

    Args:
        parts: a recipe for every stretch.
        axis: the axis that is cut.
        edges: where the stretches begin and end, one number more than there are parts.
    """

    closes = True  # where its parts do

    def __init__(self, *parts: ModelSpec, axis: str, edges: Sequence[float]) -> None:
        self.parts, self.axis, self.edges = parts, str(axis), tuple(float(e) for e in edges)
        if not parts or not all(isinstance(part, ModelSpec) for part in parts):
            raise SettingError("a model in pieces needs a recipe such as MLP(8) for every piece")
        if len(self.edges) != len(parts) + 1 or not all(np.diff(self.edges) > 0):
            raise SettingError(f"{len(parts)} pieces need {len(parts) + 1} edges that increase, not {edges!r}")

    def stretch(self, domain: Domain, piece: int) -> Domain:
        """The part of the domain on which a piece lives."""
        if self.axis not in domain.axes:
            raise SettingError(f"there is no axis '{self.axis}'; the axes are {', '.join(domain.axes)}")
        if self.axis in domain.periodic_axes:
            raise SettingError(f"the axis '{self.axis}' is periodic: it has no beginning, and is not cut into pieces")
        part = cut_domain(domain, self.axis, self.edges[piece], self.edges[piece + 1])
        if part is None:
            raise SettingError(
                f"the axis '{self.axis}' is one of a shape, and is not cut into pieces: cut another axis"
            )
        return part

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> PieceByPiece:
        keys = jax.random.split(key, len(self.parts))
        parts = [
            part.build(self.stretch(domain, k), outputs, own)
            for k, (part, own) in enumerate(zip(self.parts, keys, strict=True))
        ]
        return PieceByPiece(parts, self.edges, domain.axes.index(self.axis))

    def count(self, domain: Domain, outputs: int) -> int:
        return sum(part.count(self.stretch(domain, k), outputs) for k, part in enumerate(self.parts))

    def options(self) -> dict[str, Any]:
        return {"parts": [spec_to_json(part) for part in self.parts], "axis": self.axis, "edges": list(self.edges)}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Pieces:
        return cls(*map(spec_from_json, options["parts"]), axis=options["axis"], edges=options["edges"])

    def __repr__(self) -> str:
        kinds = list(dict.fromkeys(map(repr, self.parts)))
        return f"Pieces({len(self.parts)} along {self.axis}: {', '.join(kinds[:3])}{', …' if len(kinds) > 3 else ''})"
