"""The porous medium equation u_t = (u²)_xx with the solution of Barenblatt: gas that spreads into empty ground.

u = t^{-1/3} max(0, 1 − x²/(12 t^{2/3})). Inside of |x| < √12 t^{1/3} it is smooth. At this front u_x jumps, though u
and the slope of u² do not; outside of it u = 0. A domain with a `reach` above √12 has the front in it, and networks
come near the solution slowly; with a `reach` of 3 it is left out, and the solution is analytic.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def solution(t, x):
    """Barenblatt's solution."""
    return jnp.maximum(0.0, 1 - x**2 / (12 * t ** (2 / 3))) * t ** (-1 / 3)


def state(reach: float = 5.0, end: float = 2.0) -> Problem:
    """State the problem on |x| < `reach`, from t = 1 to a later time."""
    reach = number("the reach", reach, 0.1, 20)
    end = number("the time end", end, 1.01, 10)
    space_time = Box(t=(1, end), x=(-reach, reach))
    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t") - (u**2).d("x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=1), equals=lambda x: solution(1.0, x)),
        walls=Condition(lambda u: u, on=space_time.faces("x"), equals=solution),
        solution=solution,
        name="porous-medium",
    )


ENTRY = Entry(
    name="porous-medium",
    title="Porous medium 1+1D",
    equation="u_t = (u²)_xx on [1,2]×[−5,5], with a front",
    kind="nonlinear",
    state=state,
)
