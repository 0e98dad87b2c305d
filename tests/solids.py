"""A solid for tests of what looks at shapes in space: the upper half of the unit ball, with a dome and a floor."""

import numpy as np

from anagram.statement.domains.chart import AROUND, UNIT, Chart, Placed
from anagram.statement.domains.shape import Shape


class Inside(Chart):
    """(radius, turn, height) ↦ x."""

    intervals = (UNIT, AROUND, UNIT)

    def __call__(self, s):
        return Placed(s[:, :1] * sphere(s[:, 1], s[:, 2]), 2 * np.pi * s[:, 0] ** 2, None)


class Dome(Chart):
    intervals = (AROUND, UNIT)

    def __call__(self, s):
        x = sphere(s[:, 0], s[:, 1])
        return Placed(x, np.full(len(s), 2 * np.pi), x)


class Floor(Chart):
    intervals = (UNIT, AROUND)

    def __call__(self, s):
        x = s[:, :1] * sphere(s[:, 1], np.zeros(len(s)))
        return Placed(x, 2 * np.pi * s[:, 0], np.tile([0.0, 0.0, -1.0], (len(s), 1)))


def sphere(turn, height):
    radius = np.sqrt(np.maximum(0, 1 - height**2))
    return np.stack([radius * np.cos(2 * np.pi * turn), radius * np.sin(2 * np.pi * turn), height], axis=1)


class HalfBall(Shape):
    in_space = 3

    def __init__(self):
        super().__init__(("x", "y", "z"))

    def charts(self):
        return [Inside()]

    def boundary_charts(self):
        return {"dome": [Dome()], "floor": [Floor()]}

    @property
    def bounds(self):
        return np.array([-1.0, -1.0, 0.0]), np.ones(3)

    def contains(self, x):
        return (np.linalg.norm(x, axis=1) <= 1 + 1e-9) & (x[:, 2] >= -1e-9)

    def __repr__(self):
        return "HalfBall()"
