"""Cahn and Hilliard's equation on a ring, u_t = (u³ − u − ε² u_xx)_xx: a mixture that separates.

Waves longer than 2πε grow until u is near +1 or −1; the layers between the two are about 3ε wide.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.ring import Equation, RingReference
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, periodic
from anagram.statement.problem import Problem


def start(x):
    """Where it begins."""
    return 0.1 * jnp.cos(x) + 0.2 * jnp.sin(2 * x)


def reference(epsilon: float, end: float) -> RingReference:
    """The reference for a width of layers, until a time."""
    equation = Equation(
        name=f"cahn-hilliard-1-{epsilon:.17g}-{end:.17g}",
        period=2 * np.pi,
        end=end,
        multipliers=lambda k: (k**2 - epsilon**2 * k**4)[None],
        rest=lambda u, k: -(k**2) * np.fft.rfft(u**3),
        start=lambda x: np.asarray(start(x))[None],
    )
    # More points for thinner layers, and more steps for the faster waves between them.
    finer = 0.3 / epsilon
    points = 2 * int(np.ceil(64 * max(1.0, finer)))
    return RingReference(equation, points, snapshots=max(40, int(400 * end * max(1.0, finer**2))), steps=5)


def state(epsilon: float = 0.3, end: float = 2.0) -> Problem:
    """State the problem for a width ε of layers, until a time."""
    epsilon = number("the width epsilon", epsilon, 0.1, 0.45)
    end = number("the time end", end, 0.01, 10)
    ring = Box(t=(0, end), x=periodic(0, 2 * np.pi))
    return Problem(
        ring,
        equation=Condition(lambda u: u.d("t") - (u**3 - u - epsilon**2 * u.d("x", "x")).d("x", "x")),
        initial=Condition(lambda u: u, on=ring.face(t=0), equals=start),
        reference=reference(epsilon, end),
        name="cahn-hilliard",
    )


ENTRY = Entry(
    name="cahn-hilliard",
    title="Cahn–Hilliard 1+1D",
    equation="u_t = (u³ − u − ε² u_xx)_xx on a ring of 2π",
    kind="nonlinear",
    state=state,
)
