"""Families that are cut along a parameter: pieces that know nothing of each other, and one solution."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.models import Pieces
from climbing.small import KEPT

BOX = ag.Box(k=ag.parameter(0.25, 4, log=True), x=(0, 1))


def decaying(**more):
    return ag.Problem(
        BOX,
        equation=ag.Condition(lambda u, k: u.d("x", "x") - k**2 * u),
        ends=ag.Condition(lambda u: u, on=BOX.faces("x"), equals=lambda k, x: jnp.exp(-k * x)),
        solution=lambda k, x: jnp.exp(-k * x),
        **more,
    )


def test_a_family_is_solved_piece_by_piece(tmp_path):
    solution = ag.solve(decaying(), tol=1e-6, stretches={"k": 2}, folder=tmp_path / "run", **KEPT)
    assert solution.reached is True
    np.testing.assert_allclose(solution.summary["stretches"], [0.25, 1, 4])
    spec = solution.model.spec
    assert isinstance(spec, Pieces)
    assert spec.axis == "k"
    k, x = np.meshgrid([0.3, 0.99, 1.01, 4.0], np.linspace(0, 1, 9), indexing="ij")
    assert np.max(np.abs(solution(k=k, x=x) - np.exp(-k * x))) < 1e-5
    assert solution.at(k=2.0)(x=0.5) == pytest.approx(np.exp(-1), abs=1e-5)
    assert solution.evaluate(lambda u: u.d("k"), k=2.0, x=0.5) == pytest.approx(-0.5 * np.exp(-1), abs=1e-3)
    np.testing.assert_array_equal(ag.load(tmp_path / "run", problem=decaying())(k=k, x=x), solution(k=k, x=x))


@pytest.mark.parametrize(
    ("stretches", "said"),
    [
        ({"x": 2}, "'x' is neither"),
        ({"q": 2}, "'q' is neither"),
        ({"k": 1}, "a number of equal stretches"),
        ({"k": [5.0]}, "lie inside of k"),
        ({"k": 2, "x": 2}, "names one axis"),
        (2, "is none"),
    ],
)
def test_what_cannot_be_cut_is_said(stretches, said):
    with pytest.raises(SettingError, match=said):
        ag.solve(decaying(), stretches=stretches)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (lambda: ag.Condition(lambda u: u.d("k")), "has a derivative along it"),
        (lambda: ag.Condition(lambda u: u - u.at(k=1.0)), "looks at other members"),
        (lambda: ag.Condition(lambda u: u, on=BOX.slice(k=1.0), equals=1.0), "does not hold for all of its values"),
    ],
)
def test_members_that_need_others_are_not_parted(condition, said):
    problem = ag.Problem(BOX, {**decaying().conditions, "more": condition()})
    with pytest.raises(SettingError, match=said):
        ag.solve(problem, stretches={"k": 2})


@pytest.mark.long
def test_points_that_were_chosen_are_dealt():
    k, x = np.meshgrid(np.geomspace(0.25, 4, 12), np.linspace(0.02, 0.98, 12), indexing="ij")
    points = {"equation": ag.Chosen(k=k, x=x)}
    solution = ag.solve(decaying(), ag.MLP(6), points=points, steps=40, stretches={"k": [1.0]}, progress=False)
    assert float(np.max(np.abs(solution(k=k, x=x) - np.exp(-k * x)))) < 0.1
    few = {"equation": ag.Chosen(k=k[:3], x=x[:3])}
    with pytest.raises(SettingError, match="no points between k=1 and k=4"):
        ag.solve(decaying(), ag.MLP(6), points=few, steps=2, stretches={"k": [1.0]}, progress=False)
