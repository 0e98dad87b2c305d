"""The Laplace (Poisson) equation in five dimensions, with the solution Σ sin πx_k on the boundary.

The source printed in the paper has the wrong sign: Δ Σ sin πx_k = −π² Σ sin πx_k.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry
from anagram.models import MLP
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Uniform
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


def solution(**x):
    """The exact solution."""
    return sum(jnp.sin(jnp.pi * coordinate) for coordinate in x.values())


def state() -> Problem:
    """State the problem."""
    cube = Box(**{f"x{k}": (0, 1) for k in range(1, 6)})
    return Problem(
        cube,
        equation=Condition(lambda u: u.laplacian(), equals=lambda **x: -(jnp.pi**2) * solution(**x)),
        walls=Condition(lambda u: u, on=cube.boundary(), equals=solution),
        solution=solution,
        name="laplace-5d",
    )


ENTRY = Entry(
    name="laplace-5d",
    title="Laplace 5D",
    equation="Δu = −π² Σ sin πx_k on [0,1]⁵",
    kind="the paper",
    state=state,
    paper=Setting(
        method="anagram",
        model=MLP(64, init="small", scale=0),
        options={"cutoff": 5e-7, "relative": True, "rows": "paper", "search": "paper"},
        points={"equation": Uniform(4000), "walls": Uniform(500)},
        steps=1000,
    ),
)
