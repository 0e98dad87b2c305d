"""Small problems that several tests share."""

import jax.numpy as jnp

import anagram as ag

LINE = ag.Box(x=(0, 1))
SPACE_TIME = ag.Box(t=(0, 1), x=(0, 1))


def parabola(**more):
    """u'' = 2, u(0) = u(1) = 0."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.0),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
        solution=lambda x: x * (x - 1),
        **more,
    )


def front():
    """A wave that steepens: its points move."""
    return ag.Problem(
        SPACE_TIME,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") - 0.02 * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=SPACE_TIME.face(t=0), equals=lambda x: jnp.sin(2 * jnp.pi * x)),
        walls=ag.Condition(lambda u: u, on=SPACE_TIME.faces("x")),
    )


# The same problem as a file, for the command line.
FILE = """
import anagram as ag

line = ag.Box(x=(0, 1))
mine = ag.Problem(
    line,
    equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.0),
    ends=ag.Condition(lambda u: u, on=line.boundary()),
    solution=lambda x: x * (x - 1),
)
"""
