"""A square plate on supports under its own weight: Δ²w = 1, w = Δw = 0 on the edges.

In the corners Δw behaves like r² log r. The solution is Lévy's: the one of a strip, and a series that decays away from
the edges y = 0 and y = 1. Its first 300 terms leave 1e-11 of w at these edges, 1e-5 of Δw, and nothing further inside.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

ODD = np.pi * np.arange(1, 600, 2)


def solution(x, y):
    """Lévy's solution."""
    strip = (x - 2 * x**3 + x**4) / 24
    # cosh and sinh of ODD·(y − ½), over cosh(ODD/2) and without overflow; both edges alike.
    near, far = jnp.exp(-ODD * y), jnp.exp(-ODD * (1 - y))
    below = 1 + np.exp(-ODD)
    cosh, sinh = (near + far) / below, (far - near) / below
    edge = (2 + ODD / 2 * np.tanh(ODD / 2)) / 2
    return strip - 4 * jnp.sum(jnp.sin(ODD * x) / ODD**5 * (edge * cosh - ODD / 2 * (y - 0.5) * sinh))


def state() -> Problem:
    """State the problem."""
    square = Box(x=(0, 1), y=(0, 1))
    return Problem(
        square,
        equation=Condition(lambda w: w.laplacian().laplacian(), equals=1.0),
        edges=Condition(lambda w: (w, w.laplacian()), on=square.boundary()),
        solution=solution,
        name="plate",
    )


ENTRY = Entry(
    name="plate",
    title="Kirchhoff's plate",
    equation="Δ²w = 1 on [0,1]², w = Δw = 0 on the edges",
    kind="mechanics and flow",
    state=state,
)
