"""Kuramoto and Sivashinsky's equation on a ring, u_t + u u_x + u_xx + u_xxxx = 0: the way into chaos.

Long waves grow, short ones are damped, and the nonlinear term carries one to the other. Until t = 20 ridges come up and
move; what happens later depends on ever smaller things before.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number, whole
from anagram.catalogue.references.ring import Equation, RingReference
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, periodic
from anagram.statement.problem import Problem


def reference(waves: int, end: float) -> RingReference:
    """The reference for a ring of the length 2π·`waves`."""
    equation = Equation(
        name=f"kuramoto-sivashinsky-1-{waves}-{end:.17g}",
        period=2 * np.pi * waves,
        end=end,
        multipliers=lambda k: (k**2 - k**4)[None],
        rest=lambda u, k: -0.5j * k * np.fft.rfft(u**2),
        start=lambda x: np.asarray(start(x / waves))[None],
    )
    return RingReference(equation, points=32 * waves, snapshots=max(40, int(20 * end)), steps=10)


def start(angle):
    """Where it begins."""
    return jnp.cos(angle) * (1 + jnp.sin(angle))


def state(waves: int = 4, end: float = 20.0) -> Problem:
    """State the problem on a ring of the length 2π·`waves`, until a time."""
    waves = whole("the number of waves", waves, 2, 16)
    end = number("the time end", end, 0.1, 100)
    ring = Box(t=(0, end), x=periodic(0, 2 * np.pi * waves))
    return Problem(
        ring,
        equation=Condition(lambda u: u.d("t") + u * u.d("x") + u.d("x", "x") + u.d("x", "x", "x", "x")),
        initial=Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: start(x / waves)),
        reference=reference(waves, end),
        name="kuramoto-sivashinsky",
    )


ENTRY = Entry(
    name="kuramoto-sivashinsky",
    title="Kuramoto–Sivashinsky 1+1D",
    equation="u_t + u u_x + u_xx + u_xxxx = 0 on a ring of 8π",
    kind="nonlinear",
    state=state,
)
