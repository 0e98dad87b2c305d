"""Members of families: a solution with its parameters held."""

import numpy as np
import pytest

import anagram as ag
from problems import fins
from tolerances import ACCUMULATED, assert_close
from untrained import untrained

FAMILY = ag.Box(nu=ag.parameter(0.01, 1, log=True), t=(0, 2), x=(-1, 1))


@pytest.fixture(scope="module")
def solution():
    return untrained(FAMILY, lambda u, nu: u.d("t") - nu * u.d("x", "x"))


@pytest.fixture(scope="module")
def pair():
    """Two parameters and two unknowns on a shape."""
    domain = ag.Box(a=ag.parameter(1, 2), b=ag.parameter(0, 1)) * ag.Disk()
    return untrained(domain, lambda u, v, a: a * u.laplacian() + v, unknowns=("u", "v"))


def test_a_member_is_the_solution_at_its_parameter(solution):
    member = solution.at(nu=0.03)
    t, x = np.linspace(0, 2, 7)[:, None], np.linspace(-1, 1, 5)
    expected = solution(nu=0.03, t=t, x=x)
    assert_close(member(t=t, x=x), expected)
    assert_close(member(t, x), expected)
    assert_close(member["u"](t, x), expected)
    points = np.stack(np.broadcast_arrays(t, x), axis=-1)
    assert_close(member(points), expected)
    assert member(0.5, 0.2).shape == ()
    assert np.isnan(member(t=3.0, x=0.0, outside="nan"))
    assert member.domain.axes == ("t", "x")
    assert repr(member) == "Member(made at nu=0.03, on Box(t=(0, 2), x=(-1, 1)))"


def test_derivatives_by_the_parameter(solution):
    """Beside a difference quotient."""
    step = 1e-6
    slope = solution.at(nu=0.1).evaluate(lambda u: u.d("nu"), t=0.5, x=0.2)
    near = [float(solution(nu=0.1 + s, t=0.5, x=0.2)) for s in (-step, step)]
    assert_close(slope, (near[1] - near[0]) / (2 * step), 1e-7)
    assert_close(
        solution.at(nu=0.1).evaluate(lambda u, nu: nu * u.d("x", "x"), t=0.5, x=0.2),
        0.1 * solution.evaluate(lambda u: u.d("x", "x"), nu=0.1, t=0.5, x=0.2),
    )


def test_several_parameters_are_held_one_after_the_other(pair):
    half = pair.at(a=1.5)
    assert half.domain.axes == ("b", "x", "y")
    member = half.at(b=0.25)
    assert member.domain.axes == ("x", "y")
    expected = pair(a=1.5, b=0.25, x=0.1, y=-0.3)
    for found in (half(b=0.25, x=0.1, y=-0.3), member(0.1, -0.3)):
        assert found == expected
    with pytest.raises(ag.ProblemError, match="hold b too"):
        half.integral(lambda u: u)


def test_integrals_are_those_of_members(pair):
    """Gauss's theorem on the disk of one member."""
    member = pair.at(a=1.5, b=0.25)
    through = member.integral(lambda u: u.normal_derivative(), over=member.domain.boundary(), nodes=60)
    assert abs(through) > 1e-4
    assert_close(through, member.integral(lambda u: u.laplacian(), nodes=60), ACCUMULATED, scale=1.0)
    with pytest.raises(ag.ProblemError, match=r"solution.at\(a=...\).integral"):
        pair.integral(lambda u: u)


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ({"nu": 2.0}, "between 0.01 and 1"),
        ({"nu": "small"}, "between 0.01 and 1"),
        ({"t": 1.0}, "'t' is a coordinate, and no parameter"),
        ({"mu": 1.0}, "'mu' is no parameter: the parameters are nu"),
        ({}, r"as in at\(nu=...\)"),
    ],
)
def test_what_is_no_member_is_refused(solution, held, said):
    with pytest.raises(ag.ProblemError, match=said):
        solution.at(**held)


def test_points_of_members_are_checked(solution):
    member = solution.at(nu=0.1)
    for wrong, said in (
        (lambda: member(t=0.5), "exactly the coordinates t, x"),
        (lambda: member(nu=0.2, t=0.5, x=0.0), "nu is held at 0.1"),
        (lambda: member(np.zeros((4, 3))), "needs 2 columns"),
        (lambda: member(t=5.0, x=0.0), "means nothing outside"),
    ):
        with pytest.raises(ag.ProblemError, match=said):
            wrong()
    alone = untrained(ag.Box(x=(0, 1)), lambda u: u.d("x"))
    with pytest.raises(ag.ProblemError, match="has no parameters"):
        alone.at(x=0.5)


def test_a_family_is_solved_kept_and_read(tmp_path):
    """u'' = k² u for all k, to many digits, by one run; and all of it again from its files."""
    problem = fins(4)
    solution = ag.solve(problem, tol=1e-5, folder=tmp_path / "fin", progress=False)
    assert solution.reached
    assert solution.relative_l2_error < 1e-5
    member = solution.at(k=2.0)
    x = np.linspace(0, 1, 11)
    assert_close(member(x=x), np.cosh(2 * (x - 0.5)) / np.cosh(1), 1e-5)
    slope = (x - 0.5) * np.sinh(2 * (x - 0.5)) / np.cosh(1) - np.cosh(2 * (x - 0.5)) * np.tanh(1) / np.cosh(1) / 2
    assert_close(member.evaluate(lambda u: u.d("k"), x=x), slope, 1e-4)
    read = ag.load(tmp_path / "fin")
    assert read.domain.intervals == problem.domain.intervals
    assert_close(read.at(k=2.0)(x=x), member(x=x))
    assert solution.seconds(100) > 0
    with pytest.raises(ag.ProblemError, match="at least 1"):
        solution.seconds(0)
