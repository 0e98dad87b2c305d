"""How many products a sum has, and polynomials of what degree, from outcomes that are made up."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import anagram as ag
from anagram.statement.sizes import natural_sizes
from anagram.training.rungs import Outcome, Plan, Rung, rung_from_json, rung_points
from anagram.training.terms import (
    FIRST_DEGREE,
    FIRST_TERMS,
    MOST_DEGREE,
    SMALL,
    come_first,
    needed_degree,
    next_of_terms,
)


@dataclass(frozen=True)
class Sought:
    dimension: int = 5
    fields: int = 1
    goal: float = 1e-6
    most_parameters: int = 1100


SOUGHT = Sought()


def rung(plan, residual, tail=0.0):
    loss = residual**2 / 2
    return Rung(plan, Outcome(100, 500, 50, 1.0, 1.0, loss, loss, None, fine_tail=tail))


def climbed(residual_of, sought=SOUGHT, most=12):
    """The plans of a climb whose residuals are a function of terms and degree."""
    rungs = []
    while len(rungs) < most and (plan := next_of_terms(sought, rungs)) is not None:
        rungs.append(rung(plan, *residual_of(plan.terms, plan.degree)))
        if rungs[-1].outcome.residual <= sought.goal:
            break
    return [(r.plan.terms, r.plan.degree) for r in rungs]


def test_a_product_needs_a_higher_degree_and_no_more_terms():
    """Tails and residuals fall by ten with every degree."""
    plans = climbed(lambda terms, degree: (10.0 ** (1 - degree), 10.0**-degree))
    assert plans[0] == (FIRST_TERMS, FIRST_DEGREE)
    assert {terms for terms, _ in plans} == {FIRST_TERMS}
    assert plans[-1][1] >= 7


def test_what_no_degree_helps_needs_more_terms():
    plans = climbed(lambda terms, degree: (10.0**-terms + 10.0 ** (-degree), 10.0 ** (-degree / 2)))
    assert plans[-1][0] == 8
    degrees = [degree for terms, degree in plans if terms == FIRST_TERMS]
    assert len(degrees) == 2, "a higher degree is tried once and not again, as it did not pay"


def test_what_is_no_such_sum_is_left_soon():
    plans = climbed(lambda *_: (0.9, 0.1))
    assert len(plans) == 2
    assert climbed(lambda *_: (1e-2, 1e-9)) == [(2, 6), (4, 6)], "twice as many did not help"


def test_nothing_is_larger_than_it_may_be():
    assert climbed(lambda *_: (1e-1, 1e-9), replace(SOUGHT, dimension=200)) == []
    size = lambda plan: 5 * plan[0] * (plan[1] + 1)
    assert max(map(size, climbed(lambda terms, _: (0.1**terms, 1e-9), replace(SOUGHT, goal=1e-30)))) <= 1100


def test_the_degree_follows_from_the_tail():
    plan = Plan(0, terms=2, degree=6)
    assert needed_degree(SOUGHT, rung(plan, 1e-3, (0.3e-6) ** (1 / 2))) == 12
    assert needed_degree(SOUGHT, rung(plan, 1e-3, 1e-9)) == 6
    assert needed_degree(replace(SOUGHT, goal=1e-13), rung(replace(plan, degree=20), 1e-3, 0.5)) == MOST_DEGREE


def test_large_sums_wait_for_the_race_of_networks():
    small, large = Plan(0, terms=4, degree=6), Plan(0, terms=16, degree=9)
    assert SMALL < 5 * 16 * 10
    ahead = [rung(small, 1e-4), rung(Plan(1, depth=1), 1e-3), rung(Plan(1, depth=2), 1e-2)]
    behind = [rung(small, 1e-2), rung(Plan(1, depth=1), 1e-3)]
    assert come_first(SOUGHT, ahead, small, raced=False)
    assert not come_first(SOUGHT, ahead, large, raced=False)
    assert come_first(SOUGHT, ahead, large, raced=True)
    assert not come_first(SOUGHT, behind, large, raced=True)


def test_a_plan_is_a_model_with_its_points_and_its_record():
    box = ag.Box(**{f"x{k}": (0, 1) for k in range(4)})
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.laplacian(), equals=1.0),
        walls=ag.Condition(lambda u: u, on=box.boundary()),
    )
    plan = Plan(0, terms=3, degree=5)
    model = plan.model(problem, natural_sizes(problem))
    assert isinstance(model, ag.Separable)
    assert (model.terms, model.degree, plan.is_network) == (3, 5, False)
    rules = rung_points(plan, problem, 72)
    assert len(problem.region("equation").draw(rules["equation"], np.random.default_rng(0)).x) == 4 * 72
    whole = rung(plan, 1e-3, 1e-4)
    assert rung_from_json(whole.as_json()) == whole


@pytest.mark.parametrize("seed", [0, 1])
def test_a_product_in_many_dimensions_is_found(seed):
    """e^{−t} Π cos x_k, which solves u_t = Δu + 3 u."""
    box = ag.Box(t=(0, 1), **{f"x{k}": (0, 1) for k in range(1, 5)})
    product = lambda t, **x: np.prod([np.cos(v) for v in x.values()], axis=0) * np.exp(-t)
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("t") - u.laplacian("x1", "x2", "x3", "x4") - 3 * u),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=product),
        walls=ag.Condition(lambda u: u, on=box.faces("x1", "x2", "x3", "x4"), equals=product),
        solution=product,
    )
    solution = ag.solve(problem, tol=1e-5, seed=seed, progress=False)
    assert solution.reached
    assert solution.relative_l2_error < 3e-5
    assert isinstance(solution.model.spec, ag.Separable)
