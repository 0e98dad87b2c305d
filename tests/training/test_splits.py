"""How functions are split between axes, from outcomes that are made up."""

from dataclasses import replace

import jax
import numpy as np
import pytest

import anagram as ag
from anagram.models import Chebyshev, Waves
from anagram.statement.domains.bends import Bend
from anagram.statement.sizes import natural_sizes
from anagram.training.rungs import Outcome, Plan, Rung, fine_axes, node_shares, rung_from_json, rung_points
from anagram.training.splits import (
    LONGEST,
    MOST_TRIED,
    SHRINKS,
    TAIL,
    fitting,
    is_too_fine,
    is_too_long,
    narrower,
    needed,
    next_split,
    next_to,
    over,
)
from anagram.training.wide import SIZES, Width, next_spread

GOAL = 1e-8
FACTS = Width(dimension=2, fields=1, goal=GOAL, linear=False, fine=1)
RING = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi))
SLAB = ag.Box(t=(0, 1), x=(-1, 1))


def rung(plan, residual, fine_tail=0.0, coarse_tail=0.0):
    tails = {"fine_tail": fine_tail, "coarse_tail": coarse_tail}
    return Rung(plan, Outcome(plan.features, 100, 5, 1.0, 1.0, residual**2 / 2, residual**2 / 2, None, **tails))


def resolved(plan, fine, coarse):
    """A rung whose tails fall geometrically, to what is allowed with so many functions along the axes."""
    allowed = TAIL * GOAL
    tails = [
        allowed ** (count / wanted) for count, wanted in ((plan.waves, fine), (plan.features / plan.waves, coarse))
    ]
    return rung(plan, max(tails), *tails)


def evolution(domain):
    return ag.Problem(
        domain,
        equation=ag.Condition(lambda u: u.d("t") + 2 * u.d("x")),
        start=ag.Condition(lambda u: u, on=domain.face(t=0), equals=np.sin),
        name="transport",
    )


@pytest.mark.parametrize(("fine", "coarse"), [(9, 40), (33, 10), (110, 3)])
def test_the_race_finds_the_proportion_that_is_needed(fine, coarse):
    like = Plan(0, features=320, steepness=5.0, density=3.0)
    rungs = []
    while (plan := next_split(FACTS, like, rungs)) is not None:
        rungs.append(resolved(plan, fine, coarse))
    assert len(rungs) <= MOST_TRIED
    assert len({r.plan.waves for r in rungs}) == len(rungs)
    assert all(r.plan.waves % 2 == 1 and r.plan.features == 320 for r in rungs)
    best = min(rungs, key=lambda r: r.outcome.residual).plan
    assert abs(np.log(best.waves**2 / 320 / (fine / coarse))) < 0.7
    assert best.times == 1.0


def test_there_is_no_race_where_nothing_can_be_split():
    like = Plan(0, features=320)
    assert next_split(replace(FACTS, fine=0), like, []) is None
    torus = replace(FACTS, fine=2)
    first = next_split(torus, like, [])
    assert first is not None
    assert first.waves == pytest.approx(320, abs=1)
    assert next_split(torus, like, [rung(first, 1.0)]) is None
    wider = next_to(torus, [rung(first, 1.0, fine_tail=0.1)], SIZES)
    assert wider is not None
    assert wider.waves == wider.features


def test_tails_tell_how_many_functions_are_needed():
    plan = Plan(0, features=400, waves=41, density=2.0)
    fine, coarse = needed(FACTS, resolved(plan, 50, 8))
    assert fine == pytest.approx(50, rel=1e-3)
    assert coarse == pytest.approx(8, rel=1e-3)
    # What is far too fine is not made much coarser at once.
    fine, _ = needed(FACTS, resolved(plan, 3, 8))
    assert SHRINKS * 41 <= fine < 41


def test_a_split_that_is_wide_enough_is_compared_with_another():
    enough = resolved(Plan(0, features=640, waves=77), 60, 7)
    beside = next_to(FACTS, [enough], SIZES)
    assert beside is not None
    assert (beside.features, beside.waves < 77) == (640, True)


def test_a_split_that_is_too_narrow_is_followed_by_what_its_tails_ask_for():
    narrow = resolved(Plan(0, features=320, waves=33), 60, 15)
    wider = next_to(FACTS, [narrow], SIZES)
    assert wider is not None
    assert wider.features == 960  # of 60·15 = 900
    assert wider.waves == pytest.approx(60 * np.sqrt(960 / 900), abs=1)
    # A wider one that brings nothing is the last one.
    assert next_to(FACTS, [narrow, rung(wider, 0.9 * narrow.outcome.residual, 0.5, 0.5)], SIZES) is None
    # Nothing is wider than the widest.
    assert next_to(FACTS, [narrow], [320]) is None


def test_the_next_stretch_has_as_many_functions_as_it_is_long_and_fine():
    before = resolved(Plan(0, features=640, waves=81), 60, 6)
    same = fitting(FACTS, before, SIZES)
    assert (same.features, same.waves) == (640, pytest.approx(60 * np.sqrt(640 / 360), abs=1))
    assert fitting(FACTS, before, SIZES, times=0.5).features <= same.features
    longer, finer = fitting(FACTS, before, SIZES, times=2.0), fitting(FACTS, before, SIZES, finer=2.0)
    assert (longer.features, finer.features) == (640, 960)  # of 480 and 720
    assert longer.waves == pytest.approx(60 * np.sqrt(640 / 480), abs=1)
    assert finer.waves == pytest.approx(120 * np.sqrt(960 / 720), abs=1)
    assert fitting(FACTS, before, SIZES, times=100.0).features <= LONGEST * 640


def test_a_short_stretch_needs_a_few_functions_too():
    assert over(6.0, 1.0) == 6.0
    assert over(12.0, 0.5) == 8.0, "of twelve there are four that any stretch needs"
    assert over(3.0, 0.5) == 3.0
    assert over(2.0, 0.01) == 2.0


def test_where_not_all_that_is_needed_has_room_what_would_grow_most_is_cut():
    """Tails that are large say only that much more is needed; those that are small say how much."""
    axes = replace(FACTS, dimension=3, fine=2, fields=4)
    plan = Plan(0, features=320, waves=19, density=2.0)
    unknown = rung(
        plan, 1e-4, 0.8, (TAIL * GOAL) ** (1 / 1.5)
    )  # 1.5 times as many over time, and nobody knows along space
    found = fitting(axes, unknown, SIZES)
    coarse = found.features / 4 / found.waves
    assert found.features == 960
    assert 1.2 * 80 / 19 < coarse < 1.6 * 80 / 19
    assert found.waves > 1.5 * 19


def test_something_smaller_in_the_same_proportion():
    plan = Plan(0, features=640, waves=81)
    small = narrower(FACTS, plan, SIZES)
    assert small.features == 320
    assert small.waves == pytest.approx(81 / np.sqrt(2), abs=1)
    assert narrower(FACTS, Plan(0, features=160, waves=17), SIZES) == Plan(0, features=160, waves=17)


def test_stretches_that_need_many_functions_over_time_are_too_long():
    plan = Plan(0, features=640, waves=41)
    assert is_too_long(FACTS, resolved(plan, 60, 30))
    assert not is_too_long(FACTS, resolved(plan, 60, 12))
    assert not is_too_long(FACTS, resolved(plan, 20, 20))


def test_waves_are_raced_with_units_and_the_winner_goes_on():
    rungs = []
    while True:
        plan = next_spread(FACTS, rungs)
        if plan is None or plan.features > SIZES[1]:
            break
        rungs.append(rung(plan, 1e-4, 1e-3, 1e-3) if plan.waves else rung(plan, 1e-2))
    assert {r.plan.waves > 0 for r in rungs} == {True, False}
    assert plan is not None
    assert plan.waves > max(r.plan.waves for r in rungs if r.plan.waves) / 4
    assert plan.features > rungs[0].plan.features


def test_a_stretch_begins_with_something_smaller_than_what_should_do():
    known = Plan(0, features=640, waves=81, density=2.0)
    facts = replace(FACTS, known=known, marches=True, most=2560)
    small = next_spread(facts, [])
    assert small == narrower(facts, known, SIZES)
    assert next_spread(facts, [rung(small, 1e-3)]) == known
    assert next_spread(facts, [rung(small, 0.5)]) is None, "it went astray, and more functions would, too"
    assert next_spread(facts, [rung(small, 0.05), resolved(known, 50, 40)]) is None, "it is cut"


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


def test_which_axes_share_the_functions():
    assert fine_axes(evolution(RING)) == ("x",)
    assert fine_axes(evolution(SLAB)) == ("x",)
    plane = ag.Box(x=(0, 1), y=(0, 1))
    poisson = ag.Problem(plane, equation=ag.Condition(lambda u: u.laplacian(), equals=1.0))
    assert fine_axes(poisson) == ("y",)
    disk = ag.Disk()
    assert fine_axes(ag.Problem(disk, equation=ag.Condition(lambda u: u.laplacian(), equals=1.0))) == ()
    family = ag.Box(nu=ag.parameter(0.1, 1), x=(0, 1))
    assert fine_axes(ag.Problem(family, equation=ag.Condition(lambda u, nu: nu * u.d("x"), equals=1.0))) == ()


SPACE_TIME = ag.Box(t=(0, 1), x=(-1, 1), y=(0, 3))
CUBE = ag.Box(x=(0, 1), y=(0, 1), z=(0, 1))
PIPE = ag.Box(t=(0, 1), x=ag.periodic(0, 2 * np.pi), y=ag.periodic(0, 1))


@pytest.mark.parametrize("domain", [SPACE_TIME, PIPE])
def test_nodes_resolve_functions_of_several_axes(domain):
    """Along x there are more functions than the root of their number: on too few nodes some are not seen at all."""
    problem = evolution(domain)
    plan = Plan(0, features=900, waves=90, density=2.0)
    x = problem.domain.draw(rung_points(plan, problem, 900)["equation"], np.random.default_rng(0)).x
    model = plan.model(problem, natural_sizes(problem)).build(domain, 1, jax.random.key(0))
    functions = np.column_stack([np.ones(len(x)), model.features(x)])
    assert np.linalg.cond(functions) < 50
    alone = 1 + int(np.asarray(model.factors.fine.degree).max()) if domain is SPACE_TIME else 0
    assert len(np.unique(x[:, 1])) > alone


def poisson(domain):
    return ag.Problem(
        domain,
        equation=ag.Condition(lambda u: u.laplacian(), equals=1.0),
        walls=ag.Condition(lambda u: u, on=domain.boundary()),
        name="poisson",
    )


def test_in_space_without_time_polynomials_are_of_all_axes_and_points_no_grid():
    problem = poisson(CUBE)
    assert fine_axes(problem) == ("x", "y", "z")
    facts = Width(dimension=3, fields=1, goal=GOAL, linear=True, fine=3)
    plan = next_split(facts, Plan(0, features=320, steepness=2.0, density=3.0), [])
    assert plan is not None
    model = plan.model(problem, natural_sizes(problem))
    assert isinstance(model, Chebyshev)
    assert (model.along, model.finest) == (("x", "y", "z"), model.width)
    rules = rung_points(plan, problem, 320)
    x = CUBE.draw(rules["equation"], np.random.default_rng(0)).x
    assert len(np.unique(x[:, 0])) == len(x) == 3 * 320
    functions = model.build(CUBE, 1, jax.random.key(0)).features(x)
    assert np.linalg.cond(np.column_stack([np.ones(len(x)), functions])) < 500


def test_more_polynomials_are_tried_in_space_where_features_do_not_do():
    facts = Width(dimension=3, fields=1, goal=GOAL, linear=True, fine=2)

    def after(residual):
        rungs = []
        while len(rungs) < 20 and (plan := next_spread(facts, rungs)) is not None:
            fine = plan.waves and plan.features > SIZES[1]
            rungs.append(rung(plan, residual if fine else 1e-3 * (320 / plan.features) ** 2, 1e-4, 1e-4))
        return rungs

    better, worse = after(1e-7), after(1e-2)
    for rungs in (better, worse):
        assert sum(r.plan.waves > 0 and r.plan.features == 960 for r in rungs) >= 1
    assert better[-1].plan.waves > 0
    assert max(r.plan.features for r in worse if r.plan.waves) == 960
    assert worse[-1].plan.waves == 0 or worse[-1].plan.features == 960


def test_a_march_ends_where_no_stretch_is_short_enough():
    facts = replace(FACTS, dimension=3, fine=2, marches=True)
    race = [rung(Plan(0, features=320, waves=117, density=2.0), 0.05, 0.1, 0.1)]
    coarse = [*race, rung(Plan(0, features=960, waves=243, density=2.0), 0.01, 6e-3, 2e-2)]
    fine = [*race, rung(Plan(0, features=960, waves=243, density=2.0), 1e-5, 1e-5, 1e-5)]
    sizes = [s for s in SIZES if s <= 2560]
    assert not is_too_fine(facts, race, sizes), "a race says little"
    assert is_too_fine(facts, coarse, sizes)
    assert not is_too_fine(facts, fine, sizes)


@pytest.mark.parametrize("domain", [RING, SLAB])
def test_a_plan_is_a_model_with_its_own_points(domain):
    problem = evolution(domain)
    plan = Plan(0, features=300, waves=61, density=2.0)
    model = plan.model(problem, natural_sizes(problem))
    if domain is RING:
        assert isinstance(model, Waves)
        assert (model.width, model.waves) == (300, 61)
    else:
        assert isinstance(model, Chebyshev)
        assert (model.width, model.finest, model.along) == (300, 61, ("x",))
    rules = rung_points(plan, problem, 300)
    inside = problem.domain.draw(rules["equation"], np.random.default_rng(0)).x
    # √2 times as many points as functions along x, and along t.
    assert len(np.unique(inside[:, 1])) == round(np.sqrt(2) * 61)
    assert len(np.unique(inside[:, 0])) == round(np.sqrt(2) * 300 / 61)
    shares = node_shares(plan, problem)
    assert np.prod(list(shares.values())) == pytest.approx(1.0)
    assert node_shares(replace(plan, waves=0), problem) == {}


def test_points_crowd_where_a_coordinate_is_bent():
    problem, plan = evolution(SLAB), Plan(0, features=300, waves=61, density=2.0)
    bends = {"x": Bend((0.0, 1.1, 0.0, -0.1))}  # flat at the ends, steep in the middle
    model = plan.model(problem, natural_sizes(problem), bends=bends)
    assert isinstance(model, Chebyshev)
    assert model.bends == bends
    plain, bent = (
        np.unique(problem.domain.draw(rung_points(plan, problem, 300, b)["equation"], np.random.default_rng(0)).x[:, 1])
        for b in (None, bends)
    )
    assert len(plain) == len(bent)
    assert np.sum(np.abs(bent) < 0.3) > np.sum(np.abs(plain) < 0.3)
    # Features know nothing of it.
    units = replace(plan, waves=0, steepness=3.0)
    same = problem.domain.draw(rung_points(units, problem, 300, bends)["equation"], np.random.default_rng(0)).x
    there = problem.domain.draw(rung_points(units, problem, 300)["equation"], np.random.default_rng(0)).x
    np.testing.assert_array_equal(same, there)


def test_records_have_the_waves():
    whole = rung(Plan(0, features=300, waves=61), 1e-3, 1e-4, 1e-5)
    assert rung_from_json(whole.as_json()) == whole
