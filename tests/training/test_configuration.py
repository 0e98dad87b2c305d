import json

import equinox as eqx
import numpy as np
import pytest

import anagram as ag
from anagram.catalogue import ENTRIES, names
from anagram.keeping.atomic import json_text
from anagram.methods import METHODS, make_method
from anagram.statement.domains.codec import points_from_json, points_to_json
from anagram.statement.domains.rules import PointRule
from anagram.training.budget import Budget
from anagram.training.configuration import Configuration, configuration_from_json
from problems import parabola

RULES = [
    None,
    300,
    "tangent",
    ag.Grid(7),
    ag.Grid(t=3, x=[0.1, 1 / 3, 0.9]),
    ag.GaussLegendre(t=3, x=5),
    ag.Uniform(10),
    ag.Sobol(12),
    ag.LatinHypercube(9),
    ag.Redrawn(ag.Sobol(8), every=3),
    ag.Tangent(20, "pivoted", every=7, candidates=3),
    ag.Cells(64, order=3),
    ag.Chosen(t=[0.0, 0.5], x=[0.25, 1.0], weights=[1, 3]),
    {"equation": ag.Sobol(9), "walls": 5},
]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_rules_for_points_survive_json(rule):
    again = points_from_json(json.loads(json.dumps(points_to_json(rule))))
    assert repr(again) == repr(rule)
    if not isinstance(rule, PointRule):
        return
    intervals = {"t": (0.0, 1.0), "x": (0.0, 1.0)}
    for a, b in zip(*(r.draw(intervals, np.random.default_rng(3), closed=True) for r in (rule, again)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", list(METHODS))
def test_methods_survive_json_by_name_and_as_objects(name):
    for method in (name, make_method(name)):
        setting = ag.Setting(model=ag.MLP(4), method=method, steps=7)
        data = json.loads(json_text(Configuration(setting, Budget(7)).as_json()))
        again = configuration_from_json(data)
        assert repr(again.setting.make_method()) == repr(setting.make_method())


@pytest.mark.parametrize("name", names(paper=True))
def test_settings_of_the_paper_survive_json(name):
    setting = ENTRIES[name].paper
    budget = Budget(setting.steps, seconds=3.5, tol=1e-7, patience=50, early_stopping=9)
    before = Configuration(setting, budget, seed=4, keep="best")
    again = configuration_from_json(json.loads(json_text(before.as_json())))
    assert (again.budget, again.seed, again.keep) == (budget, 4, "best")
    assert repr(again.setting) == repr(setting)


class Middle(PointRule):
    def draw(self, intervals, rng, *, closed, fixed=None):
        return np.full((1, len(intervals)), 0.5), np.ones(1)


def test_what_is_ones_own_must_be_given_again():
    module = eqx.nn.Linear(1, 1, key=__import__("jax").random.key(0))
    setting = ag.Setting(model=module, method="anagram", points=Middle(), steps=1)
    data = json.loads(json_text(Configuration(setting, Budget(1)).as_json()))
    with pytest.raises(ag.SettingError, match=r"its model is your own \(Linear\): give it again, model="):
        configuration_from_json(data)
    with pytest.raises(ag.SettingError, match="its points is your own"):
        configuration_from_json(data, model=module)
    again = configuration_from_json(data, model=module, points=Middle())
    assert again.setting.model is module
    with pytest.raises(ag.SettingError, match="has its points written down"):
        configuration_from_json(data | {"points": 9}, model=module, points=Middle())


def test_the_record_of_a_run_has_its_configuration(tmp_path):
    solution = ag.solve(parabola(), ag.MLP(3), "anagram", points=ag.Grid(9), steps=2, seed=5, progress=False)
    solution.save(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    assert record["configuration"] == json.loads(json_text(solution.configuration))
    assert record["configuration"]["seed"] == 5
    assert record["status"] == "finished"


@pytest.mark.parametrize("stretches", [None, 8, (0.25, 1 / 3)])
def test_stretches_survive_json(stretches):
    before = Configuration(ag.Setting(), Budget(7, tol=1e-4), climbs=True, stretches=stretches)
    data = json.loads(json_text(before.as_json()))
    assert configuration_from_json(data).stretches == stretches
    assert ("stretches" in data) == (stretches is not None)


@pytest.mark.parametrize("stretches", [1, 0, [], [2, 1], "8", 1e300])
def test_stretches_that_make_no_sense_are_refused(stretches):
    data = Configuration(ag.Setting(), Budget(7, tol=1e-4), climbs=True).as_json()
    with pytest.raises(ag.SettingError, match="stretches= is a number"):
        configuration_from_json({**data, "stretches": stretches})
