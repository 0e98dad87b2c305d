"""When a rung stops: its tolerance is met, or its floor is in sight."""

from types import SimpleNamespace

import numpy as np
import pytest

from anagram.training.budget import is_check
from anagram.training.goal import DOUBT_AFTER, FIRST, NEAR, STRIDE, WINDOW, Goal, floor_in_sight
from anagram.training.history import History


def run(losses, moved_at=0):
    """A run whose losses are those on fresh points too."""
    blocks = [{"step": k, "validation_loss": loss} for k, loss in enumerate(losses) if k]
    return SimpleNamespace(history=History({"loss": np.asarray(losses[1:])}, blocks, moved_at), record=blocks[-1])


def asked_at(losses, tol):
    """The steps of a run after which the error is estimated."""
    asked = []

    def met(run):
        asked.append(run.history.count)
        return False

    goal = Goal(tol, met, first_look=None)
    for k in range(2, len(losses) + 1):
        assert goal(run(losses[:k])) is None
    return asked


def test_estimates_are_made_near_the_tolerance_and_after_strides():
    tol, losses = 1e-4, np.exp(-0.3 * np.arange(200))
    residuals = np.sqrt(2 * losses)
    asked = asked_at(losses, tol)
    assert asked
    assert all(is_check(k) for k in asked)
    assert residuals[asked[0]] <= NEAR * tol
    assert all(r > NEAR * tol for k, r in enumerate(residuals[: asked[0]]) if k and is_check(k))
    assert all(b <= STRIDE * a for a, b in zip(residuals[asked][:-1], residuals[asked][1:], strict=True))


def test_a_loss_that_stands_is_estimated_once():
    losses = [1.0] * 5 + [1e-10] * 150
    assert len(asked_at(losses, 1e-4)) == 1
    assert asked_at([1.0] * 100, 1e-4) == []
    assert asked_at(losses, 0.0) == []


def test_a_run_that_was_interrupted_is_asked_where_it_would_have_been():
    tol, losses = 1e-4, np.exp(-0.2 * np.arange(150))
    asked = asked_at(losses, tol)
    for k in (asked[0] - 1, asked[0], asked[1] + 1):
        seen = []
        goal = Goal(tol, lambda r: seen.append(r.history.count) or False, first_look=None)
        for later in range(k + 2, len(losses) + 1):
            goal(run(losses[:later]))
        assert seen == [a for a in asked if a > k]


def test_other_blocks_do_not_matter():
    """How often a run is looked at depends on the clock; which checks lead to estimates must not."""
    tol, losses = 1e-4, np.exp(-0.2 * np.arange(150))
    for last in asked_at(losses, tol):
        dense = run(losses[: last + 1])
        sparse = run(losses[: last + 1])
        sparse.history.blocks = [b for b in sparse.history.blocks if is_check(b["step"])]
        assert Goal(tol, lambda _: True)(dense) == Goal(tol, lambda _: True)(sparse) == "tolerance reached"


def test_a_floor_is_seen_when_the_loss_stands_and_not_before():
    falling = np.exp(-0.1 * np.arange(300))
    assert not floor_in_sight(run(falling))
    stands = np.maximum(falling, falling[100])
    ends = [k for k in range(2, 300) if floor_in_sight(run(stands[:k]))]
    assert ends
    assert 100 + WINDOW / 2 < ends[0] < 100 + 2 * WINDOW
    assert not floor_in_sight(run(np.full(FIRST - 1, 1.0)))


def test_after_points_have_moved_a_floor_is_looked_for_anew():
    losses = np.full(300, 1.0)
    assert floor_in_sight(run(losses))
    assert not floor_in_sight(run(losses, moved_at=300 - FIRST))
    assert floor_in_sight(run(losses, moved_at=300 - FIRST - 2 * WINDOW))


@pytest.mark.parametrize(("first", "said"), [(80, "its floor is in sight"), (129, None), (None, None)])
def test_floors_are_looked_for_after_some_steps(first, said):
    losses = np.full(129, 1.0)
    assert is_check(128)
    assert Goal(1e-6, lambda _: True, first_look=first)(run(losses)) == said
    assert Goal(1e-6, lambda _: True, first_look=first)(run(losses[:-1])) is None, "no check"


@pytest.mark.parametrize(("loss", "count"), [(1.0, 1), (1e-11, 0)])
def test_doubts_come_once_where_the_tolerance_is_far_away(loss, count):
    doubted = []
    goal = Goal(1e-6, lambda _: False, lambda r: doubted.append(r.history.count), first_look=None)
    for k in range(2, 200):
        goal(run([1.0] * 8 + [loss] * k))
    assert len(doubted) == count
    assert all(DOUBT_AFTER <= k <= DOUBT_AFTER + 8 for k in doubted)
