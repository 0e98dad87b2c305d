"""A plane wave that goes through a square in an oblique direction: Δu + k²u = 0.

u is complex, and u_n − iku is given on the sides, so that the problem has one solution whatever k is; with u itself
given there would be none, or many, where k² is an eigenvalue of the square.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

ALONG = (0.8, 0.6)  # the direction of the wave
# By name: where a side is, and how much of the wave goes out there.
SIDES = {"left": ("x", 0, -0.8), "right": ("x", 1, 0.8), "below": ("y", 0, -0.6), "above": ("y", 1, 0.6)}


def state(k: float = 10.0) -> Problem:
    """State the problem for a wave number k."""
    k = number("the wave number k", k, 0.1, 200)
    square = Box(x=(0, 1), y=(0, 1))

    def exact(x, y):
        return jnp.exp(1j * k * (ALONG[0] * x + ALONG[1] * y))

    sides = {
        name: Condition(
            lambda u: u.normal_derivative() - 1j * k * u,
            on=square.face(**{axis: end}),
            equals=lambda x, y, out=out: 1j * k * (out - 1) * exact(x, y),
        )
        for name, (axis, end, out) in SIDES.items()
    }
    return Problem(
        square,
        {"equation": Condition(lambda u: u.laplacian() + k**2 * u)},
        sides,
        unknowns={"u": complex},
        solution=exact,
        name="helmholtz",
    )


ENTRY = Entry(
    name="helmholtz",
    title="Helmholtz 2D, complex",
    equation="Δu + k²u = 0 on [0,1]², u_n − iku given",
    kind="waves",
    state=state,
)
