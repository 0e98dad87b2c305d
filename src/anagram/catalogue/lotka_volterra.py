"""Lotka and Volterra's hunters and prey: two species that go round, almost three cycles by default."""

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

BIRTH, DEATH, START = 1.5, 2.0, (3.0, 1.0)


def slope(_, y):
    """What the equations say of the two rates."""
    return BIRTH * y[0] - y[0] * y[1], y[0] * y[1] - DEATH * y[1]


def state(end: float = 10.0) -> Problem:
    """State the problem until a time."""
    end = number("the time end", end, 0.1, 100)
    time = Box(t=(0, end))
    path = Trajectory(slope, START, (0.0, end), 1 + int(10 * end))
    return Problem(
        time,
        equations=Condition(
            lambda prey, hunters: (
                prey.d("t") - BIRTH * prey + prey * hunters,
                hunters.d("t") - prey * hunters + DEATH * hunters,
            )
        ),
        start=Condition(lambda prey, hunters: (prey, hunters), on=time.face(t=0), equals=START),
        unknowns=("prey", "hunters"),
        solution={"prey": path.component(0), "hunters": path.component(1)},
        name="lotka-volterra",
    )


ENTRY = Entry(
    name="lotka-volterra",
    title="Lotka–Volterra",
    equation="p' = 1.5 p − p h, h' = p h − 2 h",
    kind="ordinary",
    state=state,
)
