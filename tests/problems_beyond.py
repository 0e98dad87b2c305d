"""Problems whose conditions look beyond their point, with known solutions."""

import jax.numpy as jnp
import numpy as np

import anagram as ag

LINE = ag.Box(x=(0, 1))
LEFT, RIGHT = ag.Box(x=(0, 0.5)), ag.Box(x=(0.5, 1))
SQUARE = ag.Box(x=(0, 1), y=(0, 1))
CONDUCTIVITY = 100.0


def neumann():
    """−Δu = f with no flux through the walls: u is known up to a constant, which its mean says."""

    def exact(x, y):
        return jnp.cos(jnp.pi * x) * jnp.cos(jnp.pi * y)

    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: -u.laplacian(), equals=lambda x, y: 2 * jnp.pi**2 * exact(x, y)),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=SQUARE.boundary()),
        mean=ag.Condition(lambda u: ag.integral(u)),
        solution=exact,
    )


def bitsadze():
    """An end whose value is told by that of another place."""
    end = float(np.sin(2) + 1 - 0.5 * (np.sin(1) + 0.5))
    return ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: -4 * jnp.sin(2 * x)),
        left=ag.Condition(lambda u: u, on=LINE.face(x=0)),
        right=ag.Condition(lambda u: u.at(x=1) - 0.5 * u.at(x=0.5), equals=end),
        solution=lambda x: jnp.sin(2 * x) + x,
    )


def fredholm():
    """u(x) − ½ ∫ x s u(s) ds = f, an integral equation."""
    x = LINE.coordinate("x")
    return ag.Problem(
        LINE,
        equation=ag.Condition(
            lambda u: u - 0.5 * ag.integral(lambda s: x * s * u.at(x=s), over="x"),
            equals=lambda x: jnp.exp(x) - 0.5 * x,  # ∫ s eˢ ds = 1
        ),
        solution=jnp.exp,
    )


def mass():
    """Heat in a rod of which one end is closed, and whose heat stays the same: so the other end is closed too."""
    box = ag.Box(t=(0, 1), x=(0, 1))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("t") - 0.1 * u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: 1 + jnp.cos(jnp.pi * x)),
        left=ag.Condition(lambda u: u.normal_derivative(), on=box.face(x=0)),
        mass=ag.Condition(lambda u: ag.integral(u, over="x"), equals=1.0),
        solution=lambda t, x: 1 + jnp.exp(-0.1 * jnp.pi**2 * t) * jnp.cos(jnp.pi * x),
    )


def rod(**more):
    """A rod of two materials: −u″ = f on the left, −100 v″ = f on the right; value and flux go on."""
    lifted = 1 - 1 / CONDUCTIVITY

    def source(x):
        return jnp.pi**2 * jnp.sin(jnp.pi * x)

    return ag.Problem(
        LINE,
        left=ag.Condition(lambda u: -u.d("x", "x"), equals=source),
        right=ag.Condition(lambda v: -CONDUCTIVITY * v.d("x", "x"), equals=source),
        value=ag.Condition(lambda u, v: u - v, on=LINE.slice(x=0.5)),
        flux=ag.Condition(
            lambda u, v: u.normal_derivative() - CONDUCTIVITY * v.normal_derivative(), on=LINE.slice(x=0.5)
        ),
        cold=ag.Condition(lambda u: u, on=LINE.face(x=0)),
        warm=ag.Condition(lambda v: v, on=LINE.face(x=1), equals=lifted),
        unknowns={"u": LEFT, "v": RIGHT},
        # Of no use on the other side, where they must not be asked for.
        solution={
            "u": lambda x: jnp.where(x <= 0.5, jnp.sin(jnp.pi * x), jnp.nan),
            "v": lambda x: jnp.where(x >= 0.5, jnp.sin(jnp.pi * x) / CONDUCTIVITY + lifted, jnp.nan),
        },
        **more,
    )
