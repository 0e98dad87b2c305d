"""How functions are split into waves and polynomials, from outcomes that are made up."""

from dataclasses import replace

import numpy as np
import pytest

import anagram as ag
from anagram.models import Waves
from anagram.statement.sizes import natural_sizes
from anagram.training.rungs import Outcome, Plan, Rung, node_shares, rung_from_json, rung_points
from anagram.training.splits import MOST_TRIED, NEARBY, WITHIN_REACH, next_split, next_to_known, widened
from anagram.training.wide import SIZES, Width, next_spread

GOAL = 1e-8
FACTS = Width(dimension=2, fields=1, goal=GOAL, linear=False, around=1)
RING = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi))


def rung(plan, residual):
    return Rung(plan, Outcome(plan.features, 100, 5, 1.0, 1.0, residual**2 / 2, residual**2 / 2, None))


def transport():
    return ag.Problem(
        RING,
        equation=ag.Condition(lambda u: u.d("t") + 2 * u.d("x")),
        start=ag.Condition(lambda u: u, on=RING.face(t=0), equals=np.sin),
        name="transport",
    )


def tried(choose, rungs, residual, most=20):
    """The rungs that are chosen one after the other, with the residuals that a function gives to them."""
    rungs = list(rungs)
    while len(rungs) < most:
        plan = choose(rungs)
        if plan is None:
            return rungs
        rungs.append(rung(plan, residual(plan.waves)))
    raise AssertionError("it does not end")


@pytest.mark.parametrize("best", [9, 33, 65])
def test_the_race_finds_how_many_waves_are_best(best):
    like = Plan(0, features=320, steepness=5.0, density=3.0)
    found = tried(lambda r: next_split(FACTS, like, r), [], lambda waves: abs(np.log(waves / best)) + 1e-3)
    assert abs(np.log(min(found, key=lambda r: r.outcome.residual).plan.waves / best)) < 0.1
    assert len(found) <= MOST_TRIED
    assert len({r.plan.waves for r in found}) == len(found)
    assert all(r.plan.waves % 2 == 1 and r.plan.features == 320 for r in found)


def test_there_are_no_waves_without_periodic_axes_and_no_race_without_others():
    like = Plan(0, features=320)
    assert next_split(replace(FACTS, around=0), like, []) is None
    torus = replace(FACTS, around=2)
    first = next_split(torus, like, [])
    assert first is not None
    assert next_split(torus, like, [rung(first, 1.0)]) is None
    assert next_to_known(torus, [rung(first, 1.0)]) is None
    assert widened(torus, first, 640) == 2 * first.waves


def test_what_was_good_enough_before_is_compared_with_another_or_has_others_beside_it():
    known = Plan(0, features=640, waves=77)
    near = next_to_known(FACTS, [rung(known, 0.5 * WITHIN_REACH * GOAL)])
    assert near is not None
    assert near.waves < known.waves
    far = next_to_known(FACTS, [rung(known, 2 * WITHIN_REACH * GOAL)])
    assert far is not None
    assert far.waves == pytest.approx(NEARBY * known.waves, abs=1)
    # More waves are worse: fewer of them are tried, and then it ends.
    found = tried(lambda r: next_to_known(FACTS, r), [rung(known, 1.0)], lambda waves: float(waves))
    assert found[2].plan.waves < known.waves
    assert len(found) <= MOST_TRIED


def test_waves_are_raced_with_units_and_the_winner_goes_on():
    rungs = []
    while True:
        plan = next_spread(FACTS, rungs)
        if plan is None or plan.features > SIZES[1]:
            break
        rungs.append(rung(plan, 1e-4 if plan.waves else 1e-2))
    assert {r.plan.waves > 0 for r in rungs} == {True, False}
    assert plan is not None
    assert plan.waves > max(r.plan.waves for r in rungs if r.plan.waves) / 4
    assert plan.features > rungs[0].plan.features


def test_features_that_no_longer_do_are_followed_by_waves():
    known = Plan(0, features=320, steepness=5.0, density=3.0)
    facts = replace(FACTS, known=known)
    assert next_spread(facts, []) == known
    split = next_spread(facts, [rung(known, 1e-3)])
    assert split is not None
    assert (split.features, split.waves > 0) == (320, True)
    enough = next_spread(facts, [rung(known, GOAL / 2)])
    assert enough is not None
    assert (enough.waves, enough.steepness < known.steepness) == (0, True)


def test_a_plan_of_waves_is_a_model_with_its_own_points():
    problem = transport()
    plan = Plan(0, features=300, waves=61, density=2.0)
    model = plan.model(problem, natural_sizes(problem))
    assert isinstance(model, Waves)
    assert (model.width, model.waves) == (300, 61)
    rules = rung_points(plan, problem, 300)
    inside = problem.domain.draw(rules["equation"], np.random.default_rng(0)).x
    # √2 times as many points as waves around the ring, and as polynomials along t.
    assert len(np.unique(inside[:, 1])) == round(np.sqrt(2) * 61)
    assert len(np.unique(inside[:, 0])) == round(np.sqrt(2) * 300 / 61)
    shares = node_shares(plan, problem)
    assert np.prod(list(shares.values())) == pytest.approx(1.0)
    assert node_shares(replace(plan, waves=0), problem) == {}


def test_records_have_the_waves():
    whole = rung(Plan(0, features=300, waves=61), 1e-3)
    assert rung_from_json(whole.as_json()).plan == whole.plan
