"""The Klein–Gordon equation with a cubic term, u_tt − u_xx + u³ = f, with the solution x cos ωt + (xt)³."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(half_waves: float = 5.0) -> Problem:
    """State the problem for ω = `half_waves`·π."""
    omega = number("the number of half waves", half_waves, 0, 40) * jnp.pi
    space_time = Box(t=(0, 1), x=(0, 1))

    def exact(t, x):
        return x * jnp.cos(omega * t) + (x * t) ** 3

    def source(t, x):
        return -(omega**2) * x * jnp.cos(omega * t) + 6 * t * x**3 - 6 * x * t**3 + exact(t, x) ** 3

    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t", "t") - u.d("x", "x") + u**3, equals=source),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: x),
        rest=Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        walls=Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        solution=exact,
        name="klein-gordon",
    )


ENTRY = Entry(
    name="klein-gordon",
    title="Klein–Gordon 1+1D",
    equation="u_tt − u_xx + u³ = f on [0,1]×[0,1]",
    kind="waves",
    state=state,
)
