"""Taylor and Green's vortices: Navier–Stokes on a torus, where a pattern of vortices decays without changing."""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, periodic
from anagram.statement.problem import Problem

CUT = np.pi / 4  # where the axes begin and end; nothing vanishes there, to which differences could not be compared


def state(viscosity: float = 0.1, end: float = 1.0) -> Problem:
    """State the problem for a viscosity, until a time."""
    viscosity = number("the viscosity", viscosity, 1e-4, 10)
    end = number("the time end", end, 0.01, 100)
    around = periodic(CUT, CUT + 2 * np.pi)
    torus = Box(t=(0, end), x=around, y=around)

    def u_exact(t, x, y):
        return -jnp.cos(x) * jnp.sin(y) * jnp.exp(-2 * viscosity * t)

    def v_exact(t, x, y):
        return jnp.sin(x) * jnp.cos(y) * jnp.exp(-2 * viscosity * t)

    def p_exact(t, x, y):
        return -0.25 * (jnp.cos(2 * x) + jnp.cos(2 * y)) * jnp.exp(-4 * viscosity * t)

    return Problem(
        torus,
        momentum=Condition(
            lambda u, v, p: (
                u.d("t") + u * u.d("x") + v * u.d("y") + p.d("x") - viscosity * u.laplacian("x", "y"),
                v.d("t") + u * v.d("x") + v * v.d("y") + p.d("y") - viscosity * v.laplacian("x", "y"),
            )
        ),
        mass=Condition(lambda u, v: u.d("x") + v.d("y")),
        initial=Condition(
            lambda u, v: (u, v),
            on=torus.face(t=0),
            equals=(lambda x, y: u_exact(0.0, x, y), lambda x, y: v_exact(0.0, x, y)),
        ),
        # At every time the pressure is known up to a constant: it is given at one place.
        pressure=Condition(lambda p: p.at(x=CUT, y=CUT), equals=lambda t: p_exact(t, CUT, CUT)),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
        name="taylor-green",
    )


ENTRY = Entry(
    name="taylor-green",
    title="Taylor–Green vortices, Navier–Stokes 2+1D",
    equation="u_t + u·∇u + ∇p = ν Δu, div u = 0 on a torus",
    kind="mechanics and flow",
    state=state,
)
