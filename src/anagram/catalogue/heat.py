"""The heat equation: u_t = ¼ u_xx with u = 0 at the ends and u(0, x) = sin πx."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry
from anagram.models import MLP
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Grid
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


def solution(t, x):
    """The exact solution."""
    return jnp.exp(-(jnp.pi**2) * t / 4) * jnp.sin(jnp.pi * x)


def state() -> Problem:
    """State the problem."""
    space_time = Box(t=(0, 1), x=(0, 1))
    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t") - 0.25 * u.d("x", "x")),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
        walls=Condition(lambda u: u, on=space_time.faces("x")),
        solution=solution,
        name="heat",
    )


ENTRY = Entry(
    name="heat",
    title="Heat 1+1D",
    equation="u_t = ¼ u_xx on [0,1]×[0,1]",
    kind="the paper",
    state=state,
    paper=Setting(
        method="anagram",
        model=MLP(64, init="small", scale=0),
        options={"cutoff": 1e-5, "relative": False, "rows": "paper", "search": "paper"},
        points=Grid(30),
        steps=2000,
    ),
)
