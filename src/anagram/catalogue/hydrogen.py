"""The ground state of hydrogen: ψ'' + 2ψ'/r + 2(E + Z/r)ψ = 0, ψ = 1 in the middle; the energy E is learned.

E = −½Z² and ψ = e^{−Zr}. The equation is multiplied by r. The axis ends at r = 8/Z, where ψ'/ψ = −√(−2E), as it is far
away, and for the ground state everywhere.
"""

import jax.numpy as jnp
import numpy as np

from anagram.catalogue.entry import Entry, number
from anagram.statement.condition import Condition
from anagram.statement.domains import Box
from anagram.statement.problem import Problem


def state(charge: float = 1.0) -> Problem:
    """State the problem for the charge Z of the nucleus: 1 is hydrogen, 2 helium that has lost an electron."""
    charge = number("the charge", charge, 0.1, 100)
    line = Box(r=(0, 8 / charge))
    r = line.coordinate("r")
    return Problem(
        line,
        equation=Condition(lambda psi, energy: r * psi.d("r", "r") + 2 * psi.d("r") + 2 * (r * energy + charge) * psi),
        middle=Condition(lambda psi: psi, on=line.face(r=0), equals=1.0),
        far=Condition(lambda psi, energy: psi.d("r") + np.sqrt(-2 * energy) * psi, on=line.face(r=8 / charge)),
        coefficients={"energy": -0.4 * charge**2},
        solution=lambda r: jnp.exp(-charge * r),
        name="hydrogen",
    )


ENTRY = Entry(
    name="hydrogen",
    title="The ground state of hydrogen",
    equation="ψ'' + 2ψ'/r + 2(E + Z/r)ψ = 0 on [0,8/Z]; E = −½Z² is learned",
    kind="eigenvalues",
    state=state,
)
