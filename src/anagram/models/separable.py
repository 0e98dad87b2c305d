"""Sums of products of functions of one axis each: u_θ(x) = Σ_r Π_k f_rk(x_k).

In many dimensions no grid and no set of features covers all directions, but many solutions are such sums with few
terms: products themselves, sums over the axes, waves, functions of the distance. The number of parameters grows with
the number of axes and not exponentially. The functions f_rk are polynomials, around periodic axes waves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.inputs import Kind, Kinds, Placement, axis_kinds, placed, places
from anagram.models.jets import Jets, Sum
from anagram.models.mlp import MLP, checked_units
from anagram.models.spec import ModelSpec
from anagram.models.waves import chebyshev, composed
from anagram.statement.domains import Domain
from anagram.statement.expressions import Index

MOST = 10_000  # terms, or functions of an axis
SPREAD = 0.5  # of the first functions around a constant
NEW = 1e-2  # of the largest term: how large those are that are added


class SeparableNetwork(eqx.Module):
    """Σ_r Π_k f_rk between the units of its placement; the coefficients of the f_rk are learned."""

    weight: Float[Array, "outputs terms axes functions"]
    placement: Placement
    kinds: Kinds = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        zero = (0,) * len(self.kinds)
        return self.jets(x, [zero], [])[0][zero]

    def jets(self, x: Float[Array, " axes"], indices: Sequence[Index], sums: Sequence[Sum]) -> Jets:
        """The derivatives of all outputs at a point, single ones by index and sums in their order."""
        place = self.placement
        wanted = [*indices, *(index for terms in sums for index, _ in terms)]
        at = _Factors(self, x, max((max(index, default=0) for index in wanted), default=0))
        values = {i: place.size * at.derivative(i) + (0.0 if any(i) else place.offset) for i in indices}
        totals = []
        for terms in sums:
            constant = sum(c for index, c in terms if not any(index))
            totals.append(place.size * at.total(terms) + constant * place.offset)
        return values, totals

    def tail(self) -> float:
        """How large the coefficients of the last functions of an axis are, beside the whole: whether more are needed.

        Two of them count, as of even functions every other one is zero; the largest axis and output do.
        """
        weight = np.asarray(self.weight)
        norms = np.linalg.norm(weight, axis=3)
        last = np.abs(weight[..., -2:]).max(axis=3) / np.maximum(norms, np.finfo(float).tiny)
        tails = np.sqrt(np.sum((last * np.prod(norms, axis=2, keepdims=True)) ** 2, axis=1)).max(axis=1)
        products = np.prod(np.einsum("orkj,oskj->orsk", weight, weight), axis=3)
        whole = np.sqrt(np.abs(products.sum(axis=(1, 2))))
        return float(np.nan_to_num(np.max(tails / np.maximum(whole, np.finfo(float).tiny)), nan=1.0))

    def grown(self, shape: tuple[int, ...], seed: int) -> Float[np.ndarray, "outputs terms axes functions"]:
        """Coefficients of a network with more functions and terms that gives the same values, but for small new terms.

        Where it has fewer functions the last ones are left out.
        """
        known = np.asarray(self.weight)[:, : shape[1], :, : shape[3]]
        terms = known.shape[1]
        weight = np.zeros(shape)
        weight[:, :terms, :, : known.shape[3]] = known
        if shape[1] > terms:
            size = NEW * np.prod(np.linalg.norm(known, axis=3), axis=2).max(axis=1)
            new = first_weights((shape[0], shape[1] - terms, *shape[2:]), np.random.default_rng([seed, terms]))
            weight[:, terms:] = new * size[:, None, None, None] ** (1 / shape[2])
        return weight


class _Factors:
    """All f_rk at a point, and their derivatives by order: arrays of axes, outputs and terms."""

    def __init__(self, network: SeparableNetwork, x: Float[Array, " axes"], highest: int) -> None:
        functions = _functions(network.kinds, network.placement, network.weight.shape[3], x, highest)
        # One product for each order: with orders as another axis of the arrays they take ten times as long.
        self.values = [jnp.einsum("orkj,kj->kor", network.weight, of_order) for of_order in functions]

    def derivative(self, index: Index) -> Float[Array, " outputs"]:
        """∂^α of all outputs."""
        if not any(index):
            return jnp.sum(jnp.prod(self.values[0], axis=0), axis=-1)
        product: Any = 1.0
        for axis, order in enumerate(index):
            product = product * self.values[order][axis]
        return jnp.sum(product, axis=-1)

    def total(self, terms: Sum) -> Float[Array, " outputs"]:
        """Σ c_α ∂^α of all outputs; derivatives along one axis are made together, as those of a Laplacian.

        Σ_k f_1 … f_k″ … f_d is made from the left: with one more factor f it becomes f times what it was, and f″ times
        the product so far.
        """
        alone = [(index, c) for index, c in terms if np.count_nonzero(index) == 1]
        total = sum((c * self.derivative(index) for index, c in terms if np.count_nonzero(index) != 1), start=0.0)
        if not alone:
            return jnp.asarray(total)
        changed: list[Any] = [0.0] * len(self.values[0])
        for index, c in alone:
            axis = int(np.flatnonzero(index)[0])
            changed[axis] = changed[axis] + c * self.values[index[axis]][axis]
        product, so_far = jnp.ones_like(self.values[0][0]), jnp.zeros_like(self.values[0][0])
        for plain, other in zip(self.values[0], changed, strict=True):
            product, so_far = product * plain, so_far * plain + product * other
        return total + jnp.sum(so_far, axis=-1)


def _functions(
    kinds: Kinds, place: Placement, count: int, x: Float[Array, " axes"], highest: int
) -> list[Float[Array, "axes functions"]]:
    """The functions of which the f_rk are made, of all axes, and their derivatives, by order."""
    around, log, straight = (places(kinds, *k) for k in ((Kind.AROUND,), (Kind.LOG,), (Kind.OPEN, Kind.PARAMETER)))
    made: list[list[Array]] = []
    if straight:
        which = np.array(straight)
        slope = 2 / place.length[which]
        made.append(_polynomials(slope * (x[which] - place.low[which]) - 1, slope, count, highest))
    for axis in log:
        # The derivatives of 2 (ln x − low)/length − 1.
        factor = 2 / place.length[axis]
        inner = [factor * (jnp.log(x[axis]) - place.low[axis]) - 1]
        inner += [factor * (-1) ** (n - 1) * math.factorial(n - 1) / x[axis] ** n for n in range(1, highest + 1)]
        found = composed(chebyshev(inner[0], count, highest), jnp.stack(inner))
        made.append([found[None, :, n] for n in range(highest + 1)])
    if around:
        which, number = np.array(around), np.arange(count)
        turns, phase = (number + 1) // 2, np.where(number % 2 == 0, np.pi / 2, 0.0) * (number > 0)
        pace = 2 * np.pi / place.length[which, None] * turns
        angle = pace * (x[which] - place.low[which])[:, None] - phase
        made.append([pace**n * jnp.cos(angle + np.pi / 2 * n) for n in range(highest + 1)])
    back = np.argsort([*straight, *log, *around])
    if len(made) == 1:
        return made[0]
    return [jnp.concatenate(parts)[back] for parts in zip(*made, strict=True)]


def _polynomials(
    z: Float[Array, " axes"], slope: Float[Array, " axes"], count: int, highest: int
) -> list[Float[Array, "axes functions"]]:
    """Chebyshev polynomials, few enough that a loop is not worth it, and their derivatives; see `chebyshev`."""
    zero = jnp.zeros_like(z)
    found = [[zero + 1.0], *([zero] for _ in range(highest))]
    for degree in range(1, count):
        now = [of_order[-1] for of_order in found]
        before = [of_order[-2] if degree > 1 else zero for of_order in found]
        times = 2.0 if degree > 1 else 1.0
        for k, of_order in enumerate(found):
            lower = times * k * slope * now[k - 1] if k else 0.0
            of_order.append(times * z * now[k] + lower - before[k])
    return [jnp.stack(of_order, axis=-1) for of_order in found]


def first_weights(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Coefficients with which all terms are near a constant, of either sign, and together about as large as one."""
    falls = SPREAD * 2.0 ** -np.arange(shape[3])
    weight = falls * rng.standard_normal(shape) / np.sqrt(shape[2])
    weight[..., 0] += 1.0
    weight[:, :, 0] *= (rng.choice([-1.0, 1.0], size=shape[:2]) / np.sqrt(shape[1]))[..., None]
    return weight


class Separable(ModelSpec):
    """A sum of products of functions of one axis each: ``Separable(4, degree=8)``, for many dimensions.

    Args:
        terms: how many products are added up.
        degree: of the polynomials that the functions of open axes are; around periodic ones there are as many waves.
        offset, size: see `anagram.MLP`.
    """

    closes = True

    def __init__(
        self,
        terms: int,
        *,
        degree: int = 8,
        offset: float | Sequence[float] = 0.0,
        size: float | Sequence[float] = 1.0,
    ) -> None:
        for name, value in (("the number of terms", terms), ("degree", degree)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= MOST:
                raise SettingError(f"{name} of Separable is a whole number from 1 to {MOST}, not {value!r}")
        self.like = MLP(1, offset=offset, size=size)  # says what is wrong with the rest
        self.terms, self.degree = int(terms), int(degree)

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> SeparableNetwork:
        kinds = axis_kinds(domain)
        offset, size = checked_units(self.like, outputs)
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        weight = first_weights((outputs, self.terms, len(kinds), self.degree + 1), rng)
        return SeparableNetwork(jnp.asarray(weight), placed(domain, 1.0, offset, size), kinds)

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * self.terms * len(domain.axes) * (self.degree + 1)

    def options(self) -> dict[str, Any]:
        units = self.like.options()
        return {"terms": self.terms, "degree": self.degree, **{name: units[name] for name in ("offset", "size")}}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Separable:
        options = dict(options)
        return cls(options.pop("terms"), **options)

    def __repr__(self) -> str:
        return f"Separable({self.terms}, degree={self.degree})"
