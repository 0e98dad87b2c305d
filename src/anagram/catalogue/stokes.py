"""Creeping flow in a closed square: −Δu + ∇p = f, div u = 0, u = 0 on the walls.

Manufactured, of two vortices side by side and above each other; the pressure is given in the middle.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

pi = jnp.pi


def u_exact(x, y):
    """The velocity along x."""
    return jnp.sin(pi * x) ** 2 * jnp.sin(2 * pi * y)


def v_exact(x, y):
    """The velocity along y."""
    return -jnp.sin(2 * pi * x) * jnp.sin(pi * y) ** 2


def p_exact(x, y):
    """The pressure."""
    return jnp.cos(pi * x) * jnp.sin(pi * y)


def force(x, y):
    """−Δu + ∇p."""
    swirl_x = 2 * pi**2 * (1 - 2 * jnp.cos(2 * pi * x)) * jnp.sin(2 * pi * y)
    swirl_y = -2 * pi**2 * (1 - 2 * jnp.cos(2 * pi * y)) * jnp.sin(2 * pi * x)
    return (
        swirl_x - pi * jnp.sin(pi * x) * jnp.sin(pi * y),
        swirl_y + pi * jnp.cos(pi * x) * jnp.cos(pi * y),
    )


def state() -> Problem:
    """State the problem."""
    square = Box(x=(0, 1), y=(0, 1))
    return Problem(
        square,
        momentum=Condition(lambda u, v, p: (p.d("x") - u.laplacian(), p.d("y") - v.laplacian()), equals=force),
        mass=Condition(lambda u, v: u.d("x") + v.d("y")),
        walls=Condition(lambda u, v: (u, v), on=square.boundary()),
        pressure=Condition(lambda p: p, on=square.points(x=0.5, y=0.5)),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
        name="stokes",
    )


ENTRY = Entry(
    name="stokes",
    title="Stokes 2D",
    equation="∇p − Δu = f, div u = 0 on [0,1]², u = 0 on the walls",
    kind="mechanics and flow",
    state=state,
)
