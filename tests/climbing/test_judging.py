"""What rungs say of each other's errors."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import anagram as ag
from anagram.climbing.judging import (
    FELL,
    NOTHING,
    ROUNDING,
    SAFETY,
    Asked,
    RungJudge,
    Seen,
    are_undetermined,
    compared,
    judged,
    judged_by_others,
)
from anagram.tangent.estimate import ESTIMATE_AT_MOST, LARGE, NOT_DETERMINED, ErrorEstimate
from anagram.training.rungs import Plan
from climbing.small import TIME, decay, waves
from tolerances import assert_close

RNG = np.random.default_rng(0)
EXACT, SHAPE = 3.0 * RNG.standard_normal(200), RNG.standard_normal(200)
SHAPE /= np.sqrt(np.mean(SHAPE**2)) / np.sqrt(np.mean(EXACT**2))  # as large as the solution


def asked(problem=None, goal=0.2, least=None):
    return Asked(problem or decay(), goal, 0, least or {})


def seen(error, loss, **more):
    """A rung with a relative error of this size, always of the same shape."""
    return Seen({"u": EXACT + error * SHAPE, **more}, loss)


def test_errors_are_taken_to_fall_as_residuals_do():
    """The root of the loss fell by a hundred, and so did the error; the distance is the error of the rung before."""
    before, here = seen(1e-3, 1e-6), seen(1e-5, 1e-10)
    errors = compared(asked(), here, [before])
    assert errors is not None
    assert_close(errors["u"], SAFETY * 1e-5, 1e-3)


def test_the_nearest_of_those_that_are_worse_are_looked_at_and_the_largest_error_counts():
    here, near, next_one, far = seen(1e-5, 1e-10), seen(1e-4, 1e-8), seen(3e-3, 1e-7), seen(0.5, 1e-9 * 1e8)
    alone = [compared(asked(), here, [other]) for other in (near, next_one)]
    all_of_them = compared(asked(), here, [far, next_one, near])
    assert all_of_them == {"u": max(found["u"] for found in alone)}


def test_two_rungs_with_one_loss_are_as_far_off_as_from_each_other():
    here, other = seen(1e-4, 1e-8), seen(-1e-4, 1e-8)
    errors = compared(asked(), here, [other])
    assert errors is not None
    assert_close(errors["u"], SAFETY * 2e-4, 1e-3)
    nearly = compared(asked(), here, [other._replace(validation_loss=0.99 * FELL * 1e-8)])
    assert nearly == errors, "a loss that is hardly larger says nothing of how errors fell"


def test_agreement_says_nothing_where_the_residual_is_large():
    """A rung may have begun with the solution of another one, and stayed there."""
    here, other = seen(1e-2, 1e-4), seen(1.001e-2, 1e-4)
    assert compared(asked(goal=1e-6), here, [other]) is None
    assert compared(asked(goal=0.1), here, [other]) is not None


def test_a_better_rung_says_what_the_own_error_is():
    here, better = seen(1e-3, 1e-6), seen(1e-9, 1e-18)
    errors = compared(asked(), here, [better])
    assert errors is not None
    assert_close(errors["u"], SAFETY * 1e-3, 1e-3)


def test_errors_are_not_smaller_than_rounding():
    same = compared(asked(), seen(0.0, 1e-30), [seen(0.0, 1e-30)])
    fell = compared(asked(), seen(0.0, 0.0), [seen(1e-9, 1e-18)])
    assert same == fell == {"u": ROUNDING}


def test_losses_that_are_zero_or_not_finite():
    zero = Seen({"u": np.zeros(5)}, 0.0)
    assert compared(asked(), zero, [zero]) == {"u": 0.0}
    here = seen(1e-4, 1e-8)
    assert compared(asked(), here, [seen(1.0, np.nan), seen(1.0, np.inf)]) is None
    assert compared(asked(), here, []) is None
    assert judged_by_others(asked(), here, [], 5) is None


def test_an_unknown_that_is_zero_is_measured_by_its_natural_size():
    here, other = Seen({"u": np.full(9, 1e-12)}, 1e-8), Seen({"u": np.full(9, -1e-12)}, 1e-8)
    errors = compared(asked(least={"u": 1e-3}), here, [other])
    assert errors is not None
    assert_close(errors["u"], SAFETY * 2e-12 / 1e-3, 1e-9)


def test_what_other_rungs_say_is_an_estimate():
    here, before = seen(1e-5, 1e-10), seen(1e-3, 1e-6)
    judgement = judged_by_others(asked(), here, [before], parameters=7)
    assert judgement is not None
    assert judgement.trusted
    assert judgement.reasons == ()
    assert_close(judgement.value, SAFETY * 1e-5, 1e-3)
    estimate = judgement.estimate
    assert estimate is not None
    assert estimate.reliable
    size = np.sqrt(np.mean(here.values["u"] ** 2))
    for found in (estimate.worst, estimate.relative, estimate.value / size):
        assert_close(found, judgement.value, 1e-9)
    np.testing.assert_array_equal(estimate.direction, np.zeros(7))


def test_a_rung_that_solves_nothing_has_no_error_that_could_be_told():
    bad = judged_by_others(asked(), seen(0.1, 0.51 * NOTHING**2), [seen(0.1, 1.0)], 5)
    assert bad is not None
    assert (bad.value, bad.trusted) == (np.inf, False)
    assert judged(asked(), seen(0.1, 0.51 * NOTHING**2), [seen(0.1, 1.0)], estimate("doubt")).value == np.inf


@pytest.mark.parametrize(("problem", "trusted"), [(decay(), True), (waves(), False)], ids=["linear", "nonlinear"])
def test_a_nonlinear_equation_is_not_linearised_from_far_away(problem, trusted):
    judgement = judged_by_others(asked(problem), seen(0.3, 1e-4), [seen(-0.3, 1e-4)], 5)
    assert judgement is not None
    assert judgement.trusted is trusted
    assert bool(judgement.reasons) is not trusted
    assert_close(judgement.value, SAFETY * 0.6, 0.5)
    near = judged_by_others(asked(problem), seen(1e-4, 1e-8), [seen(-1e-4, 1e-8)], 5)
    assert near is not None
    assert near.trusted


def test_coefficients_count_as_unknowns_do():
    problem = ag.Problem(
        TIME,
        equation=ag.Condition(lambda u, k: u.d("t") + k * u),
        start=ag.Condition(lambda u: u, on=TIME.face(t=0), equals=1.0),
        end=ag.Condition(lambda u: u, on=TIME.face(t=1), equals=0.5),
        coefficients={"k": 1.0},
    )
    here = seen(1e-6, 1e-10, k=np.array([2.0]))
    other = seen(-1e-6, 1e-10, k=np.array([2.1]))
    judgement = judged_by_others(asked(problem), here, [other], 5)
    assert judgement is not None
    assert judgement.estimate is not None
    assert_close(judgement.value, SAFETY * 0.05, 1e-9)
    assert_close(judgement.estimate.coefficients["k"], SAFETY * 0.1, 1e-9)
    assert judgement.estimate.relative < 1e-5, "the error of the fields is another one"


def estimate(*reasons, worst=1e-7):
    return ErrorEstimate(
        value=worst,
        relative=worst,
        seen=worst,
        disagreement=0.0,
        unseen=0.0,
        worst=worst,
        coefficients={},
        reasons=reasons,
        direction=np.zeros(3),
    )


def test_an_estimate_that_can_be_relied_on_stands():
    judgement = judged(asked(), seen(1e-3, 1e-8), [seen(-1e-3, 1e-8)], estimate())
    assert (judgement.value, judgement.trusted) == (1e-7, True)


def test_where_it_cannot_the_other_rungs_are_asked():
    here, other = seen(1e-3, 1e-8), seen(-1e-3, 1e-8)
    judgement = judged(asked(), here, [other], estimate("doubt"))
    assert judgement.trusted
    assert_close(judgement.value, SAFETY * 2e-3, 1e-2)
    assert judged(asked(), here, [other], estimate("doubt", worst=0.5)).value == 0.5, "the larger one of the two"
    alone = judged(asked(), here, [], estimate("doubt"))
    assert (alone.value, alone.trusted, alone.reasons) == (1e-7, False, ("doubt",))


@pytest.mark.parametrize("reason", NOT_DETERMINED)
def test_rungs_that_agree_on_one_of_many_solutions_prove_nothing(reason):
    here = seen(1e-9, 1e-18)
    judgement = judged(asked(), here, [here], estimate(f"{reason}: so it is"))
    assert not judgement.trusted
    assert are_undetermined(judgement.reasons)
    assert not are_undetermined(("doubt",))


def test_features_are_judged_by_other_rungs_and_networks_by_their_tangent_space():
    looks = []

    def second_look(_, found):
        looks.append(found)

    judge = RungJudge(asked(), Plan(0, features=10), second_look)
    assert judge.of(cast("Any", SimpleNamespace(validation_loss=1e-30))) is None
    assert looks == [None]
    network = RungJudge(asked(goal=1e-6), Plan(0), second_look)
    assert network.of(cast("Any", SimpleNamespace(validation_loss=1e-3))) is None, "it is far from its tolerance"
    assert looks == [None]


def test_a_large_model_is_not_judged_unasked():
    """The whole spectrum of J would take longer than the run."""
    judge = RungJudge(asked(), Plan(0), lambda *_: pytest.fail("there is nothing to look at"))
    large = SimpleNamespace(
        validation_loss=0.0, theta=np.zeros(1), model=SimpleNamespace(parameters=ESTIMATE_AT_MOST + 1)
    )
    judgement = judge.of(cast("Any", large), always=True)
    assert judgement is not None
    assert (judgement.value, judgement.trusted, judgement.reasons) == (float("inf"), False, (LARGE,))
