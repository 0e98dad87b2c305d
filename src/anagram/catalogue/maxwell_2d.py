"""Maxwell's equations in a cavity with conducting walls, transversal magnetic: E along z, H in the plane.

    E_t = ∂_x H_y − ∂_y H_x,    ∂_t H_x = −E_y,    ∂_t H_y = E_x,    E = 0 on the walls

A mode (m, n) swings with ω = π√(m² + n²).
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number, whole
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(m: int = 1, n: int = 2, end: float = 1.0) -> Problem:
    """State the problem for a mode and a time."""
    across, up = np.pi * whole("the mode m", m, 1, 10), np.pi * whole("the mode n", n, 1, 10)
    omega = np.hypot(across, up)
    box = Box(t=(0, number("the time end", end, 0.01, 10)), x=(0, 1), y=(0, 1))

    def e(t, x, y):
        return jnp.sin(across * x) * jnp.sin(up * y) * jnp.cos(omega * t)

    def hx(t, x, y):
        return -up / omega * jnp.sin(across * x) * jnp.cos(up * y) * jnp.sin(omega * t)

    def hy(t, x, y):
        return across / omega * jnp.cos(across * x) * jnp.sin(up * y) * jnp.sin(omega * t)

    return Problem(
        box,
        induction=Condition(
            lambda E, Hx, Hy: (E.d("t") - Hy.d("x") + Hx.d("y"), Hx.d("t") + E.d("y"), Hy.d("t") - E.d("x"))
        ),
        initial=Condition(
            lambda E, Hx, Hy: (E, Hx, Hy), on=box.face(t=0), equals=(lambda x, y: e(0.0, x, y), 0.0, 0.0)
        ),
        walls=Condition(lambda E: E, on=box.faces("x", "y")),
        unknowns=("E", "Hx", "Hy"),
        solution={"E": e, "Hx": hx, "Hy": hy},
        name="maxwell-2d",
    )


ENTRY = Entry(
    name="maxwell-2d",
    title="Maxwell 2+1D, a cavity",
    equation="E_t = curl H, H_t = −curl E on [0,1]², E = 0 on the walls",
    kind="waves",
    state=state,
)
