"""What is said of noise, outliers and priors, and how much data count."""

import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.statement.noise import first_levels, tightness
from anagram.statement.sizes import in_natural_sizes, natural_sizes
from inverse import decay, noisy, places
from tolerances import assert_close

BOX = ag.Box(x=(0, 1))


def data(**said):
    points = BOX.points(x=[0.2, 0.6])
    return ag.Condition(lambda u: u, on=points, equals=np.array([1.0, 2.0]), **said)


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"noise": "much"}, "a standard deviation, an array of them or 'estimate'"),
        ({"noise": -0.1}, "positive standard deviations"),
        ({"noise": [0.1, 0.0]}, "value 1 is 0"),
        ({"noise": [0.1, np.nan]}, "value 1 is nan"),
        ({"noise": 0.1, "weight": 2.0}, "leave weight= out"),
        ({"noise": 0.1, "exact": True}, "leave exact= out"),
        ({"noise": 0.1, "prior": True}, "leave prior= out"),
        ({"robust": "huber"}, "robust= needs noise="),
        ({"noise": 0.1, "robust": "tukey"}, "robust= is 'huber' or a positive number"),
        ({"noise": 0.1, "robust": -1}, "robust= is 'huber' or a positive number"),
        ({"prior": "yes"}, "prior= is True or False"),
        ({"prior": True, "weight": 1.0}, "leave weight= and exact= out"),
    ],
)
def test_what_cannot_be_meant_is_refused(said, match):
    with pytest.raises(ag.ProblemError, match=match):
        data(**said)


def test_noise_belongs_to_values_at_points():
    with pytest.raises(ag.ProblemError, match=r"on=domain.points"):
        ag.Problem(BOX, equation=ag.Condition(lambda u: u.d("x"), noise=0.1))
    with pytest.raises(ag.ProblemError, match=r"noise= has the shape \(3,\)"):
        ag.Problem(BOX, data=data(noise=[0.1, 0.1, 0.1]))


def test_a_prior_needs_noise_to_be_decided_by():
    with pytest.raises(ag.ProblemError, match="no condition has noise="):
        ag.Problem(BOX, data=data(), rough=ag.smooth("u"))


@pytest.mark.parametrize("wrong", [1, "not a name", ""])
def test_smooth_takes_a_name(wrong):
    with pytest.raises(ag.ProblemError, match="the name of an unknown"):
        ag.smooth(wrong)


def test_smooth_takes_an_order():
    with pytest.raises(ag.ProblemError, match="an order from 1 to 4"):
        ag.smooth("u", order=0)


def test_smoothness_is_all_derivatives_of_an_order():
    plane = ag.Box(x=(0, 1), y=(0, 1))
    problem = ag.Problem(
        plane,
        data=ag.Condition(lambda k: k, on=plane.points(x=[0.5], y=0.5), equals=[1.0], noise=0.1),
        rough=ag.smooth("k"),
    )
    assert problem.equations["rough"] == "k_xx = 0, k_xy = 0, k_yy = 0"
    assert problem.priors == ("rough",)
    assert problem.measured == ("data",)


def test_rows_of_data_are_divided_by_their_noise():
    t = places(5)
    sigma = np.array([0.1, 0.2, 0.1, 0.4, 0.1])
    problem = decay(noisy(t, 0), t, noise=sigma)
    problem = in_natural_sizes(problem, natural_sizes(problem))
    scale = np.asarray(sample(problem, 50)["data"].scale)[:, 0]
    assert_close(scale * sigma, np.full(5, tightness(problem, first_levels(problem))))
    # All data together count as much as an equation, whatever their noise and number.
    assert_close(np.sum((scale * problem.row_sizes("data")) ** 2), 1.0)


def test_several_sets_of_data_count_by_their_information():
    t = places(6)
    box = ag.Box(t=(0, 2))
    points = box.points(t=t)
    problem = ag.Problem(
        box,
        one=ag.Condition(lambda u: u, on=points, equals=np.ones(6), noise=0.1),
        two=ag.Condition(lambda u: u, on=points, equals=np.ones(6), noise=0.05),
    )
    batch = sample(problem, 10)
    assert_close(batch["two"].scale, 2 * np.asarray(batch["one"].scale))


def test_weights_of_data_can_be_multiplied():
    t = places(4)
    problem = decay(noisy(t, 0), t)
    once, more = (sample(p, 10)["data"].scale for p in (problem, problem.restated(weights={"data": 4.0})))
    assert_close(more, 2 * np.asarray(once))
