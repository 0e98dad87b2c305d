"""Other solutions of the same problem: deflation, and orthogonality to modes that are known.

A nonlinear problem may have several solutions. What is known of them can be divided out (Farrell, Birkisson and Funke):
with d_i the distance to the solution u_i, all residuals are multiplied by

    M(u) = Π_i (d_i⁻ᵖ + α),    d_i² = Σ ∫ |u − u_i|² / Σ ∫ |u_i|²,

so that they do not vanish at any u_i any more, and vanish wherever else they did. Residuals on the boundary are among
them: otherwise functions near u_i that satisfy the equation, and all but satisfy the rest, would pass for solutions.
Modes of a linear operator are orthogonal instead: ∫ u u_i = 0 is one condition more for each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import call_by_name, parameter_names
from anagram.statement.beyond import Integral, Quadrature, Variable, moved
from anagram.statement.condition import Condition, evaluate_function
from anagram.statement.domains import Kronecker, Region
from anagram.statement.evaluation import FunctionSource
from anagram.statement.exactly import source_at
from anagram.statement.expressions import Leaf, Number
from anagram.statement.fields import Field, Frame
from anagram.statement.integrals import quadrature_over
from anagram.statement.sizes import natural_sizes

if TYPE_CHECKING:
    from anagram.statement.problem import Problem

POWER, SHIFT = 2.0, 1.0  # p and α
NEAREST = 1e-10  # no distance is less, so that M(u) is finite at the known solutions too
TRIED = 64  # points at which a first guess is tried out
TINY = 1e-12  # of its natural size: a solution that is smaller is zero

Values = dict[str, np.ndarray]


def deflated(problem: Problem, known: Sequence[Any], power: float, shift: float) -> dict[str, Condition]:
    """The conditions of a problem with known solutions divided out: all that are not exact are multiplied by M(u)."""
    _check(problem, known, "deflation")
    for name, number, least in (("power", power, 0.0), ("shift", shift, 0.0)):
        if isinstance(number, bool) or not isinstance(number, int | float) or not least < number < np.inf:
            raise ProblemError(f"{name}= of a deflation is a positive number, not {number!r}")
    if problem.is_linear:
        raise ProblemError(
            f"'{problem.name}' is linear and has no other solution to look for; modes of an eigenvalue problem are "
            "found by problem.orthogonal_to(...)"
        )
    distances = [_Distance(problem, one) for one in known]

    def multiplied(key: str) -> Callable[..., Any]:
        condition, what = problem.conditions[key], f"condition '{key}'"

        def operator(**fields: Field) -> tuple[Field, ...]:
            found = call_by_name(condition.operator, fields, f"{what}: the operator")
            components = found if isinstance(found, tuple | list) else (found,)
            factor = 1.0
            for distance in distances:
                factor = factor * (distance(fields) ** (-power / 2) + shift)
            frame = components[0].frame
            sources = [_source_field(problem.sources[key], k, frame, what) for k in range(len(components))]
            return tuple(factor * (c - source) for c, source in zip(components, sources, strict=True))

        return operator

    conditions = dict(problem.conditions)
    for key in problem.soft:
        conditions[key] = Condition(multiplied(key), problem.region(key), 0.0, conditions[key].weight)
    return conditions


def orthogonal(problem: Problem, modes: Sequence[Any]) -> dict[str, Condition]:
    """The conditions of a problem, and one more for each mode: ∫ u u_i = 0."""
    _check(problem, modes, "orthogonality")
    unknown, *others = problem.unknowns
    if others or unknown.is_complex:
        raise ProblemError("orthogonality to modes is for a single unknown that is real")
    conditions = dict(problem.conditions)
    for number, mode in enumerate(modes, start=1):
        product = _Product(problem, mode)
        key = f"orthogonal to mode {number}"
        while key in conditions:
            number += 1  # noqa: PLW2901  (modes that an earlier call has added)
            key = f"orthogonal to mode {number}"
        conditions[key] = Condition(lambda product=product, **fields: product(fields))
    return conditions


def _check(problem: Problem, known: Sequence[Any], what: str) -> None:
    if not known:
        raise ProblemError(f"{what} needs at least one solution that is known")
    for one in known:
        if not callable(one) and not isinstance(one, Mapping):
            raise ProblemError(
                f"{what} needs known solutions: what solve returned, functions of the point, or these by unknown, not "
                f"{one!r}"
            )
    if problem.domain.parameter_axes:
        raise ProblemError(
            f"{what} is for a single problem: every member of a family has solutions of its own, which nothing tells "
            "apart"
        )


def values_at(problem: Problem, known: Any, x: np.ndarray) -> Values:
    """A known solution at points (n, d), by unknown."""
    names = [u.name for u in problem.unknowns]
    if isinstance(known, Mapping):
        missing = [name for name in names if name not in known]
        if missing:
            raise ProblemError(f"a known solution by unknown lacks '{missing[0]}'; it needs {', '.join(names)}")
        return {name: _column(problem, known[name], x) for name in names}
    if parameter_names(known) is not None:
        if len(names) > 1:
            raise ProblemError(f"with several unknowns a known solution is given by name: {{'{names[0]}': ...}}")
        return {names[0]: _column(problem, known, x)}
    own = getattr(getattr(known, "domain", None), "axes", problem.domain.axes)
    if own != problem.domain.axes:
        raise ProblemError(
            f"the known solution is one on the axes {', '.join(own)}, the problem on {', '.join(problem.domain.axes)}"
        )
    found = known(x)
    values = found if isinstance(found, Mapping) else {names[0]: found}
    if set(values) != set(names):
        raise ProblemError(f"the known solution gives {', '.join(values)}, the unknowns are {', '.join(names)}")
    return {name: np.asarray(values[name]) for name in names}


def distance_between(problem: Problem, one: Any, known: Any) -> float:
    """The distance d of a solution from a known one, relative to the size of that."""
    total = scale = 0.0
    for unknown in problem.unknowns:
        quadrature = quadrature_over(unknown.on or problem.domain, None)
        x = quadrature.nodes[:, : len(problem.domain.axes)]
        values, others = (values_at(problem, s, x)[unknown.name] for s in (one, known))
        total += float(quadrature.weights @ np.abs(values - others) ** 2)
        scale += float(quadrature.weights @ np.maximum(np.abs(values), np.abs(others)) ** 2)
    return float(np.sqrt(total / scale)) if scale > 0 else 0.0


def guess_of(problem: Problem, guess: Any) -> Callable[[np.ndarray], Values]:
    """A first guess as a function of points (n, d); it is tried out at some of them."""
    if not callable(guess) and not isinstance(guess, Mapping):
        raise ProblemError(
            f"a first guess is a function of the point, functions by unknown, or a solution, not {guess!r}"
        )
    x = problem.domain.draw(Kronecker(TRIED), np.random.default_rng(0)).x
    for name, values in values_at(problem, guess, x).items():
        if values.shape != (len(x),) or not np.all(np.isfinite(values)):
            raise ProblemError(f"the first guess of '{name}' has no finite value everywhere in {problem.domain!r}")
    return lambda x: values_at(problem, guess, x)


def _column(problem: Problem, function: Any, x: np.ndarray) -> np.ndarray:
    if not callable(function):
        raise ProblemError(f"a known solution is a function of the point, not {function!r}")
    if parameter_names(function) is None:
        return np.asarray(function(x))
    return evaluate_function(function, problem.domain.axes, x, "a known solution")[0]


class _Overlap:
    """Integrals over the domain of expressions in an unknown and in the values of a known solution at the nodes."""

    def __init__(self, problem: Problem, known: Any) -> None:
        self.axes = problem.domain.axes
        self.parts: list[tuple[str, Quadrature, bool]] = []
        self.norms: dict[str, float] = {}
        self.measures: dict[str, float] = {}
        for unknown in problem.unknowns:
            region: Region = unknown.on or problem.domain
            quadrature = quadrature_over(region, None, "Ω")
            x = quadrature.nodes[:, : len(self.axes)]
            values = values_at(problem, known, x)[unknown.name]
            if not np.all(np.isfinite(values)):
                raise ProblemError(f"a known solution is not finite everywhere in {region!r}")
            columns = [np.real(values), np.imag(values)] if unknown.is_complex else [np.real(values)]
            nodes = np.column_stack([x, *columns])
            self.parts.append((unknown.name, Quadrature(nodes, quadrature.weights, "Ω"), unknown.is_complex))
            self.norms[unknown.name] = float(quadrature.weights @ np.abs(values) ** 2)
            self.measures[unknown.name] = float(quadrature.weights.sum())

    def total(self, fields: Mapping[str, Field], integrand: Callable[[Field, Field, bool], Field]) -> Field:
        """Σ ∫ integrand(u, u_i) over all unknowns."""
        total: Field | None = None
        for name, quadrature, is_complex in self.parts:
            frame = fields[name].frame
            variables = [Variable(axis) for axis in self.axes]
            there = moved(fields[name].node, tuple((frame.index(v.name), v) for v in variables))
            known = [Variable("known"), Variable("known, imaginary")][: 1 + is_complex]
            parts = [Field(variable, Frame(())) for variable in known]
            value = parts[0] + 1j * parts[1] if is_complex else parts[0]
            inner = integrand(Field(there, frame), value, is_complex)
            one = Field(Integral(inner.node, [*variables, *known], quadrature), frame)
            total = one if total is None else total + one
        assert total is not None
        return total


class _Distance(_Overlap):
    """d² of a field from a known solution, relative to the size of that."""

    def __init__(self, problem: Problem, known: Any) -> None:
        super().__init__(problem, known)
        sizes = natural_sizes(problem)
        first = np.cumsum([0, *(u.components for u in problem.unknowns)])
        natural = {u.name: sizes.size[k] for u, k in zip(problem.unknowns, first, strict=False)}
        # The distance from a solution that is zero is not relative to it.
        least = sum(natural[name] ** 2 * measure for name, measure in self.measures.items())
        norm = sum(self.norms.values())
        self.scale = norm if norm > TINY**2 * least else least

    def __call__(self, fields: Mapping[str, Field]) -> Field:
        square = self.total(fields, lambda u, known, is_complex: _square(u - known, is_complex)) / self.scale
        return square + NEAREST**2


def _square(u: Field, is_complex: bool) -> Field:
    return u.real**2 + u.imag**2 if is_complex else u**2


class _Product(_Overlap):
    """∫ u u_i / ∫ u_i²."""

    def __call__(self, fields: Mapping[str, Field]) -> Field:
        norm = sum(self.norms.values())
        if not norm > 0:
            raise ProblemError("a mode that is zero has nothing that could be orthogonal to it")
        return self.total(fields, lambda u, known, _: u * known) / norm


def _source_field(source: Any, component: int, frame: Frame, what: str) -> Field:
    """One component of a source as a field: a deflated residual is the operator without it, multiplied."""
    if isinstance(source, int | float | complex | np.number):
        return Field(Number(source), frame)
    function = source_at(source, component, what, "deflation")
    return Field(Leaf(FunctionSource(lambda x: jnp.asarray(function(x)), "f"), "", (0,) * len(frame.axes)), frame)
