"""Boussinesq's equations for a stratified fluid: a plane internal wave on a torus that decays.

    u_t + u·∇u + ∇p = ν Δu + b e_z,    b_t + u·∇b + N² w = ν Δb,    div u = 0

Velocities are perpendicular to the direction of the wave, so that what they carry does not change along them: it solves
the nonlinear equations at any amplitude. It moves at right angles to its own energy, with ω = N k/√(k² + m²).
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, periodic
from anagram.statement.problem import Problem

K, M = 1, 2  # waves along x and along z


def state(buoyancy: float = 2.0, viscosity: float = 0.02, amplitude: float = 0.5, end: float = 2.0) -> Problem:
    """State the problem for Brunt and Väisälä's frequency N, a viscosity and an amplitude, until a time."""
    n = number("the frequency buoyancy", buoyancy, 0.1, 20)
    viscosity = number("the viscosity", viscosity, 0, 10)
    amplitude = number("the amplitude", amplitude, 1e-3, 10)
    torus = Box(t=(0, number("the time end", end, 0.01, 50)), x=periodic(0, 2 * np.pi), z=periodic(0, 2 * np.pi))
    omega = n * K / np.hypot(K, M)

    def moving(shape, size):
        def value(t, x, z):
            decay = jnp.exp(-viscosity * (K**2 + M**2) * t)
            return amplitude * size * decay * shape(K * x + M * z - omega * t)

        return value

    exact = {
        "u": moving(jnp.cos, -M / K),
        "w": moving(jnp.cos, 1.0),
        "p": moving(jnp.cos, -M * omega / K**2),
        "b": moving(jnp.sin, n**2 / omega),
    }

    def carried(f, u, w):
        return f.d("t") + u * f.d("x") + w * f.d("z") - viscosity * f.laplacian("x", "z")

    return Problem(
        torus,
        momentum=Condition(lambda u, w, p, b: (carried(u, u, w) + p.d("x"), carried(w, u, w) + p.d("z") - b)),
        buoyancy=Condition(lambda u, w, b: carried(b, u, w) + n**2 * w),
        mass=Condition(lambda u, w: u.d("x") + w.d("z")),
        initial=Condition(
            lambda u, w, b: (u, w, b),
            on=torus.face(t=0),
            equals=lambda x, z: tuple(exact[name](0.0, x, z) for name in ("u", "w", "b")),
        ),
        # At every time the pressure is known up to a constant: it is given at one place.
        pressure=Condition(lambda p: p.at(x=0, z=0), equals=lambda t: exact["p"](t, 0.0, 0.0)),
        unknowns=("u", "w", "p", "b"),
        solution=exact,
        name="boussinesq",
    )


ENTRY = Entry(
    name="boussinesq",
    title="Boussinesq 2+1D, an internal wave",
    equation="u_t + u·∇u + ∇p = ν Δu + b e_z, b_t + u·∇b + N²w = ν Δb, div u = 0 on a torus",
    kind="mechanics and flow",
    state=state,
)
