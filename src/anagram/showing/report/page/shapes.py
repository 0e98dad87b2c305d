"""What a page carries of a shape: its outline, how much of it lies around each sample, where it is cut at first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import binary_dilation, binary_erosion

from anagram.showing.report.page.encode import array
from anagram.showing.sections import CURVE, sections
from anagram.statement.domains import Domain
from anagram.statement.domains.intervals import even_places
from anagram.statement.domains.outline import closed_loops

FINER = 4  # places along an axis, between the samples before and after one, that are asked whether they lie inside


def shape_data(domain: Domain, x: np.ndarray, inside: np.ndarray, size: int) -> dict[str, Any] | None:
    """Which axes are those of a shape, its closed outlines in the plane (x, y, x, y, ...), and the cover of samples.

    Slices that are not the plane of an outline end where half of what lies around is covered.
    """
    if not domain.space:
        return None
    loops = [array(loop.ravel()) for loop in closed_loops(domain.outline(CURVE))]
    alone = domain.dimension == 2 and loops
    cover = None if alone or inside.all() else array(_cover(domain, x, inside, size), "u1")
    return {"axes": [domain.axes.index(axis) for axis in domain.space], "outline": loops, "cover": cover}


def _cover(domain: Domain, x: np.ndarray, inside: np.ndarray, size: int) -> np.ndarray:
    """How much of what lies between the neighbours of each sample is inside, from 0 to 255."""
    tensor = len(x) == size**domain.dimension
    grid = inside.reshape((size,) * domain.dimension if tensor else (-1, size, size))
    # Planes of a domain of many axes lie side by side and have nothing to do with each other.
    around = np.ones((3 if tensor else 1, *(3,) * (grid.ndim - 1)), dtype=bool)
    edge = (np.asarray(binary_dilation(grid, around)) != binary_erosion(grid, around, border_value=1)).ravel()
    cover = inside.astype(float)
    step = domain.lengths / (size - 1)
    places = 2 * (np.arange(FINER) + 0.5) / FINER - 1
    columns = [domain.axes.index(axis) for axis in domain.space]
    cover[edge] = 0.0
    for shift in np.stack(np.meshgrid(*[places] * len(columns)), axis=-1).reshape(-1, len(columns)):
        moved = x[edge]
        moved[:, columns] += shift * step[columns]
        # A face on the side of the box around the shape has all of its inside on one side: it must not look half empty.
        moved = np.clip(moved, domain.low, domain.high)
        cover[edge] += domain.contains(moved) / FINER ** len(columns)
    return np.round(255 * cover)


def first_places(domain: Domain, size: int) -> list[int]:
    """Where along each axis a slice is cut at first, as the number of a sample."""
    places = zip(centre_of(domain), domain.intervals.values(), strict=True)
    return [int(np.argmin(np.abs(even_places(interval, size) - place))) for place, interval in places]


def centre_of(domain: Domain) -> np.ndarray:
    """The middle of each axis, or a place nearby where a plane meets the shape."""
    middle = dict(zip(domain.axes, domain.middle, strict=True))
    if len(domain.space) > 2:
        held = sections(domain, 3)[0].held
        middle |= {axis: held[axis] for axis in domain.space[2:]}
    return np.array([middle[axis] for axis in domain.axes])
