"""Three equal masses that chase each other along a figure of eight, for one period.

Found by Moore in 1993, proved to exist by Chenciner and Montgomery in 2000. The first places and velocities are those
of Simó, to eight digits, so that it closes to about as many. The centre of mass rests in the origin: the third body
is minus the sum of the others, and is no unknown.
"""

import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

PERIOD = 6.32591398
# The eight lies obliquely: how large coordinates become is told from trial paths, which collide for other angles.
TURN = np.array([[np.cos(2.5), -np.sin(2.5)], [np.sin(2.5), np.cos(2.5)]])
_PLACE, _SPEED = TURN @ (0.97000436, -0.24308753), TURN @ (0.466203685, 0.43236573)
PLACES = (*map(float, _PLACE), *map(float, -_PLACE))  # x and y of the first body, x and y of the second
SPEEDS = (*map(float, _SPEED), *map(float, _SPEED))


def pulls(x1, y1, x2, y2):
    """The accelerations of the first two bodies."""
    x12, y12 = x2 - x1, y2 - y1
    x13, y13 = -2 * x1 - x2, -2 * y1 - y2
    x23, y23 = -x1 - 2 * x2, -y1 - 2 * y2
    near12, near13, near23 = ((x**2 + y**2) ** -1.5 for x, y in ((x12, y12), (x13, y13), (x23, y23)))
    first = (x12 * near12 + x13 * near13, y12 * near12 + y13 * near13)
    return *first, x23 * near23 - x12 * near12, y23 * near23 - y12 * near12


def slope(_, y):
    """Speeds and accelerations."""
    return np.array([*y[4:], *pulls(*y[:4])])


def state(periods: float = 1.0) -> Problem:
    """State the problem for some periods."""
    end = PERIOD * number("the number of periods", periods, 0.01, 5)
    time = Box(t=(0, end))
    names = ("x1", "y1", "x2", "y2")
    path = Trajectory(slope, PLACES + SPEEDS, (0.0, end), 1 + int(10 * end))
    return Problem(
        time,
        equations=Condition(
            lambda x1, y1, x2, y2: tuple(
                place.d("t", "t") - pull for place, pull in zip((x1, y1, x2, y2), pulls(x1, y1, x2, y2), strict=True)
            )
        ),
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
