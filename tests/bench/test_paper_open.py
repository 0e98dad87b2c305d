"""The settings of the public code are what its numbers came from, and runs that were cut short go on."""

import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.methods import Lbfgs
from anagram.models import MLP, ParametricModel
from anagram.programs.reproduce.evaluation import WITHOUT_HALF
from anagram.programs.reproduce.results import paper_numbers
from paper_runs import Deadline, Group, append, read
from paper_trials import Trial, drawn_as_public, public_points, public_problem, trials
from tolerances import assert_close


def test_the_grids_have_the_points_of_the_public_code():
    counts = {
        "laplace-2d": {"equation": 28**2, "bottom": 29, "right": 29, "top": 29, "left": 29},
        "heat": {"equation": 28**2, "initial": 29, "left": 29, "right": 29},
        "allen-cahn": {"equation": 28 * 58, "initial": 41, "left": 29, "right": 29},
    }
    for name, expected in counts.items():
        batch = sample(public_problem(name), public_points(name))
        assert {key: len(part.x) for key, part in batch.items()} == expected


def test_the_boundary_of_the_square_is_walked_around_once_and_counts_as_one_condition():
    batch = sample(public_problem("laplace-2d"), public_points("laplace-2d"))
    sides = [part for key, part in batch.items() if key != "equation"]
    corners = [x for part in sides for x in np.asarray(part.x).tolist() if set(x) <= {0.0, 1.0}]
    assert sorted(corners) == [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    assert_close(sum(float(jnp.sum(part.scale**2)) for part in sides), 1.0)


@pytest.mark.parametrize(("seed", "statistic"), [(8369, "minimum"), (4785, "median")])
def test_first_parameters_have_the_test_losses_that_the_paper_gives_for_engd(seed, statistic):
    problem, widths = public_problem("allen-cahn"), (20, 20, 20)
    model = ParametricModel(problem.sought, MLP(*widths, init="small", scale=0))
    test = sample(problem, public_points("allen-cahn", 5))
    loss = WITHOUT_HALF * Compound(problem, model).loss(jnp.asarray(drawn_as_public(seed, widths)), test)
    # The paper prints three digits.
    assert_close(loss, paper_numbers()["allen-cahn"]["engd"]["test_loss"][statistic], tolerance=2e-3)


def test_trials_have_names_of_their_own():
    names = [trial.name for trial in trials()]
    assert len(set(names)) == len(names)


def test_a_run_that_was_cut_short_goes_on(tmp_path):
    trial = Trial("d", "short", "laplace-2d", lambda: Lbfgs(), steps=3)
    whole = Group(trial, [0], tmp_path / "other", 3)
    assert whole.run(Deadline(time.monotonic() + 1e6))
    cut = Group(trial, [0], tmp_path, 3)
    cut.together.advance(2)
    assert not cut.run(Deadline(time.monotonic()))
    append(tmp_path / "results.jsonl", cut.lines())
    resumed = Group(trial, [0], tmp_path, 3)
    assert resumed.together.done == 2
    assert resumed.run(Deadline(time.monotonic() + 1e6))
    append(tmp_path / "results.jsonl", resumed.lines())
    (record,) = read(tmp_path / "results.jsonl").values()
    assert record["finished"]
    assert_close(resumed.records[-1][1]["l2_error"][0], whole.records[-1][1]["l2_error"][0], tolerance=1e-9)
    assert not list(tmp_path.glob("*.npz"))
