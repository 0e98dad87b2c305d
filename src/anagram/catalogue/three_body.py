"""Three equal masses that chase each other along a figure of eight, for one period.

Found by Moore in 1993, proved to exist by Chenciner and Montgomery in 2000. The first places and velocities are those
of Simó, to eight digits, so that it closes to about as many. The centre of mass rests in the origin: the third body
is minus the sum of the others, and is no unknown. Newton's law is multiplied by the cubes of the distances: a
first guess in which bodies collide, or are far from each other, is then neither infinitely wrong nor almost right.
"""

import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

PERIOD = 6.32591398
PLACES = (0.97000436, -0.24308753, -0.97000436, 0.24308753)  # x and y of the first body, x and y of the second
SPEEDS = (0.466203685, 0.43236573, 0.466203685, 0.43236573)


def distances(x1, y1, x2, y2):
    """From the first body to the second, from there to the third, and from the first to the third: each x, y, r³."""
    apart = ((x2 - x1, y2 - y1), (-x1 - 2 * x2, -y1 - 2 * y2), (-2 * x1 - x2, -2 * y1 - y2))
    return [(x, y, (x**2 + y**2) ** 1.5) for x, y in apart]


def slope(_, y):
    """Speeds and accelerations."""
    (x12, y12, r12), (x23, y23, r23), (x13, y13, r13) = distances(*y[:4])
    first = (x12 / r12 + x13 / r13, y12 / r12 + y13 / r13)
    second = (x23 / r23 - x12 / r12, y23 / r23 - y12 / r12)
    return np.array([*y[4:], *first, *second])


def equations(x1, y1, x2, y2):
    """Newton's law for the first two bodies, multiplied by the cubes of the distances in its denominators."""
    (x12, y12, r12), (x23, y23, r23), (x13, y13, r13) = distances(x1, y1, x2, y2)
    return (
        r12 * r13 * x1.d("t", "t") - r13 * x12 - r12 * x13,
        r12 * r13 * y1.d("t", "t") - r13 * y12 - r12 * y13,
        r12 * r23 * x2.d("t", "t") + r23 * x12 - r12 * x23,
        r12 * r23 * y2.d("t", "t") + r23 * y12 - r12 * y23,
    )


def state(periods: float = 1.0) -> Problem:
    """State the problem for some periods."""
    end = PERIOD * number("the number of periods", periods, 0.01, 5)
    time = Box(t=(0, end))
    names = ("x1", "y1", "x2", "y2")
    path = Trajectory(slope, PLACES + SPEEDS, (0.0, end), 1 + int(10 * end))
    return Problem(
        time,
        equations=Condition(equations),
        start=Condition(lambda x1, y1, x2, y2: (x1, y1, x2, y2), on=time.face(t=0), equals=PLACES),
        speeds=Condition(
            lambda x1, y1, x2, y2: (x1.d("t"), y1.d("t"), x2.d("t"), y2.d("t")), on=time.face(t=0), equals=SPEEDS
        ),
        unknowns=names,
        solution={name: path.component(k) for k, name in enumerate(names)},
        name="three-body",
    )


ENTRY = Entry(
    name="three-body",
    title="Three bodies, figure of eight",
    equation="r_i'' = Σ (r_j − r_i)/|r_j − r_i|³, equal masses in the plane",
    kind="ordinary",
    state=state,
)
