import json

import pytest
from typer.testing import CliRunner

import anagram as ag
from anagram.programs.cli import app
from anagram.programs.commands.sweep import read_values
from anagram.programs.sweep import Study, combinations, run_study
from anagram.programs.sweep.report import convergence_figure, markdown, rows, study_figure
from problems import FILE


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("width=16,32", [16, 32]),
        ("widths=(8,8),(4,4,4)", [(8, 8), (4, 4, 4)]),
        ("cutoff=1e-6, elbow", [1e-6, "elbow"]),
        ("relative=true", [True]),
        ("points=1e3", [1000]),
    ],
)
def test_values_of_options(text, values):
    assert read_values(text) == (text.partition("=")[0], values)


@pytest.mark.parametrize("text", ["width", "width=", "=3", "width=3,", "widths=(3,4"])
def test_values_that_are_none(text):
    with pytest.raises(ag.SettingError, match="--set"):
        read_values(text)


def test_the_grid_has_every_combination_once():
    grid = combinations(["auto", "anagram"], {"width": [3, 5], "points": [30], "depth": [1, 2]})
    assert len(grid) == len({c.label for c in grid}) == len({c.folder(0) for c in grid}) == 8
    assert grid[0].label == "auto width=3 depth=1"
    assert grid[0].folder(7) == "auto-width=3-points=30-depth=1-seed7"
    with pytest.raises(ag.SettingError, match="width twice"):
        combinations(["auto"], {"width": [3, 3]})
    with pytest.raises(ag.SettingError, match="no value for method"):
        combinations([], {})
    evil = combinations(["auto"], {"activation": ["../../up", "/root"]})
    assert all("/" not in c.folder(0) and not c.folder(0).startswith(".") for c in evil)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "line.py").write_text(FILE)
    grid = combinations(["anagram"], {"width": [3, 4], "points": [30]})
    return Study(str(folder / "line.py"), grid, (0, 1), limits={"steps": 4}), folder / "out"


def test_a_study_goes_on_where_it_stopped(study):
    plan, folder = study
    first = Study(plan.target, plan.grid[:1], plan.seeds, limits=plan.limits)
    run_study(first, folder)
    # As if the second of its runs had been stopped in the middle.
    half = folder / plan.grid[0].folder(1)
    record = json.loads((half / "run.json").read_text())
    (half / "run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    told = []
    outcomes = run_study(plan, folder, lambda outcome, before, there: told.append((before, there)))
    assert told == [(k, k == 0) for k in range(4)]
    assert [o.solution.summary["steps"] for o in outcomes] == [4] * 4
    alone = ag.load(outcomes[0].folder)
    assert alone.summary["seed"] == 0
    assert alone.loss == outcomes[0].solution.loss
    table = rows(outcomes)
    assert [(r["method"], r["width"], r["runs"], r["failed"]) for r in table] == [
        ("anagram", 3, 2, 0),
        ("anagram", 4, 2, 0),
    ]
    errors = [o.solution.l2_error for o in outcomes[:2]]
    assert (table[0]["best"], table[0]["worst"]) == (min(errors), max(errors))
    assert table[0]["median error"] == pytest.approx(sum(errors) / 2)
    assert markdown(outcomes).count("**") == 2
    assert len(study_figure(outcomes, "line").axes) == len(convergence_figure(outcomes, "line").axes) == 2
    other = Study(plan.target, plan.grid, plan.seeds, limits={"steps": 5})
    with pytest.raises(ag.FileError, match="another study"):
        run_study(other, folder)


def test_mistakes_are_named_before_anything_runs(study, tmp_path):
    plan, _ = study
    wrong = Study(plan.target, combinations(["anagram"], {"width": [3, -1]}), (0,), limits={"steps": 1})
    with pytest.raises(ag.SettingError, match="anagram width=-1"):
        run_study(wrong, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*seed*"))


def test_the_command(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan, _ = study
    arguments = ["sweep", plan.target, "--set", "width=3", "--set", "points=30", "--method", "anagram", "--seed", "1,2"]
    result = CliRunner().invoke(app, [*arguments, "--steps", "2"])
    assert result.exit_code == 0, result.output
    assert "[2/2] anagram seed 2: error" in result.output
    folder = tmp_path / "sweeps" / "line"
    names = {p.name for p in folder.iterdir() if p.is_file()}
    assert names == {"sweep.json", "results.json", "table.md", "errors.png", "convergence.png"}
    assert [r["seed"] for r in json.loads((folder / "results.json").read_text())] == [1, 2]
    again = CliRunner().invoke(app, [*arguments, "--steps", "2"])
    assert again.output.count("(there already)") == 2
    for more, message in ((["--set", "width=4"], "given twice"), (["--seed", "x"], "--seed needs")):
        wrong = CliRunner().invoke(app, [*arguments, *more])
        assert wrong.exit_code == 2
        assert message in wrong.output
