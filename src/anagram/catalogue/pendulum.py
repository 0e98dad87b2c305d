"""A pendulum without friction that swings far, θ'' = −g/l sin θ, for as long as one likes.

It comes back after the same time again and again: what is wrong with the period is seen in the end.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def slope(_, y):
    """θ' and θ''; time is in units of √(l/g)."""
    return y[1], -jnp.sin(y[0])


def state(end: float = 20.0, angle: float = 2.0) -> Problem:
    """State the problem until a time, for the angle at which the pendulum is let go."""
    end = number("the time end", end, 0.1, 200)
    angle = number("the angle", angle, 0.01, 3.1)
    time = Box(t=(0, end))
    path = Trajectory(slope, (angle, 0.0), (0.0, end), 1 + int(4 * end))
    return Problem(
        time,
        swing=Condition(lambda theta: theta.d("t", "t") + np.sin(theta)),
        start=Condition(lambda theta: (theta, theta.d("t")), on=time.face(t=0), equals=(angle, 0.0)),
        solution=path.component(0),
        name="pendulum",
    )


ENTRY = Entry(
    name="pendulum",
    title="A pendulum",
    equation="θ'' = −sin θ, let go at an angle of 2",
    kind="ordinary",
    state=state,
)
