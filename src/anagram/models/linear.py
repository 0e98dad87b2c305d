"""Linear models: partial Fourier series and tensor polynomials. Their tangent space is the model itself."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from anagram.errors import SettingError
from anagram.models.spec import ModelSpec
from anagram.statement.domains import Domain
from anagram.statement.domains.intervals import is_log

HIGHEST_DEGREE = 10_000  # the recurrence is traced degree by degree


class FourierSeries(eqx.Module):
    """Σ_k of the orthonormal waves 1, √2 cos 2πk·z, √2 sin 2πk·z on the box scaled to [0, 1]^d."""

    coefficients: Float[Array, "outputs waves"]
    order: int = eqx.field(static=True)
    low: tuple[float, ...] = eqx.field(static=True)
    length: tuple[float, ...] = eqx.field(static=True)
    log: tuple[bool, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        z = (_seen(x, self.log) - np.array(self.low)) / np.array(self.length)
        phase = 2 * np.pi * (half_lattice(self.order, len(self.low)) @ z)
        waves = jnp.concatenate([jnp.ones(1), np.sqrt(2) * jnp.cos(phase), np.sqrt(2) * jnp.sin(phase)])
        return self.coefficients @ waves


class TensorPolynomial(eqx.Module):
    """Σ c_{k₁…k_d} P_{k₁}(z₁) ⋯ P_{k_d}(z_d) on the box scaled to [−1, 1]^d."""

    coefficients: Float[Array, "outputs ..."]
    basis: str = eqx.field(static=True)
    low: tuple[float, ...] = eqx.field(static=True)
    length: tuple[float, ...] = eqx.field(static=True)
    log: tuple[bool, ...] = eqx.field(static=True)

    def __call__(self, x: Float[Array, " axes"]) -> Float[Array, " outputs"]:
        z = 2 * (_seen(x, self.log) - np.array(self.low)) / np.array(self.length) - 1
        value = self.coefficients
        for axis in reversed(range(len(self.low))):
            value = value @ _polynomials(z[axis], value.shape[-1], self.basis)
        return value


class Fourier(ModelSpec):
    """The partial Fourier series S_N of the paper's appendix, periodic on the domain: (2N+1)^d coefficients.

    The real form is used: a real unknown is the series with α_{−k} = conj α_k, and a complex unknown, which
    is carried by two real components, is the general complex series.
    """

    closes = is_linear = True

    def __init__(self, order: int) -> None:
        self.order = _degree(order, "Fourier")

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> FourierSeries:
        waves = (2 * self.order + 1) ** domain.dimension
        return FourierSeries(jnp.zeros((outputs, waves)), self.order, *_place(domain))

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * (2 * self.order + 1) ** domain.dimension

    def options(self) -> dict[str, Any]:
        return {"order": self.order}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Fourier:
        return cls(**options)

    def __repr__(self) -> str:
        return f"Fourier({self.order})"


class Polynomial(ModelSpec):
    """Tensor products of Chebyshev or Legendre polynomials up to a degree on each axis."""

    is_linear = True

    def __init__(self, degree: int, basis: str = "chebyshev") -> None:
        self.degree = _degree(degree, "Polynomial")
        if self.degree > HIGHEST_DEGREE:
            raise SettingError(f"the degree of a Polynomial is at most {HIGHEST_DEGREE}, not {degree}")
        if basis not in ("chebyshev", "legendre"):
            raise SettingError(f"there is no polynomial basis '{basis}'; choose chebyshev or legendre")
        self.basis = basis

    def build(self, domain: Domain, outputs: int, key: jax.Array) -> TensorPolynomial:
        if domain.periodic_axes:
            raise SettingError(
                f"the axis '{domain.periodic_axes[0]}' is periodic, and a polynomial is not: take Fourier or an MLP"
            )
        shape = (outputs, *[self.degree + 1] * domain.dimension)
        return TensorPolynomial(jnp.zeros(shape), self.basis, *_place(domain))

    def count(self, domain: Domain, outputs: int) -> int:
        return outputs * (self.degree + 1) ** domain.dimension

    def options(self) -> dict[str, Any]:
        return {"degree": self.degree, "basis": self.basis}

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Polynomial:
        return cls(**options)

    def __repr__(self) -> str:
        return f"Polynomial({self.degree}, {self.basis})"


def half_lattice(order: int, dimension: int) -> Float[np.ndarray, "waves axes"]:
    """One of k and −k for every wave vector k ≠ 0 with |k_l| ≤ order."""
    line = np.arange(-order, order + 1, dtype=float)
    vectors = np.stack(np.meshgrid(*[line] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    # In this order zero is the one in the middle, and −k stands as far before it as k behind it.
    return vectors[len(vectors) // 2 + 1 :]


def _polynomials(z: Float[Array, ""], count: int, basis: str) -> Float[Array, " count"]:
    values = [jnp.ones_like(z), z]
    for k in range(1, count - 1):
        if basis == "chebyshev":
            values.append(2 * z * values[k] - values[k - 1])
        else:
            values.append(((2 * k + 1) * z * values[k] - k * values[k - 1]) / (k + 1))
    return jnp.stack(values[:count])


def _degree(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise SettingError(f"{name} needs a whole number that is not negative, not {value!r}")
    return int(value)


def _place(domain: Domain) -> tuple[tuple[float, ...], tuple[float, ...], tuple[bool, ...]]:
    """Where the axes begin, how long they are, and which of them are seen by their logarithms."""
    log = tuple(is_log(interval) for interval in domain.intervals.values())
    ends = [np.log(i) if seen else i for i, seen in zip(domain.intervals.values(), log, strict=True)]
    return tuple(float(low) for low, _ in ends), tuple(float(high - low) for low, high in ends), log


def _seen(x: Float[Array, " axes"], log: tuple[bool, ...]) -> Float[Array, " axes"]:
    for axis in np.flatnonzero(log).tolist():
        x = x.at[axis].set(jnp.log(x[axis]))
    return x
