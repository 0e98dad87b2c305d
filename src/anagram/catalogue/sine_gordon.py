"""The sine–Gordon equation, u_tt − u_xx + sin u = 0: a breather, for almost one period by default."""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(omega: float = 0.6, end: float = 10.0) -> Problem:
    """State the problem for a frequency ω below one, until a time."""
    omega = number("the frequency omega", omega, 0.1, 0.99)
    end = number("the time end", end, 0.1, 100)
    decay = np.sqrt(1 - omega**2)
    space_time = Box(t=(0, end), x=(-8, 8))

    def exact(t, x):
        return 4 * jnp.arctan(decay / omega * jnp.sin(omega * t) / jnp.cosh(decay * x))

    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t", "t") - u.d("x", "x") + np.sin(u)),
        initial=Condition(lambda u: u, on=space_time.face(t=0)),
        speed=Condition(lambda u: u.d("t"), on=space_time.face(t=0), equals=lambda x: 4 * decay / jnp.cosh(decay * x)),
        walls=Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        solution=exact,
        name="sine-gordon",
    )


ENTRY = Entry(
    name="sine-gordon",
    title="Sine–Gordon 1+1D, a breather",
    equation="u_tt − u_xx + sin u = 0 on [0,10]×[−8,8]",
    kind="nonlinear",
    state=state,
)
