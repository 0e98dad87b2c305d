"""Black and Scholes' equation for a call on a geometric basket of several stocks.

x_k are logarithms of prices over the strike, t is the time that is left, in years:

    u_t = ½σ² Σ ρ_jk u_jk + (r − ½σ²) Σ u_k − r u,    ρ_jk = ρ for j ≠ k, ρ_kk = 1

The geometric mean of the prices is one stock with a volatility and a yield of its own, for which the formula of Black
and Scholes holds. On the last day the price has a kink; the domain ends `last` years before it, with what the formula
says there, and a smaller `last` is a harder problem.
"""

from functools import reduce
from operator import add

import jax.numpy as jnp
from jax.scipy.special import ndtr

from anagram.catalogue.entry import Entry, number, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

RATE, VOLATILITY, CORRELATION = 0.05, 0.3, 0.4


def state(dimension: int = 5, last: float = 0.25) -> Problem:
    """State the problem for a number of stocks, from one year to `last` years before the end."""
    dimension = whole("the dimension", dimension, 2, 30)
    last = number("the time last", last, 1e-3, 0.9)
    axes = [f"x{k}" for k in range(1, dimension + 1)]
    box = Box(t=(last, 1), **dict.fromkeys(axes, (-0.5, 0.5)))
    # The logarithm of the basket is a mean of correlated Brownian motions.
    variance = VOLATILITY**2 * (1 + (dimension - 1) * CORRELATION) / dimension
    drift = RATE - VOLATILITY**2 / 2

    def exact(t, **x):
        mean = sum(x.values()) / dimension
        deviation = jnp.sqrt(variance * t)
        below = (mean + drift * t) / deviation
        forward = jnp.exp(mean + (drift + variance / 2) * t)
        return jnp.exp(-RATE * t) * (forward * ndtr(below + deviation) - ndtr(below))

    def equation(u):
        mixed = reduce(add, [u.d(j, k) for n, j in enumerate(axes) for k in axes[:n]])
        spread = VOLATILITY**2 * (u.laplacian(*axes) / 2 + CORRELATION * mixed)
        return u.d("t") - spread - drift * reduce(add, [u.d(k) for k in axes]) + RATE * u

    return Problem(
        box,
        equation=Condition(equation),
        expiry=Condition(lambda u: u, on=box.face(t=last), equals=exact),
        walls=Condition(lambda u: u, on=box.faces(*axes), equals=exact),
        solution=exact,
        name="black-scholes",
    )


ENTRY = Entry(
    name="black-scholes",
    title="Black–Scholes, a basket of stocks",
    equation="u_t = ½σ² Σ ρ_jk u_jk + (r − ½σ²) Σ u_k − r u, log-prices in [−½,½]^d",
    kind="many dimensions",
    state=state,
)
