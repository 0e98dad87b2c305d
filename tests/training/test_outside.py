"""What a solution gives at points outside of its domain: an error unless told otherwise."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from tolerances import assert_close
from untrained import untrained


@pytest.fixture(scope="module")
def on_line():
    return untrained(ag.Box(x=(0, 10)), lambda u: u.d("x"))


@pytest.fixture(scope="module")
def on_disk():
    return untrained(
        ag.Box(t=(0, 1)) * ag.Disk(), lambda u, v: u.laplacian("x", "y") + v, unknowns={"u": complex, "v": float}
    )


def test_points_outside_are_an_error_that_names_the_first(on_line, on_disk):
    with pytest.raises(ag.ProblemError, match=r"outside of Box\(x=\(0, 10\)\): 2 of 4 points.*first one at \(x=11\)"):
        on_line([0, 11, 5, -1])
    with pytest.raises(ag.ProblemError, match=r"1 of 1 points lie there, the first one at \(t=0.5, x=0.8, y=0.8\)"):
        on_disk(0.5, 0.8, 0.8)
    with pytest.raises(ag.ProblemError, match=r"first one at \(x=nan\)"):
        on_line(np.nan)
    for asked in (
        lambda x: on_line.evaluate(lambda u: u.d("x"), x),
        on_line["u"],
        lambda x: on_line.evaluate(lambda u: u, x=x),
    ):
        asked(10)
        with pytest.raises(ag.ProblemError, match="means nothing outside"):
            asked(10.1)


def test_outside_there_is_no_value_or_that_of_the_network(on_line, on_disk):
    x = np.array([-1, 0, 10, 11])
    free = on_line(x, outside="extrapolate")
    assert_close(free, [on_line.as_function()(jnp.asarray(v)) for v in x])
    hidden = on_line(x=x, outside="nan")
    assert np.isnan(hidden).tolist() == [True, False, False, True]
    assert_close(hidden[1:3], free[1:3])
    values = on_disk(t=0.5, x=[0, 1], y=[0, 1], outside="nan")
    assert np.isnan(values["u"]).tolist() == np.isnan(values["v"]).tolist() == [False, True]
    slope = on_disk.evaluate(lambda u: u.d("x"), 0.5, [0, 1], [0, 1], outside="nan")
    assert np.isnan(slope).tolist() == [False, True]
    assert np.isfinite(on_disk["v"](2, 3, 4, outside="extrapolate"))


def test_points_computed_on_the_boundary_are_inside(on_line, on_disk):
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 500)
    on_disk(t=1, x=np.cos(angle), y=np.sin(angle))
    on_line(np.array([10 * (1 + 1e-15), -1e-15, 0.1 * 3 / 0.03]))


def test_a_periodic_axis_goes_on_for_ever():
    ring = untrained(ag.Box(t=(0, 1), x=ag.periodic(0, 2)), lambda u: u.d("x"))
    assert np.isfinite(ring(t=0.5, x=[-7, 1, 11])).all()
    with pytest.raises(ag.ProblemError, match=r"first one at \(t=1.5, x=7\)"):
        ring(t=1.5, x=7)


def test_other_words_and_an_axis_of_this_name_are_refused(on_line):
    for wrong in ("ignore", None, 3, np.zeros(2)):
        with pytest.raises(ag.ProblemError, match="outside= takes 'raise', 'nan', 'extrapolate'"):
            on_line(0.5, outside=wrong)
    with pytest.raises(ag.ProblemError, match="'outside' needs another name"):
        ag.Problem(ag.Box(outside=(0, 1)), c=ag.Condition(lambda u: u))
