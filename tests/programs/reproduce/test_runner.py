import json
import signal

import numpy as np
import pytest

import anagram as ag
from anagram.programs.reproduce import command, runner
from anagram.programs.reproduce.plan import Experiment
from anagram.programs.reproduce.results import QUANTITIES, Results
from anagram.programs.reproduce.runner import Group, Prepared, looks, run_experiment
from anagram.training.interrupts import Interrupts
from tolerances import assert_close

ADAM = Experiment("laplace-2d", "adam", 12, (0, 1))


def run(experiment, folder, report=lambda fraction, text: None):
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    with Interrupts() as interrupts:
        return run_experiment(experiment, folder, interrupts, report)


def test_looks_begin_at_the_start_and_end_at_the_end():
    for steps in (1, 2, 37, 2000, 50_000):
        chosen = looks(steps)
        assert chosen[0] == 0
        assert chosen[-1] == steps
        assert len(chosen) == len(set(chosen)) <= runner.RECORDS


@pytest.mark.parametrize("method", ["adam", "gd"])
def test_seeds_side_by_side_are_what_solve_gives_one_by_one(method, tmp_path):
    experiment = Experiment("laplace-2d", method, 6, (0, 1))
    results = run(experiment, tmp_path)
    for seed in (0, 1):
        solution = ag.solve(experiment.stated(), seed=seed, patience=100, progress=False)
        assert_close(results.runs[seed].curves["loss"][-1], 2 * solution.loss, 1e-6)


def test_random_points_are_each_seeds_own(tmp_path):
    experiment = Experiment("laplace-5d", "adam", 2, (0, 1))
    setting = ag.Setting(ag.MLP(4), "adam", points={"equation": ag.Uniform(20), "walls": ag.Uniform(10)})
    problem = experiment.stated().restated(setting=setting)
    group = Group(Prepared(experiment, problem), [0, 1], tmp_path)
    assert group.together.batch["equation"].x.shape == (2, 20, 5)
    assert_close(
        group.together.batch["equation"].x[1], ag.sample(problem, problem.setting.points, seed=1)["equation"].x, 0.0
    )


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(tmp_path):
    whole = run(ADAM, tmp_path / "whole")
    (tmp_path / "cut" / "runs").mkdir(parents=True)
    calls = []
    with Interrupts() as interrupts:

        def stop(fraction, text):
            calls.append(fraction)
            interrupts.seen = len(calls) == 3

        first = run_experiment(ADAM, tmp_path / "cut", interrupts, stop)
    assert not first.runs
    assert len(list((tmp_path / "cut" / "runs").glob(".*.safetensors"))) == 1
    again = []
    second = run(ADAM, tmp_path / "cut", lambda fraction, text: again.append(fraction))
    assert min(again) > calls[2]
    for seed in (0, 1):
        assert second.runs[seed].steps == whole.runs[seed].steps
        for key in QUANTITIES:
            assert second.runs[seed].curves[key] == whole.runs[seed].curves[key]
    assert not list((tmp_path / "cut" / "runs").glob(".*"))


def test_what_is_there_is_not_run_again(tmp_path):
    run(Experiment("laplace-2d", "adam", 12, (0,)), tmp_path)
    seen = []
    results = run(ADAM, tmp_path, lambda fraction, text: seen.append(fraction))
    assert results.missing == []
    assert seen  # of the other seed
    seen.clear()
    run(ADAM, tmp_path, lambda fraction, text: seen.append(fraction))
    assert not seen


def test_results_of_another_length_and_broken_files_are_refused(tmp_path):
    run(ADAM, tmp_path)
    with pytest.raises(ag.FileError, match="another folder for another scale"):
        Results.read(tmp_path, Experiment("laplace-2d", "adam", 13, (0, 1)))
    path = Results.path(tmp_path, ADAM)
    for broken in ("", "[]", '{"runs": 3}', path.read_text()[:200]):
        path.write_text(broken)
        with pytest.raises(ag.FileError, match="cannot read the results"):
            Results.read(tmp_path, ADAM)
    path.unlink()
    checkpoint = Group.checkpoint_path(tmp_path, ADAM, [0, 1])
    checkpoint.write_bytes(b"nonsense")
    with pytest.raises(ag.FileError, match="cannot go on"):
        run(ADAM, tmp_path)


def test_written_results_are_read_again(tmp_path):
    results = run(ADAM, tmp_path)
    again = Results.read(tmp_path, ADAM)
    for seed, one in results.runs.items():
        assert again.runs[seed].steps == one.steps
        for key in QUANTITIES:
            assert_close(again.runs[seed].curves[key], one.curves[key], 5e-3)
    data = json.loads(Results.path(tmp_path, ADAM).read_text())
    assert data["steps"] == 12
    statistics = again.statistics("l2_error")
    values = [run.last("l2_error") for run in again.chosen()]
    assert_close(statistics["median"], np.median(values))
    assert_close(statistics["std"], np.std(values, ddof=1))


# -- the whole -------------------------------------------------------------------------------------------------
def test_a_small_plan_leaves_tables_and_figures(tmp_path):
    results, done = command.reproduce(tmp_path, ["laplace-2d"], ["adam", "auto"], [0, 1], scale=0.002, quiet=True)
    assert done
    text = (tmp_path / "tables.md").read_text()
    for words in ("Laplace 2D", "Adam", "our default", "*2.05e-03*", "Test loss", "× ANaGRAM"):
        assert words in text
    for suffix in (".pdf", ".png"):
        assert (tmp_path / "figures" / f"laplace-2d{suffix}").stat().st_size > 5000
    # A call for a part of it leaves a report of all that is there; so does one that runs nothing, whatever it asks for.
    command.reproduce(tmp_path, ["laplace-2d"], ["adam"], [1], 0.002, quiet=True)
    assert (tmp_path / "tables.md").read_text() == text
    again, done = command.reproduce(tmp_path, only_report=True, quiet=True)
    assert done
    assert (tmp_path / "tables.md").read_text() == text
    assert again[0].runs[0].curves == Results.read(tmp_path, results[0].experiment).runs[0].curves


def test_burgers_leaves_losses_and_profiles(tmp_path, monkeypatch):
    from anagram.programs.reproduce import plan

    monkeypatch.setattr(plan, "COARSE", 8)
    monkeypatch.setattr(plan, "VISCOSITIES", (0.1,))
    results, _ = command.reproduce(tmp_path, ["burgers"], ["anagram"], [0], scale=0.002, quiet=True)
    profile = results[0].runs[0].profile
    assert list(profile["times"]) == ["0", "0.25", "0.5", "0.75", "1"]
    x = np.array(profile["x"])
    assert_close(profile["times"]["0"]["exact"], -np.sin(np.pi * x), 1e-3)
    assert (tmp_path / "figures" / "burgers-profiles.pdf").exists()
    assert (tmp_path / "figures" / "burgers-losses.png").exists()
    assert "coarser grid" in (tmp_path / "tables.md").read_text()


def test_an_interruption_of_the_default_method_is_one_of_the_plan(tmp_path):
    experiment = Experiment("laplace-2d", "auto", 300, (0, 1))
    (tmp_path / "runs").mkdir()

    def interrupt(fraction, text):
        if fraction == 0:  # a second one would stop at once
            signal.raise_signal(signal.SIGINT)

    with Interrupts() as interrupts:
        results = run_experiment(experiment, tmp_path, interrupts, interrupt)
    assert interrupts.seen
    assert not results.runs
    assert Results.read(tmp_path, experiment).missing == [0, 1]


def test_seeds_of_another_process_stay(tmp_path):
    results = run(Experiment("laplace-2d", "adam", 12, (0,)), tmp_path)
    other = Results(ADAM, {1: results.runs[0]})
    other.write(tmp_path)
    assert Results.read(tmp_path, ADAM).missing == []


def test_a_report_of_nothing_is_refused(tmp_path):
    with pytest.raises(ag.SettingError, match="no results"):
        command.reproduce(tmp_path, only_report=True)


def test_the_outlook_promises_nothing_before_it_has_measured(tmp_path):
    experiments = [Experiment("laplace-2d", "lbfgs", 100, (0, 1)), Experiment("heat", "anagram", 100, (0, 1))]
    outlook = command.Outlook(experiments, tmp_path)
    assert outlook.at(experiments[0], 0.0) == (0.0, None)
    done, left = outlook.at(experiments[0], 1.0)
    assert 0 < done < 1
    assert left >= 0
    outlook.finish(experiments[0])
    outlook.finish(experiments[1])
    assert outlook.finished == outlook.total
    assert command.duration(None) == "time left unknown yet"
    assert command.duration(600) == "about 10 min left"
