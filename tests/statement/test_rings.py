"""Problems on domains with periodic axes, and their solutions, to the end."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.sizes import natural_sizes
from anagram.statement.stretches import evolution_axis
from tolerances import assert_close


def around(length, speed, harmonic=1):
    ring = ag.Box(t=(0, 1), x=ag.periodic(0, length))
    wave = lambda z: np.sin(2 * np.pi * harmonic * z / length)
    return ag.Problem(
        ring,
        equation=ag.Condition(lambda u: u.d("t") + speed * u.d("x")),
        start=ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: wave(x)),
        solution=lambda t, x: wave(x - speed * t),
    )


@pytest.mark.parametrize("harmonic", [1, 5, 6, 12])
def test_natural_sizes_do_not_alias(harmonic):
    """A harmonic is no constant, however many points look at it; and lengths in other units are the same problem."""
    one, other = (natural_sizes(around(length, 0.3 * length, harmonic)) for length in (1.0, 1e6))
    assert one.offset == (0.0,)
    assert 0.6 < one.size[0] < 1
    for key in one.rows:
        assert_close(other.rows[key], one.rows[key])


def test_waves_that_an_operator_does_not_see_are_not_the_only_ones():
    ring = ag.Box(x=ag.periodic(0, 2 * np.pi))
    problem = ag.Problem(ring, equation=ag.Condition(lambda u: u.d("x", "x") + u, equals=lambda x: np.cos(2 * x)))
    assert 0.1 < natural_sizes(problem).size[0] < 3


@pytest.mark.parametrize("speed", [5.0, 30.0])
def test_natural_drifts(speed):
    """Transport drifts at its speed; diffusion, and what has no open axes, does not."""
    (drift,) = natural_sizes(around(2 * np.pi, speed)).drift
    assert speed / 1.3 < drift < 1.3 * speed
    ring = ag.Box(t=(0, 1), x=ag.periodic(0, 1))
    slow = ag.Problem(ring, equation=ag.Condition(lambda u: u.d("t") - 1e-3 * u.d("x", "x")))
    assert natural_sizes(slow).drift == (1.0,)
    torus = ag.Box(x=ag.periodic(0, 1), y=ag.periodic(0, 1))
    assert natural_sizes(ag.Problem(torus, equation=ag.Condition(lambda u: u.laplacian() - u))).drift == ()
    assert natural_sizes(ag.Problem(ag.Box(x=(0, 1)), equation=ag.Condition(lambda u: u.d("x")))).drift == ()


def test_a_known_solution_is_periodic():
    ring = ag.Box(x=ag.periodic(0, 1))
    condition = ag.Condition(lambda u: u)
    with pytest.raises(ag.ProblemError, match="the solution 'u' is not"):
        ag.Problem(ring, c=condition, solution=lambda x: x)
    ag.Problem(ring, c=condition, solution=lambda x: np.exp(-(((x - 0.5) / 0.1) ** 2)))


def test_a_ring_is_no_time():
    ring = ag.Box(t=ag.periodic(0, 1))
    assert evolution_axis(ag.Problem(ring, c=ag.Condition(lambda u: u, equals=lambda t: np.cos(2 * np.pi * t)))) is None


def test_problems_are_written_with_their_rings():
    assert "Box(t=(0, 1), x=periodic(0, 6.28319))" in repr(around(2 * np.pi, 1.0))


SOLVED = {}


def solved():
    """A slow wave, to a tolerance; solved once."""
    if not SOLVED:
        SOLVED["problem"] = around(2 * np.pi, 3.0)
        SOLVED["solution"] = ag.solve(SOLVED["problem"], tol=1e-4, progress=False)
    return SOLVED["problem"], SOLVED["solution"]


@pytest.mark.long
def test_a_wave_around_a_ring_is_found_and_its_error_known():
    _, solution = solved()
    assert solution.reached
    assert solution.relative_l2_error < 1e-4
    assert 0.1 < solution.relative_error_estimate / solution.relative_l2_error < 10


def test_solutions_are_periodic_everywhere():
    _, solution = solved()
    t, x = np.linspace(0, 1, 7), np.linspace(0, 6, 7)
    assert_close(solution(t=t, x=x + 6 * np.pi), solution(t=t, x=x), 1e-10)
    grid = solution.to_numpy({"t": 3, "x": 9})
    assert_close(grid["u"][:, 0], grid["u"][:, -1], 1e-10, scale=1)
    assert_close(solution.to_numpy({"t": 2, "x": [-1.0, 9.0]})["u"][0], np.sin([-1.0, 9.0]), 1e-3, scale=1)


def test_records_remember_which_axes_are_periodic(tmp_path):
    problem, solution = solved()
    folder = solution.save(tmp_path / "run")
    read = ag.load(folder, problem=problem)
    assert read.domain.periodic_axes == ("x",)
    np.testing.assert_array_equal(read(t=0.3, x=0.4), solution(t=0.3, x=0.4))
    # The same numbers between two ends are another domain.
    plain = ag.Box(t=(0, 1), x=(0, 2 * np.pi))
    with pytest.raises(ag.FileError, match="another one"):
        ag.load(folder, problem=ag.Problem(plain, c=ag.Condition(lambda u: u)))
    record = json.loads((folder / "run.json").read_text())
    assert record["unknowns"]["periodic"] == ["x"]
    record["unknowns"]["periodic"] = ["y"]
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(ag.FileError, match="periodic"):
        ag.load(folder)


def test_datasets_have_the_period():
    pytest.importorskip("xarray")
    _, solution = solved()
    data = solution.to_xarray({"t": 2, "x": 5})
    assert_close(data["x"].attrs["period"], 2 * np.pi)
    assert "period" not in data["t"].attrs


def test_sources_must_be_periodic_along_rings():
    ring = ag.Box(t=(0, 1), x=ag.periodic(0, 2))
    equation = ag.Condition(lambda u: u.d("t"))
    for wrong in (
        {"equation": ag.Condition(lambda u: u.d("t"), equals=lambda t, x: t * x)},
        {"equation": equation, "start": ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: x)},
        {"equation": equation, "held": ag.Condition(lambda u: u, on=ring.slice(t=0.5), equals=ring.coordinate("x"))},
    ):
        with pytest.raises(ag.ProblemError, match="the axis 'x' is periodic and the source is not"):
            ag.Problem(ring, **wrong)
    ag.Problem(
        ring,
        equation=ag.Condition(lambda u: u.d("t"), equals=lambda t, x: t * jnp.sin(jnp.pi * x)),
        tooth=ag.Condition(lambda u: u, on=ring.face(t=0), equals=lambda x: x / 2 - jnp.floor(x / 2)),
        value=ag.Condition(lambda u: u, on=ring.slice(x=0.5), equals=lambda t: t),
        data=ag.Condition(lambda u: u, on=ring.points(t=0.5, x=[0.0, 1.0]), equals=[1.0, 2.0]),
    )
