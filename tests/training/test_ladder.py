"""The ladder of networks that are trained as a whole: which rung follows which, from outcomes that are made up.

For wide networks, of which only the last layer is learned, see `test_wide`.
"""

from dataclasses import replace

import numpy as np
import pytest

from anagram.statement.detail import Detail
from anagram.training.ladder import (
    ALIKE,
    CLOSE,
    CLOSEST,
    DENSER,
    DENSEST,
    ENOUGH,
    FINE,
    FINEST,
    FRONTS,
    LOOSE,
    LOST,
    NEAR_ROUNDING,
    PERHAPS,
    RACE,
    THIN,
    Facts,
    best,
    first_plan,
    next_plan,
)
from anagram.training.rungs import LEVELS, Outcome, Plan, Rung


def trained(*args, **more):
    """Facts where no wide networks are tried."""
    return Facts(*args, wide=False, **more)


LINE = trained(dimension=1, linear=True, has_data=False, tol=1e-8, most_parameters=1100)


def rung(plan, residual, overfitted=False):
    """A rung whose residual on fresh points is given."""
    fresh = residual**2 / 2
    loss = fresh / 100 if overfitted else fresh
    return Rung(plan, Outcome(LEVELS[plan.level], 100, 50, 1.0, 1.0, loss, fresh, None))


def climbed(facts, residual, most=40):
    """The plans of a climb on which every rung has the residual that a function gives."""
    rungs = []
    while len(rungs) < most:
        plan = next_plan(facts, rungs)
        if plan is None:
            return [r.plan for r in rungs]
        found = residual(plan)
        rungs.append(rung(plan, *found) if isinstance(found, tuple) else rung(plan, found))
    raise AssertionError("it does not end")


def test_few_digits_begin_with_the_smallest_network_and_loose_steps():
    assert first_plan(trained(2, True, False, 1e-3, 1100)) == Plan(0, ratio=LOOSE)
    assert first_plan(trained(2, True, False, 1e-6, 1100)) == Plan(RACE, ratio=LOOSE)
    assert first_plan(trained(2, True, False, 1e-9, 1100)).ratio < LOOSE
    assert first_plan(trained(2, True, False, 0.0, 1100)).level == RACE
    assert (
        first_plan(trained(5, True, False, 1e-3, 1100)).density
        > first_plan(trained(2, True, False, 1e-3, 1100)).density
    )
    assert next_plan(LINE, []) == first_plan(LINE)


@pytest.mark.parametrize(("dimension", "order"), [(1, [2, 3, 1]), (2, [2, 3, 1]), (3, [2, 1, 3]), (5, [1, 2])])
def test_numbers_of_layers_race_at_the_small_end(dimension, order):
    facts = replace(LINE, dimension=dimension)
    plans = climbed(facts, lambda p: {1: 1.0, 2: 0.3, 3: 0.1}[p.depth] * 0.1**p.level)
    assert [p.depth for p in plans if p.level == RACE] == order
    assert {p.depth for p in plans if p.level > RACE} == {max(order)}, "the winner goes on"


def test_there_is_no_race_where_errors_fall_fast_enough():
    facts = trained(dimension=2, linear=True, has_data=False, tol=1e-4, most_parameters=LEVELS[4])
    plans = climbed(facts, lambda p: [3e-2, 1e-3, 2e-4, 1e-5, 1e-6][p.level])
    assert [p.level for p in plans if p.level <= RACE] == [0, RACE]
    assert {p.depth for p in plans} == {2}


def test_more_points_where_a_network_fits_its_points_only():
    facts = replace(LINE, tol=1e-4)
    plans = climbed(replace(facts, most_parameters=LEVELS[RACE]), lambda p: (1e-2 / p.density, p.density < 8))
    first, second = plans[:2]
    assert second == replace(first, density=DENSER * first.density)
    assert not any(p.cells for p in plans), "that was enough"
    third = next_plan(facts, [rung(first, 1e-3, overfitted=True), rung(second, 1e-3, overfitted=True)])
    assert third == replace(second, cells=True), "if more points do not help they move"
    last = next_plan(facts, [*(rung(p, 1e-3, overfitted=True) for p in (first, second)), rung(third, 1e-3, True)])
    assert last is not None
    assert (last.level, last.depth) != (first.level, first.depth)


def test_a_large_network_that_does_not_fit_its_points_either_is_followed_by_a_larger_one_on_more():
    def residual(plan):
        return 1e-3 * 0.1**plan.level, plan.level > RACE and plan.density < 8

    plans = climbed(LINE, residual)
    assert {p.density for p in plans if p.level == RACE + 1} == {4.0}
    assert {p.density for p in plans if p.level == RACE + 2} == {DENSER * 4}
    assert not any(p.cells for p in plans)
    small = climbed(LINE, lambda p: (1e-3 * 0.1**p.level, p.level == RACE and p.density < 8))
    assert [p.density for p in small[:2]] == [4.0, DENSER * 4], "small ones are tried again"
    given = climbed(replace(LINE, points_given=True), lambda p: (1e-3 * 0.1**p.level, True))
    assert len({p.density for p in given}) == 1


def made_for_fronts(plan):
    return plan.cells and plan.scale == 2.0 and plan.density >= FRONTS


@pytest.mark.parametrize(
    ("facts", "overfitted", "fronts"),
    [
        (replace(LINE, linear=False), False, True),
        (replace(LINE, dimension=2, detail=Detail(data=PERHAPS * FINE)), True, True),
        (replace(LINE, dimension=2, detail=Detail(operator=PERHAPS * THIN)), True, True),
        (replace(LINE, dimension=2), True, False),
        (LINE, True, True),
        (LINE, False, False),
        (replace(LINE, linear=False, dimension=3), False, False),
    ],
)
def test_where_no_number_of_layers_gets_hold_of_a_solution_it_may_have_fronts(facts, overfitted, fronts):
    plans = climbed(facts, lambda p: (20 * LOST, overfitted) if p.level == RACE else 1e-9)
    first = next(p for p in plans if p.level > RACE)
    assert made_for_fronts(first) == fronts
    held = climbed(facts, lambda p: (LOST / 10, False) if p.level == RACE else 1e-9)
    assert not any(made_for_fronts(p) for p in held)


PLANE = replace(LINE, dimension=2)


@pytest.mark.parametrize(
    ("facts", "level"),
    [
        (replace(PLANE, detail=Detail(data=FINE)), RACE),
        (replace(PLANE, detail=Detail(data=FINEST)), RACE + 1),
        (replace(PLANE, linear=False, detail=Detail(operator=THIN)), RACE + 1),
    ],
)
def test_where_the_problem_says_that_there_are_fronts_networks_for_them_come_first(facts, level):
    first = first_plan(facts)
    assert made_for_fronts(first)
    assert first.level == level
    held = climbed(facts, lambda p: 0.1 * LOST * 0.1**p.level)
    assert all(made_for_fronts(p) for p in held), "such networks go on where they get hold of the solution"
    unlucky = climbed(facts, lambda p: 0.1 * LOST if p.level == level else 10 * LOST)
    assert all(made_for_fronts(p) and p.depth == 3 for p in unlucky), "one of them that does not says nothing"
    lost = climbed(facts, lambda p: 10 * LOST if p.cells else LOST * 0.3**p.level)
    assert not any(made_for_fronts(p) for p in lost[1:]), "where they do not there may be no front"
    assert {p.depth for p in lost if p.level == RACE and not p.cells} == {1, 2, 3}, "all numbers of layers have raced"


@pytest.mark.parametrize(
    "facts",
    [
        PLANE,
        replace(PLANE, detail=Detail(operator=2 * THIN)),
        replace(PLANE, detail=Detail(data=2 * FINE), points_given=True),
    ],
)
def test_elsewhere_they_do_not(facts):
    assert not made_for_fronts(first_plan(facts))


def test_few_digits_of_fronts_are_taken_with_loose_steps():
    fine = replace(PLANE, detail=Detail(data=FINE))
    assert first_plan(replace(fine, tol=1e-3)).ratio == LOOSE
    assert first_plan(fine).ratio < LOOSE


def test_points_are_not_more_than_can_be_paid_for():
    dense = Plan(RACE, density=DENSEST)
    plan = next_plan(replace(LINE, dimension=3), [rung(dense, 1e-3, overfitted=True)])
    assert plan is not None
    assert plan.density <= DENSEST
    in_space = climbed(replace(LINE, dimension=3), lambda p: (1e-3, True))
    assert not any(p.cells for p in in_space)
    assert max(p.density for p in in_space) <= DENSEST


def test_fitted_points_do_not_matter_below_the_tolerance():
    plan = next_plan(LINE, [rung(Plan(RACE), 1e-9, overfitted=True)])
    assert plan is not None
    assert (plan.density, plan.cells) == (Plan(RACE).density, False)


def test_levels_rise_until_the_largest_that_is_allowed():
    def falling(plan):
        return 1e-2 * 0.1**plan.level

    for most in (LEVELS[2], LEVELS[4], LEVELS[-1]):
        plans = climbed(replace(LINE, most_parameters=most), falling)
        assert LEVELS[plans[-1].level] == most
        assert [p.level for p in plans] == sorted(p.level for p in plans)


def test_a_level_that_does_not_pay_is_tried_in_other_forms():
    def stuck(plan):
        return 1e-3 if plan.level <= 2 else 1e-2 * 0.1**plan.level

    plans = climbed(LINE, stuck)
    forms = [p for p in plans if p.level == 2]
    assert len(forms) == 4
    assert forms[1].ratio == CLOSEST
    assert {p.depth for p in forms} == {1, 2, 3}
    assert plans[-1].level > 2
    assert len({(p.level, p.depth, p.ratio, p.scale, p.density, p.cells) for p in plans}) == len(plans)


def test_steps_that_were_quick_below_are_tried_above_and_kept_where_they_are_better():
    def residual(plan):
        if plan.depth != 2:
            return 1.0
        return [1.0, LOST, 0.1 * LOST if plan.ratio == LOOSE else 0.9 * LOST, 1e-3 * LOST][min(plan.level, 3)]

    facts = replace(LINE, tol=1e-6)
    plans = climbed(replace(facts, most_parameters=LEVELS[3]), residual)
    assert [p.ratio for p in plans if p.level == 2] == [CLOSE, LOOSE]
    assert {p.ratio for p in plans if p.level == 3} == {LOOSE}
    assert {p.depth for p in plans if p.level > RACE} == {2}, "the others lost the race by far"


def test_numbers_of_layers_that_did_not_race_are_tried_where_a_level_does_not_pay():
    plans = climbed(LINE, lambda p: 5e-5 if p.depth == 2 else 1e-9)
    assert [p.depth for p in plans[:3]] == [2, 2, 3]
    assert [p.level for p in plans[:3]] == [RACE, RACE + 1, RACE + 1]


def test_few_digits_are_taken_with_loose_steps_at_every_size_unless_closer_ones_are_better():
    facts = replace(LINE, tol=1e-3)
    for better in (LOOSE, CLOSE):
        plans = climbed(facts, lambda p, r=better: LOST * 0.2**p.level * (1 if p.ratio == r else 2))
        assert [p.ratio for p in plans if p.level == RACE + 1] == [LOOSE, CLOSE]
        assert {p.ratio for p in plans if p.level > RACE + 1} == {better}
    hard = climbed(replace(LINE, tol=1e-3), lambda p: 10 * LOST)
    assert CLOSEST in {p.ratio for p in hard}, (
        "where nothing gets hold of the solution they are taken closer to the edge"
    )


def test_the_ladder_ends_on_a_floor():
    floor = climbed(replace(LINE, most_parameters=LEVELS[-1]), lambda p: max(1e-4, 1e-2 * 0.1**p.level))
    assert floor[-1].level < len(LEVELS) - 1
    slow = climbed(replace(LINE, most_parameters=LEVELS[-1]), lambda p: 1e-2 * (0.9 / ENOUGH) ** p.level)
    assert slow[-1].level == len(LEVELS) - 1


def test_near_rounding_one_level_that_does_not_pay_is_enough():
    near = lambda p: [1e-3, 1e-5, NEAR_ROUNDING / 2][min(p.level, 2)]
    far = lambda p: [1e-3, 1e-5, NEAR_ROUNDING * 2][min(p.level, 2)]
    facts = replace(LINE, tol=0.0, most_parameters=LEVELS[-1])
    assert climbed(facts, near)[-1].level < climbed(facts, far)[-1].level


def test_noise_in_data_ends_a_climb():
    """Networks of all kinds end at the same residual, which is that of the data."""
    noisy = lambda p: 1e-2 * (1 + 0.02 * p.depth)
    assert len(climbed(replace(LINE, has_data=True), noisy)) == ALIKE
    assert len(climbed(LINE, noisy)) > ALIKE
    falling = climbed(replace(LINE, has_data=True), lambda p: 1e-2 * 0.1**p.level / p.depth)
    assert falling[-1].level > 2


def test_every_climb_ends():
    """Whatever comes of its rungs, and never with the same rung twice."""
    rng = np.random.default_rng(0)
    for k in range(200):
        detail = Detail(rng.uniform(0, 2 * FINE), rng.uniform(0, 2 * THIN)) if k % 4 == 1 else Detail()
        tol, most = float(10.0 ** -rng.uniform(1, 12)), int(rng.choice(LEVELS))
        facts = trained(1 + k % 4, k % 3 == 0, k % 5 == 0, tol, most, detail=detail)
        plans = climbed(facts, lambda _: (float(10.0 ** -rng.uniform(0, 10)), bool(rng.random() < 0.5)))
        assert len(set(plans)) == len(plans)


def test_choices_depend_on_nothing_else():
    outcomes = [rung(Plan(RACE, ratio=LOOSE), 1e-3), rung(Plan(RACE, depth=3, ratio=LOOSE), 1e-4)]
    slow = [replace(r, outcome=replace(r.outcome, seconds=1e6, compile_seconds=1e6)) for r in outcomes]
    assert next_plan(LINE, outcomes) == next_plan(LINE, slow)


def test_the_best_rung_is_that_with_the_least_residual_on_fresh_points():
    a, b = rung(Plan(1), 1e-4), rung(Plan(2), 1e-3, overfitted=True)
    assert best([b, a]) is a
