import numpy as np
import pytest

import anagram as ag
from anagram.pool import Pool, batch_of
from tolerances import assert_close

PROBLEM = ag.catalogue.problem("heat")
RULES = {"equation": ag.Uniform(20), "initial": ag.Sobol(8), "walls": ag.Grid(5)}


def test_every_step_has_points_of_its_own():
    pool = Pool(PROBLEM, RULES, seed=0, steps=4)
    batch = ag.sample(PROBLEM, RULES)
    seen = []
    for step in range(6):
        fresh, place = pool.at(step)
        one = batch_of(batch, fresh, place)
        assert one["equation"].x.shape == batch["equation"].x.shape
        assert_close(np.sum(np.asarray(one["initial"].scale) ** 2), 1.0)
        # Sources belong to the points.
        assert_close(one["initial"].source[:, 0], np.sin(np.pi * np.asarray(one["initial"].x)[:, 1]))
        assert np.array_equal(one["walls"].x, batch["walls"].x)
        seen.append(np.asarray(one["equation"].x))
    assert len({x.tobytes() for x in seen}) == 6


def test_points_depend_on_seed_and_step_alone():
    one, other = (Pool(PROBLEM, RULES, seed=1, steps=4) for _ in range(2))
    later, _ = other.at(5)
    one.at(0)
    again, _ = one.at(5)
    assert np.array_equal(later["equation"].x, again["equation"].x)
    assert not np.array_equal(Pool(PROBLEM, RULES, seed=2, steps=4).at(5)[0]["equation"].x, again["equation"].x)


def test_rules_without_chance_are_refused():
    with pytest.raises(ag.SettingError, match="always give the same"):
        Pool(PROBLEM, dict.fromkeys(PROBLEM.conditions, ag.Grid(4)), seed=0, steps=4)
