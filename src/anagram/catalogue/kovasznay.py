"""Kovasznay's flow behind a grid: the steady Navier–Stokes equations, velocities given on the boundary."""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

pi = np.pi


def state(reynolds: float = 40.0) -> Problem:
    """State the problem for a Reynolds number."""
    reynolds = number("the Reynolds number", reynolds, 1, 1000)
    box = Box(x=(-0.5, 1), y=(-0.5, 1.5))
    rate = reynolds / 2 - np.sqrt(reynolds**2 / 4 + 4 * pi**2)

    def u_exact(x, y):
        return 1 - jnp.exp(rate * x) * jnp.cos(2 * pi * y)

    def v_exact(x, y):
        return rate / (2 * pi) * jnp.exp(rate * x) * jnp.sin(2 * pi * y)

    def p_exact(x, y):
        return 0.5 * (1 - jnp.exp(2 * rate * x))

    return Problem(
        box,
        momentum=Condition(
            lambda u, v, p: (
                u * u.d("x") + v * u.d("y") + p.d("x") - u.laplacian() / reynolds,
                u * v.d("x") + v * v.d("y") + p.d("y") - v.laplacian() / reynolds,
            )
        ),
        mass=Condition(lambda u, v: u.d("x") + v.d("y")),
        walls=Condition(lambda u, v: (u, v), on=box.boundary(), equals=(u_exact, v_exact)),
        pressure=Condition(lambda p: p, on=box.points(x=0, y=0)),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
        name="kovasznay",
    )


ENTRY = Entry(
    name="kovasznay",
    title="Kovasznay's flow, Navier–Stokes 2D",
    equation="u·∇u + ∇p = Δu/Re, div u = 0 on [−½,1]×[−½,1½]",
    kind="mechanics and flow",
    state=state,
)
