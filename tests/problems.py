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


def fins(largest):
    """u'' = k² u, u = 1 at both ends, for all k up to the largest."""
    box = ag.Box(k=ag.parameter(0.5, largest, log=True), x=(0, 1))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u, k: u.d("x", "x") - k**2 * u),
        ends=ag.Condition(lambda u: u, on=box.faces("x"), equals=1.0),
        solution=lambda k, x: jnp.cosh(k * (x - 0.5)) / jnp.cosh(k / 2),
        name="fin",
    )


# The parabola as a file, for the command line.
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
