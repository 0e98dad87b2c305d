"""Robertson's three reactions: the stiff problem of the textbooks, in logarithmic time.

    A' = −0.04 A + 10⁴ B C,    B' = 0.04 A − 10⁴ B C − 3·10⁷ B²,    C' = 3·10⁷ B²

On a linear axis of time nothing would be seen of the first milliseconds, in which B comes up. Here the axis is
s = log₁₀ t, from s = −5: A = 1, B = C = 0 are put there and not at t = 0, which moves everything by 10⁻⁵ s. B never
exceeds 4·10⁻⁵; the unknown b is 10⁴ B, so that all three are of the order of one. The equation of b is divided by its
fastest rate: the same equation, with terms that are of the order of one at all times.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.catalogue.references.collocation import Trajectory
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem

FIRST = -5.0  # log₁₀ of the time at which it begins
START = (1.0, 0.0, 0.0)
SLOW, FAST = 0.04, 0.3  # rates of the reactions in a, b = 10⁴ B and c: A → B and B + B → C; that of B + C → A is one


def slope(s, y):
    """da/ds, db/ds and dc/ds: the reactions, times dt/ds."""
    a, b, c = y
    pace = np.log(10) * 10**s
    forth, back, on = SLOW * a, b * c, FAST * b**2
    return pace * (back - forth), pace * 1e4 * (forth - back - on), pace * on


def jacobian(s, y):
    """Its derivatives."""
    a, b, c = y
    pace, zero = np.log(10) * 10**s, 0 * a
    forth = np.array([SLOW + zero, zero, zero])
    back = np.array([zero, c, b])
    on = np.array([zero, 2 * FAST * b, zero])
    return pace * np.array([back - forth, 1e4 * (forth - back - on), on])


def state(end: float = 40.0) -> Problem:
    """State the problem until a time in seconds; 40 is Robertson's."""
    end = number("the time end", end, 1e-3, 1e6)
    last = float(np.log10(end))
    time = Box(s=(FIRST, last))
    path = Trajectory(slope, START, (FIRST, last), 1 + int(16 * (last - FIRST)), jacobian)
    pace = time.field(lambda s: jnp.log(10.0) * 10**s)
    rate = time.field(lambda s: 1 + 1e4 * jnp.log(10.0) * 10**s)
    return Problem(
        time,
        equations=Condition(
            lambda a, b, c: (
                a.d("s") + pace * (SLOW * a - b * c),
                (b.d("s") - 1e4 * pace * (SLOW * a - b * c - FAST * b**2)) / rate,
                c.d("s") - pace * FAST * b**2,
            )
        ),
        start=Condition(lambda a, b, c: (a, b, c), on=time.face(s=FIRST), equals=START),
        unknowns=("a", "b", "c"),
        solution={name: lambda s, k=k: path.at(s, k) for k, name in enumerate("abc")},
        name="robertson",
    )


ENTRY = Entry(
    name="robertson",
    title="Robertson's reactions",
    equation="A → B at 0.04, B + B → C at 3·10⁷, B + C → A + C at 10⁴; in log₁₀ t",
    kind="ordinary",
    state=state,
)
