"""Lorenz' equations, σ = 10, ρ = 28, β = 8/3, from (1, 1, 1): neighbouring paths part by e^{0.9 t}."""

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

SIGMA, BETA, START = 10.0, 8 / 3, (1.0, 1.0, 1.0)
LAST = 20.0  # rounding errors have grown to 1e-7 by then


def state(end: float = 5.0, rho: float = 28.0) -> Problem:
    """State the problem until a time, for a Rayleigh number ρ."""
    end = number("the time end", end, 0.1, LAST)
    rho = number("the number rho", rho, 0, 100)
    time = Box(t=(0, end))

    def slope(_, y):
        return SIGMA * (y[1] - y[0]), y[0] * (rho - y[2]) - y[1], y[0] * y[1] - BETA * y[2]

    path = Trajectory(slope, START, (0.0, end), 1 + int(40 * end))
    return Problem(
        time,
        equations=Condition(
            lambda x, y, z: (
                x.d("t") - SIGMA * (y - x),
                y.d("t") - x * (rho - z) + y,
                z.d("t") - x * y + BETA * z,
            )
        ),
        start=Condition(lambda x, y, z: (x, y, z), on=time.face(t=0), equals=START),
        unknowns=("x", "y", "z"),
        solution={name: path.component(k) for k, name in enumerate("xyz")},
        name="lorenz",
    )


ENTRY = Entry(
    name="lorenz",
    title="Lorenz",
    equation="x' = 10 (y − x), y' = x (ρ − z) − y, z' = x y − 8/3 z",
    kind="ordinary",
    state=state,
)
