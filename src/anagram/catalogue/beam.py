"""A vibrating beam on two supports, u_tt + u_xxxx = 0, that swings in two modes: the fourth order in space."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(mode: int = 2, end: float = 2.0) -> Problem:
    """State the problem for the higher one of the two modes, which swings mode² times as fast, until a time."""
    mode = whole("the mode", mode, 2, 10)
    space_time = Box(t=(0, number("the time end", end, 0.01, 20)), x=(0, jnp.pi))

    def exact(t, x):
        return jnp.sin(x) * jnp.cos(t) + 0.5 * jnp.sin(mode * x) * jnp.cos(mode**2 * t)

    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t", "t") + u.d("x", "x", "x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        rest=Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        ends=Condition(lambda u: (u, u.d("x", "x")), on=space_time.faces("x")),
        solution=exact,
        name="beam",
    )


ENTRY = Entry(
    name="beam",
    title="Euler and Bernoulli's beam 1+1D",
    equation="u_tt + u_xxxx = 0 on [0,2]×[0,π], u = u_xx = 0 at the ends",
    kind="mechanics and flow",
    state=state,
)
