"""A plane wave that goes through a square in an oblique direction: Δu + k²u = 0.

u is complex, and u_n − iku is given on the sides, so that the problem has one solution whatever k is; with u itself
given there would be none, or many, where k² is an eigenvalue of the square.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

ALONG = {"x": 0.8, "y": 0.6}  # the direction of the wave


def state(k: float = 10.0) -> Problem:
    """State the problem for a wave number k."""
    k = number("the wave number k", k, 0.1, 200)
    square = Box(x=(0, 1), y=(0, 1))

    def exact(x, y):
        return jnp.exp(1j * k * (ALONG["x"] * x + ALONG["y"] * y))

    sides = {
        f"{axis}{end}": Condition(
            lambda u: u.normal_derivative() - 1j * k * u,
            on=square.face(**{axis: end}),
            equals=lambda x, y, out=ALONG[axis] * (2 * end - 1): 1j * k * (out - 1) * exact(x, y),
        )
        for axis in ALONG
        for end in (0, 1)
    }
    return Problem(
        square,
        sides,
        equation=Condition(lambda u: u.laplacian() + k**2 * u),
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
