"""Which wide networks are tried, from outcomes that are made up."""

from dataclasses import replace

import numpy as np
import pytest

from anagram.statement.detail import Detail
from anagram.training import ladder, wide
from anagram.training.ladder import DEAR, FINE, THIN, Facts, next_plan
from anagram.training.rungs import LEVELS, Outcome, Plan, Rung
from anagram.training.wide import SIZES, Width, next_above, next_spread

GOAL = 1e-8
LINE = Width(dimension=1, fields=1, goal=GOAL, linear=True)
FACTS = Facts(dimension=2, linear=True, has_data=False, tol=GOAL, most_parameters=1100)


def rung(plan, residual, overfitted=False, parameters=None, estimate=None):
    """A rung whose residual on fresh points is given."""
    fresh = residual**2 / 2
    loss = fresh / 100 if overfitted else fresh
    count = parameters or plan.features or LEVELS[plan.level]
    return Rung(plan, Outcome(count, 100, 50, 1.0, 1.0, loss, fresh, None, estimate, estimate is not None))


def spread(facts, residual, most=40):
    """The rungs of features all over the domain, with the residuals that a function gives to them."""
    rungs = []
    while len(rungs) < most:
        plan = next_spread(facts, rungs)
        if plan is None:
            return rungs
        rungs.append(rung(plan, residual(plan)))
    raise AssertionError("it does not end")


def plans(rungs):
    return [r.plan for r in rungs]


def raced(facts, best):
    """The rungs of the first size, of which that with the steepness `best` times the first one wins."""
    first = next_spread(facts, [])
    assert first is not None
    found = spread(facts, lambda p: 1e-3 * 2 ** abs(np.log2(p.steepness / first.steepness / best)))
    return first, [r for r in found if r.plan.features == SIZES[0]], found


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_first_rung_is_the_narrowest(dimension):
    plan = next_spread(replace(LINE, dimension=dimension), [])
    assert plan is not None
    assert (plan.features, plan.below) == (wide.FIRST[dimension], -1)
    assert plan.steepness > 0
    several = next_spread(replace(LINE, dimension=dimension, fields=4), [])
    assert several is not None
    assert several.steepness < plan.steepness, "fields share the parameters: there are fewer features for each"


MANY = replace(LINE, dimension=wide.MOST_DIMENSIONS + 2)


def test_in_many_dimensions_features_depend_on_one_axis_or_two():
    found = spread(MANY, lambda p: {1: 0.5, 2: 1e-3 if p.features < SIZES[2] else GOAL / 2}[p.couples])
    assert [p.couples for p in plans(found)[:2]] == [1, 2], "a race"
    assert len({p.features for p in plans(found)[:2]}) == 1, "of one width: one program"
    wider = plans(found)[2]
    assert wider.couples == 2, "the winner goes on"
    assert wider.features > found[1].plan.features
    assert next_above(MANY, [rung(Plan(1), 1e-4)]) is None


def test_no_others_are_tried_there_where_the_solution_is_no_sum_of_such():
    assert len(spread(MANY, lambda p: 2 * wide.GOT_HOLD)) == len(wide.COUPLED)


def test_one_that_is_good_enough_there_is_compared_with_a_twin():
    one, two, *_ = plans(spread(MANY, lambda p: GOAL / 2))
    assert one.couples == two.couples == 1
    assert one.steepness != two.steepness


def test_in_very_many_dimensions_there_are_too_few_for_each_axis():
    assert next_spread(replace(LINE, dimension=1 + SIZES[-1] // wide.FEWEST), []) is None


@pytest.mark.parametrize("best", wide.RACE)
def test_steepness_is_raced_at_the_narrow_end_and_the_winner_goes_on(best):
    first, race, found = raced(LINE, best)
    factors = [r.plan.steepness / first.steepness for r in race]
    assert factors[: len(wide.RACE)] == pytest.approx(wide.RACE)
    beyond = wide.EDGE.get(best)
    assert factors[len(wide.RACE) :] == pytest.approx([] if beyond is None else [beyond])
    wider = next(r.plan for r in found if r.plan.features > SIZES[0])
    assert wider.features == SIZES[1]
    assert wider.steepness / (best * first.steepness) == pytest.approx(SIZES[1] / SIZES[0])


def test_of_features_that_are_alike_the_flattest_go_on():
    first, race, found = raced(LINE, np.sqrt(wide.RACE[0] * wide.RACE[1]))
    wider = next(r.plan for r in found if r.plan.features > SIZES[0])
    flattest = min(wide.RACE[:2]) * first.steepness
    assert wider.steepness == pytest.approx(flattest * wider.features / SIZES[0])
    assert len(race) == len(wide.RACE)


@pytest.mark.parametrize("edge", wide.EDGE)
def test_beyond_the_edge_of_the_race_there_is_one_more(edge):
    first, race, found = raced(LINE, 100 * edge if edge > 1 else edge / 100)
    last = race[-1].plan
    assert last.steepness / first.steepness == pytest.approx(wide.EDGE[edge])
    assert len(race) == len(wide.RACE) + 1, "and not more than that"
    assert next(r.plan for r in found if r.plan.features > SIZES[0]).steepness > last.steepness


@pytest.mark.parametrize(("goal", "residual"), [(GOAL, 0.9 * GOAL), (1e-15, wide.ROUNDING)])
def test_nothing_is_raced_where_a_rung_is_good_enough_already(goal, residual):
    facts = replace(LINE, goal=goal)
    first = next_spread(facts, [])
    assert first is not None
    second = next_spread(facts, [rung(first, residual)])
    assert second is not None
    assert second.features == SIZES[0], "it is there to compare with, and compiled already"
    assert second.steepness != first.steepness
    third = next_spread(facts, [rung(first, residual), rung(second, residual)])
    assert third is not None
    assert third.features == SIZES[1]


def test_the_race_may_be_run_at_another_width():
    facts = replace(LINE, dimension=2, race=SIZES[2])
    found = spread(facts, lambda p: 1e-2 * SIZES[2] / p.features)
    assert {r.plan.features for r in found[: len(wide.RACE)]} == {SIZES[2]}
    assert found[-1].plan.features >= 2 * SIZES[2]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_features_become_steeper_as_they_become_more(dimension):
    facts = replace(LINE, dimension=dimension, goal=1e-30)
    found = plans(spread(facts, lambda p: 1e-1 * 1e-8 ** (p.features / facts.first - 1)))
    one, two = [p for p in found if p.features > facts.first][:2]
    assert two.features > one.features
    assert two.steepness / one.steepness == pytest.approx((two.features / one.features) ** (1 / dimension))


def two_sizes(facts, first, second, estimate=None):
    """The narrowest size and the next one, with these residuals."""
    plan = next_spread(facts, [])
    assert plan is not None
    others = [rung(replace(plan, steepness=f * plan.steepness), 2 * first) for f in (*wide.RACE, *wide.EDGE.values())]
    rungs = [*others, rung(plan, first)]
    wider = next_spread(facts, rungs)
    assert wider is not None
    assert wider.features == SIZES[1]
    return [*rungs, rung(wider, second, estimate=estimate)]


def after(facts, first, second, estimate=None):
    plan = next_spread(facts, two_sizes(facts, first, second, estimate))
    return None if plan is None else plan.features


def test_the_next_size_is_what_errors_promise():
    """The faster they fall, and the less is missing, the less wide it is."""
    far, near = after(LINE, 1e-2, 1e-3), after(LINE, 1e-2, 1e-7)
    assert far is not None
    assert near is not None
    assert SIZES[1] < near < far
    assert far <= wide.LONGEST * SIZES[1] * 2, "one rung does not go too far"
    easy = after(replace(LINE, goal=1e-4), 1e-2, 1e-3)
    assert easy is not None
    assert easy <= far
    assert near == SIZES[2], "one size at least"


def test_what_the_error_is_for_each_unit_of_the_residual_counts():
    facts = replace(LINE, goal=1e-6)
    same, larger = (after(facts, 1e-2, 1e-4, estimate) for estimate in (1e-4, 1e-2))
    assert after(facts, 1e-2, 1e-4) == same, "where nothing is estimated it is the residual"
    assert after(facts, 1e-2, 1e-4, np.inf) == same
    assert same is not None
    assert larger is not None
    assert larger > same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1e-3, 1.01e-3 / wide.PAYS),
        (1e-3, 2e-3),
        (1.0, 1.01 * wide.HOLDS),
        (0.9 * wide.ROUNDING * wide.PAYS, wide.ROUNDING),
    ],
    ids=["slow", "worse", "nothing solved", "rounding"],
)
def test_they_are_given_up_where_more_of_them_do_not_help(first, second):
    facts = replace(LINE, goal=1e-14)
    assert after(facts, first, second) is None


def test_they_are_given_up_where_far_too_many_would_be_needed():
    slow = 1.1 * wide.PAYS
    assert after(replace(LINE, goal=1e-30), 1e-1, 1e-1 / slow) is None
    assert after(replace(LINE, goal=1e-3), 1e-1, 1e-1 / slow) is not None


def test_the_widest_is_the_last():
    found = spread(replace(LINE, goal=1e-30), lambda p: 1e-1 * 0.01 ** (p.features / SIZES[0]))
    sizes = [p.features for p in plans(found)]
    assert sizes == sorted(sizes)
    assert set(sizes) <= set(SIZES)
    assert next_spread(LINE, [*found, rung(replace(found[-1].plan, features=SIZES[-1]), 1e-6)]) is None
    bounded = spread(replace(LINE, goal=1e-30, most=SIZES[2]), lambda p: 1e-1 * 0.01 ** (p.features / SIZES[0]))
    assert max(p.features for p in plans(bounded)) <= SIZES[2]


def test_nonlinear_equations_that_go_astray_are_left_to_networks():
    nonlinear = replace(LINE, linear=False)
    first = next_spread(LINE, [])
    assert first is not None
    lost = [rung(first, 1.01 * wide.ASTRAY)]
    assert next_spread(nonlinear, lost) is None
    assert next_spread(LINE, lost) is not None
    assert next_spread(nonlinear, [rung(first, 0.99 * wide.ASTRAY)]) is not None


# -- on top of networks ---------------------------------------------------------------------------------------------

SMALL = rung(Plan(1), 0.5 * wide.GOT_HOLD, parameters=SIZES[1] // wide.TWICE)


def test_features_are_drawn_on_top_of_a_network_that_got_hold_of_the_solution():
    plan = next_above(LINE, [SMALL])
    assert plan is not None
    assert plan.below == 0
    assert plan.features >= wide.TWICE * SMALL.outcome.parameters
    assert plan.features in SIZES[1:]
    assert next_above(LINE, [rung(Plan(1), 1.01 * wide.GOT_HOLD)]) is None
    assert next_above(LINE, []) is None
    assert next_above(LINE, [rung(Plan(0, features=SIZES[0]), 1e-3)]) is None, "wide ones have no trained layers"


def test_below_counts_all_rungs():
    first = next_spread(LINE, [])
    assert first is not None
    plan = next_above(LINE, [rung(first, 0.5), rung(first, 0.4), SMALL])
    assert plan is not None
    assert plan.below == 2


def test_a_large_network_has_no_room_for_features():
    large = rung(Plan(1), 1e-4, parameters=SIZES[-1])
    assert next_above(LINE, [large]) is None


def test_another_network_must_be_much_better_to_be_built_upon():
    plan = next_above(LINE, [SMALL])
    assert plan is not None
    tried = [SMALL, rung(plan, SMALL.outcome.residual)]
    assert next_above(LINE, tried) is None, "they were not better than the network"
    for factor, chosen in ((1.01, False), (0.99, True)):
        other = rung(Plan(2), factor * wide.BETTER * SMALL.outcome.residual, parameters=SIZES[1] // wide.TWICE)
        again = next_above(LINE, [*tried, other])
        assert (again is not None) is chosen
        assert again is None or again.below == len(tried)


def test_more_of_them_follow_where_they_are_better_than_the_network():
    plan = next_above(LINE, [SMALL])
    assert plan is not None
    good = rung(plan, 0.9 * wide.BETTER * SMALL.outcome.residual)
    wider = next_above(LINE, [SMALL, good])
    assert wider is not None
    assert wider.features > plan.features
    assert (wider.below, wider.steepness, wider.density) == (plan.below, plan.steepness, plan.density)
    fast, slow = (rung(wider, good.outcome.residual / f) for f in (1e3, 0.9 * wide.PAYS))
    onwards = next_above(LINE, [SMALL, good, fast])
    assert onwards is not None
    assert onwards.features > wider.features
    assert next_above(LINE, [SMALL, good, slow]) is None


def test_they_have_more_points_where_they_fit_theirs_only():
    plan = next_above(LINE, [SMALL])
    assert plan is not None
    overfitted = rung(plan, 1e-4, overfitted=True)
    denser = next_above(LINE, [SMALL, overfitted])
    assert denser == replace(plan, density=wide.DENSER * plan.density)
    enough = rung(plan, 0.9 * GOAL, overfitted=True)
    other = next_above(LINE, [SMALL, enough])
    assert other is None or other.features > plan.features, "that is enough already"
    still = next_above(LINE, [SMALL, overfitted, rung(denser, 1e-5, overfitted=True)])
    assert still is not None
    assert still.features > plan.features or denser.density < still.density <= wide.DENSEST
    better = next_above(LINE, [SMALL, overfitted, rung(denser, 1e-5)])
    assert better is not None
    assert better.features > plan.features
    assert better.density == denser.density


# -- among all rungs ------------------------------------------------------------------------------------------------


def climbed(facts, residual, most=80):
    rungs = []
    while len(rungs) < most:
        plan = next_plan(facts, rungs)
        if plan is None:
            return rungs
        found = residual(plan)
        rungs.append(rung(plan, *found) if isinstance(found, tuple) else rung(plan, found))
    raise AssertionError("it does not end")


def test_wide_networks_come_first():
    found = plans(climbed(FACTS, lambda p: 0.5 if p.features else 0.1**p.level))
    kinds = [p.features > 0 for p in found]
    assert kinds[0]
    networks = kinds.index(False)
    assert networks > 1
    assert found[networks] == ladder.first_plan(FACTS)


@pytest.mark.parametrize(
    "facts",
    [
        replace(FACTS, detail=Detail(data=FINE), linear=False),
        replace(FACTS, points_given=True),
        replace(FACTS, wide=False),
        replace(FACTS, dimension=SIZES[-1]),
    ],
    ids=["bumps", "points", "none", "very many dimensions"],
)
def test_unless_it_is_known_that_networks_are_needed(facts):
    found = plans(climbed(facts, lambda p: 1e-2 * 0.1**p.level))
    assert found[0] == ladder.first_plan(facts)
    assert not any(p.features and p.below < 0 for p in found)


def test_narrow_bumps_of_linear_equations_are_looked_for_with_many_features():
    facts = replace(FACTS, detail=Detail(data=FINE), linear=True, fields=2)
    found = next_plan(facts, [])
    assert found is not None
    assert found.features >= 2 * ladder.SEES_BUMPS


def test_features_on_top_of_networks_are_for_fronts_too():
    facts = replace(FACTS, detail=Detail(data=FINE))
    found = plans(climbed(facts, lambda p: 1e-2 * 0.1**p.level if not p.features else 1e-2))
    assert any(p.below >= 0 for p in found)
    given = plans(climbed(replace(facts, points_given=True), lambda p: 1e-2 * 0.1**p.level))
    assert not any(p.features for p in given), "points that are given are for one network"


def test_very_wide_ones_are_for_nonlinear_equations_after_small_networks_only():
    def residual(plan):
        return 0.05 * 0.3 ** SIZES.index(plan.features) if plan.features and plan.below < 0 else 0.02

    facts = replace(FACTS, linear=False, tol=1e-4, dimension=1)
    found = plans(climbed(facts, residual))
    dear = [k for k, p in enumerate(found) if p.below < 0 and p.features > DEAR]
    race = [k for k, p in enumerate(found) if not p.features and p.level >= ladder.RACE]
    assert dear, "such problems need very many"
    assert min(race) < min(dear)
    linear = plans(climbed(replace(facts, linear=True), residual))
    cheap = [k for k, p in enumerate(linear) if p.below < 0 and p.features > DEAR]
    assert min(cheap) < next(k for k, p in enumerate(linear) if not p.features)


def test_layers_below_are_those_of_a_network():
    """Wherever features are drawn on top of something, it was trained before."""
    found = climbed(FACTS, lambda p: 1e-3 * 0.1**p.level if not p.features else (0.2 if p.below < 0 else 1e-6))
    above = [(k, r.plan.below) for k, r in enumerate(found) if r.plan.below >= 0]
    assert above
    for place, below in above:
        assert below < place
        assert not found[below].plan.features


def test_every_climb_ends():
    """Whatever comes of its rungs, and never with the same rung twice."""
    rng = np.random.default_rng(0)
    for k in range(150):
        detail = Detail(rng.uniform(0, 2 * FINE), rng.uniform(0, 2 * THIN)) if k % 4 == 1 else Detail()
        tol, most = float(10.0 ** -rng.uniform(1, 12)), int(rng.choice(LEVELS))
        facts = Facts(1 + k % 4, k % 3 == 0, k % 5 == 0, tol, most, detail=detail, fields=1 + k % 2)
        found = plans(climbed(facts, lambda _: (float(10.0 ** -rng.uniform(0, 10)), bool(rng.random() < 0.5))))
        assert len(set(found)) == len(found)


def test_they_end_where_all_of_them_fit_their_points_only():
    for linear in (True, False):
        found = plans(climbed(replace(FACTS, linear=linear), lambda p: (1e-2 * 0.1**p.level, True)))
        assert len(set(found)) == len(found)
        assert max(p.density for p in found) <= max(wide.DENSEST, ladder.DENSEST)


def test_choices_depend_on_nothing_else():
    first = next_spread(LINE, [])
    assert first is not None
    outcomes = [rung(first, 1e-3), rung(Plan(1), 1e-4)]
    slow = [replace(r, outcome=replace(r.outcome, seconds=1e6, compile_seconds=1e6)) for r in outcomes]
    assert next_plan(FACTS, outcomes) == next_plan(FACTS, slow)


# -- what is known from a problem much like this one ------------------------------------------------------------
KNOWN = Plan(0, features=640, steepness=3.0, times=9.0, axis=1, density=3.0)


def test_features_that_were_good_before_come_first_and_there_is_no_race():
    facts = replace(LINE, dimension=2, known=KNOWN)
    assert next_spread(facts, []) == KNOWN
    twin = next_spread(facts, [rung(KNOWN, 0.9 * GOAL)])
    assert twin is not None
    assert twin.steepness != KNOWN.steepness, "it is there to compare with"
    assert replace(twin, steepness=KNOWN.steepness) == KNOWN
    wider = next_spread(facts, [rung(KNOWN, 100 * GOAL)])
    assert wider is not None
    assert wider.features == 2 * KNOWN.features


def test_they_may_be_more_than_a_nonlinear_equation_begins_with():
    facts = replace(FACTS, linear=False, dimension=2, detail=Detail(data=FINE), known=KNOWN)
    assert next_plan(facts, []) == KNOWN
    wider = next_plan(facts, [rung(KNOWN, 1e-3)])
    assert wider is not None
    assert wider.features == 2 * KNOWN.features > ladder.DEAR
