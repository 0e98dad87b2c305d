import pytest

import anagram as ag

SETTING = ag.Setting(
    model=ag.MLP(20, 20, init="lecun"), method="anagram", options={"cutoff": 1e-4}, points=900, steps=10
)


def test_changes_reach_model_method_and_points():
    changed = SETTING.with_changes(
        {"width": 8, "depth": 3, "activation": "sin", "rows": "paper", "points": 50, "steps": 3}
    )
    assert changed.model.options() == {
        "widths": [8, 8, 8],
        "activation": "sin",
        "init": "lecun",
        "scale": 1.0,
        "offset": [0.0],
        "size": [1.0],
        "drift": [3.0],
    }
    assert changed.options == {"cutoff": 1e-4, "rows": "paper"}
    assert (changed.points, changed.steps) == (50, 3)
    assert SETTING.with_changes({"widths": (4, 5)}).model.widths == (4, 5)
    assert SETTING.with_changes({"widths": 4}).model.widths == (4,)
    assert SETTING.with_changes({"depth": 1}).model.widths == (20,)


def test_other_models():
    assert SETTING.with_changes({"model": "fourier", "order": 3}).model.order == 3
    assert SETTING.with_changes({"model": "polynomial", "degree": 7, "basis": "legendre"}).model.degree == 7


def test_options_of_another_method_do_not_carry_over():
    assert SETTING.with_method("anagram") is SETTING
    assert SETTING.with_method(ag.Anagram()).options == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "no option 'colour'.*cutoff.*points"),
        ({"ratio": 0.1}, "'ratio' is an option of the method auto; the method is anagram"),
        ({"order": 3}, "MLP has no option 'order'"),
        ({"model": "transformer"}, "no model 'transformer'"),
        ({"depth": 0}, "depth must be"),
        ({"width": 2.5}, "positive whole numbers"),
    ],
)
def test_mistakes_are_named(changes, message):
    with pytest.raises(ag.SettingError, match=message):
        SETTING.with_changes(changes)
    with pytest.raises(ag.SettingError, match="ready module"):
        ag.Setting(model=lambda x: x).with_changes({"width": 3})
