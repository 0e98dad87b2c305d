"""The exact solutions of the catalogue satisfy every condition of their problems."""

import pytest

import anagram as ag
from exactness import assert_satisfied

# With what is true of the coefficients, and parameters other than the defaults.
EXACT = {
    "laplace-2d": {},
    "heat": {},
    "laplace-5d": {},
    "lotka-volterra": {},
    "lorenz": {},
    "robertson": {},
    "three-body": {},
    "wave": {"speed": 3.0},
    "klein-gordon": {"half_waves": 3},
    "helmholtz": {"k": 7.0},
    "maxwell-2d": {"m": 2, "end": 0.5},
    "schrodinger": {"k": 3.0},
    "nls": {},
}


@pytest.mark.parametrize("name", list(EXACT))
def test_exact_solutions_satisfy_every_condition(name):
    assert_satisfied(ag.catalogue.problem(name, **EXACT[name]), {}, points=500)
