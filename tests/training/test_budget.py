import pytest

import anagram as ag
from anagram.training.budget import BLOCK, Budget, block_length, check_spacing, is_check, steps_to_check


def test_checks_are_at_the_same_steps_however_one_gets_there():
    wanted = [step for step in range(2000) if is_check(step)]
    step, seen = 0, [0]
    while step < 2000 - BLOCK:
        step += steps_to_check(step)
        seen.append(step)
    assert seen == wanted[: len(seen)]


def test_checks_are_dense_at_first_and_never_rarer_than_blocks():
    assert all(is_check(step) for step in range(16))
    assert [check_spacing(step) for step in (15, 16, 100, 10**6)] == [1, 2, 8, BLOCK]
    for step in range(5000):
        assert check_spacing(step) <= max(1, step / 8)


@pytest.mark.parametrize("pace", [1e-9, 3e-4, 0.02, 0.3, 100.0])
def test_blocks_never_step_over_a_check_or_the_budget(pace):
    budget, done = Budget(777), 0
    while done < budget.steps:
        length = block_length(budget, done, 0.0, pace, None)
        assert 1 <= length <= min(steps_to_check(done), budget.steps - done)
        done += length


@pytest.mark.parametrize("name", ["patience", "early_stopping"])
@pytest.mark.parametrize("value", [0, 1.5, True, "ten"])
def test_numbers_of_steps_are_whole(name, value):
    with pytest.raises(ag.SettingError, match=name):
        Budget(10, **{name: value})
