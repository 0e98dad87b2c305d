"""The lowest tone of a round drum: −Δu = λu on the disk, u = 0 on the rim, u = 1 in the middle.

λ is learned. It is j², j = 2.404825… the first zero of Bessel's function J₀, and u = J₀(jr). The problem has as many
solutions as the drum has modes that do not vanish in the middle; the first guess of λ is near the lowest.
"""

from anagram.catalogue.entry import Entry
from anagram.statement.condition import Condition
from anagram.statement.domains import Disk
from anagram.statement.problem import Problem

ZERO = 2.4048255576957727686
GUESS = 5.0


def solution(x, y):
    """J₀(jr), by its power series."""
    square, term, total = -(ZERO**2) * (x**2 + y**2) / 4, 1.0, 1.0
    for k in range(1, 20):
        term = term * square / k**2
        total = total + term
    return total


def state() -> Problem:
    """State the problem."""
    disk = Disk()
    return Problem(
        disk,
        equation=Condition(lambda u, square: u.laplacian() + square * u),
        rim=Condition(lambda u: u, on=disk.boundary()),
        middle=Condition(lambda u: u, on=disk.points(x=0, y=0), equals=1.0),
        coefficients={"square": GUESS},
        solution=solution,
        name="drum",
    )


ENTRY = Entry(
    name="drum",
    title="The lowest tone of a drum",
    equation="−Δu = λu on the disk, u = 0 on the rim; λ = 5.783186 is learned",
    kind="eigenvalues",
    state=state,
)
