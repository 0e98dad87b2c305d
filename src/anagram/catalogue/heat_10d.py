"""The heat equation in many dimensions: u_t = Δu/10 on a cube, a warm spot that spreads.

u = (w/(w + 0.4t))^{d/2} exp(−|x|²/(w + 0.4t)) with w = d/10, so that it is about as uneven in all dimensions.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

DIFFUSIVITY = 0.1


def state(dimension: int = 10) -> Problem:
    """State the problem in some dimensions of space."""
    dimension = whole("the dimension", dimension, 1, 100)
    axes = [f"x{k}" for k in range(1, dimension + 1)]
    box = Box(t=(0, 1), **dict.fromkeys(axes, (-0.5, 0.5)))

    def exact(t, **x):
        first = dimension / 10
        width = first + 4 * DIFFUSIVITY * t
        return (first / width) ** (dimension / 2) * jnp.exp(-sum(c**2 for c in x.values()) / width)

    return Problem(
        box,
        equation=Condition(lambda u: u.d("t") - DIFFUSIVITY * u.laplacian(*axes)),
        initial=Condition(lambda u: u, on=box.face(t=0), equals=lambda **x: exact(0.0, **{a: x[a] for a in axes})),
        walls=Condition(lambda u: u, on=box.faces(*axes), equals=exact),
        solution=exact,
        name="heat-10d",
    )


ENTRY = Entry(
    name="heat-10d",
    title="Heat in ten dimensions",
    equation="u_t = Δu/10 on [0,1]×[−½,½]^d, d = 10 or any up to 100",
    kind="many dimensions",
    state=state,
)
