import pytest

import anagram as ag
from anagram.programs.reproduce.plan import METHODS, PROBLEMS, STEPS, Experiment, plan
from anagram.programs.reproduce.results import STATISTICS, paper_numbers


def test_the_whole_plan_is_the_papers():
    experiments = plan()
    assert len(experiments) == 4 * 6 + 4
    by_name = {e.name: e for e in experiments}
    assert by_name["laplace-2d-gd"].steps == 20_000
    assert by_name["laplace-5d-anagram"].steps == 1000
    assert by_name["allen-cahn-engd"].steps == 1000
    assert by_name["allen-cahn-adam"].steps == 50_000
    assert by_name["burgers-nu0.001-anagram"].steps == 1000
    assert all(len(e.seeds) == (1 if e.problem == "burgers" else 10) for e in experiments)
    assert not any(e.coarse for e in experiments)


@pytest.mark.parametrize("experiment", plan(seeds=[0]), ids=lambda e: e.name)
def test_every_experiment_can_be_stated(experiment):
    problem = experiment.stated()
    method = problem.setting.make_method()
    expected = {"laplace-2d": 129, "heat": 257, "laplace-5d": 449, "allen-cahn": 921, "burgers": 2241}
    assert ag.ParametricModel(problem.sought, problem.setting.model, 0).parameters == expected[experiment.problem]
    if experiment.method == "anagram":
        assert (method.rows, method.search) == ("paper", "paper")
    if experiment.method in ("gd", "engd"):
        assert method.search == "paper"
    if experiment.method != "auto":
        assert problem.setting.steps == STEPS[experiment.problem][experiment.method]


def test_the_default_method_gets_as_many_points_as_the_others():
    for name in PROBLEMS[:4]:
        counts = []
        for method in ("anagram", "auto"):
            problem = Experiment(name, method, 1, (0,)).stated()
            batch = ag.sample(problem, problem.setting.points)
            counts.append({key: len(part.x) for key, part in batch.items()})
        assert counts[0] == counts[1]


def test_a_scale_shortens_runs_and_coarsens_burgers():
    experiments = plan(scale=0.1, seeds=[3, 4])
    assert {e.steps for e in experiments if e.method == "gd"} == {2000, 5000}
    assert all(e.coarse == (e.problem == "burgers") for e in experiments)
    assert {e.seeds for e in experiments if e.problem == "burgers"} == {(0,)}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"problems": ["wave"]}, "no problem 'wave' in the paper"),
        ({"methods": ["sgd"]}, "no method 'sgd' in the paper"),
        ({"methods": []}, "at least one method"),
        ({"scale": 0.0}, "scale"),
        ({"scale": 2.0}, "scale"),
        ({"seeds": []}, "seed"),
        ({"problems": ["burgers"], "methods": ["adam"]}, "nothing to do"),
    ],
)
def test_wrong_plans_are_refused(change, match):
    with pytest.raises(ag.SettingError, match=match):
        plan(**change)


def test_the_papers_numbers_are_all_there():
    numbers = paper_numbers()
    for problem in PROBLEMS[:4]:
        assert set(numbers[problem]) == set(METHODS) - {"auto"}
        for row in numbers[problem].values():
            assert set(row["l2_error"]) == set(row["test_loss"]) == set(STATISTICS)
            assert set(row["cpu_seconds"]) == {"per_step", "full"}
    assert numbers["laplace-2d"]["anagram"]["l2_error"]["median"] == 2.42e-9
    assert numbers["allen-cahn"]["lbfgs"]["test_loss"]["maximum"] == 5.09e-3
