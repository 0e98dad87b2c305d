"""Burgers' equation: u_t + u u_x = ν u_xx with u = 0 at the ends and u(0, x) = −sin πx."""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.burgers import BurgersReference
from anagram.models import MLP
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Grid
from anagram.statement.problem import Problem
from anagram.training.setting import Setting

SMALLEST, LARGEST = 1e-5, 1e6  # viscosities; the quadrature of the reference grows with the root of 1/ν


def state(nu: float = 0.01) -> Problem:
    """State the problem for a viscosity ν."""
    nu = number("the viscosity nu", nu, SMALLEST, LARGEST)
    space_time = Box(t=(0, 1), x=(-1, 1))
    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t") + u * u.d("x") - nu * u.d("x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: -jnp.sin(jnp.pi * x)),
        walls=Condition(lambda u: u, on=space_time.faces("x")),
        reference=BurgersReference(nu),
        name="burgers",
    )


def paper_grid(count: int = 240) -> Grid:
    """The paper's grid: regular in time; in space half regular and half logarithmic towards the shock at 0."""
    quarter = count // 4
    fine = 2.0 ** -np.linspace(2, 32, quarter)
    outer = np.linspace(0.25, 1.0, quarter + 1)[1:]
    right = np.concatenate([fine[::-1], outer])
    return Grid(t=np.linspace(0, 1, count), x=np.concatenate([-right[::-1], [0.0], right]))


ENTRY = Entry(
    name="burgers",
    title="Burgers 1+1D",
    equation="u_t + u u_x = ν u_xx on [0,1]×[−1,1]",
    kind="the paper",
    state=state,
    paper=Setting(
        method="anagram",
        model=MLP(32, 32, 32, init="small", scale=0),
        # J would take a gigabyte at every step: the Gram matrix is summed chunk by chunk.
        options={"cutoff": 5e-7, "relative": True, "rows": "paper", "search": "paper", "factorisation": "eigh"},
        points=paper_grid(),
        steps=1000,
    ),
)
