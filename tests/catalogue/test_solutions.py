"""The exact solutions of the catalogue satisfy every condition of their problems."""

import pytest

import anagram as ag
from exactness import assert_satisfied
from tolerances import ROUNDING

# By name, parameters other than the defaults.
EXACT = {
    "laplace-2d": {},
    "heat": {},
    "laplace-5d": {},
    "lotka-volterra": {},
    "pendulum": {"angle": 1.0},
    "lorenz": {},
    "robertson": {},
    "three-body": {},
    "wave": {"speed": 3.0},
    "klein-gordon": {"half_waves": 3},
    "helmholtz": {"k": 7.0},
    "maxwell-2d": {"m": 2, "end": 0.5},
    "schrodinger": {"k": 3.0},
    "nls": {},
    "kdv": {},
    "burgers-2d": {"reynolds": 30},
    "sine-gordon": {"omega": 0.5},
    "porous-medium": {"reach": 3.0},
    "bratu": {"strength": 1.5},
    "kirsch": {"poisson": 0.25, "side": 3},
    "beam": {"mode": 3},
    "plate": {},
    "stokes": {},
    "kovasznay": {},
    "taylor-green": {},
    "boussinesq": {"buoyancy": 3.0},
    "poisson-10d": {"dimension": 7},
    "heat-10d": {"dimension": 6},
    "black-scholes": {"dimension": 3},
    "hjb-20d": {"dimension": 5},
    "drum": {},
    "hydrogen": {"charge": 2.0},
}
# Where terms cancel, or the terms of a wrong solution are small, and where a series is cut off.
TOLERANCES = {"kdv": 1e-11, "beam": 1e-11, "plate": 1e-5}
COEFFICIENTS = {"drum": {"square": 5.783185962946785}, "hydrogen": {"energy": -2.0}}


@pytest.mark.parametrize("name", [name for name in ag.catalogue.names() if EXACT.get(name, True)])
def test_problems_are_stated_with_their_defaults(name):
    problem = ag.catalogue.problem(name)
    assert problem.name == name
    assert problem.knows_solution
    assert problem.origin["parameters"] == ag.catalogue.ENTRIES[name].parameters


@pytest.mark.parametrize("name", list(EXACT))
def test_exact_solutions_satisfy_every_condition(name):
    problem = ag.catalogue.problem(name, **EXACT[name])
    assert_satisfied(problem, COEFFICIENTS.get(name, {}), points=500, tolerance=TOLERANCES.get(name, ROUNDING))
