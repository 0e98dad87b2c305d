"""The scripts of the gallery: each of them states its problem, and each has its picture and its entry."""

import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest

import anagram as ag

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
SCRIPTS = sorted(path.stem for path in GALLERY.glob("*.py"))


def script(name):
    spec = importlib.util.spec_from_file_location(f"gallery_{name}", GALLERY / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with mpl.rc_context({"backend": "agg"}):
        spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_state_their_problems(name):
    module = script(name)
    assert callable(module.main)
    problem = module.problem()
    assert isinstance(problem, ag.Problem)
    assert problem.name != "problem", "pictures need a title"


def test_the_same_problems_are_stated_with_soft_and_exact_conditions():
    for state in script("hard_or_soft").STATED:
        soft, hard = state(exact=False), state(exact=True)
        assert list(soft.conditions) == list(hard.conditions)
        assert set(soft.soft) == set(soft.conditions)
        assert set(hard.soft) == {"equation"}


def test_every_script_has_a_picture_and_an_entry():
    page = (GALLERY / "README.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert (GALLERY / f"{name}.png").is_file(), f"{name}.py has not been run"
        assert f"({name}.py)" in page
        assert f"({name}.png)" in page
    named = set(re.findall(r"\((\w+)\.(?:py|png)\)", page))
    assert named <= set(SCRIPTS), "the page names scripts that are not there"
