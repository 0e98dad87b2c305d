"""A Hamilton–Jacobi–Bellman equation in twenty dimensions: the cost of steering a random walk.

u_t = Δu − |∇u|² on [−1,1]^d, t the time that is left, u(0, x) = log((1 + |x|²)/2). By the Cole–Hopf transformation
e^{−u} solves the heat equation, and the mean of 2/(1 + |y|²) over Gaussian y is one integral,

    e^{−u(t, x)} = 2 ∫₀^∞ e^{−s} (1 + 4st)^{−d/2} exp(−s|x|²/(1 + 4st)) ds,

which the trapezoidal rule in log s gives to rounding. On the whole space, where this equation comes from, nothing would
be given on walls; here the cube ends, and u is given there.
"""

from functools import reduce
from operator import add

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

STEP = 0.25
NODES = np.exp(np.arange(-40, 4, STEP))  # e^{-s} is below 1e-23 beyond, and s below 1e-17 before


def state(dimension: int = 20, end: float = 0.5) -> Problem:
    """State the problem in some dimensions, until a time."""
    dimension = whole("the dimension", dimension, 1, 100)
    end = number("the time end", end, 0.01, 2)
    axes = [f"x{k}" for k in range(1, dimension + 1)]
    box = Box(t=(0, end), **dict.fromkeys(axes, (-1, 1)))

    def exact(t, **x):
        square = sum(c**2 for c in x.values())
        wide = 1 + 4 * NODES * t
        values = NODES * jnp.exp(-NODES - NODES * square / wide) * wide ** (-dimension / 2)
        return -jnp.log(2 * STEP * jnp.sum(values))

    return Problem(
        box,
        equation=Condition(lambda u: u.d("t") - u.laplacian(*axes) + reduce(add, [u.d(k) ** 2 for k in axes])),
        cost=Condition(
            lambda u: u,
            on=box.face(t=0),
            equals=lambda **x: jnp.log((1 + sum(x[a] ** 2 for a in axes)) / 2),
        ),
        walls=Condition(lambda u: u, on=box.faces(*axes), equals=exact),
        solution=exact,
        name="hjb-20d",
    )


ENTRY = Entry(
    name="hjb-20d",
    title="Hamilton–Jacobi–Bellman in twenty dimensions",
    equation="u_t = Δu − |∇u|² on [0,½]×[−1,1]^d, u(0, x) = log((1 + |x|²)/2)",
    kind="many dimensions",
    state=state,
)
