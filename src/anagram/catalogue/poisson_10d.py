"""Poisson's equation on a cube of many dimensions: neighbours in a ring of coordinates are coupled.

u = Σ sin(πx_k/2) sin(πx_{k+1}/2)/d, which is no sum of functions of one coordinate each, and Δu = −½π²u.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def solution(**x):
    """The exact solution."""
    sines = jnp.sin(jnp.pi / 2 * jnp.stack(list(x.values())))
    return jnp.mean(sines * jnp.roll(sines, 1))


def state(dimension: int = 10) -> Problem:
    """State the problem in some dimensions."""
    dimension = whole("the dimension", dimension, 3, 100)
    cube = Box(**{f"x{k}": (0, 1) for k in range(1, dimension + 1)})
    return Problem(
        cube,
        equation=Condition(lambda u: u.laplacian(), equals=lambda **x: -(jnp.pi**2) / 2 * solution(**x)),
        walls=Condition(lambda u: u, on=cube.boundary(), equals=solution),
        solution=solution,
        name="poisson-10d",
    )


ENTRY = Entry(
    name="poisson-10d",
    title="Poisson in ten dimensions",
    equation="Δu = f on [0,1]^d, d = 10 or any up to 100",
    kind="many dimensions",
    state=state,
)
