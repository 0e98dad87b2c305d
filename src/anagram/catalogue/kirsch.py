"""Kirsch's plate: plane stress around a round hole under tension along x, a quarter of it.

The stress at the edge of the hole is three times that far away. Unknowns are the displacements; the shear modulus and
the radius of the hole are one. On the two lines of symmetry nothing moves across and no shear acts, the hole is free,
and on the other two sides the stresses of the infinite plate are given.
"""

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box, Disk
from anagram.statement.problem import Problem


def state(poisson: float = 0.3, side: float = 4.0) -> Problem:
    """State the problem for Poisson's ratio and the side of the quarter."""
    poisson = number("Poisson's ratio", poisson, 0, 0.49)
    side = number("the side", side, 1.2, 20)
    plate = Box(x=(0, side), y=(0, side)) - Disk(radius=1, name="hole")
    kappa = (3 - poisson) / (1 + poisson)  # of plane stress
    lame = 2 * poisson / (1 - poisson)  # λ over μ, of plane stress

    def stresses(u, v):
        """σ_xx, σ_xy and σ_yy by Hooke's law."""
        swelling = lame * (u.d("x") + v.d("y"))
        return swelling + 2 * u.d("x"), u.d("y") + v.d("x"), swelling + 2 * v.d("y")

    def traction(u, v):
        xx, xy, yy = stresses(u, v)
        nx, ny = u.normal("x"), u.normal("y")
        return xx * nx + xy * ny, xy * nx + yy * ny

    def balance(u, v):
        xx, xy, yy = stresses(u, v)
        return xx.d("x") + xy.d("y"), xy.d("x") + yy.d("y")

    def powers(x, y):
        """cos nθ/rᵐ and sin nθ/rᵐ for n = 1, m = 1; n = 3, m = 1; n = 3, m = 3: the terms of the displacements."""
        square = x**2 + y**2
        triple = (x**3 - 3 * x * y**2, 3 * x**2 * y - y**3)
        return (
            (x / square, y / square),
            (triple[0] / square**2, triple[1] / square**2),
            (
                triple[0] / square**3,
                triple[1] / square**3,
            ),
        )

    def u_exact(x, y):
        one, three, last = powers(x, y)
        return ((kappa + 1) * x + 2 * ((1 + kappa) * one[0] + three[0]) - 2 * last[0]) / 8

    def v_exact(x, y):
        one, three, last = powers(x, y)
        return ((kappa - 3) * y + 2 * ((1 - kappa) * one[1] + three[1]) - 2 * last[1]) / 8

    def far(x, y):
        """Kirsch's stresses σ_xx, σ_xy and σ_yy."""
        square = x**2 + y**2
        two = (x**2 - y**2) / square, 2 * x * y / square
        four = two[0] ** 2 - two[1] ** 2, 2 * two[0] * two[1]
        xx = 1 - (1.5 * two[0] + four[0]) / square + 1.5 * four[0] / square**2
        yy = -(0.5 * two[0] - four[0]) / square - 1.5 * four[0] / square**2
        xy = -(0.5 * two[1] + four[1]) / square + 1.5 * four[1] / square**2
        return xx, xy, yy

    return Problem(
        plate,
        balance=Condition(balance),
        left=Condition(lambda u, v: (u, stresses(u, v)[1]), on=plate.boundary("x=0")),
        below=Condition(lambda u, v: (v, stresses(u, v)[1]), on=plate.boundary("y=0")),
        hole=Condition(traction, on=plate.boundary("hole")),
        right=Condition(traction, on=plate.boundary(f"x={side:g}"), equals=lambda x, y: far(x, y)[:2]),
        above=Condition(traction, on=plate.boundary(f"y={side:g}"), equals=lambda x, y: far(x, y)[1:]),
        unknowns=("u", "v"),
        solution={"u": u_exact, "v": v_exact},
        name="kirsch",
    )


ENTRY = Entry(
    name="kirsch",
    title="Kirsch's plate with a hole",
    equation="div σ = 0, σ = λ div u + ∇u + ∇uᵀ on a quarter of a plate with a hole, under tension",
    kind="mechanics and flow",
    state=state,
)
