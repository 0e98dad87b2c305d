"""Singular functions at corners: what solutions look like there, so that a smooth model need not imitate it.

At a corner of the angle ω the solution of an elliptic equation of the second order behaves like r^λ sin(λ θ) or
r^λ cos(λ θ), with λ = k π/ω, or (k − ½) π/ω where a value is given on one side and a slope on the other. An enriched
model is

    u = N_0 + Σ_k s_k N_k

with these functions s_k and one network for all N: coefficients of singular functions may vary, in time above all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.features import Features
from anagram.models.kinks import Kink
from anagram.models.mlp import MLP
from anagram.models.products import Known, lower, product, product_sum
from anagram.models.spec import ModelSpec, spec_from_json, spec_to_json
from anagram.statement.domains import Domain
from anagram.statement.expressions import Index, Wanted

KINDS = ("values", "slopes", "value-slope", "slope-value", "any")
SMOOTH_FROM = 2.0  # exponents from here on: second derivatives are bounded
TOO_NEAR = 1e-9  # of an integer: the function is a polynomial
NEAR = 1e-6  # of the size of a domain: a corner is where it is said to be


class Singular:
    """The singular functions at one corner: ``MLP(16, 16) + Singular((0, 0), 3 * np.pi / 2)``.

    Args:
        corner: where it is.
        angle: ω, inside of the domain, in radians.
        start: the direction, in radians, of the side from which θ is counted, counterclockwise into the domain. Left
            out, it is that of the domain's own corner there.
        kind: what is given on the two sides, that of `start` first: ``values``, ``slopes``, ``value-slope``,
            ``slope-value``, or ``any``: the functions for values and for slopes on both.
    """

    def __init__(self, corner: Sequence[float], angle: float, start: float | None = None, kind: str = "any") -> None:
        self.corner = tuple(float(c) for c in corner)
        if len(self.corner) != 2 or not np.all(np.isfinite(self.corner)):
            raise SettingError(f"a corner has two finite coordinates, not {corner!r}")
        if not isinstance(angle, int | float | np.number) or not 0 < float(angle) <= 2 * np.pi + TOO_NEAR:
            raise SettingError(f"the angle of a corner is between 0 and 2π, in radians, not {angle!r}")
        if kind not in KINDS:
            raise SettingError(f"kind= is one of {', '.join(KINDS)}, not {kind!r}")
        self.angle, self.kind = float(angle), kind
        self.start = None if start is None else float(start)

    def placed(self, domain: Domain) -> Singular:
        """With its direction: that of the corner of the domain."""
        if self.start is not None:
            return self
        size = float(np.max(domain.lengths))
        for corner in domain.corners():
            if np.linalg.norm(corner.point - np.array(self.corner)) < NEAR * size:
                return Singular(self.corner, self.angle, corner.start, self.kind)
        raise SettingError(
            f"{domain!r} has no corner at ({self.corner[0]:g}, {self.corner[1]:g}): give Singular the direction of the "
            "side from which its angle is counted, start=..."
        )

    @property
    def terms(self) -> list[tuple[float, bool]]:
        """The exponents that are not smooth, each with whether it goes with a sine."""
        mixed = self.kind in ("value-slope", "slope-value")
        sines = {"values": (True,), "slopes": (False,), "value-slope": (True,), "slope-value": (False,)}
        found = []
        for k in range(1, 50):
            exponent = (k - 0.5 if mixed else k) * np.pi / self.angle
            if exponent >= SMOOTH_FROM:
                break
            if abs(exponent - round(exponent)) > TOO_NEAR:
                found += [(exponent, sine) for sine in sines.get(self.kind, (True, False))]
        return found

    def functions(self, domain: Domain) -> list[Callable[[Array], Array]]:
        """The functions s_k of a point of the domain."""
        here = self.placed(domain)
        plane = domain.space or domain.axes
        if len(plane) != 2:
            raise SettingError(
                f"Singular is for corners in the plane; {domain!r} has the axes {', '.join(domain.axes)}"
            )
        columns = tuple(domain.axes.index(a) for a in plane)
        size = float(np.max([domain.lengths[k] for k in columns]))
        place = (here.corner, here.angle, here.start or 0.0, columns, size)
        return [SingularFunction(*place, exponent, sine) for exponent, sine in here.terms]

    def __radd__(self, other: Any) -> Enriched:
        return Enriched(other, self)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"corner": list(self.corner), "angle": self.angle, "start": self.start, "kind": self.kind}

    def __repr__(self) -> str:
        return f"Singular(({self.corner[0]:g}, {self.corner[1]:g}), {self.angle:g})"


@dataclass(frozen=True)
class SingularFunction:
    """r^λ sin λθ or r^λ cos λθ, r in units of the domain; the cut of θ lies opposite to the domain.

    Two of them with the same numbers are equal: compiled programs of a model serve all that are made by its recipe.
    """

    corner: tuple[float, ...]
    angle: float
    start: float
    columns: tuple[int, ...]
    size: float
    exponent: float
    sine: bool

    def __call__(self, x: Array) -> Array:
        dx, dy = ((x[k] - place) / self.size for k, place in zip(self.columns, self.corner, strict=True))
        free = (2 * np.pi - self.angle) / 2
        # Turned so that the cut of atan2 is in the middle of what is outside.
        turn = self.start - free + np.pi
        c, s = np.cos(turn), np.sin(turn)
        theta = jnp.arctan2(-s * dx + c * dy, c * dx + s * dy) + np.pi - free
        wave = jnp.sin(self.exponent * theta) if self.sine else jnp.cos(self.exponent * theta)
        return (dx**2 + dy**2) ** (self.exponent / 2) * wave


class EnrichedModule(eqx.Module):
    """N_0 + Σ s_k N_k, all N from one module."""

    inner: Any
    functions: tuple[Callable[[Array], Array], ...] = eqx.field(static=True)
    outputs: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        blocks = jnp.ravel(self.inner(x)).reshape(-1, self.outputs)
        return blocks[0] + sum(f(x) * block for f, block in zip(self.functions, blocks[1:], strict=True))

    def rough(self) -> EnrichedModule:
        """With the rough form of the inner module, where it has one."""
        inner = self.inner.rough() if hasattr(self.inner, "rough") else self.inner
        return EnrichedModule(inner, self.functions, self.outputs)

    def jets(
        self, x: Array, indices: Sequence[Index], sums: Sequence[Any], inner: Callable[..., Any]
    ) -> tuple[dict[Index, Array], list[Array]]:
        """Derivatives of all outputs by Leibniz' rule, from those of the inner module, which `inner` gives."""
        wanted = Wanted(tuple(indices), tuple(sums))
        below = lower(wanted)
        values, totals = inner(self.inner, x, below.indices, below.sums)
        blocks = [
            (
                {i: v.reshape(-1, self.outputs)[k] for i, v in values.items()},
                [t.reshape(-1, self.outputs)[k] for t in totals],
            )
            for k in range(len(self.functions) + 1)
        ]
        (smooth, smooth_sums), known = blocks[0], [Known(f, x) for f in self.functions]
        found = {
            i: smooth[i] + sum(product(k, i, of) for k, (of, _) in zip(known, blocks[1:], strict=True)) for i in indices
        }
        added = [
            smooth_sums[n]
            + sum(product_sum(k, terms, of, top[n]) for k, (of, top) in zip(known, blocks[1:], strict=True))
            for n, terms in enumerate(sums)
        ]
        return found, added


class Enriched(ModelSpec):
    """A recipe with singular functions or kinks added: ``MLP(16, 16) + Singular(corner, angle)``."""

    def __init__(self, model: ModelSpec, *singular: Singular | Kink) -> None:
        if isinstance(model, Enriched):
            model, singular = model.model, (*model.singular, *singular)
        if not isinstance(model, ModelSpec):
            raise SettingError(f"singular functions are added to a recipe such as MLP(16, 16), not to {model!r}")
        self.model, self.singular, self.is_linear = model, singular, model.is_linear

    def functions(self, domain: Domain) -> tuple[Callable[[Array], Array], ...]:
        """The singular functions of all corners."""
        return tuple(f for one in self.singular for f in one.functions(domain))

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> EnrichedModule:
        functions = self.functions(domain)
        inner = self._inner(outputs, len(functions)).build(domain, outputs * (1 + len(functions)), key)
        return EnrichedModule(inner, functions, outputs)

    def count(self, domain: Domain, outputs: int) -> int:
        count = sum(len(one.terms) for one in self.singular)
        return self._inner(outputs, count).count(domain, outputs * (1 + count))

    def _inner(self, outputs: int, count: int) -> ModelSpec:
        """The recipe of the module that gives all N; only the first one has an offset."""
        if not isinstance(self.model, MLP | Features):
            return self.model
        options = self.model.options()
        offset, size = (np.broadcast_to(np.array(options[name]), outputs).tolist() for name in ("offset", "size"))
        return type(self.model).from_options(
            {**options, "offset": offset + [0.0] * outputs * count, "size": size * (1 + count)}
        )

    def options(self) -> dict[str, Any]:
        return {"model": spec_to_json(self.model), "singular": [one.as_json() for one in self.singular]}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Enriched:
        model = spec_from_json(options["model"])
        return cls(model, *(Singular(**one) if "corner" in one else Kink(**one) for one in options["singular"]))

    def __repr__(self) -> str:
        return " + ".join(map(repr, (self.model, *self.singular)))
