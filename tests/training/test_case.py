import pytest

import anagram as ag
from anagram.training.case import Case, case_of
from problems import parabola

QUICK = ag.Setting(model=ag.Polynomial(4), method="anagram", points=ag.Grid(15), steps=1)


def test_a_problem_is_a_case_with_the_setting_that_it_carries():
    problem = parabola(setting=QUICK)
    assert case_of(problem) == Case(problem, QUICK)
    assert case_of(parabola()).setting == ag.Setting()
    case = Case(problem, ag.Setting(steps=2), source="problem = ...")
    assert case_of(case) is case


def test_the_setting_of_a_case_counts_and_its_source_is_kept(tmp_path):
    case = Case(parabola(setting=ag.Setting(steps=7)), QUICK, source="problem = ...\n")
    solution = ag.solve(case, folder=tmp_path, progress=False)
    assert (solution.summary["parameters"], solution.summary["steps"]) == (5, 1)
    assert (tmp_path / "problem.py").read_text() == case.source


@pytest.mark.parametrize(
    ("given", "message"),
    [("heat", "solve needs a Problem, not str"), (parabola(setting={"steps": 3}), "a Setting(...), not dict")],
)
def test_what_is_no_case_is_refused(given, message):
    with pytest.raises(ag.SettingError) as refused:
        ag.solve(given, progress=False)
    assert message in str(refused.value)
