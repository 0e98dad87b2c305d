"""The end of runs with noisy data: the fit settles, and the summary says how sure it is."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from anagram.climbing.result import measure
from anagram.errors import DataWarning
from anagram.solution import Solution
from anagram.statement.domains import Kronecker
from anagram.statement.problem import Problem
from anagram.tangent.settling import Settled, Settling
from anagram.tangent.uncertainty import Uncertainty, to_json, uncertainty_of

POINTS = 512  # on which errors of fields are looked at


def settle(solution: Solution, trained: Problem) -> Solution:
    """Settle a solution of a problem with noisy data, if it is one; anything else is returned as it is.

    `trained` is the problem as it was trained, perhaps in natural sizes.
    """
    problem = solution.problem
    if problem is None or not problem.measured or solution.failed:
        return solution
    moved = None if solution.batch is None else (trained, solution.batch)
    settling = Settling(problem, solution.model, trained=moved)
    settled = settling(solution.theta)
    estimated = [key for key in problem.measured if isinstance(problem.conditions[key].noise, str)]
    found = uncertainty_of(settled, estimated)
    solution.theta = settled.theta
    solution.keep_posterior(settled.posterior)
    _write(solution, settled, found)
    measure(solution, trained, solution.summary["seed"])
    for finding in found.findings:
        warnings.warn(finding, DataWarning, stacklevel=3)
    return solution


def _write(solution: Solution, settled: Settled, found: Uncertainty) -> None:
    """Into the summary: values, standard errors, and the relative error that they amount to."""
    summary = solution.summary
    summary["coefficients"] = dict(found.values)
    summary["uncertainty"] = to_json(settled, found)
    value, relative, worst = _errors(solution, settled, found)
    summary["error_estimate"] = {
        "value": value,
        "relative": relative,
        "reliable": not found.findings,
        "reasons": list(found.findings),
        "coefficients": found.std,
    }
    summary["relative_error_estimate"] = worst
    tol = summary.get("tol")
    if tol:
        summary["reached"] = bool(worst <= tol and not found.findings)
        summary.pop("missing", None)
        if summary["reached"]:
            summary["stopped_because"] = "tolerance reached"
        else:
            wrong = "; ".join(found.findings)
            summary["missing"] = (
                f"the data determine what is sought to within {worst:.1e}"
                + (f"; {wrong}" if wrong else "")
                + "; more data, or data with less noise, would help"
            )


def _errors(solution: Solution, settled: Settled, found: Uncertainty) -> tuple[float, float, float]:
    """Root mean square standard error of the fields, that relative to them, and the worst of all that is sought."""
    squares, sizes, ratios = 0.0, 0.0, [0.0]
    for region, unknowns in solution.model.sought.by_region:
        x = region.draw(Kronecker(POINTS), np.random.default_rng(0)).x
        values: Any = solution(x)
        values = values if isinstance(values, dict) else {unknowns[0].name: values}
        errors = settled.posterior.std(x)
        for unknown in unknowns:
            error, size = np.mean(errors[unknown.name] ** 2), np.mean(np.abs(values[unknown.name]) ** 2)
            squares, sizes = squares + error, sizes + size
            ratios.append(float(np.sqrt(error / max(size, np.finfo(float).tiny))))
    ratios += [std / max(abs(found.values[name]), np.finfo(float).tiny) for name, std in found.std.items()]
    size = float(np.sqrt(sizes))
    value = float(np.sqrt(squares))
    return value, value / max(size, np.finfo(float).tiny), float(max(ratios))
