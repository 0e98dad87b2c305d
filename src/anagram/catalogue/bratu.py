"""Bratu's problem on the disk, Δu + λ eᵘ = 0, u = 0 on the circle: heat that makes itself, until it explodes.

For λ < 2 there are two solutions, for λ > 2 none. The known one is the lower branch, Liouville's
u = 2 log((1 + b)/(1 + b r²)).
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Disk
from anagram.statement.problem import Problem


def state(strength: float = 1.0) -> Problem:
    """State the problem for a strength λ of the reaction."""
    strength = number("the strength", strength, 1e-3, 2)
    b = (4 - strength - np.sqrt(16 - 8 * strength)) / strength
    disk = Disk()
    return Problem(
        disk,
        equation=Condition(lambda u: u.laplacian() + strength * np.exp(u)),
        rim=Condition(lambda u: u, on=disk.boundary()),
        solution=lambda x, y: 2 * jnp.log((1 + b) / (1 + b * (x**2 + y**2))),
        name="bratu",
    )


ENTRY = Entry(
    name="bratu",
    title="Bratu 2D",
    equation="Δu + λ eᵘ = 0 on the disk, u = 0 on the circle",
    kind="nonlinear",
    state=state,
)
