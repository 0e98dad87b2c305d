"""Conditions that hold exactly: u = G + Φ·N, where Φ vanishes where values are given, and G has these values there.

Whatever the network N is, the conditions hold, to rounding; they are no part of the loss any more. Faces are taken axis
by axis: G is corrected by the polynomial along the axis that has the values (and slopes) still missing at its ends,
which leaves the faces of earlier axes as they are if the data agree where faces meet. Parts of the boundary of a shape
come first: between several of them, G is the mean of their data weighed by inverse distances.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from anagram.errors import ProblemError
from anagram.statement.condition import Mapped
from anagram.statement.domains import Along, Domain, GaussLegendre, Kronecker, PointSet, Region
from anagram.statement.domains.patch import Patch
from anagram.statement.domains.region import WITHIN
from anagram.statement.domains.vanishing import PointFunction, along_axis, at_points, vanishing
from anagram.statement.expressions import Unknown as Read
from anagram.statement.fields import Field
from anagram.statement.unknowns import Ansatz

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

AGREE = 1e-8  # relative: data that differ by more where parts meet cannot both hold


class Constant:
    """A number as a function of the point."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, _: Array) -> Array:
        return jnp.asarray(self.value)


class Given(NamedTuple):
    """One value, or one slope, that an unknown is given on a region."""

    key: str
    region: Region
    value: PointFunction
    axis: int | None  # of the slope


class AtEnd(NamedTuple):
    """What is given at one end of an axis."""

    upper: bool
    order: int
    value: PointFunction


def ansatz_of(problem: Problem) -> dict[str, Ansatz]:
    """By unknown, G and Φ of all its conditions with ``exact=True``."""
    given: dict[str, list[Given]] = {}
    for key, condition in problem.conditions.items():
        if condition.exact:
            for name, one in _given(problem, key):
                given.setdefault(name, []).append(one)
    found = {name: _ansatz(problem, several) for name, several in given.items()}
    for name, several in given.items():
        _check(problem.domain, found[name], several)
    return found


def _given(problem: Problem, key: str) -> list[tuple[str, Given]]:
    what, region = f"condition '{key}'", problem.region(key)
    if isinstance(region, PointSet) or region.dimension != problem.domain.dimension - 1:
        place = "an integral" if isinstance(region, Along) else repr(region)
        raise ProblemError(f"{what}: exact=True is for faces and parts of the boundary, not for {place}")
    found = []
    for k, node in enumerate(problem.expressions[key]):
        if not isinstance(node, Read) or sum(node.index) > 1:
            raise ProblemError(
                f"{what}: exact=True is for the value of an unknown, as in lambda u: u, or for its slope where its "
                "value is given exactly too, as in lambda u: u.d('t') on a face"
            )
        axis = node.index.index(1) if any(node.index) else None
        found.append((node.name, Given(key, region, source_at(problem.sources[key], k, what), axis)))
    return found


def source_at(equals: Any, component: int, what: str, why: str = "exact=True") -> PointFunction:
    """One component of a source as a function of the point that JAX can differentiate; errors say why it has to be."""
    if isinstance(equals, tuple | list):
        return source_at(equals[component], 0, what, why)
    if isinstance(equals, Field):
        return equals.at
    if isinstance(equals, Mapped):

        def value(x: Array) -> Any:
            try:
                return jnp.asarray(equals.components(x)[component])
            except (jax.errors.JAXTypeError, TypeError) as error:
                raise ProblemError(
                    f"{what}: {why} needs a source that JAX can differentiate: write it with jax.numpy ({error})"
                ) from error

        return value
    number = np.asarray(equals)
    if number.ndim:
        raise ProblemError(f"{what}: {why} needs a number or a function of the point as its source")
    return Constant(number[()])


def _ansatz(problem: Problem, given: Sequence[Given]) -> Ansatz:
    domain = problem.domain
    parts = [g for g in given if any(part.end is None for part in g.region.parts)]
    for g in parts:
        if g.axis is not None:
            raise ProblemError(f"condition '{g.key}': a slope can be exact on the face of a box only")
    known, factor = _on_parts(problem, parts)
    factors = [factor] if parts else []
    ends: dict[str, list[AtEnd]] = {}
    for g in given:
        for end in dict.fromkeys(part.end for part in g.region.parts if part.end is not None):
            axis, upper = end
            if g.axis not in (None, domain.axes.index(axis)):
                raise ProblemError(f"condition '{g.key}': a slope can be exact along the axis of its own face only")
            ends.setdefault(axis, []).append(AtEnd(upper, 0 if g.axis is None else 1, g.value))
    for axis, at in ends.items():
        for end in at:
            if end.order and not any(e.order == 0 and e.upper == end.upper for e in at):
                raise ProblemError(
                    f"the slope at an end of '{axis}' can be exact only if the value there is: give that exact=True too"
                )
            if sum(e[:2] == end[:2] for e in at) > 1:
                raise ProblemError(
                    f"two conditions with exact=True give the same unknown values at one end of '{axis}'"
                )
        known = _corrected(domain.axes.index(axis), domain.intervals[axis], known, at)
        for upper in (False, True):
            order = sum(e.upper == upper for e in at)
            if order:
                factors += [along_axis(domain, axis, upper)] * order
    inside = domain.draw(Kronecker(200), np.random.default_rng(0)).x

    def product(x: Array) -> Array:
        return jnp.prod(jnp.stack([f(x) for f in factors]))

    known = _same_everywhere(given) or known
    scale = float(np.max(at_points(product, inside)))
    return Ansatz(known, lambda x: product(x) / scale)


def _same_everywhere(given: Sequence[Given]) -> PointFunction | None:
    """The one function, or number, that all data are; it has them all, and needs no polynomials."""
    values = [g.value for g in given if g.axis is None]
    slopes = [g.value for g in given if g.axis is not None]
    first = values[0]
    if isinstance(first, Constant):
        level = all(isinstance(v, Constant) and v.value == first.value for v in values)
        return first if level and all(isinstance(s, Constant) and s.value == 0 for s in slopes) else None
    return first if not slopes and all(v is first for v in values) else None


def _on_parts(problem: Problem, given: Sequence[Given]) -> tuple[PointFunction, PointFunction]:
    """G and Φ for the parts of the boundary of a shape."""
    if not given:
        return Constant(0.0), Constant(1.0)
    distances = [vanishing(g.region, problem.domain, f"condition '{g.key}'") for g in given]
    if len(given) == 1:
        return given[0].value, distances[0]

    def known(x: Array) -> Array:
        d = [distance(x) for distance in distances]
        others = [jnp.prod(jnp.stack([*d[:k], *d[k + 1 :]])) for k in range(len(d))]
        return sum((o * g.value(x) for o, g in zip(others, given, strict=True)), start=jnp.zeros(())) / sum(others)

    return known, lambda x: jnp.prod(jnp.stack([distance(x) for distance in distances]))


def _corrected(k: int, interval: tuple[float, float], known: PointFunction, ends: Sequence[AtEnd]) -> PointFunction:
    """G with the values and slopes at the ends of one axis, by the polynomial of least degree along it."""
    low, high = interval
    length, degree = high - low, np.arange(len(ends))
    rows = []
    for end in ends:
        z = 1.0 if end.upper else 0.0
        rows.append(degree * z ** np.maximum(degree - 1, 0) / length if end.order else z**degree)
    basis = np.linalg.inv(np.array(rows)).T  # one polynomial for each end

    def corrected(x: Array) -> Array:
        total = known(x)
        powers = ((x[k] - low) / length) ** degree
        for end, polynomial in zip(ends, basis, strict=True):
            there = x.at[k].set(high if end.upper else low)
            now = known(there)
            if end.order:
                now = jax.jvp(known, (there,), (jnp.zeros_like(x).at[k].set(1.0),))[1]
            total = total + (polynomial @ powers) * (end.value(there) - now)
        return total

    return corrected


def _check(domain: Domain, ansatz: Ansatz, given: Sequence[Given]) -> None:
    """Whether the data of parts that meet agree: otherwise no field has them all."""
    size = max(float(np.max(np.abs(at_points(g.value, _some(g))))) for g in given)
    for g in given:
        found = ansatz.known
        if g.axis is not None:
            along = np.eye(len(g.region.axes))[g.axis]
            found = lambda p, along=along: jax.jvp(ansatz.known, (p,), (jnp.asarray(along),))[1]  # noqa: E731
        off = float(np.max(at_points(lambda p, g=g, found=found: jnp.abs(found(p) - g.value(p)), _some(g))))
        if not off <= AGREE * max(size, 1e-300):
            _refuse(g, [o for o in given if o is not g], off)
    _check_junctions(domain, given, size)


def _some(given: Given) -> np.ndarray:
    return given.region.draw(GaussLegendre(5), np.random.default_rng(0)).x


def _check_junctions(domain: Domain, given: Sequence[Given], size: float) -> None:
    """Whether the data of two parts of the boundary of a shape agree at the ends of curves where they meet."""
    middle = domain.middle
    for one, other in itertools.permutations([g for g in given if g.axis is None], 2):
        for part in one.region.parts:
            if not isinstance(part, Patch) or part.end is not None or len(part.chart.intervals) != 1:
                continue
            ends = np.tile(middle, (2, 1))
            ends[:, [domain.axes.index(a) for a in part.space]] = part.chart(np.array([[0.0], [1.0]])).x
            near = [p.distance(ends) for p in other.region.parts if isinstance(p, Patch) and p.end is None]
            shared = ends[np.min(near, axis=0) <= WITHIN * part.size] if near else ends[:0]
            if len(shared):
                off = float(np.max(at_points(lambda p, a=one, b=other: jnp.abs(a.value(p) - b.value(p)), shared)))
                if off > AGREE * max(size, 1e-300):
                    _refuse(one, [other], off)


def _refuse(given: Given, beside: Sequence[Given], off: float) -> None:
    others = ", ".join(f"'{o.key}'" for o in beside)
    raise ProblemError(
        f"condition '{given.key}' cannot hold exactly beside {others or 'itself'}: their data differ by {off:.1e} "
        "where they meet; leave exact= out of one of them"
    )
