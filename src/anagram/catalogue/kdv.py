"""Korteweg and de Vries' equation, u_t + 6u u_x + u_xxx = 0: a tall soliton overtakes a low one.

They meet at t = 0; each goes on as it was, only further ahead or behind than it would have been.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.errors import ProblemError
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(low: float = 1.0, tall: float = 1.6) -> Problem:
    """State the problem for two solitons; one of the parameter k is k²/2 tall and moves at k²."""
    low = number("the parameter low", low, 0.5, 3)
    tall = number("the parameter tall", tall, 0.5, 3)
    if low >= tall:
        raise ProblemError(f"the parameter low must be below the parameter tall; they are {low:g} and {tall:g}")
    reach = 3.0  # of time, before and after
    width = 4 + reach * tall**2
    space_time = Box(t=(-reach, reach), x=(-width, width))
    share = ((tall - low) / (tall + low)) ** 2

    def parts(t, x):
        """Hirota's τ and its first three derivatives: u = 2 (log τ)_xx."""
        # Half of the logarithm of 1/share to each: the meeting is symmetric in t and x.
        shift = -jnp.log(share) / 2
        first = jnp.exp(low * x - low**3 * t + shift)
        second = jnp.exp(tall * x - tall**3 * t + shift)
        both = share * first * second
        sums = [low**n * first + tall**n * second + (low + tall) ** n * both for n in range(4)]
        return 1 + sums[0], *sums[1:]

    def exact(t, x):
        tau, one, two, _ = parts(t, x)
        return 2 * (two / tau - (one / tau) ** 2)

    def slope(t, x):
        tau, one, two, three = parts(t, x)
        return 2 * (three / tau - 3 * one * two / tau**2 + 2 * (one / tau) ** 3)

    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t") + 6 * u * u.d("x") + u.d("x", "x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=-reach), equals=lambda x: exact(-reach, x)),
        walls=Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        right=Condition(lambda u: u.d("x"), on=space_time.face(x=width), equals=slope),
        solution=exact,
        name="kdv",
    )


ENTRY = Entry(
    name="kdv",
    title="Korteweg–de Vries 1+1D, two solitons",
    equation="u_t + 6u u_x + u_xxx = 0, one soliton overtakes another",
    kind="nonlinear",
    state=state,
)
