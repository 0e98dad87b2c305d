"""A free particle of quantum mechanics: iψ_t + ½ψ_xx = 0, a packet of waves that moves and spreads."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(k: float = 2.0, end: float = 2.0) -> Problem:
    """State the problem for a momentum k, which is also the speed of the packet, until a time."""
    k = number("the momentum k", k, 0, 20)
    end = number("the time end", end, 0.01, 10)
    space_time = Box(t=(0, end), x=(-5, 5 + k * end))

    def exact(t, x):
        spread = 1 + 1j * t
        return jnp.exp(-((x - k * t) ** 2) / (2 * spread) + 1j * k * (x - k * t / 2)) / jnp.sqrt(spread)

    return Problem(
        space_time,
        equation=Condition(lambda psi: 1j * psi.d("t") + 0.5 * psi.d("x", "x")),
        initial=Condition(lambda psi: psi, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        walls=Condition(lambda psi: psi, on=space_time.faces("x"), equals=exact),
        unknowns={"psi": complex},
        solution=exact,
        name="schrodinger",
    )


ENTRY = Entry(
    name="schrodinger",
    title="Schrödinger 1+1D, a free packet",
    equation="iψ_t + ½ψ_xx = 0, ψ(0, x) = exp(ikx − x²/2)",
    kind="waves",
    state=state,
)
