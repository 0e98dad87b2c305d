"""The nonlinear Schrödinger equation, iψ_t + ½ψ_xx + |ψ|²ψ = 0, from 2 sech x: two solitons in one that breathe.

In the middle of its period of π/2 the pulse is twice as high and less than a third as wide as at the beginning.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def solution(t, x):
    """The exact solution, by Satsuma and Yajima."""
    above = jnp.cosh(3 * x) + 3 * jnp.exp(4j * t) * jnp.cosh(x)
    below = jnp.cosh(4 * x) + 4 * jnp.cosh(2 * x) + 3 * jnp.cos(4 * t)
    return 4 * jnp.exp(0.5j * t) * above / below


def state(periods: float = 1.0) -> Problem:
    """State the problem for some periods."""
    end = number("the number of periods", periods, 0.01, 10) * jnp.pi / 2
    space_time = Box(t=(0, end), x=(-5, 5))
    return Problem(
        space_time,
        equation=Condition(lambda psi: 1j * psi.d("t") + 0.5 * psi.d("x", "x") + psi * psi.conj() * psi),
        initial=Condition(lambda psi: psi, on=space_time.face(t=0), equals=lambda x: 2 / jnp.cosh(x)),
        walls=Condition(lambda psi: psi, on=space_time.faces("x"), equals=solution),
        unknowns={"psi": complex},
        solution=solution,
        name="nls",
    )


ENTRY = Entry(
    name="nls",
    title="Nonlinear Schrödinger 1+1D, a breather",
    equation="iψ_t + ½ψ_xx + |ψ|²ψ = 0, ψ(0, x) = 2 sech x",
    kind="waves",
    state=state,
)
