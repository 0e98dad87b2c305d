"""Which bend of an axis suits functions that are known on it: the one in which the fewest polynomials are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from anagram.errors import ProblemError
from anagram.statement.condition import source_rows
from anagram.statement.detail import boxes_of, is_constant
from anagram.statement.domains import Face, Region
from anagram.statement.domains.bends import Bend
from anagram.statement.problem import Problem
from anagram.statement.sizes import Sizes
from anagram.statement.stretches import evolution_axis
from anagram.training.rungs import Bends, fine_axes

PROFILE = 1024  # places along an axis at which functions are looked at
SEEN = 640  # polynomials of s that are counted
TERMS = (16, 24, 40, 64)  # of a bend: the fewer, the smoother it is
STRENGTHS = (0.1, 0.3, 1.0, 3.0)
PAYS = 0.8  # of the polynomials of the plain coordinate: a bend that needs more is not worth it
FEW = 40  # so many are no reason to bend anything
LINES, PEAKS = 24, 8  # across an axis, on which sources are looked at: spread evenly, and where they are largest
SEARCHED = 96  # places along each axis at which the largest values are looked for
BOTTOM = 1e-11  # of a function: what is smaller than this beside it is rounding

Functions = Callable[[Float[np.ndarray, " places"]], Float[np.ndarray, "functions places"]]


def bends_for_data(problem: Problem, sizes: Sizes, allowed: float) -> Bends:
    """By axis of a plane, the bends that suit sources and given values; none where plain coordinates do as well.

    What is in equilibrium has bumps and layers where its data have them. What evolves carries them elsewhere.
    """
    domain = problem.domain
    if domain.dimension != 2 or domain.periodic_axes or not fine_axes(problem) or evolution_axis(problem) is not None:
        return {}
    found: dict[str, Bend] = {}
    for axis in domain.axes:
        bend, _ = bend_for(lambda z, axis=axis: _profiles(problem, sizes, axis, z), allowed, least=1.0)
        if bend is not None:
            found[axis] = bend
    return found


def _profiles(
    problem: Problem, sizes: Sizes, axis: str, z: Float[np.ndarray, " places"]
) -> Float[np.ndarray, "functions places"]:
    """All sources along an axis: on lines that are spread across it, and on those through the largest values.

    Their largest values are of the order of one; sources that count for little beside the rows of their condition are
    small.
    """
    domain, found = problem.domain, [np.zeros((0, len(z)))]
    (low, high), column = domain.intervals[axis], domain.axes.index(axis)
    along = low + (high - low) * (z + 1) / 2
    for key in problem.conditions:
        for region in () if is_constant(problem.sources[key]) else boxes_of(problem.region(key)):
            if isinstance(region, Face) and region.axis == axis:
                continue

            def values(places: np.ndarray, lines: np.ndarray, key: str = key, region: Region = region) -> np.ndarray:
                x = np.empty((len(lines), len(places), 2))
                x[..., column], x[..., 1 - column] = places, lines[:, None]
                flat = x.reshape(-1, 2)
                rows = source_rows(
                    problem.sources[key], region, flat, problem.components[key], f"the source of condition '{key}'"
                )
                return rows.T.reshape(-1, len(lines), len(places))

            try:
                lines = _lines(domain.intervals[domain.axes[1 - column]], region, low, high, values)
                for part, row in zip(values(along, lines), np.asarray(sizes.rows[key]), strict=True):
                    found.append(part / max(float(np.max(np.abs(part))), float(row), np.finfo(float).tiny))
            except ProblemError:  # it is not finite everywhere; if that matters it is said when points are drawn
                continue
    return np.concatenate(found)


def _lines(
    across: tuple[float, float],
    region: Region,
    low: float,
    high: float,
    values: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> Float[np.ndarray, " lines"]:
    """Where lines cross the other axis: evenly spread, and where a source is largest. A face is one line."""
    first, last = across
    if isinstance(region, Face):
        return np.array([region.value])
    even = (np.arange(SEARCHED) + 0.5) / SEARCHED
    places = first + (last - first) * even
    peaks = np.abs(values(low + (high - low) * even, places)).max(axis=2)
    largest = np.argsort(-peaks, axis=1)[:, :PEAKS].ravel()
    return np.unique(np.concatenate([places[:: SEARCHED // LINES], places[largest]]))


def bend_for(functions: Functions, allowed: float, least: float = 0.0) -> tuple[Bend | None, int]:
    """The bend in which functions of z in [−1, 1] need the fewest polynomials, and how many; None for no bend.

    What they need more has parameters below `allowed` times those of the function, or times `least` if that is larger.
    """
    places = np.cos(np.pi * (np.arange(PROFILE) + 0.5) / PROFILE)
    known = np.asarray(functions(places))
    if not np.all(np.isfinite(known)):
        return None, 0
    # What varies by rounding alone looks as if no number of polynomials were enough.
    known = known[np.ptp(known, axis=1) > BOTTOM * np.maximum(np.max(np.abs(known), axis=1), least)]
    if not len(known):
        return None, 0
    series = _series(known)
    plain = _count(series, allowed, least)
    if plain <= FEW:
        return None, plain
    found = [(_needed(series, bend, allowed, least), k, bend) for k, bend in enumerate(_bends(series, places))]
    count, _, bend = min(found, key=lambda f: f[:2])
    # Of what jumps no number of polynomials is enough: it is not resolved by any bend, and counted to the end in all.
    return (bend, count) if count < PAYS * min(plain, SEEN) else (None, plain)


def needed_terms(functions: Functions, bend: Bend | None, allowed: float, least: float = 0.0) -> int:
    """How many polynomials of a bent coordinate functions need."""
    places = np.cos(np.pi * (np.arange(PROFILE) + 0.5) / PROFILE)
    series = _series(np.asarray(functions(places)))
    return _count(series, allowed, least) if bend is None else _needed(series, bend, allowed, least)


def _bends(series: Float[np.ndarray, "functions terms"], places: Float[np.ndarray, " places"]) -> Iterator[Bend]:
    """Bends whose slope is large where functions are steep or bent."""
    chebyshev = np.polynomial.chebyshev
    values = chebyshev.chebval(places, series.T)
    spread = np.ptp(values, axis=1, keepdims=True)
    steep = np.abs(chebyshev.chebval(places, chebyshev.chebder(series, axis=1).T)) / spread
    bent = np.sqrt(np.abs(chebyshev.chebval(places, chebyshev.chebder(series, 2, axis=1).T)) / spread)
    density = np.max(2 * steep + bent, axis=0)
    for terms in TERMS:
        for strength in STRENGTHS:
            slope = _series((1 + strength * density)[None])[0, : terms - 1] * _jackson(terms - 1)
            rising = chebyshev.chebint(slope)
            low, high = chebyshev.chebval(np.array([-1.0, 1.0]), rising)
            rising = 2 * rising / (high - low)
            rising[0] -= 1 + chebyshev.chebval(-1.0, rising)
            bend = Bend(tuple(rising.tolist()))
            if np.min(bend.slope(places)) > 0:
                yield bend


def _jackson(count: int) -> Float[np.ndarray, " terms"]:
    """Factors with which the first terms of the series of a positive function are positive as well."""
    k, angle = np.arange(count), np.pi / (count + 1)
    return ((count - k + 1) * np.cos(k * angle) + np.sin(k * angle) / np.tan(angle)) / (count + 1)


def _series(values: Float[np.ndarray, "functions places"]) -> Float[np.ndarray, "functions terms"]:
    """Coefficients of Chebyshev polynomials from values at their nodes."""
    from scipy.fft import dct

    found = dct(values, axis=1) / values.shape[1]
    found[:, 0] /= 2
    return found


def _needed(series: Float[np.ndarray, "functions terms"], bend: Bend, allowed: float, least: float = 0.0) -> int:
    places = bend.back(np.cos(np.pi * (np.arange(SEEN) + 0.5) / SEEN))
    return _count(_series(np.polynomial.chebyshev.chebval(places, series.T)), allowed, least)


def _count(series: Float[np.ndarray, "functions terms"], allowed: float, least: float = 0.0) -> int:
    """How many terms are not small, in the function that has most of them."""
    size = np.sqrt(np.sum(series**2, axis=1, keepdims=True))
    large = np.abs(series) > max(allowed, BOTTOM) * np.maximum(size, max(least, np.finfo(float).tiny))
    return int(np.max(np.where(large.any(axis=1), series.shape[1] - np.argmax(large[:, ::-1], axis=1), 0)))
