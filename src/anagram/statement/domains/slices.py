"""Slices of boxes: some coordinates held, inside the box as well as at its ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from anagram.statement.domains.intervals import middle_of
from anagram.statement.domains.region import Cloud, Region, unit_normals
from anagram.statement.domains.rules import PointRule

if TYPE_CHECKING:
    from anagram.statement.domains.domain import Domain


class Slice(Region):
    """The points of a box with some coordinates held. With one of them it has a normal, towards larger values.

    Parameters can be held too.
    """

    def __init__(self, box: Domain, held: Mapping[str, float]) -> None:
        self.box, self.axes = box, box.axes
        self.held = {axis: float(held[axis]) for axis in box.axes if axis in held}

    @property
    def dimension(self) -> int:
        return len(self.axes) - len(self.held)

    @property
    def measure(self) -> float:
        return float(np.prod([high - low for low, high in self._free.values()]))

    @property
    def has_normal(self) -> bool:
        return len(self._places) == 1

    @property
    def _places(self) -> list[str]:
        """The coordinates that are held; a parameter has no direction."""
        return [axis for axis in self.held if axis not in self.box.parameter_axes]

    @property
    def _free(self) -> dict[str, tuple[float, float]]:
        return {axis: ends for axis, ends in self.box.intervals.items() if axis not in self.held}

    def lies_in(self, box: Domain) -> bool:
        return self.box.lies_in(box)

    def scatter(self, rule: PointRule, rng: np.random.Generator) -> Cloud:
        free = self._free
        if free:
            inside, weight = rule.draw(free, rng, closed=True, fixed=self.held)
        else:
            inside, weight = np.zeros((1, 0)), np.ones(1)
        x = np.empty((len(weight), len(self.axes)))
        x[:, [self.axes.index(axis) for axis in free]] = inside
        for axis, value in self.held.items():
            x[:, self.axes.index(axis)] = value
        return Cloud(x, weight, self.normal_at(x))

    def normal_at(self, x: np.ndarray) -> np.ndarray | None:
        if not self.has_normal:
            return None
        return unit_normals(len(x), self.axes, self._places[0], upper=True)

    def goes_around(self, axis: str) -> bool:
        return axis not in self.held and self.box.goes_around(axis)

    def distance(self, x: np.ndarray) -> np.ndarray:
        gaps = [x[:, self.axes.index(axis)] - value for axis, value in self.held.items()]
        return np.sqrt(np.sum(np.square(gaps), axis=0))

    def __repr__(self) -> str:
        return f"slice({', '.join(f'{axis}={value:g}' for axis, value in self.held.items())})"


class Along(Slice):
    """All values of some axes, for conditions that depend on no others: one point for each of them.

    The other coordinates are those of the middle, and are not looked at. A condition that depends on no axis at all is
    one row.
    """

    def __init__(self, box: Domain, axes: set[str]) -> None:
        super().__init__(box, {a: middle_of(interval) for a, interval in box.intervals.items() if a not in axes})

    @property
    def has_normal(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"every {', '.join(self._free)}" if self.dimension else "one row"
