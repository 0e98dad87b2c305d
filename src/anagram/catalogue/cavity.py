"""The lid-driven cavity: steady flow in a square whose lid moves, for the stream function ψ.

    ψ_y Δψ_x − ψ_x Δψ_y = Δ²ψ/Re,    ψ = ψ_n = 0 on the walls,    ψ = 0, ψ_y = 1 on the lid;    u = ψ_y, v = −ψ_x

One unknown of the fourth order: the velocity is free of divergence by itself, and there is no pressure. In both upper
corners the speed jumps from one to zero, and the vorticity is infinite; no smooth network gets far there. With `ends`
above zero the speed of the lid falls to zero within about this distance of its ends.
"""

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.cavity import CavityReference, lid_speed
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

MANY = 400.0  # the Reynolds number above which the reference needs more points


def state(reynolds: float = 100.0, ends: float = 0.0) -> Problem:
    """State the problem for a Reynolds number, and for how far from its ends the lid is slower."""
    reynolds = number("the Reynolds number", reynolds, 1, 1000)
    if ends != 0:
        ends = number("the distance ends, if not zero,", ends, 0.02, 0.5)
    square = Box(x=(0, 1), y=(0, 1))
    return Problem(
        square,
        equation=Condition(
            lambda psi: (
                psi.laplacian().laplacian() / reynolds
                - psi.d("y") * psi.laplacian().d("x")
                + psi.d("x") * psi.laplacian().d("y")
            )
        ),
        walls=Condition(lambda psi: psi, on=square.boundary()),
        rest=Condition(lambda psi: psi.normal_derivative(), on=square.faces("x") | square.face(y=0)),
        lid=Condition(lambda psi: psi.d("y"), on=square.face(y=1), equals=lambda x: lid_speed(x, ends)),
        reference=CavityReference(reynolds, ends, degree=44 if reynolds <= MANY else 56),
        name="cavity",
    )


ENTRY = Entry(
    name="cavity",
    title="The lid-driven cavity, Navier–Stokes 2D",
    equation="ψ_y Δψ_x − ψ_x Δψ_y = Δ²ψ/Re on [0,1]², ψ_y = 1 on the lid",
    kind="mechanics and flow",
    state=state,
)
