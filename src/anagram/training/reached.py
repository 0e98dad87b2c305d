"""What a run has reached: parameters with their model, history and summary, and values of the fields they stand for."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch
from anagram.compound.reuse import quick_jit, reuse, traced_text
from anagram.errors import ProblemError
from anagram.models import ParametricModel
from anagram.statement.arguments import broadcast_columns, call_by_name
from anagram.statement.condition import describe_point, source_rows
from anagram.statement.domains import Domain, Kronecker, Region
from anagram.statement.domains.domain import OUTSIDE
from anagram.statement.evaluation import evaluate
from anagram.statement.fields import Field, parameters_in
from anagram.statement.integrals import quadrature_over
from anagram.statement.problem import Problem
from anagram.training.coefficient import Coefficient
from anagram.training.history import History
from anagram.training.member import Member

CHUNK = 65_536  # points evaluated at once, at most
CALLS = 5  # of which the shortest says how long one takes
SIZES = (0, 1, 64, 1024, 8192, 32_768, CHUNK)  # of chunks; they are filled up with copies of a point


class Reached:
    """u_θ, with all that is known about it. It is called like the function it is; see `anagram.Solution`."""

    def __init__(
        self,
        problem: Problem | None,
        model: ParametricModel,
        theta: np.ndarray,
        history: History,
        summary: dict[str, Any],
        configuration: dict[str, Any] | None = None,
    ) -> None:
        self.problem = problem
        self.model = model
        self.theta = theta
        self.history = history
        self.summary = summary
        self.configuration = configuration
        self.folder: Path | None = None  # where it was saved, if it was
        self.batch: Batch | None = None  # the points it was trained on, where they have moved

    # -- what is known about it -----------------------------------------------------------------------
    @property
    def domain(self) -> Domain:
        """Where it is defined."""
        return self.model.sought.domain

    def stated_problem(self) -> Problem:
        """The problem it solves; an error if it was loaded without one."""
        if self.problem is None:
            raise ProblemError("this solution was loaded without its problem: pass load(..., problem=problem)")
        return self.problem

    @property
    def loss(self) -> float:
        """ℓ on the training points."""
        return self.summary["loss"]

    @property
    def validation_loss(self) -> float:
        """ℓ on fresh points."""
        return self.summary["validation_loss"]

    @property
    def l2_error(self) -> float | None:
        """Root mean square error against the known solution, or None."""
        return self.summary["l2_error"]

    @property
    def relative_l2_error(self) -> float | None:
        """The same divided by the root mean square of the solution."""
        return self.summary["relative_l2_error"]

    @property
    def stopped_because(self) -> str:
        """Why the run ended."""
        return self.summary["stopped_because"]

    @property
    def failed(self) -> bool:
        """Whether the run ended because numbers were not finite."""
        return self.stopped_because.startswith("failed")

    @property
    def noted_estimate(self) -> Mapping[str, Any]:
        """What is known of the estimated error already; nothing is computed for it."""
        return self.summary.get("error_estimate") or {}

    @property
    def coefficients(self) -> dict[str, Coefficient]:
        """The learned coefficients: numbers, with standard errors (`.std`) where they come from noisy data."""
        errors = (self.summary.get("uncertainty") or {}).get("coefficients", {})
        found = self.model.coefficients(jnp.asarray(self.theta))
        return {name: Coefficient(value, errors.get(name)) for name, value in found.items()}

    # -- values ---------------------------------------------------------------------------------------
    def __call__(self, *coordinates: Any, **named: Any) -> Any:
        """The unknown at points; a dictionary by name if there are several.

        It is NaN where it does not live. Outside of the domain nothing was learned, and points there are an error,
        unless ``outside="nan"`` or ``outside="extrapolate"`` is given: no value, or that of the network all the same.
        """
        return self._named(self._unknowns, coordinates, named)

    def _named(self, compiled: Callable[..., Any], coordinates: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Values of all unknowns at points; those of a single one alone."""
        x, shape, hidden = self._points(coordinates, named)
        names = [u.name for u in self.model.sought.unknowns]
        found = [self.model.sought.only_own(n, x, v) for n, v in zip(names, self._chunks(compiled, x), strict=True)]
        values = [without(v, hidden) for v in found]
        shaped = {n: v.reshape(shape) for n, v in zip(names, values, strict=True)}
        return shaped[names[0]] if len(names) == 1 else shaped

    def at(self, **held: Any) -> Member:
        """One member of a family as a function of the coordinates alone: ``solution.at(nu=0.03)(t=0.5, x=0.1)``."""
        return Member(self, held)

    def seconds(self, points: int = 1) -> float:
        """How long a call at so many points takes, in seconds, once it is compiled: the shortest of a few calls."""
        if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 1:
            raise ProblemError(f"points is a whole number, at least 1, not {points!r}")
        x = self.domain.draw(Kronecker(int(points)), np.random.default_rng(0)).x
        self(x)
        return min(_timed(lambda: self(x)) for _ in range(CALLS))

    def __getitem__(self, unknown: str) -> Callable[..., np.ndarray]:
        """One unknown as a function: ``solution["v"](x=0.5)``."""
        names = [u.name for u in self.model.sought.unknowns]
        if unknown not in names:
            raise ProblemError(f"there is no unknown '{unknown}'; there are {', '.join(names)}")

        def values(*coordinates: Any, **named: Any) -> np.ndarray:
            x, shape, hidden = self._points(coordinates, named)
            found = self._chunks(self._compiled(lambda fields: fields[unknown]), x)[0]
            return without(self.model.sought.only_own(unknown, x, found), hidden).reshape(shape)

        return values

    def evaluate(self, operator: Callable[..., Any], *coordinates: Any, **named: Any) -> Any:
        """An operator applied to the solution, at points: ``solution.evaluate(lambda u: u.d("x"), t=0.5, x=0.1)``.

        An operator that returns several fields gives a tuple of arrays. Points outside of the domain are treated as
        those that the solution itself is called with.
        """
        called = self._called(operator)
        x, shape, hidden = self._points(coordinates, named)
        values = self._chunks(self._compiled(called), x)
        arrays = [without(v, hidden).reshape(shape) for v in values]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def integral(self, operator: Callable[..., Any], over: Region | None = None, nodes: Any = None) -> Any:
        """The integral of an operator of the solution over a region, such as the flux through a wall.

        ``solution.integral(lambda u: u.normal_derivative(), over=domain.boundary("wall"))``

        Args:
            operator: maps the unknowns to a field, or to several, which gives a tuple of numbers. On parts of the
                boundary it knows the outward normal.
            over: a region of the domain; all of it if left out.
            nodes: Gauss–Legendre nodes on every axis, or a rule, as in `anagram.integral`.
        """
        parameters = self.domain.parameter_axes
        if parameters:
            raise ProblemError(
                f"an integral is that of one member of the family: solution.at({parameters[0]}=...).integral(...)"
            )
        return self.integral_over(operator, self.domain, {}, over, nodes)

    def integral_over(
        self, operator: Callable[..., Any], domain: Domain, held: Mapping[str, float], over: Region | None, nodes: Any
    ) -> Any:
        """The same for one member of a family: on its own domain, with the values of its parameters."""
        x, weights, normal = self._nodes(domain, over, nodes)
        x, normal = (
            self._with_held(x, held),
            None if normal is None else self._with_held(normal, dict.fromkeys(held, 0.0)),
        )
        compiled = self._compiled(self._called(operator), with_normal=normal is not None)
        values = self._chunks(compiled, *((x,) if normal is None else (x, normal)))
        sums = [(weights @ v).item() for v in values]
        return sums[0] if len(sums) == 1 else tuple(sums)

    def _with_held(self, x: np.ndarray, held: Mapping[str, float]) -> np.ndarray:
        """Points (n, d) with a column more for each axis that is held."""
        rest = iter(x.T)
        columns = [np.full(len(x), held[axis]) if axis in held else next(rest) for axis in self.domain.axes]
        return np.stack(columns, axis=1)

    @staticmethod
    def _nodes(domain: Domain, over: Region | None, nodes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Nodes of a quadrature over a region, with weights, and normals where it has them."""
        if over is not None and not isinstance(over, Region):
            raise ProblemError(f"over= is a region such as domain.boundary(), not {over!r}")
        region, axes = domain if over is None else over, domain.axes
        if region.axes != axes:
            raise ProblemError(
                f"{region!r} has the axes {', '.join(region.axes)}, the solution {', '.join(axes)}: take a region of "
                "its domain"
            )
        quadrature = quadrature_over(region, nodes)
        x, normal = quadrature.nodes[:, : len(axes)], quadrature.nodes[:, len(axes) :]
        if not domain.covers(x).all():
            raise ProblemError(f"{region!r} lies outside of {domain!r}, where the solution means nothing")
        return x, quadrature.weights, normal if normal.size else None

    def residual(self, condition: str, x: np.ndarray) -> np.ndarray:
        """|D(u_θ) − f| of a condition at points (n, d) of its region (Euclidean norm over components)."""
        x = np.asarray(x, dtype=float)
        problem = self.stated_problem()
        if condition not in problem.conditions:
            known = ", ".join(problem.conditions)
            raise ProblemError(f"there is no condition '{condition}'; there are {known}")
        region = problem.region(condition)
        compound, normal = Compound(problem, self.model), region.normal_at(x)

        def rows_at(numbers: Any, theta: jax.Array, point: jax.Array, direction: jax.Array) -> jax.Array:
            bound = compound.with_numbers(numbers)
            return bound.operator_rows(condition, theta, point, None if normal is None else direction)

        rows_of = reuse(
            f"rows {condition} {compound.fingerprint}", lambda: _for_any_size(jax.vmap(rows_at, (None, None, 0, 0)))
        )

        def compiled(theta: jax.Array, points: jax.Array, directions: jax.Array) -> list[jax.Array]:
            return [rows_of(compound.numbers, theta, points, directions)]

        rows = self._chunks(compiled, x, x if normal is None else normal)[0]
        what = f"condition '{condition}'"
        source = source_rows(problem.sources[condition], region, x, problem.components[condition], what)
        return np.linalg.norm(rows - source, axis=1)

    def residual_inside(self, condition: str, x: np.ndarray) -> np.ndarray:
        """The same at any points (n, d) of the domain: NaN where the condition does not hold."""
        inside = self.stated_problem().region(condition).contains(x)
        values = np.full(len(x), np.nan)
        if inside.any():
            values[inside] = self.residual(condition, x[inside])
        return values

    @functools.cached_property
    def _unknowns(self) -> Callable[..., list[jax.Array]]:
        names = [u.name for u in self.model.sought.unknowns]
        return self._compiled(lambda fields: tuple(fields[name] for name in names))

    @staticmethod
    def _called(operator: Callable[..., Any]) -> Callable[[dict[str, Field]], Any]:
        """An operator as a function of all fields."""
        if not callable(operator):
            raise ProblemError(f"an operator is a function of fields, as in lambda u: u.d('x'), not {operator!r}")
        return lambda fields: call_by_name(operator, fields, "the operator")

    def _compiled(
        self, operator: Callable[[dict[str, Field]], Any], *, with_normal: bool = False
    ) -> Callable[..., list[jax.Array]]:
        """What an operator makes of the fields, as a function of θ, points and, if they are known, normals."""

        def at(units: Any, theta: jax.Array, point: jax.Array, *normal: jax.Array) -> list[jax.Array]:
            frame = replace(self.domain.frame, normal=normal[0]) if normal else self.domain.frame
            result = operator(self.model.placed(units).quantities(theta, frame) | parameters_in(frame))
            fields = result if isinstance(result, tuple | list) else (result,)
            for field in fields:
                if not isinstance(field, Field):
                    raise ProblemError(
                        f"the operator must return a field made from the unknowns, not {type(field).__name__}"
                    )
            return evaluate([field.node for field in fields], point)

        columns, units = 1 + with_normal, self.model.placement
        point = jax.ShapeDtypeStruct((self.domain.dimension,), float)
        text = traced_text(at, units, self.model.theta, *[point] * columns)
        mapped = jax.vmap(at, (None, None, *[0] * columns))
        return functools.partial(reuse(f"values {text}", lambda: _for_any_size(mapped)), units)

    def _chunks(self, compiled: Callable[..., list[jax.Array]], *columns: np.ndarray) -> list[np.ndarray]:
        """Evaluate at points chunk by chunk; chunks have few sizes, for each of which functions are compiled once."""
        theta, count = jnp.asarray(self.theta), len(columns[0])
        found = []
        # At least one chunk, so that no points give arrays of no values.
        for start in range(0, max(1, count), CHUNK):
            parts = [np.asarray(column[start : start + CHUNK]) for column in columns]
            size = len(parts[0])
            room = next(s for s in SIZES if s >= size)
            filled = [np.concatenate([p, np.repeat(p[-1:], room - size, axis=0)]) for p in parts]
            found.append([np.asarray(values)[:size] for values in compiled(theta, *filled)])
        return [np.concatenate([values[k] for values in found]) for k in range(len(found[0]))]

    def _points(
        self, coordinates: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[np.ndarray, tuple[int, ...], np.ndarray | None]:
        """Points (n, d), the shape of what is given at them, and which of them are to have no value."""
        outside = named.get("outside", "raise")
        x, shape = self._located(coordinates, {axis: values for axis, values in named.items() if axis != "outside"})
        if not isinstance(outside, str) or outside not in OUTSIDE:
            raise ProblemError(f"outside= takes {', '.join(map(repr, OUTSIDE))}, not {outside!r}")
        if outside == "extrapolate":
            return x, shape, None
        covered = self.domain.covers(x)
        if outside == "nan":
            return x, shape, None if covered.all() else ~covered
        if not covered.all():
            count, first = int((~covered).sum()), describe_point(self.domain.axes, x[np.argmin(covered)])
            raise ProblemError(
                f"the solution means nothing outside of {self.domain!r}: {count} of {len(x)} points lie there, the "
                f"first one at {first}; outside='nan' gives no value there, outside='extrapolate' that of the network"
            )
        return x, shape, None

    def _located(self, coordinates: tuple[Any, ...], named: dict[str, Any]) -> tuple[np.ndarray, tuple[int, ...]]:
        axes = self.domain.axes
        if len(coordinates) == 1 and not named and np.ndim(coordinates[0]) >= (1 if len(axes) > 1 else 2):
            x = np.asarray(coordinates[0], dtype=float)
            if x.shape[-1] != len(axes):
                raise ProblemError(
                    f"an array of points needs {len(axes)} columns ({', '.join(axes)}), it has {x.shape[-1]}"
                )
            return x.reshape(-1, len(axes)), x.shape[:-1]
        given = dict(zip(axes, coordinates, strict=False)) | named
        if len(coordinates) + len(named) != len(axes) or set(given) != set(axes):
            raise ProblemError(f"a point needs exactly the coordinates {', '.join(axes)}")
        columns = broadcast_columns(given, axes)
        return np.stack([c.ravel() for c in columns], axis=1), columns[0].shape

    def __repr__(self) -> str:
        error = "" if self.l2_error is None else f", l2 error {self.l2_error:.2e}"
        # Losses that were not finite are null in files.
        loss, fresh = ("unknown" if v is None else f"{v:.2e}" for v in (self.loss, self.validation_loss))
        return (
            f"{type(self).__name__}({self.summary['problem']}: {self.summary['steps']} steps, loss {loss}, "
            f"validation loss {fresh}{error}; {self.stopped_because})"
        )


def _timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def without(values: np.ndarray, hidden: np.ndarray | None) -> np.ndarray:
    """Values, but none at hidden points."""
    return values if hidden is None else np.where(hidden, np.nan, values)


def _for_any_size(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled soon for few points, and to run fast for many; the last argument has the points."""
    few, many = quick_jit(function), jax.jit(function)
    return lambda *arguments: (many if len(arguments[-1]) >= CHUNK else few)(*arguments)
