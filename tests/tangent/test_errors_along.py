"""Errors along an axis: which member of a family is worst."""

import warnings

import numpy as np
import pytest

import anagram as ag
from anagram.tangent.along import points_along, relative_along
from problems import fins
from tolerances import assert_close
from untrained import untrained

FINS = fins(8)


@pytest.fixture(scope="module")
def rough():
    """A small network, not trained to its end: its error is seen by its tangent space."""
    return ag.solve(FINS, ag.MLP(8, 8), steps=12, progress=False)


def test_the_worst_member_is_found(rough):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.EstimateWarning)
        errors = rough.errors_along()
    assert errors.axis == "k"
    assert errors.places[0] == 0.5
    assert_close(errors.places[-1], 8.0)
    assert np.all(errors.estimated > 0)
    # Within a small factor of the true errors, from one end to the other.
    assert np.median(np.abs(np.log(errors.estimated / errors.true))) < np.log(3)
    place, worst = errors.worst
    assert worst == errors.estimated.max()
    assert errors.true[np.argmin(np.abs(errors.places - place))] > 0.3 * errors.true.max()
    assert str(errors).startswith("estimated relative error along k: at most")


def test_errors_are_relative_to_each_member():
    values = np.array([1.0, -1.0, 10.0, -10.0, 0.0, 0.0])
    errors = np.array([0.1, 0.1, 0.1, 0.1, 0.0, 0.0])
    assert_close(relative_along({"u": errors}, {"u": values}, 3), [0.1, 0.01, 0.0])
    outside = np.where([True, False, False, False, False, False], np.nan, errors)
    assert_close(relative_along({"u": outside}, {"u": values}, 3), [0.1, 0.01, 0.0])
    both = {"u": errors, "v": 2 * errors}
    assert_close(relative_along(both, {"u": values, "v": values}, 3), [0.2, 0.02, 0.0])


def test_points_are_the_same_at_every_place():
    places, x = points_along(FINS.domain, "k", [1.0, 2.0])
    assert_close(places, [1.0, 2.0])
    one, two = np.split(x, 2)
    assert_close(one[:, 1], two[:, 1])
    assert set(one[:, 0]) == {1.0}
    assert set(two[:, 0]) == {2.0}


def test_axes_are_checked():
    on_disk = untrained(ag.Box(t=(0, 1)) * ag.Disk(), lambda u: u.d("t"))
    for axis, said in ((None, "name the axis"), ("z", "there is no axis 'z'"), ("x", "not the same all along it")):
        with pytest.raises(ag.ProblemError, match=said):
            on_disk.errors_along(axis)
    with pytest.raises(ag.ProblemError, match="between 0.5 and 8"):
        points_along(FINS.domain, "k", [9.0])
