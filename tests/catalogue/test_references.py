"""Classical solvers of the catalogue: they converge, solve their equations, and agree with others."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import anagram as ag
from anagram.catalogue import cahn_hilliard, gray_scott, kuramoto_sivashinsky, robertson, three_body
from anagram.catalogue.references.cavity import CavityReference, lid_speed
from anagram.catalogue.references.collocation import Trajectory
from anagram.catalogue.references.ring import Equation, RingReference
from exactness import assert_satisfied
from tolerances import assert_close

# -- ordinary equations -------------------------------------------------------------------------------------


def lorenz_slope(_, y):
    return 10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]


@pytest.mark.parametrize(
    ("name", "slope", "start", "end", "tolerance"),
    [
        ("lorenz", lorenz_slope, (1.0, 1.0, 1.0), 5.0, 1e-10),
        ("three-body", three_body.slope, three_body.PLACES + three_body.SPEEDS, three_body.PERIOD, 1e-10),
    ],
)
def test_trajectories_agree_with_runge_kutta(name, slope, start, end, tolerance):
    t = np.linspace(0, end, 57)
    other = solve_ivp(slope, (0, end), start, method="DOP853", rtol=1e-13, atol=1e-14, t_eval=t).y
    for values, expected in zip(ag.catalogue.problem(name).exact(t[:, None]).values(), other, strict=False):
        assert_close(values, expected, tolerance)


def test_the_figure_of_eight_closes():
    ends = ag.catalogue.problem("three-body").exact(np.array([[0.0], [three_body.PERIOD]]))
    for values in ends.values():
        assert_close(values[1], values[0], 1e-6, scale=1.0)


def test_robertsons_reactions_agree_with_radau_and_conserve_mass():
    s = np.linspace(-5, np.log10(40), 41)
    known = ag.catalogue.problem("robertson").exact(s[:, None])
    other = solve_ivp(
        robertson.slope,
        (s[0], s[-1]),
        robertson.START,
        method="Radau",
        jac=lambda s, y: robertson.jacobian(s, np.array(y)),
        rtol=1e-10,
        atol=1e-13,
        t_eval=s,
    ).y
    for name, expected in zip("abc", other, strict=True):
        assert_close(known[name], expected, 1e-9)
    assert_close(known["a"] + 1e-4 * known["b"] + known["c"], np.ones(41))
    # The values at t = 40 that are printed everywhere.
    assert_close([known["a"][-1], 0.1 * known["b"][-1], known["c"][-1]], [0.71583, 0.0091855, 0.28416], 1e-4)


def test_trajectories_converge_with_newton_and_with_picard():
    coarse = Trajectory(robertson.slope, robertson.START, (-5.0, 0.0), 20, robertson.jacobian, count=12)
    fine = Trajectory(robertson.slope, robertson.START, (-5.0, 0.0), 40, robertson.jacobian, count=16)
    s = np.linspace(-5, 0, 101)
    for k in range(3):
        assert_close(coarse.at(s, k), fine.at(s, k), 1e-8)
    picard = Trajectory(robertson.slope, robertson.START, (-5.0, -4.0), 10)
    newton = Trajectory(robertson.slope, robertson.START, (-5.0, -4.0), 10, robertson.jacobian)
    assert_close(picard.at(s[:21], 1), newton.at(s[:21], 1))


# -- rings --------------------------------------------------------------------------------------------------
RINGS = {
    "kuramoto-sivashinsky": kuramoto_sivashinsky.reference(4, 20.0),
    "cahn-hilliard": cahn_hilliard.reference(0.3, 2.0),
    "gray-scott": gray_scott.reference(0.04, 0.06, 200.0),
}


def in_ring(reference, count=200):
    rng = np.random.default_rng(0)
    return rng.uniform(size=(count, 2)) * [reference.equation.end, reference.equation.period]


@pytest.mark.parametrize("name", list(RINGS))
def test_rings_converge_in_space_and_in_time(name):
    fine = RINGS[name]
    points = in_ring(fine)
    values = fine(points)
    coarse = replace(fine, points=3 * fine.points // 4)
    assert_close(coarse(points), values, 1e-8)
    longer = replace(fine, snapshots=fine.snapshots // 2, steps=fine.steps)
    assert_close(longer(points), values, 3e-7)


def test_steps_are_of_the_fourth_order():
    exact, half, whole = (replace(RINGS["gray-scott"], points=96, snapshots=50, steps=n).compute() for n in (24, 6, 3))
    assert 12 < np.max(np.abs(whole - exact)) / np.max(np.abs(half - exact)) < 20


def test_linear_equations_on_a_ring_are_exact():
    advected = Equation(
        "never-kept",
        2.0,
        1.0,
        lambda k: -1j * k[None] - 0.1 * k**2,
        lambda u, k: 0 * u,
        lambda x: np.sin(np.pi * x)[None],
    )
    reference = RingReference(advected, points=16, snapshots=40, steps=1)
    points = in_ring(reference)
    t, x = points.T
    assert_close(reference(points), np.exp(-0.1 * np.pi**2 * t) * np.sin(np.pi * (x - t)))


@pytest.mark.parametrize("name", list(RINGS))
def test_rings_solve_the_equations_that_are_stated(name):
    """The fields are put into the expressions of the problem."""
    reference, problem = RINGS[name], ag.catalogue.problem(name)
    known = {u.name: reference.field(k) for k, u in enumerate(problem.unknowns)}
    # A problem with the same conditions that knows the fields as functions that JAX can differentiate.
    other = ag.Problem(problem.domain, problem.conditions, unknowns=tuple(known), solution=known)
    assert_satisfied(other, {}, points=100, tolerance=1e-5)


# -- the cavity ---------------------------------------------------------------------------------------------
# Velocities on the centre lines. Ghia, Ghia and Shin, 1982: u at x = ½ and v at y = ½. The value of v at x = 0.9063 for
# Re = 400 is a misprint and left out.
GHIA_Y = (0.9766, 0.9688, 0.9609, 0.9531, 0.8516, 0.7344, 0.6172, 0.5, 0.4531, 0.2813, 0.1719, 0.1016, 0.0703, 0.0547)
GHIA_X = (0.9688, 0.9609, 0.9531, 0.9453, 0.8594, 0.8047, 0.5, 0.2344, 0.2266, 0.1563, 0.0938, 0.0781, 0.0703, 0.0625)
GHIA_U = {
    100: "84123 78871 73722 68717 23151 00332 -13641 -20581 -21090 -15662 -10150 -06434 -04775 -03717",
    400: "75837 68439 61756 55892 29093 16256 02135 -11477 -17119 -32726 -24299 -14612 -10338 -08186",
    1000: "65928 57492 51117 46604 33304 18719 05702 -06080 -10648 -27805 -38289 -29730 -22220 -18109",
}
GHIA_V = {
    100: "-05906 -07391 -08864 -10313 -22445 -24533 05454 17527 17507 16077 12317 10890 10091 09233",
    400: "-12146 -15663 -19254 -22847 -44993 -38598 05186 30174 30203 28124 22965 20920 19713 18360",
    1000: "-21388 -27669 -33714 -39188 -42665 -31966 02526 32235 33075 37095 32627 30353 29012 27485",
}
# Botella and Peyret, 1998, at the same places for Re = 1000, by a spectral method that subtracts the singularities.
BOTELLA_U = (
    "6644227 5808359 5169277 4723329 3372212 1886747 0570178 "
    "-0620561 -1081999 -2803696 -3885691 -3004561 -2228955 -1812881"
)
BOTELLA_V = (
    "-2279225 -2936869 -3553213 -4103754 -4264545 -3202137 0257995 "
    "3253592 3339924 3769189 3330442 3099097 2962703 2807056"
)


def table(digits):
    """Numbers between −1 and 1 from what stands behind their points."""
    return np.array([float(d.replace("-", "-.") if d.startswith("-") else f".{d}") for d in digits.split()])


def centre_lines(reference):
    y, x = np.array(GHIA_Y), np.array(GHIA_X)
    u = reference.derivative(np.stack([0.5 + 0 * y, y], axis=1), 0, 1)
    return u, -reference.derivative(np.stack([x, 0.5 + 0 * x], axis=1), 1, 0)


@pytest.mark.parametrize(("reynolds", "tolerance"), [(100, 0.01), (400, 0.007), (1000, 0.02)])
def test_the_cavity_agrees_with_ghia(reynolds, tolerance):
    u, v = centre_lines(CavityReference(reynolds, degree=32))
    assert np.max(np.abs(u - table(GHIA_U[reynolds]))) < tolerance
    assert np.max(np.abs(v - table(GHIA_V[reynolds]))) < tolerance
    if reynolds == 1000:
        assert np.max(np.abs(u - table(BOTELLA_U))) < 5e-3  # near the lid; 4e-5 with a degree of 56
        assert np.max(np.abs(v - table(BOTELLA_V))) < 2e-4


@pytest.mark.parametrize(("ends", "tolerance"), [(0.0, 3e-3), (0.1, 1e-4)])
def test_the_cavity_converges(ends, tolerance):
    points = np.random.default_rng(0).uniform(size=(300, 2))
    coarse, fine = (CavityReference(100, ends, degree=n)(points) for n in (20, 28))
    assert np.sqrt(np.mean((coarse - fine) ** 2) / np.mean(fine**2)) < tolerance


def test_the_cavity_solves_the_equation_that_is_stated():
    reference = CavityReference(100, 0.1, degree=32)
    points = np.random.default_rng(0).uniform(0.2, 0.8, size=(100, 2))

    def d(m, n):
        return reference.derivative(points, m, n)

    viscous = (d(4, 0) + 2 * d(2, 2) + d(0, 4)) / 100
    carried = d(0, 1) * (d(3, 0) + d(1, 2)) - d(1, 0) * (d(2, 1) + d(0, 3))
    assert np.max(np.abs(viscous - carried)) < 5e-3 * np.max(np.abs(viscous))
    lid = np.stack([np.linspace(0.1, 0.9, 9), np.ones(9)], axis=1)
    assert_close(reference.derivative(lid, 0, 1), lid_speed(lid[:, 0], 0.1), 3e-3)
    assert_close(reference(lid), np.zeros(9), 1e-12, scale=1.0)
