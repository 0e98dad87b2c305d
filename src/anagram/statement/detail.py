"""How fine a solution may be, by the problem's own account and before anything is trained.

Sources and data are known functions: the number of polynomials that they need along an axis says how narrow their
bumps are. A nonlinear equation makes fronts of its own, as thin as its highest derivatives allow: they are where these
outweigh all other terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.condition import source_rows
from anagram.statement.domains import Box, Domain, Face, GaussLegendre, Periodic, PointSet, Region
from anagram.statement.problem import Problem
from anagram.statement.sizes import Sizes, Trial, unknowns_in

NODES = {1: 128, 2: 64}  # on every axis of a region of this dimension, on which sources are looked at
FAITHFUL = 1e-2  # of a source, root mean square, may be left out by polynomials
NEGLIGIBLE = 0.1  # sources that are smaller than this part of the rows of their condition are measured by those
SHORTEST = 2.0**14  # half waves along an axis: there nothing but the highest derivatives is left
FINER = 2**0.5  # times as many half waves, from one look to the next
SHARE = 0.5  # of the rows is that of the highest derivatives where they outweigh the others


@dataclass(frozen=True)
class Detail:
    """How fine things are along the axis on which they are finest.

    Attributes:
        data: polynomials that sources need, to two digits; at most as many as they were looked at with.
        operator: half waves along the domain from which the highest derivatives of an equation outweigh its other
            terms.
    """

    data: float = 0.0
    operator: float = 0.0


def detail_of(problem: Problem, sizes: Sizes) -> Detail:
    """The detail of a problem in two dimensions.

    In one dimension small networks find out sooner, and in more nothing is looked at: there are too many points.
    """
    if problem.domain.dimension != 2:
        return Detail()
    return Detail(detail_of_data(problem, sizes), detail_of_operators(problem, sizes))


def detail_of_data(problem: Problem, sizes: Sizes) -> float:
    """How many polynomials the sources of the conditions need along an axis, to two digits."""
    found = 0.0
    for key in problem.conditions:
        whole = problem.region(key)
        for region in () if is_constant(problem.sources[key]) else boxes_of(whole):
            if region.dimension:
                found = max(found, _polynomials(problem, key, region, np.asarray(sizes.rows[key])))
    return found


def detail_of_operators(problem: Problem, sizes: Sizes) -> float:
    """With how many half waves along an axis the highest derivatives outweigh the other terms of the equations.

    Each unknown is looked at alone, the others at rest: a pressure makes no fronts of a velocity.
    """
    trial = Trial(problem)
    # Both parts of a complex unknown have the same offset and size.
    first = np.cumsum([0, *(u.components for u in problem.unknowns)])
    offset = {u.name: sizes.offset[k] for u, k in zip(problem.unknowns, first, strict=False)}
    natural = {u.name: sizes.size[k] for u, k in zip(problem.unknowns, first, strict=False)}
    dimension, found = problem.domain.dimension, 1.0
    for key in problem.conditions:
        if isinstance(problem.region(key), PointSet) or problem.region(key).dimension < dimension:
            continue
        for name, amplitude in natural.items():
            alone, orders = {**dict.fromkeys(natural, 0.0), name: amplitude}, _orders(problem, key, name)
            for axis in range(dimension):
                found = max(found, _outweighed(trial, key, offset, alone, axis, orders[:, axis]))
    return found


def _outweighed(
    trial: Trial, key: str, offset: dict[str, float], size: dict[str, float], axis: int, order: np.ndarray
) -> float:
    """Half waves along an axis from which the derivatives of this order outweigh the rest of all components."""

    def rows(waves: float) -> np.ndarray:
        along = [waves if k == axis else 1.0 for k in range(trial.problem.domain.dimension)]
        return trial.response(key, offset, size, along)

    highest, waves = rows(SHORTEST) / SHORTEST**order, 1.0
    smaller = (order > 0) & np.isfinite(highest) & (highest > 0)
    while np.any(smaller) and waves < SHORTEST:
        with np.errstate(invalid="ignore"):
            smaller &= highest * waves**order < SHARE * rows(waves)
        waves *= FINER if np.any(smaller) else 1.0
    return waves


def _orders(problem: Problem, key: str, name: str) -> np.ndarray:
    """The order of the highest derivative of an unknown along each axis: (real components, axes)."""
    rows = []
    for node, is_complex in zip(problem.expressions[key], problem.components[key], strict=True):
        indices = [u.index for u in unknowns_in(node) if u.name == name] or [(0,) * problem.domain.dimension]
        rows += [np.max(np.asarray(indices), axis=0)] * (1 + is_complex)
    return np.asarray(rows)


def boxes_of(region: Region) -> list[Region]:
    """Boxes and faces on which the sources of a condition can be looked at: of a shape, the box around it."""
    if isinstance(region, Domain):
        # A periodic axis is looked at from one end to the other.
        plain = {a: (i[0], i[1]) if isinstance(i, Periodic) else i for a, i in region.intervals.items()}
        return [Box(**plain)]
    return [part for part in region.parts if isinstance(part, Face) and not part.box.periodic_axes]


def is_constant(source: object) -> bool:
    """Whether a source is the same number everywhere."""
    return isinstance(source, int | float | complex | np.number)


def _polynomials(problem: Problem, key: str, region: Region, size: np.ndarray) -> float:
    """How many Legendre polynomials the source of a condition needs along an axis of one part of its region."""
    count = NODES[region.dimension]
    cloud = region.draw(GaussLegendre(count), np.random.default_rng(0))
    try:
        values = source_rows(problem.sources[key], region, cloud.x, problem.components[key], f"condition '{key}'")
    except ProblemError:  # it is not finite everywhere; if that matters it is said when points are drawn
        return 0.0
    nodes, weights = np.polynomial.legendre.leggauss(count)
    basis = np.polynomial.legendre.legvander(nodes, count - 1) * np.sqrt(np.arange(count) + 0.5)
    found = 0
    for column, row in zip(values.T, size, strict=True):
        scale = float(np.max(np.abs(column)))
        if scale == 0 or scale < FAITHFUL * NEGLIGIBLE * row:
            continue
        grid = (column / scale).reshape([count] * region.dimension)
        for axis in range(region.dimension):
            lines = np.moveaxis(grid, axis, 0).reshape(count, -1)
            parts = basis.T @ (weights[:, None] * lines)
            # The other axis is summed up with the weights of its nodes; one half for each axis makes it a mean.
            across = weights / 2 if region.dimension > 1 else np.ones(1)
            power = 0.5 * np.sum(parts**2 * across, axis=1)
            allowed = FAITHFUL * max(float(np.sqrt(power.sum())), NEGLIGIBLE * row / scale)
            left = np.sqrt(np.cumsum(power[::-1])[::-1])
            found = max(found, int(np.count_nonzero(left > allowed)))
    return float(found)
