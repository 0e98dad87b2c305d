"""Problems outside the catalogue, stated as a user would, whose solutions are known.

They are there to try `ag.solve(problem, tol=..., seconds=...)` with nothing else set (bench/anywhere.py). Most
solutions are closed formulas; some ordinary equations are integrated here, by collocation in short intervals of time.
tests/bench/test_touchstone.py puts every solution into its equations, or compares it with another solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy import special

import anagram as ag
from anagram.catalogue.references.collocation import integrated

pi = np.pi


@dataclass(frozen=True)
class Touchstone:
    """A problem with a known solution.

    `smooth` says whether ten digits can be asked for: the solution is analytic, no layer or bump is thinner than about
    a twentieth of the domain, and data are exact. `coefficients` are the true values of those to be learned, `noise` is
    the standard deviation of the data.
    """

    name: str
    state: Callable[[], ag.Problem]
    smooth: bool
    note: str
    coefficients: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.0


TOUCHSTONES: dict[str, Touchstone] = {}


def _add(name: str, note: str, *, smooth: bool = True, values: tuple[Any, ...] = (), **known: Any) -> Any:
    """Add the problem that a function states, with these values of its parameters."""

    def added(state: Callable[..., ag.Problem]) -> Callable[..., ag.Problem]:
        def named() -> ag.Problem:
            return state(*values).restated(name=name)

        TOUCHSTONES[name] = Touchstone(name, named, smooth, note, **known)
        return state

    return added


# -- ordinary equations -------------------------------------------------------------------------------------
@_add("logistic", "growth from 1 % to saturation")
def logistic() -> ag.Problem:
    time = ag.Box(t=(0, 10))
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t") - u * (1 - u)),
        start=ag.Condition(lambda u: u, on=time.face(t=0), equals=0.01),
        solution=lambda t: 1 / (1 + 99 * jnp.exp(-t)),
    )


def duffing_slope(t, y):
    return y[1], -0.2 * y[1] + y[0] - y[0] ** 3 + 0.5 * np.cos(1.2 * t)


@_add("duffing", "a forced oscillator between two wells, almost four periods of the force")
def duffing() -> ag.Problem:
    time = ag.Box(t=(0, 20))
    force = time.field(lambda t: 0.5 * jnp.cos(1.2 * t))
    exact, _ = integrated(duffing_slope, (1.0, 0.0), 20, 100)
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t", "t") + 0.2 * u.d("t") - u + u**3 - force),
        start=ag.Condition(lambda u: u, on=time.face(t=0), equals=1.0),
        speed=ag.Condition(lambda u: u.d("t"), on=time.face(t=0)),
        solution=exact,
    )


@_add("pendulum", "free swinging for seven and a half periods; Jacobi's elliptic functions")
def pendulum() -> ag.Problem:
    time = ag.Box(t=(0, 50))
    k = np.sin(0.5)
    quarter = special.ellipk(k**2)
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t", "t") + np.sin(u)),
        start=ag.Condition(lambda u: u, on=time.face(t=0), equals=1.0),
        speed=ag.Condition(lambda u: u.d("t"), on=time.face(t=0)),
        reference=lambda points: 2 * np.arcsin(k * special.ellipj(quarter - points[:, 0], k**2)[0]),
    )


def van_der_pol_slope(_, y):
    return y[1], 2 * (1 - y[0] ** 2) * y[1] - y[0]


@_add("van-der-pol", "relaxation oscillations, μ = 2")
def van_der_pol() -> ag.Problem:
    time = ag.Box(t=(0, 10))
    exact, _ = integrated(van_der_pol_slope, (2.0, 0.0), 10, 200)
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t", "t") - 2 * (1 - u**2) * u.d("t") + u),
        start=ag.Condition(lambda u: u, on=time.face(t=0), equals=2.0),
        speed=ag.Condition(lambda u: u.d("t"), on=time.face(t=0)),
        solution=exact,
    )


def lotka_volterra_slope(_, y):
    return 1.5 * y[0] - y[0] * y[1], y[0] * y[1] - 2 * y[1]


@_add("lotka-volterra", "two species, almost three cycles")
def lotka_volterra() -> ag.Problem:
    time = ag.Box(t=(0, 10))
    prey, hunters = integrated(lotka_volterra_slope, (3.0, 1.0), 10, 100)
    return ag.Problem(
        time,
        equations=ag.Condition(
            lambda prey, hunters: (
                prey.d("t") - 1.5 * prey + prey * hunters,
                hunters.d("t") - prey * hunters + 2 * hunters,
            )
        ),
        start=ag.Condition(lambda prey, hunters: (prey, hunters), on=time.face(t=0), equals=(3.0, 1.0)),
        unknowns=("prey", "hunters"),
        solution={"prey": prey, "hunters": hunters},
    )


@_add("prothero-robinson", "stiff, λ = 1000, with a smooth solution")
def prothero_robinson() -> ag.Problem:
    time = ag.Box(t=(0, 10))
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t") + 1e3 * u, equals=lambda t: 1e3 * jnp.cos(2 * t) - 2 * jnp.sin(2 * t)),
        start=ag.Condition(lambda u: u, on=time.face(t=0), equals=1.0),
        solution=lambda t: jnp.cos(2 * t),
    )


@_add("stiff-start", "stiff, λ = 1000, with a first layer of a thousandth of the time", smooth=False)
def stiff_start() -> ag.Problem:
    time, rate = ag.Box(t=(0, 1)), 1e3
    return ag.Problem(
        time,
        equation=ag.Condition(lambda u: u.d("t") + rate * u, equals=lambda t: rate * jnp.cos(t)),
        start=ag.Condition(lambda u: u, on=time.face(t=0)),
        solution=lambda t: rate * (rate * (jnp.cos(t) - jnp.exp(-rate * t)) + jnp.sin(t)) / (rate**2 + 1),
    )


@_add("layer-1e-3", "convection and little diffusion, a layer of width 1e-3", smooth=False, values=(1e-3,))
@_add("layer-1e-2", "convection and little diffusion, a layer of width 1e-2", smooth=False, values=(1e-2,))
def layer(width: float) -> ag.Problem:
    line = ag.Box(x=(0, 1))
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: width * u.d("x", "x") + u.d("x"), equals=1.0),
        ends=ag.Condition(lambda u: u, on=line.boundary()),
        solution=lambda x: x - jnp.expm1(-x / width) / np.expm1(-1 / width),
    )


@_add("bratu-1d", "u'' + 2 eᵘ = 0, the lower one of two solutions")
def bratu_1d() -> ag.Problem:
    line, strength = ag.Box(x=(0, 1)), 2.0
    theta = 2.0
    for _ in range(200):
        theta = np.sqrt(2 * strength) * np.cosh(theta / 4)
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x") + strength * np.exp(u)),
        ends=ag.Condition(lambda u: u, on=line.boundary()),
        solution=lambda x: -2 * jnp.log(jnp.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4)),
    )


@_add("lane-emden", "a star of index 5; the equation degenerates in the centre")
def lane_emden() -> ag.Problem:
    line = ag.Box(x=(0, 5))
    x = line.coordinate("x")
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: x * u.d("x", "x") + 2 * u.d("x") + x * u**5),
        centre=ag.Condition(lambda u: u, on=line.face(x=0), equals=1.0),
        slope=ag.Condition(lambda u: u.d("x"), on=line.face(x=0)),
        solution=lambda x: (1 + x**2 / 3) ** -0.5,
    )


@_add("airy", "u'' = x u: six waves, shorter to the left, and a decay")
def airy() -> ag.Problem:
    line = ag.Box(x=(-15, 3))
    x = line.coordinate("x")
    left, right = special.airy(-15)[0], special.airy(3)[0]
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x") - x * u),
        left=ag.Condition(lambda u: u, on=line.face(x=-15), equals=left),
        right=ag.Condition(lambda u: u, on=line.face(x=3), equals=right),
        reference=lambda points: special.airy(points[:, 0])[0],
    )


@_add("kink", "u'' = 2 sign x: the second derivative jumps", smooth=False)
def kink() -> ag.Problem:
    line = ag.Box(x=(-1, 1))
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: 2 * jnp.sign(x)),
        left=ag.Condition(lambda u: u, on=line.face(x=-1), equals=-1.0),
        right=ag.Condition(lambda u: u, on=line.face(x=1), equals=1.0),
        solution=lambda x: x * jnp.abs(x),
    )


@_add("eigenvalue", "the first eigenvalue of a string as a coefficient", coefficients={"square": pi**2})
def eigenvalue() -> ag.Problem:
    line = ag.Box(x=(0, 1))
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u, square: u.d("x", "x") + square * u),
        ends=ag.Condition(lambda u: u, on=line.boundary()),
        size=ag.Condition(lambda u: u, on=line.points(x=0.5), equals=1.0),
        coefficients={"square": 8.0},
        solution=lambda x: jnp.sin(pi * x),
    )


# -- waves and transport ------------------------------------------------------------------------------------
@_add("transport-30", "a wave carried along at speed 30, from initial and inflow values")
def transport() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(0, 2 * pi))
    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") + 30 * u.d("x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=jnp.sin),
        inflow=ag.Condition(lambda u: u, on=space_time.face(x=0), equals=lambda t: -jnp.sin(30 * t)),
        solution=lambda t, x: jnp.sin(x - 30 * t),
    )


@_add("wave-1-4", "a string with the modes 1 and 4, the latter for four periods")
def wave() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(0, 1))

    def exact(t, x):
        return jnp.sin(pi * x) * jnp.cos(2 * pi * t) + 0.5 * jnp.sin(4 * pi * x) * jnp.cos(8 * pi * t)

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t", "t") - 4 * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        speed=ag.Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x")),
        solution=exact,
    )


@_add("klein-gordon", "manufactured, with a cubic term")
def klein_gordon() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(0, 1))

    def exact(t, x):
        return x * jnp.cos(5 * pi * t) + (x * t) ** 3

    def source(t, x):
        return -25 * pi**2 * x * jnp.cos(5 * pi * t) + 6 * t * x**3 - 6 * x * t**3 + exact(t, x) ** 3

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x") + u**3, equals=source),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: x),
        speed=ag.Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        solution=exact,
    )


@_add("sine-gordon", "a breather, for almost one period")
def sine_gordon() -> ag.Problem:
    space_time = ag.Box(t=(0, 10), x=(-8, 8))

    def exact(t, x):
        return 4 * jnp.arctan(4 / 3 * jnp.sin(0.6 * t) / jnp.cosh(0.8 * x))

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x") + np.sin(u)),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0)),
        speed=ag.Condition(lambda u: u.d("t"), on=space_time.face(t=0), equals=lambda x: 3.2 / jnp.cosh(0.8 * x)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        solution=exact,
    )


@_add("kdv", "the soliton of Korteweg and de Vries, third order")
def kdv() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(-6, 8))

    def exact(t, x):
        return 2 / jnp.cosh(x - 4 * t) ** 2

    def slope(t, x):
        return -2 * exact(t, x) * jnp.tanh(x - 4 * t)

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") + 6 * u * u.d("x") + u.d("x", "x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        right=ag.Condition(lambda u: u.d("x"), on=space_time.face(x=8), equals=slope),
        solution=exact,
    )


@_add("soliton", "a moving soliton of the nonlinear Schrödinger equation, complex")
def soliton() -> ag.Problem:
    space_time = ag.Box(t=(0, 2), x=(-5, 7))

    def exact(t, x):
        return jnp.exp(1j * x) / jnp.cosh(x - t)

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda psi: 1j * psi.d("t") + 0.5 * psi.d("x", "x") + psi * psi.conj() * psi),
        initial=ag.Condition(lambda psi: psi, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        walls=ag.Condition(lambda psi: psi, on=space_time.faces("x"), equals=exact),
        unknowns={"psi": complex},
        solution=exact,
    )


@_add("beam", "a vibrating beam with the modes 1 and 2, fourth order")
def beam() -> ag.Problem:
    space_time = ag.Box(t=(0, 2), x=(0, pi))
    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t", "t") + u.d("x", "x", "x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: jnp.sin(x) + 0.5 * jnp.sin(2 * x)),
        speed=ag.Condition(lambda u: u.d("t"), on=space_time.face(t=0)),
        ends=ag.Condition(lambda u: (u, u.d("x", "x")), on=space_time.faces("x")),
        solution=lambda t, x: jnp.sin(x) * jnp.cos(t) + 0.5 * jnp.sin(2 * x) * jnp.cos(4 * t),
    )


@_add("carried", "a Gaussian carried half around in the plane")
def carried() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(-1, 1), y=(-1, 1))
    x, y = space_time.coordinate("x"), space_time.coordinate("y")

    def exact(t, x, y):
        return jnp.exp(-((x - 0.4 * jnp.cos(pi * t)) ** 2 + (y - 0.4 * jnp.sin(pi * t)) ** 2) / 0.09)

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") - pi * y * u.d("x") + pi * x * u.d("y")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x, y: exact(0.0, x, y)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x", "y"), equals=exact),
        solution=exact,
    )


# -- equilibrium --------------------------------------------------------------------------------------------
@_add("helmholtz", "three half waves on a side, k = 3π: a plane wave in an oblique direction")
def helmholtz() -> ag.Problem:
    square, k = ag.Box(x=(0, 1), y=(0, 1)), 3 * pi

    def exact(x, y):
        return jnp.sin(k * (0.8 * x + 0.6 * y))

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian() + k**2 * u),
        walls=ag.Condition(lambda u: u, on=square.boundary(), equals=exact),
        solution=exact,
    )


@_add("bump-0.035", "Poisson's equation, a bump of width 0.035", smooth=False, values=(0.035,))
@_add("bump-0.1", "Poisson's equation, a bump of width 0.1", values=(0.1,))
@_add("bump-0.3", "Poisson's equation, a bump of width 0.3", values=(0.3,))
def bump(width: float) -> ag.Problem:
    square = ag.Box(x=(-1, 1), y=(-1, 1))

    def scaled(x, y):
        return ((x - 0.2) ** 2 + (y + 0.3) ** 2) / width**2

    def exact(x, y):
        return jnp.exp(-scaled(x, y))

    return ag.Problem(
        square,
        equation=ag.Condition(
            lambda u: u.laplacian(), equals=lambda x, y: 4 * (scaled(x, y) - 1) * exact(x, y) / width**2
        ),
        walls=ag.Condition(lambda u: u, on=square.boundary(), equals=exact),
        solution=exact,
    )


@_add("bratu-2d", "−Δu = eᵘ + f, manufactured")
def bratu_2d() -> ag.Problem:
    square = ag.Box(x=(0, 1), y=(0, 1))

    def exact(x, y):
        return jnp.sin(pi * x) * jnp.sin(2 * pi * y)

    return ag.Problem(
        square,
        equation=ag.Condition(
            lambda u: u.laplacian() + np.exp(u), equals=lambda x, y: -5 * pi**2 * exact(x, y) + jnp.exp(exact(x, y))
        ),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
        solution=exact,
    )


@_add("cubic", "−Δu + u³ = f, manufactured")
def cubic() -> ag.Problem:
    square = ag.Box(x=(-1, 1), y=(-1, 1))

    def exact(x, y):
        return 2 * jnp.sin(pi * x) * jnp.cos(pi * y) + x * y

    def source(x, y):
        return 4 * pi**2 * jnp.sin(pi * x) * jnp.cos(pi * y) + exact(x, y) ** 3

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: -u.laplacian() + u**3, equals=source),
        walls=ag.Condition(lambda u: u, on=square.boundary(), equals=exact),
        solution=exact,
    )


@_add("variable", "div(a grad u) = f with a between 1/2 and 3/2")
def variable() -> ag.Problem:
    square = ag.Box(x=(0, 1), y=(0, 1))
    a = square.field(lambda x, y: 1 + 0.5 * jnp.sin(2 * pi * x) * jnp.cos(pi * y))

    def exact(x, y):
        return jnp.sin(pi * x) * jnp.sin(pi * y)

    def source(x, y):
        value = 1 + 0.5 * jnp.sin(2 * pi * x) * jnp.cos(pi * y)
        along_x = pi * jnp.cos(2 * pi * x) * jnp.cos(pi * y) * pi * jnp.cos(pi * x) * jnp.sin(pi * y)
        along_y = -0.5 * pi * jnp.sin(2 * pi * x) * jnp.sin(pi * y) * pi * jnp.sin(pi * x) * jnp.cos(pi * y)
        return along_x + along_y - 2 * pi**2 * value * exact(x, y)

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: ag.divergence([a * slope for slope in u.gradient()]), equals=source),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
        solution=exact,
    )


@_add("robin", "Poisson's equation with u_n + u given on two sides")
def robin() -> ag.Problem:
    square = ag.Box(x=(0, 1), y=(0, 1))

    def exact(x, y):
        return jnp.exp(x) * jnp.cos(2 * y)

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: -3 * exact(x, y)),
        left=ag.Condition(lambda u: u.normal_derivative() + u, on=square.face(x=0)),
        right=ag.Condition(
            lambda u: u.normal_derivative() + u, on=square.face(x=1), equals=lambda y: 2 * np.e * jnp.cos(2 * y)
        ),
        walls=ag.Condition(lambda u: u, on=square.faces("y"), equals=exact),
        solution=exact,
    )


@_add("plate", "a simply supported plate, fourth order")
def plate() -> ag.Problem:
    square = ag.Box(x=(0, 1), y=(0, 1))

    def exact(x, y):
        return jnp.sin(pi * x) * jnp.sin(2 * pi * y)

    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: u.laplacian().laplacian(), equals=lambda x, y: 25 * pi**4 * exact(x, y)),
        edges=ag.Condition(lambda u: (u, u.laplacian()), on=square.boundary()),
        solution=exact,
    )


@_add("poisson-3d", "a product of sines")
def poisson_3d() -> ag.Problem:
    cube = ag.Box(x=(0, 1), y=(0, 1), z=(0, 1))

    def exact(x, y, z):
        return jnp.sin(pi * x) * jnp.sin(pi * y) * jnp.sin(pi * z)

    return ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y, z: -3 * pi**2 * exact(x, y, z)),
        walls=ag.Condition(lambda u: u, on=cube.boundary()),
        solution=exact,
    )


@_add("poisson-6d", "a sum of cosines in six dimensions")
def poisson_6d() -> ag.Problem:
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(1, 7)})

    def exact(**x):
        return sum(jnp.cos(pi * coordinate) for coordinate in x.values())

    return ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda **x: -(pi**2) * exact(**x)),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=exact),
        solution=exact,
    )


@_add("poisson-8d", "a product of cosines in eight dimensions")
def poisson_8d() -> ag.Problem:
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(1, 9)})

    def exact(**x):
        return jnp.prod(jnp.cos(jnp.stack(list(x.values()))))

    return ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda **x: -8 * exact(**x)),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=exact),
        solution=exact,
    )


# -- fronts and heat ----------------------------------------------------------------------------------------
@_add("fisher", "the travelling front of Fisher's equation, a twentieth of the domain wide")
def fisher() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(-1, 1))
    diffusion, rate = 0.01, 5.0

    def exact(t, x):
        return (1 + jnp.exp(np.sqrt(rate / (6 * diffusion)) * x - 5 * rate / 6 * t)) ** -2

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") - diffusion * u.d("x", "x") - rate * u * (1 - u)),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        solution=exact,
    )


@_add("burgers-0.05", "a mild shock, by the series of Cole and Hopf")
def burgers() -> ag.Problem:
    space_time, viscosity = ag.Box(t=(0, 1), x=(0, 1)), 0.05
    n = np.arange(40)
    size = special.ive(n, 1 / (2 * pi * viscosity)) * np.where(n, 2, 1)

    def exact(t, x):
        decay = size * jnp.exp(-viscosity * (n * pi) ** 2 * t)
        above = jnp.sum(n * decay * jnp.sin(n * pi * x))
        return 2 * pi * viscosity * above / jnp.sum(decay * jnp.cos(n * pi * x))

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") - viscosity * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: jnp.sin(pi * x)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x")),
        solution=exact,
    )


@_add("heat-film", "a silicon film of 1e-7 m around 300 K, until 1e-11 s", values=(1e-7, 8.8e-5, 1e-11))
@_add("heat-rod", "an iron rod of 1e6 m around 300 K, until 5e15 s", values=(1e6, 2.3e-5, 5e15))
def heat(length: float, diffusivity: float, end: float) -> ag.Problem:
    space_time = ag.Box(t=(0, end), x=(0, length))
    rate = diffusivity * (pi / length) ** 2

    def exact(t, x):
        return 300 + 50 * jnp.exp(-rate * t) * jnp.sin(pi * x / length)

    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u: u.d("t") - diffusivity * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        ends=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=300.0),
        solution=exact,
    )


# -- flows --------------------------------------------------------------------------------------------------
@_add("kovasznay", "flow behind a grid at Re = 20; the pressure is given in one point")
def kovasznay() -> ag.Problem:
    box, reynolds = ag.Box(x=(-0.5, 1), y=(-0.5, 1.5)), 20.0
    rate = reynolds / 2 - np.sqrt(reynolds**2 / 4 + 4 * pi**2)

    def u_exact(x, y):
        return 1 - jnp.exp(rate * x) * jnp.cos(2 * pi * y)

    def v_exact(x, y):
        return rate / (2 * pi) * jnp.exp(rate * x) * jnp.sin(2 * pi * y)

    def p_exact(x):
        return 0.5 * (1 - jnp.exp(2 * rate * x))

    return ag.Problem(
        box,
        momentum=ag.Condition(
            lambda u, v, p: (
                u * u.d("x") + v * u.d("y") + p.d("x") - u.laplacian() / reynolds,
                u * v.d("x") + v * v.d("y") + p.d("y") - v.laplacian() / reynolds,
            )
        ),
        mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
        walls=ag.Condition(lambda u, v: (u, v), on=box.boundary(), equals=(u_exact, v_exact)),
        pressure=ag.Condition(lambda p: p, on=box.points(x=0, y=0)),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
    )


@_add("stokes", "creeping flow in a closed square, manufactured; the pressure is given in one point")
def stokes() -> ag.Problem:
    square = ag.Box(x=(0, 1), y=(0, 1))

    def u_exact(x, y):
        return jnp.sin(pi * x) ** 2 * jnp.sin(2 * pi * y)

    def v_exact(x, y):
        return -jnp.sin(2 * pi * x) * jnp.sin(pi * y) ** 2

    def p_exact(x, y):
        return jnp.cos(pi * x) * jnp.sin(pi * y)

    def force(x, y):
        swirl_x = 2 * pi**2 * (1 - 2 * jnp.cos(2 * pi * x)) * jnp.sin(2 * pi * y)
        swirl_y = -2 * pi**2 * (1 - 2 * jnp.cos(2 * pi * y)) * jnp.sin(2 * pi * x)
        slope_x = -pi * jnp.sin(pi * x) * jnp.sin(pi * y)
        slope_y = pi * jnp.cos(pi * x) * jnp.cos(pi * y)
        return swirl_x + slope_x, swirl_y + slope_y

    return ag.Problem(
        square,
        momentum=ag.Condition(lambda u, v, p: (p.d("x") - u.laplacian(), p.d("y") - v.laplacian()), equals=force),
        mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
        walls=ag.Condition(lambda u, v: (u, v), on=square.boundary()),
        pressure=ag.Condition(lambda p: p, on=square.points(x=0.5, y=0.5)),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
    )


@_add("taylor-green", "decaying vortices, Navier–Stokes in two dimensions and time")
def taylor_green() -> ag.Problem:
    box, viscosity = ag.Box(t=(0, 1), x=(0, pi), y=(0, pi)), 0.1

    def u_exact(t, x, y):
        return -jnp.cos(x) * jnp.sin(y) * jnp.exp(-2 * viscosity * t)

    def v_exact(t, x, y):
        return jnp.sin(x) * jnp.cos(y) * jnp.exp(-2 * viscosity * t)

    def p_exact(t, x, y):
        return -0.25 * (jnp.cos(2 * x) + jnp.cos(2 * y)) * jnp.exp(-4 * viscosity * t)

    times = np.linspace(0, 1, 33)
    return ag.Problem(
        box,
        momentum=ag.Condition(
            lambda u, v, p: (
                u.d("t") + u * u.d("x") + v * u.d("y") + p.d("x") - viscosity * u.laplacian("x", "y"),
                v.d("t") + u * v.d("x") + v * v.d("y") + p.d("y") - viscosity * v.laplacian("x", "y"),
            )
        ),
        mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
        initial=ag.Condition(
            lambda u, v: (u, v),
            on=box.face(t=0),
            equals=(lambda x, y: u_exact(0.0, x, y), lambda x, y: v_exact(0.0, x, y)),
        ),
        walls=ag.Condition(lambda u, v: (u, v), on=box.faces("x", "y"), equals=(u_exact, v_exact)),
        pressure=ag.Condition(lambda p: p, on=box.points(t=times, x=0, y=0), equals=p_exact),
        unknowns=("u", "v", "p"),
        solution={"u": u_exact, "v": v_exact, "p": p_exact},
    )


# -- from data ----------------------------------------------------------------------------------------------
@_add("inverse", "speed and diffusivity from 60 exact measurements", coefficients={"speed": 0.7, "kappa": 0.05})
def inverse() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(0, 1))

    def exact(t, x):
        return jnp.exp(-0.05 * (2 * pi) ** 2 * t) * jnp.sin(2 * pi * (x - 0.7 * t))

    t, x = np.random.default_rng(0).uniform(0.05, 0.95, size=(2, 60))
    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u, speed, kappa: u.d("t") + speed * u.d("x") - kappa * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        walls=ag.Condition(lambda u: u, on=space_time.faces("x"), equals=exact),
        data=ag.Condition(lambda u: u, on=space_time.points(t=t, x=x), equals=np.asarray(exact(t, x))),
        coefficients={"speed": 0.1, "kappa": 0.5},
        solution=exact,
    )


@_add(
    "inverse-noisy",
    "a diffusivity from 200 measurements with noise of 1e-2: the truth is known better than the data tell it",
    smooth=False,
    coefficients={"kappa": 0.3},
    noise=1e-2,
)
def inverse_noisy() -> ag.Problem:
    space_time = ag.Box(t=(0, 1), x=(0, 1))

    def exact(t, x):
        return jnp.exp(-0.3 * pi**2 * t) * jnp.sin(pi * x) + x

    rng = np.random.default_rng(0)
    t, x = rng.uniform(0.05, 0.95, size=(2, 200))
    measured = np.asarray(exact(t, x)) + 1e-2 * rng.standard_normal(200)
    return ag.Problem(
        space_time,
        equation=ag.Condition(lambda u, kappa: u.d("t") - kappa * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=space_time.face(t=0), equals=lambda x: exact(0.0, x)),
        left=ag.Condition(lambda u: u, on=space_time.face(x=0)),
        right=ag.Condition(lambda u: u, on=space_time.face(x=1), equals=1.0),
        data=ag.Condition(lambda u: u, on=space_time.points(t=t, x=x), equals=measured),
        coefficients={"kappa": 1.0},
        solution=exact,
    )
