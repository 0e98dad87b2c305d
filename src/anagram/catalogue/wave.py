"""A string that swings in two modes at once: u_tt = c² u_xx, u = 0 at the ends, at rest at the beginning."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(speed: float = 2.0, mode: int = 4) -> Problem:
    """State the problem for a speed of waves and the higher one of the two modes."""
    speed = number("the speed", speed, 0.1, 20)
    mode = whole("the mode", mode, 2, 20)
    space_time = Box(t=(0, 1), x=(0, 1))

    def swing(k, t, x):
        return jnp.sin(k * jnp.pi * x) * jnp.cos(k * jnp.pi * speed * t)

    def exact(t, x):
        return swing(1, t, x) + 0.5 * swing(mode, t, x)

    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t", "t") - speed**2 * u.d("x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        rest=Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        walls=Condition(lambda u: u, on=space_time.faces("x")),
        solution=exact,
        name="wave",
    )


ENTRY = Entry(
    name="wave",
    title="Wave 1+1D",
    equation="u_tt = c² u_xx on [0,1]×[0,1], modes 1 and 4",
    kind="waves",
    state=state,
)
