import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anagram.methods.advance import STUCK_AFTER
from anagram.methods.edge import FIRST_SLOPE, SLOPES, Trial, find_edge
from tolerances import assert_close

pytestmark = pytest.mark.rounding


def search(ratio_of, start, target, length_of=lambda damping, edge: 1.0, **options):
    """The edge of trials whose ratio and length are known functions of the damping and of a number `edge`.

    A trial is handed the number of those before it, and reports it as its bend.
    """
    given = {"edge": 1.0, "longest": 10.0, "smallest": 1e-30, "largest": 1e9, "slope": FIRST_SLOPE, "precision": 0.05}
    return _search(ratio_of, length_of, {"start": start, "target": target, "most": 14, **given, **options})


@functools.partial(jax.jit, static_argnums=(0, 1))
def _search(ratio_of, length_of, o):
    def attempt(damping, before):
        one = jnp.ones(())
        length, ratio = length_of(damping, o["edge"]), ratio_of(damping, o["edge"])
        return Trial(damping[None], one, one * length, one * ratio, one * before), before + 1

    limits = {name: o[name] for name in ("smallest", "largest", "slope", "most", "precision")}
    return find_edge(attempt, jnp.zeros(()), jnp.zeros(1), o["start"], o["target"], o["longest"], **limits)


TARGET = 0.075
SLOPE = 0.6


def power_law(damping, edge):
    """What is not kept, 1 − ρ, falls like a power of λ; ρ crosses ρ* exactly at λ = edge."""
    return 1 - (1 - TARGET) * (edge / damping) ** SLOPE


def saturating(damping, edge):
    """ρ(λ) = λ/(λ + c) that crosses ρ* exactly at λ = edge; far below it is flat."""
    return damping / (damping + edge * (1 - TARGET) / TARGET)


@pytest.mark.parametrize("ratio_of", [power_law, saturating])
@pytest.mark.parametrize("start", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("edge", [1e-4, 0.3, 20.0])
def test_the_edge_is_found_from_anywhere(start, edge, ratio_of):
    """As a walk does it, before it is stuck: each search begins where the last one ended, with the slope it found."""
    damping, slope, ends = start, FIRST_SLOPE, []
    for _ in range(STUCK_AFTER):
        found = search(ratio_of, damping, TARGET, edge=edge, slope=slope)
        damping, slope = float(found.damping), float(found.slope)
        ends.append(found)
    assert all(e.found for e in ends[1:])
    for end in ends:
        if end.found:
            # Where trials run out the best of them counts.
            if end.trials < 14:
                assert_within(end, edge, 0.05)
            assert_close(end.trial.theta[0], end.damping)
    assert_within(ends[-1], edge, 0.05)


def score_of(found):
    return float(np.log((1 - TARGET) / (1 - found.trial.ratio)))


def assert_within(found, edge, precision):
    """On the good side of the edge: as close as asked for in log λ, or in the score if its slope was not measured."""
    assert float(found.trial.ratio) >= TARGET
    distance = float(np.log(found.damping / edge))
    assert distance >= 0
    assert distance <= precision or score_of(found) <= precision * float(found.slope)


@pytest.mark.parametrize("precision", [0.02, 0.05, 0.2])
@pytest.mark.parametrize("slope", [FIRST_SLOPE, SLOPE], ids=["unknown slope", "known slope"])
def test_few_trials_suffice_near_the_edge(slope, precision):
    """From one step to the next the edge moves little."""
    trials = []
    for away in (-0.3, -0.1, 0.1, 0.3):
        found = search(power_law, np.exp(away), TARGET, precision=precision, slope=slope)
        trials.append(int(found.trials))
        assert_within(found, 1.0, precision)
        if slope == SLOPE:
            assert np.log(found.damping) <= precision
            assert_close(found.slope, SLOPE, 1e-6)
    assert np.mean(trials) <= 3.5
    assert max(trials) <= 4


def test_at_the_edge_one_trial_is_enough():
    found = search(power_law, 0.3 * 1.01, TARGET, edge=0.3, slope=SLOPE)
    assert int(found.trials) == 1
    assert_close(found.damping, 0.3 * 1.01)


def test_the_slope_that_is_remembered_saves_trials():
    """With a wrong one the second trial goes too far, or not far enough."""

    def trials(slope):
        aways = np.linspace(-1, 1, 21)
        return [int(search(power_law, np.exp(a), TARGET, slope=slope, precision=0.02).trials) for a in aways]

    known = trials(SLOPE)
    assert np.mean(known) < min(np.mean(trials(SLOPES[0])), np.mean(trials(SLOPES[1])))
    assert max(known) <= 4


def test_a_slope_is_measured_between_the_ends_and_believed_within_bounds():
    found = search(power_law, 0.7, TARGET, slope=2 * SLOPE, precision=0.01)
    assert_close(found.slope, SLOPE, 1e-6)
    step = lambda d, _: jnp.where(d >= 1.0, 0.4, 0.0)
    assert_close(search(step, 1.3, 0.1, precision=1e-3).slope, SLOPES[1])
    # Scores out of bounds say nothing about a slope: the old one is kept.
    cliff = search(lambda d, _: jnp.where(d >= 1.0, 1.0, -jnp.inf), 1.3, 0.1, slope=0.7)
    assert_close(cliff.slope, 0.7)
    assert_close(cliff.damping, 1.0, 0.06)


def test_what_is_remembered_goes_from_trial_to_trial():
    found = search(power_law, 100.0, TARGET)
    # The best trial comes with what it was handed.
    assert 0 < float(found.trial.bend) < int(found.trials)


def test_the_length_of_a_step_is_bounded():
    found = search(lambda *_: 1.0, 1.0, TARGET, longest=5.0, length_of=lambda d, _: 1 / d)
    assert 1 / 5 <= float(found.damping) <= 1.06 / 5
    assert float(found.trial.length) <= 5.0


def test_hopeless_and_unbounded_searches_end():
    nothing = search(lambda *_: -jnp.inf, 1.0, 0.1)
    assert not bool(nothing.found)
    assert_close(nothing.damping, 1e9)
    assert_close(search(lambda *_: 1.0, 1.0, 0.1, smallest=1e-3).damping, 1e-3)
    not_a_number = search(lambda d, _: jnp.where(d < 1.0, jnp.nan, 1.0), 0.01, 0.1)
    assert_close(not_a_number.damping, 1.0, 0.06)


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_trials_than_allowed(most):
    found = search(power_law, 1e3, TARGET, edge=1e-4, most=most)
    assert int(found.trials) == most
    assert bool(found.found)  # the best so far: any damping above the edge keeps its promise
