"""Trying every condition out on test fields, at the moment a problem is stated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from anagram.errors import ProblemError
from anagram.statement.beyond import Elsewhere
from anagram.statement.condition import describe_point, source_rows, stated, with_fields
from anagram.statement.domains import Cloud, GaussLegendre, Kronecker, Region
from anagram.statement.evaluation import evaluate, evaluate_many
from anagram.statement.expressions import Derivatives, Leaf, Named, Node, Unknown, Wanted, degree, everything
from anagram.statement.fields import Field, Frame, constant

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

EDGE = 1e-9  # of the length of an axis: coordinates elsewhere are computed, and rounded
PERIODIC = 1e-3  # of its values a solution may differ at the two ends of a periodic axis: tails may be cut off
# Test fields: a + b sin(w·x + φ). The different levels a let functions such as sqrt or log of the
# unknown be defined on at least one of them.
_LEVELS = (0.3, 1.5, -1.2, 4.0)


def check_conditions(problem: Problem) -> dict[str, tuple[bool, ...]]:
    """Check operators and sources; return, per condition, which of its components are complex."""
    components: dict[str, tuple[bool, ...]] = {}
    clouds = {}
    for key in problem.conditions:
        what = f"condition '{key}'"
        region = problem.region(key)
        cloud = region.draw(_probe_rule(region), np.random.default_rng(0))
        if len(cloud.x) == 0:
            raise ProblemError(f"{what}: the region {region!r} has no points")
        components[key] = _components(problem, key, region, what)
        _check_places(problem, key, cloud, what)
        source_rows(problem.sources[key], region, cloud.x, components[key], what)
        _check_period(problem, key, components[key])
        problem.weights_at(key, cloud.x)
        clouds[key] = cloud
    _check_values(problem, clouds)
    return components


def check_periods(problem: Problem, x: np.ndarray) -> None:
    """A known solution has the same values at both ends of a periodic axis."""
    if not problem.domain.periodic_axes:
        return
    # Beside its values everywhere: it may vanish at the ends.
    inside = problem.exact(x) or {}
    for axis in problem.domain.periodic_axes:
        here = np.arange(x.shape[1]) == problem.domain.axes.index(axis)
        low, high = (problem.exact(np.where(here, end, x)) or {} for end in problem.domain.intervals[axis])
        for name, values in low.items():
            size = max(np.max(np.abs(values)), np.max(np.abs(inside[name])))
            if np.max(np.abs(high[name] - values)) > PERIODIC * size:
                raise ProblemError(
                    f"the axis '{axis}' is periodic and the solution '{name}' is not: it differs at the two ends"
                )


def _check_period(problem: Problem, key: str, is_complex: tuple[bool, ...]) -> None:
    """A source has the same values at both ends of a periodic axis along which its condition holds."""
    region, source, what = problem.region(key), problem.sources[key], f"condition '{key}'"
    axes = [a for a in problem.domain.periodic_axes if all(part.goes_around(a) for part in region.parts)]
    if not axes or not any(callable(part) for part in (source if isinstance(source, tuple) else (source,))):
        return
    # Nodes at equal distances may all be zeros of a wave.
    x = region.draw(Kronecker(64), np.random.default_rng(0)).x
    rows = source_rows(source, region, x, is_complex, what)
    for axis in axes:
        here = np.arange(x.shape[1]) == problem.domain.axes.index(axis)
        low, high = (
            source_rows(source, region, np.where(here, end, x), is_complex, what)
            for end in problem.domain.intervals[axis]
        )
        if np.max(np.abs(high - low)) > PERIODIC * max(np.max(np.abs(rows)), np.max(np.abs(low))):
            raise ProblemError(
                f"{what}: the axis '{axis}' is periodic and the source is not: it differs at the two ends; write it so "
                f"that it has the same value there, or leave the axis open, {axis}=(low, high)"
            )


def state_conditions(problem: Problem) -> dict[str, tuple[Node, ...]]:
    """Apply every operator to fields that are known by their names alone, once."""
    names = {u.name: u.on or problem.domain for u in problem.unknowns}
    numbers = list(problem.coefficients)
    found: dict[str, tuple[Node, ...]] = {}
    for key, condition in problem.conditions.items():
        what = f"condition '{key}'"
        with _explained(what):
            found[key] = stated(condition, problem.domain.frame, names, numbers, what)
    return found


def _probe_rule(region: Region) -> Any:
    # Off the edges: whether they belong to the points is for the rule of a run to say.
    return GaussLegendre(5) if region.dimension <= 2 else Kronecker(64)


def is_linear(problem: Problem) -> bool:
    """Whether all operators are affine in the unknowns, as they are written.

    What is written with functions of which nothing is known is tried out on multiples of the test fields.
    Coefficients to be learned multiply the unknowns: with them a problem is not linear.
    """
    degrees = {key: [degree(node) for node in nodes] for key, nodes in problem.expressions.items()}
    if problem.coefficients or any(2 in found for found in degrees.values()):
        return False
    for key in (key for key, found in degrees.items() if None in found):
        region = problem.region(key)
        cloud = region.draw(_probe_rule(region), np.random.default_rng(0))
        minus, zero, one, two = (_rows_at(problem, key, cloud, 1.0, multiple) for multiple in (-1.0, 0.0, 1.0, 2.0))
        size = np.abs(minus) + np.abs(zero) + np.abs(one) + np.abs(two)
        bend = np.maximum(np.abs(minus + one - 2 * zero), np.abs(two + zero - 2 * one))
        if not np.isfinite(size).all() or np.any(bend > 1e-9 * size.max()):
            return False
    return True


class _Waves:
    """Test fields a + b sin(w·x + φ), multiplied by a number, one for each unknown; complex ones have a cosine too."""

    adds_up = False

    def __init__(self, problem: Problem, level: float, multiple: float) -> None:
        self.level, self.multiple = level, multiple
        self.unknowns = {u.name: (k, u.is_complex) for k, u in enumerate(problem.unknowns)}

    def derivatives(self, x: Any, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        many = isinstance(x, list)
        sin, cos = (np.sin, np.cos) if many else (jnp.sin, jnp.cos)
        found = {}
        for name, which in wanted.items():
            k, is_complex = self.unknowns[name]
            wave = np.cos(np.arange(len(x)) + k) + 1.3 if many else np.cos(np.arange(x.shape[0]) + k) + 1.3
            phase = sum(w * c for w, c in zip(wave, x, strict=True)) if many else wave @ x
            values = {}
            for index in which.indices:
                order, factor = sum(index), float(np.prod(wave ** np.array(index)))
                value = 0.25 * factor * sin(phase + k + order * np.pi / 2) + (0.0 if order else self.level)
                if is_complex:
                    value = value + 1j * factor * cos(phase + order * np.pi / 2)
                values[index] = self.multiple * value
            found[name] = Derivatives(values)
        return found


def _test_quantities(problem: Problem, level: float, multiple: float = 1.0) -> dict[str, Field]:
    waves, frame = _Waves(problem, level, multiple), Frame(problem.domain.axes)
    zero = (0,) * len(frame.axes)
    fields = {u.name: Field(Leaf(waves, u.name, zero), frame) for u in problem.unknowns}
    return fields | {name: constant(guess, frame) for name, guess in problem.coefficients.items()}


@contextmanager
def _explained(what: str) -> Iterator[None]:
    """Say which condition an error belongs to, and what may be wrong with its operator."""
    try:
        yield
    except ProblemError as error:
        message = str(error)
        raise ProblemError(message if message.startswith(what) else f"{what}: {message}") from error
    except Exception as error:
        hint = "write np.exp(u) or u.map(jnp.exp) for functions of fields, domain.field(...) for functions of the point"
        if "Field" in str(error):
            # JAX names the function in its message.
            found = re.search(r"[Aa]rgument to \W*(?:\w+ of )?\W*function (?:\w+\.)*(\w+)", str(error))
            if found is not None and found[1] in dir(np):
                name = found[1]
                raise ProblemError(
                    f"{what}: jnp.{name} does not take fields: write np.{name}(u), or u.map(jnp.{name})"
                ) from error
            raise ProblemError(f"{what}: a function was given a field that it does not know: {hint}") from error
        reason = (str(error).splitlines() or [""])[0]
        raise ProblemError(
            f"{what}: the operator failed with {type(error).__name__}: {reason}. Perhaps: {hint}"
        ) from error


def _components(problem: Problem, key: str, region: Region, what: str) -> tuple[bool, ...]:
    def values(x: Array, normal: Array) -> list[Array]:
        fields, axes = _test_quantities(problem, 1.0), problem.domain.axes
        return evaluate(with_fields(problem.expressions[key], fields, axes, normal), x)

    point = jax.ShapeDtypeStruct((len(region.axes),), jnp.result_type(float))
    with _explained(what):
        shapes = jax.eval_shape(values, point, point)
    for shape in shapes:
        if shape.shape != ():
            raise ProblemError(
                f"{what}: the operator must give one number at a point, it gave an array of shape {shape.shape}; "
                "return a tuple of fields for a vector-valued condition"
            )
    return tuple(bool(jnp.issubdtype(s.dtype, jnp.complexfloating)) for s in shapes)


class _Recorder:
    """Fields that are zero, and note at which points they are read."""

    adds_up = False

    def __init__(self) -> None:
        self.read: list[tuple[str, np.ndarray]] = []

    def derivatives(self, x: Any, wanted: dict[str, Wanted]) -> dict[str, Derivatives]:
        points = np.stack(x, axis=1)
        self.read += [(name, points) for name in wanted]
        zero = np.zeros(len(points))
        return {name: Derivatives(dict.fromkeys(which.indices, zero)) for name, which in wanted.items()}


def _check_places(problem: Problem, key: str, cloud: Cloud, what: str) -> None:
    """Unknowns are read only where they live. Places that depend on the unknowns themselves are not known yet."""
    nodes = problem.expressions[key]
    places = [place for node in everything(nodes) if isinstance(node, Elsewhere) for place in node.operands]
    if any(isinstance(node, Unknown | Named) for node in everything(places)):
        return
    recorder, frame = _Recorder(), Frame(problem.domain.axes)
    zero = (0,) * len(frame.axes)
    fields = {u.name: Field(Leaf(recorder, u.name, zero), frame) for u in problem.unknowns}
    fields |= {name: constant(guess, frame) for name, guess in problem.coefficients.items()}
    normal = None if cloud.normal is None else cloud.normal.T
    evaluate_many(with_fields(nodes, fields, frame.axes, normal), cloud.x)
    unknowns = {u.name: u for u in problem.unknowns}
    for name, points in recorder.read:
        region, box = unknowns[name].on or problem.domain, unknowns[name].box(problem.domain)
        margin = EDGE * box.lengths
        inwards = points - np.clip(points - (box.low + box.high) / 2, -margin, margin)
        outside = ~(region.contains(points) | region.contains(inwards))
        if outside.any():
            where = describe_point(frame.axes, points[int(np.argmax(outside))])
            raise ProblemError(f"{what} reads {name} at {where}, outside of {region!r}, where it lives")


def _check_values(problem: Problem, clouds: dict[str, Cloud]) -> None:
    """An operator that is not finite on any of the test fields is not finite on the unknown either."""
    for key, cloud in clouds.items():
        finite = [np.isfinite(_rows_at(problem, key, cloud, level)).all(axis=1) for level in _LEVELS]
        hopeless = ~np.any(finite, axis=0)
        if hopeless.any():
            first = int(np.argmax(hopeless))
            raise ProblemError(
                f"condition '{key}' is not finite at {describe_point(problem.domain.axes, cloud.x[first])} "
                "for any of the fields it was tried on: look for a division by zero, a logarithm or a root there"
            )


def _rows_at(problem: Problem, key: str, cloud: Cloud, level: float, multiple: float = 1.0) -> np.ndarray:
    """D of a test field, or of a multiple of it, at the points of a cloud: (points, real components)."""
    fields, normal = _test_quantities(problem, level, multiple), None if cloud.normal is None else cloud.normal.T
    nodes = with_fields(problem.expressions[key], fields, problem.domain.axes, normal)
    rows: list[np.ndarray] = []
    for value in evaluate_many(nodes, cloud.x):
        rows += [np.real(value), np.imag(value)] if np.iscomplexobj(value) else [value]
    return np.stack(rows, axis=1)
