"""The Allen–Cahn equation: u_t = 10⁻³ u_xx + 5(u − u³) with u = −1 at the ends and u(0, x) = x² cos πx."""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry
from anagram.catalogue.references.allen_cahn import AllenCahnReference
from anagram.models import MLP
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Grid
from anagram.statement.problem import Problem
from anagram.training.setting import Setting


def state() -> Problem:
    """State the problem."""
    space_time = Box(t=(0, 1), x=(-1, 1))
    return Problem(
        space_time,
        equation=Condition(lambda u: u.d("t") - 1e-3 * u.d("x", "x") - 5 * (u - u**3)),
        initial=Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: x**2 * jnp.cos(jnp.pi * x)),
        walls=Condition(lambda u: u, on=space_time.faces("x"), equals=-1.0),
        reference=AllenCahnReference(),
        name="allen-cahn",
    )


ENTRY = Entry(
    name="allen-cahn",
    title="Allen–Cahn 1+1D",
    equation="u_t = 10⁻³ u_xx + 5(u − u³) on [0,1]×[−1,1]",
    kind="the paper",
    state=state,
    paper=Setting(
        method="anagram",
        model=MLP(20, 20, 20, init="small", scale=0),
        options={"cutoff": 5e-7, "relative": True, "rows": "paper", "search": "paper"},
        points=Grid(30),
        steps=4000,
    ),
)
