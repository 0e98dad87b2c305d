"""Burgers' equations for two components on the square: a front along a diagonal that moves.

u_t + u u_x + v u_y = Δu/Re, and the same for v; the solution is Fletcher's, by the Cole–Hopf transformation.
"""

import jax.numpy as jnp

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(reynolds: float = 80.0) -> Problem:
    """State the problem for a Reynolds number; the front is 8/Re wide."""
    reynolds = number("the Reynolds number", reynolds, 1, 10_000)
    box = Box(t=(0, 1), x=(0, 1), y=(0, 1))

    def front(t, x, y):
        # 1/(1 + exp z), written so that it does not overflow.
        return 0.5 - 0.5 * jnp.tanh((4 * (y - x) - t) * reynolds / 64)

    def u_exact(t, x, y):
        return 0.75 - 0.25 * front(t, x, y)

    def v_exact(t, x, y):
        return 0.75 + 0.25 * front(t, x, y)

    return Problem(
        box,
        equations=Condition(
            lambda u, v: (
                u.d("t") + u * u.d("x") + v * u.d("y") - u.laplacian("x", "y") / reynolds,
                v.d("t") + u * v.d("x") + v * v.d("y") - v.laplacian("x", "y") / reynolds,
            )
        ),
        initial=Condition(
            lambda u, v: (u, v),
            on=box.face(t=0),
            equals=(lambda x, y: u_exact(0.0, x, y), lambda x, y: v_exact(0.0, x, y)),
        ),
        walls=Condition(lambda u, v: (u, v), on=box.faces("x", "y"), equals=(u_exact, v_exact)),
        unknowns=("u", "v"),
        solution={"u": u_exact, "v": v_exact},
        name="burgers-2d",
    )


ENTRY = Entry(
    name="burgers-2d",
    title="Burgers 2+1D",
    equation="u_t + u u_x + v u_y = Δu/Re, v_t + u v_x + v v_y = Δv/Re on [0,1]³",
    kind="nonlinear",
    state=state,
)
