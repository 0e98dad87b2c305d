"""Solutions: callable fields with their history, their errors, their plots and their files."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from anagram import catalogue
from anagram.errors import EstimateWarning, ProblemError
from anagram.keeping.solutions import read_solution, save
from anagram.showing import export
from anagram.statement.evaluation import evaluate
from anagram.statement.problem import Problem
from anagram.tangent import TangentSpace
from anagram.tangent.along import ErrorsAlong, chosen_axis, points_along, relative_along
from anagram.tangent.estimate import ErrorEstimate, estimate_error, warn_if_unreliable, warn_of_doubt
from anagram.tangent.posterior import Posterior
from anagram.tangent.settling import Settling
from anagram.tangent.uncertainty import LEVEL, Uncertainty, from_json, quantile
from anagram.training.reached import Reached, without


class Solution(Reached):
    """u_θ at the end of a run.

    Call it like the function it is: ``solution(t=0.5, x=0.25)``, ``solution(0.5, 0.25)``, on arrays that
    broadcast, or on an array of points (n, d). With several unknowns the result is a dictionary by name, and
    ``solution["v"]`` is one of them as a function. Of a family, ``solution.at(nu=0.03)`` is one member.
    """

    @classmethod
    def of(cls, reached: Reached) -> Solution:
        """What was reached, as a solution."""
        if isinstance(reached, cls):
            return reached
        solution = cls(
            reached.problem, reached.model, reached.theta, reached.history, reached.summary, reached.configuration
        )
        solution.folder, solution.batch = reached.folder, reached.batch
        return solution

    # -- what is estimated ----------------------------------------------------------------------------
    @property
    def error_estimate(self) -> float:
        """The estimated root mean square of u_θ − u*; a warning says when it is not to be relied on.

        See `estimate_error` for what it rests on.
        """
        noted = self.summary.get("error_estimate")
        if isinstance(noted, Mapping) and noted.get("value") is not None:
            if not noted.get("reliable"):
                warn_of_doubt(noted["value"], noted.get("reasons") or ())
            return noted["value"]
        if self.problem is None and isinstance(noted, Mapping) and noted.get("reasons"):
            raise ProblemError(
                f"the error of this solution was not estimated: {'; '.join(noted['reasons'])}. To estimate it now, "
                "pass load(..., problem=problem)"
            )
        warn_if_unreliable(self._estimate)
        return self._estimate.value

    @property
    def relative_error_estimate(self) -> float | None:
        """The estimated relative error, the largest among the unknowns and coefficients; None if it was not made."""
        known = self.summary.get("relative_error_estimate")
        return self.noted_estimate.get("relative") if known is None else known

    @property
    def tol(self) -> float | None:
        """The relative error that was aimed at; None if none was."""
        return self.summary.get("tol")

    @property
    def reached(self) -> bool | None:
        """Whether the estimated error is below the tolerance, and can be relied on; None if there was no tolerance."""
        return self.summary.get("reached")

    @property
    def rungs(self) -> list[dict[str, Any]]:
        """What was tried, network after network: size, points, estimate, seconds."""
        return list(self.summary.get("rungs") or ())

    @property
    def error_field(self) -> Callable[..., Any]:
        """The estimate of u_θ − u* as a function, to be called like the solution itself.

        A warning says when it is not to be relied on.
        """
        warn_if_unreliable(self._estimate)
        direction = jnp.asarray(self._estimate.direction)

        def at(theta: jax.Array, point: jax.Array) -> list[jax.Array]:
            def values(t: jax.Array) -> list[jax.Array]:
                fields = self.model.quantities(t, self.domain.frame)
                return [fields[u.name].at(point) for u in self.model.sought.unknowns]

            return jax.jvp(values, (theta,), (direction,))[1]

        compiled = jax.jit(jax.vmap(at, (None, 0)))
        return lambda *coordinates, **named: self._named(compiled, coordinates, named)

    def errors_along(self, axis: str | None = None, places: Any = None) -> ErrorsAlong:
        """Estimated relative errors along an axis, by default along the parameter of a family: which member is worst.

        Args:
            axis: a parameter, or any other axis of a box.
            places: where along it; evenly spread if left out.

        A warning says when the estimate is not to be relied on.
        """
        axis = chosen_axis(self.domain, axis)
        along, x = points_along(self.domain, axis, places)
        names = [u.name for u in self.model.sought.unknowns]
        share = self._estimate.value / self._estimate.seen if self._estimate.seen > 0 else 1.0
        values, errors = (_by_name(names, of(x)) for of in (self, self.error_field))
        estimated = share * relative_along(errors, values, len(along))
        exact = None if self.problem is None else self.problem.exact(x)
        if exact is None:
            return ErrorsAlong(axis, along, estimated)
        off = {name: values[name] - known for name, known in exact.items()}
        return ErrorsAlong(axis, along, estimated, relative_along(off, exact, len(along)))

    def note_worst_members(self, estimate: ErrorEstimate) -> None:
        """Put into the summary of a family which value of each parameter is worst by an estimate that was made."""
        if (
            not self.domain.parameter_axes
            or estimate.direction.shape != self.theta.shape
            or not estimate.direction.any()
        ):
            return  # other networks were compared, on all members together
        vars(self)["_estimate"] = estimate
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EstimateWarning)  # the estimate itself says so
            found = [self.errors_along(axis) for axis in self.domain.parameter_axes]
        self.summary["worst_members"] = {e.axis: dict(zip(("at", "relative"), e.worst, strict=True)) for e in found}

    def estimate_error(self, points: int | None = None, seed: int = 0) -> ErrorEstimate:
        """The estimate with all it rests on, on fresh points; see `anagram.tangent.estimate`."""
        count = self.summary.get("points") if points is None else points
        return estimate_error(self.stated_problem(), self.model, self.theta, count, seed)

    @functools.cached_property
    def _estimate(self) -> ErrorEstimate:
        return self.estimate_error()

    @property
    def noted_estimate(self) -> Mapping[str, Any]:
        computed = vars(self).get("_estimate")
        return super().noted_estimate or ({} if computed is None else vars(computed))

    def tangent_space(self, points: Any = None, **options: Any) -> TangentSpace:
        """The tangent space at these parameters: kernels and Green's function."""
        return TangentSpace(self.stated_problem(), self.model, self.theta, points, **options)

    # -- what data leave open -------------------------------------------------------------------------
    def uncertainty(self) -> Uncertainty:
        """Standard errors, correlations and intervals of the coefficients, from data with noise."""
        kept = self.summary.get("uncertainty")
        if kept is None:
            raise ProblemError(
                "nothing is known of errors by noise: give the conditions with measured values noise=, a standard "
                "deviation or 'estimate', and solve again"
            )
        return from_json(kept, list(self.model.sought.coefficients), dict(self.coefficients))

    def std(self, *coordinates: Any, **named: Any) -> Any:
        """The standard error of the unknown at points, by the noise of the data; a dictionary if there are several."""
        return self._spread(1.0, coordinates, named)

    def band(self, *coordinates: Any, level: float = LEVEL, **named: Any) -> Any:
        """Between which values the unknown lies at points with this probability: a pair of arrays.

        With several unknowns a dictionary of pairs. At each point by itself: a band as a whole is left more often.
        """
        reach = self._spread(quantile(level, self.uncertainty().freedom), coordinates, named)
        values = self(*coordinates, **named)
        if isinstance(values, dict):
            return {name: (values[name] - reach[name], values[name] + reach[name]) for name in values}
        return values - reach, values + reach

    def std_of(self, operator: Callable[..., Any], *coordinates: Any, **named: Any) -> Any:
        """The standard error of an operator of the solution: ``solution.std_of(lambda k: np.exp(k), x=0.5)``."""
        called, posterior = self._called(operator), self.posterior
        x, shape, hidden = self._points(coordinates, named)

        def at(units: Any, theta: jax.Array, point: jax.Array) -> jax.Array:
            def values(t: jax.Array) -> list[jax.Array]:
                result = called(self.model.placed(units).quantities(t, self.domain.frame))
                fields = result if isinstance(result, tuple | list) else (result,)
                return evaluate([field.node for field in fields], point)

            return jnp.stack(jax.jacrev(values)(theta))

        errors = posterior.std_by(at, x)
        arrays = [without(column, hidden).reshape(shape) for column in errors.T]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def _spread(self, factor: float, coordinates: tuple[Any, ...], named: dict[str, Any]) -> Any:
        x, shape, hidden = self._points(coordinates, named)
        sought = self.model.sought
        found = {
            name: without(sought.only_own(name, x, factor * values), hidden).reshape(shape)
            for name, values in self.posterior.std(x).items()
        }
        return next(iter(found.values())) if len(found) == 1 else found

    def keep_posterior(self, posterior: Posterior) -> None:
        """Remember the posterior that a run ended with."""
        self._posterior = posterior

    @property
    def posterior(self) -> Posterior:
        """The linearised posterior of all parameters; made again, on fresh points, where the solution was loaded."""
        known = vars(self).get("_posterior")
        if known is None:
            self.uncertainty()  # an error that says what is missing
            known = Settling(self.stated_problem(), self.model).posterior_of(self.theta, self.summary["uncertainty"])
            self.keep_posterior(known)
        return known

    def plot_uncertainty(self, path: str | Path | None = None) -> Any:
        """A picture of coefficients with their intervals, and of fields with their bands."""
        from anagram.showing.report.uncertainty import uncertainty_figure

        return uncertainty_figure(self, path)

    # -- pictures and files ---------------------------------------------------------------------------
    def plot(self, path: str | Path | None = None) -> Any:
        """A picture of the solution, its error and its residual; returns the figure, writes it if told where."""
        from anagram.showing.report.figures import solution_figure

        return solution_figure(self, path)

    def plot_convergence(self, path: str | Path | None = None) -> Any:
        """A picture of losses, error and step sizes over the run."""
        from anagram.showing.report.figures import convergence_figure

        return convergence_figure(self, path)

    def _repr_html_(self) -> str:
        """For notebooks: equations, numbers and a picture."""
        from anagram.showing.notebook import solution_html

        return solution_html(self)

    # -- elsewhere ------------------------------------------------------------------------------------
    def to_numpy(self, grid: Any, operators: Any = None, *, at: Any = None) -> dict[str, Any]:
        """Coordinates by axis and values by name on a tensor grid; see `anagram.showing.export.grid_values`."""
        return export.to_numpy(self, grid, operators, at=at)

    def to_xarray(self, grid: Any, operators: Any = None, *, at: Any = None) -> Any:
        """An `xarray.Dataset` on a tensor grid (extra ``xarray``)."""
        return export.to_xarray(self, grid, operators, at=at)

    def to_netcdf(self, path: str | Path, grid: Any, operators: Any = None, *, at: Any = None) -> Path:
        """Write a NetCDF file (extra ``netcdf``)."""
        return export.to_netcdf(self, path, grid, operators, at=at)

    def to_vtk(
        self, path: str | Path, grid: Any, operators: Any = None, *, at: Any = None, time: str | None = "t"
    ) -> Path:
        """Write a file for ParaView, or a series of them over time; returns the one to open."""
        return export.to_vtk(self, path, grid, operators, at=at, time=time)

    def as_function(self, *, with_parameters: bool = False) -> Any:
        """The solution as a pure function of JAX, or the pair of a function of (θ, coordinates...) and θ."""
        return export.as_function(self, with_parameters=with_parameters)

    def save(self, folder: str | Path) -> Path:
        """Write ``solution.safetensors``, ``run.json`` and ``metrics.jsonl`` into a folder, for `anagram.load`.

        An error that was estimated since is written with them.
        """
        computed = vars(self).get("_estimate")
        if computed is not None and not self.summary.get("error_estimate"):
            self.summary["error_estimate"] = computed.as_json()
        return save(self, folder)


def _by_name(names: list[str], values: Any) -> dict[str, Any]:
    return values if isinstance(values, dict) else {names[0]: values}


def load(folder: str | Path, problem: Problem | None = None, model: Any = None) -> Solution:
    """Read a solution that `Solution.save` or the command line wrote.

    Args:
        folder: the folder of the run.
        problem: the problem it solves, needed for residuals and errors only; problems of the catalogue
            are found by name.
        model: the module the parameters belong to, needed only if it was not made by a recipe of this package.
    """
    return Solution.of(read_solution(folder, problem, model, find=catalogue.find))
