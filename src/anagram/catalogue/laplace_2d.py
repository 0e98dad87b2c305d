"""The Laplace (Poisson) equation on the square: Δu = −2π² sin πx sin πy, u = 0 on the boundary."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry
from anagram.models import MLP
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Grid
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


def solution(x, y):
    """The exact solution."""
    return jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)


def state() -> Problem:
    """State the problem."""
    square = Box(x=(0, 1), y=(0, 1))
    return Problem(
        square,
        equation=Condition(lambda u: u.laplacian(), equals=lambda x, y: -2 * jnp.pi**2 * solution(x, y)),
        walls=Condition(lambda u: u, on=square.boundary()),
        solution=solution,
        name="laplace-2d",
    )


ENTRY = Entry(
    name="laplace-2d",
    title="Laplace 2D",
    equation="Δu = −2π² sin πx sin πy on [0,1]²",
    kind="the paper",
    state=state,
    paper=Setting(
        method="anagram",
        model=MLP(32, init="small", scale=0),
        options={"cutoff": 1e-6, "relative": False, "rows": "paper", "search": "paper"},
        points=Grid(30),
        steps=2000,
    ),
)
