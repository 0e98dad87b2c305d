"""Gray and Scott's reactions on a ring: U + 2V → 3V, U is fed, V is taken out.

    u_t = 0.16 u_xx − u v² + F (1 − u),    v_t = 0.08 v_xx + u v² − (F + k) v

A pulse of V eats the U in its middle and becomes two, which begin to part at t = 50 and have parted at t = 200. Nothing
at all, u = 1 and v = 0, is a solution too, but for the beginning; for long times networks may find it.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.ring import Equation, RingReference
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, periodic
from anagram.statement.problem import Problem

SLOW, FAST, LENGTH = 0.08, 0.16, 30.0


def start(x):
    """u and v at the beginning: a bump of V at half of the ring, where half of U is missing."""
    bump = jnp.exp(-5 * (1 + jnp.cos(2 * jnp.pi * x / LENGTH)))
    return 1 - 0.5 * bump, 0.5 * bump


def reference(feed: float, kill: float, end: float) -> RingReference:
    """The reference for two rates, until a time."""
    equation = Equation(
        name=f"gray-scott-1-{feed:.17g}-{kill:.17g}-{end:.17g}",
        period=LENGTH,
        end=end,
        multipliers=lambda k: -np.stack([FAST * k**2 + feed, SLOW * k**2 + feed + kill]),
        rest=lambda f, k: np.stack([feed - f[0] * f[1] ** 2, f[0] * f[1] ** 2]),
        start=lambda x: np.asarray(start(x)),
    )
    return RingReference(equation, points=192, snapshots=max(40, int(4 * end)), steps=6)


def state(feed: float = 0.04, kill: float = 0.06, end: float = 50.0) -> Problem:
    """State the problem for the rates F and k, until a time."""
    feed, kill = number("the rate feed", feed, 0, 0.1), number("the rate kill", kill, 0, 0.1)
    end = number("the time end", end, 1, 500)
    ring = Box(t=(0, end), x=periodic(0, LENGTH))
    known = reference(feed, kill, end)
    return Problem(
        ring,
        equations=Condition(
            lambda u, v: (
                u.d("t") - FAST * u.d("x", "x") + u * v**2 - feed * (1 - u),
                v.d("t") - SLOW * v.d("x", "x") - u * v**2 + (feed + kill) * v,
            )
        ),
        initial=Condition(lambda u, v: (u, v), on=ring.face(t=0), equals=start),
        unknowns=("u", "v"),
        solution={"u": known.field(0), "v": known.field(1)},
        name="gray-scott",
    )


ENTRY = Entry(
    name="gray-scott",
    title="Gray–Scott 1+1D",
    equation="u_t = 0.16 u_xx − u v² + F(1 − u), v_t = 0.08 v_xx + u v² − (F + k) v on a ring of 30",
    kind="nonlinear",
    state=state,
)
