import json
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.keeping.atomic import json_text, write_atomically
from tolerances import assert_close


def test_a_solution_survives_saving(quick_solution, tmp_path):
    folder = quick_solution.save(tmp_path / "deep" / "run")
    loaded = ag.load(folder)
    x = np.random.default_rng(0).uniform(size=(50, 2))
    assert_close(loaded(x), quick_solution(x), 0.0)
    assert loaded.summary == json.loads(json_text(quick_solution.summary))
    assert_close(loaded.history.steps["loss"], quick_solution.history.steps["loss"], 0.0)
    assert len(loaded.history.blocks) == len(quick_solution.history.blocks)
    assert loaded.problem.name == "heat"  # found in the catalogue
    assert_close(loaded.residual("equation", x), quick_solution.residual("equation", x), 0.0)
    assert sorted(p.name for p in folder.iterdir()) == ["metrics.jsonl", "run.json", "solution.safetensors"]


def test_problems_of_ones_own_and_coefficients(tmp_path):
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        c=ag.Condition(lambda psi, k: psi - k, equals=1j),
        unknowns={"psi": complex},
        coefficients={"k": 2.0},
    )
    solution = ag.solve(problem, {"psi": ag.Polynomial(2)}, points=ag.Grid(9), steps=25, progress=False)
    solution.save(tmp_path)
    loaded = ag.load(tmp_path)
    assert_close(loaded(0.3), solution(0.3), 0.0)
    assert loaded.coefficients == solution.coefficients
    with pytest.raises(ag.ProblemError, match="without its problem"):
        loaded.residual("c", np.array([[0.5]]))
    assert ag.load(tmp_path, problem=problem).residual("c", np.array([[0.5]])) < 1e-10


def test_modules_of_ones_own_are_given_back_at_loading(tmp_path, heat):
    module = eqx.nn.MLP(2, "scalar", 6, 1, activation=jnp.tanh, key=jax.random.key(0))
    solution = ag.solve(heat, module, "anagram", points=ag.Grid(8), steps=2, progress=False)
    solution.save(tmp_path)
    with pytest.raises(ag.FileError, match=r"load\(..., model=module\)"):
        ag.load(tmp_path)
    assert_close(ag.load(tmp_path, model=module)(0.5, 0.5), solution(0.5, 0.5), 0.0)


def test_a_problem_given_to_load_must_fit(quick_solution, tmp_path):
    quick_solution.save(tmp_path)
    other = ag.Problem(ag.Box(x=(0, 1)), c=ag.Condition(lambda u: u))
    with pytest.raises(ag.FileError, match="another one"):
        ag.load(tmp_path, problem=other)


def damage(folder, name, text):
    path = folder / name
    if text is None:
        path.unlink()
    elif isinstance(text, int):
        path.write_bytes(path.read_bytes()[:text])
    else:
        path.write_text(text)


@pytest.mark.parametrize("name", ["run.json", "solution.safetensors"])
@pytest.mark.parametrize("text", [None, 0, 20, "{}", "[]", '{"format": 99}', '{"format": 1}', "\x00\x01"], ids=str)
def test_damaged_files_give_a_clear_error(quick_solution, tmp_path, name, text):
    quick_solution.save(tmp_path)
    damage(tmp_path, name, text)
    with pytest.raises(ag.FileError, match=name):
        ag.load(tmp_path)


def test_files_that_do_not_belong_together(quick_solution, heat, tmp_path):
    quick_solution.save(tmp_path)
    other = ag.solve(heat, ag.MLP(5), "anagram", points=ag.Grid(8), steps=1, progress=False).save(tmp_path / "other")
    (other / "solution.safetensors").replace(tmp_path / "solution.safetensors")
    with pytest.raises(ag.FileError, match="not the file that 'run.json' belongs to"):
        ag.load(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    del record["sha256"]  # as the first format had none
    (tmp_path / "run.json").write_text(json.dumps(record | {"format": 1}))
    with pytest.raises(ag.FileError, match="its model has 33 parameters, 'solution.safetensors' holds 21"):
        ag.load(tmp_path)


def test_hostile_records_run_nothing(quick_solution, tmp_path):
    quick_solution.save(tmp_path)
    record = json.loads((tmp_path / "run.json").read_text())
    for change in (
        {"model": {"kind": "__import__('os').system('touch owned')"}},
        {"model": {"kind": "MLP", "widths": ["__class__"]}},
        {"unknowns": {"axes": {"t": [0, "x"]}, "fields": {}, "coefficients": {}}},
        {"origin": {"catalogue": "heat", "parameters": {"nonsense": 1}}},
        {"summary": 3},
        {"summary": {}},
        {"model": {"kind": "Fourier", "order": 10**6}},
        {"model": {"kind": "MLP", "widths": [20000, 20000]}},
    ):
        (tmp_path / "run.json").write_text(json.dumps(record | change))
        with pytest.raises(ag.FileError):
            ag.load(tmp_path)


def test_deep_or_foreign_json(quick_solution, tmp_path):
    quick_solution.save(tmp_path)
    (tmp_path / "metrics.jsonl").write_text("3\n")
    with pytest.raises(ag.FileError, match=r"metrics\.jsonl.*not records"):
        ag.load(tmp_path)
    (tmp_path / "run.json").write_text("[" * 200_000)
    with pytest.raises(ag.FileError, match="cannot read"):
        ag.load(tmp_path)


def test_a_folder_that_cannot_be_written(quick_solution, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ag.FileError, match="cannot write to the folder"):
        quick_solution.save(tmp_path / "file")


def test_files_of_others_are_not_overwritten(quick_solution, tmp_path):
    (tmp_path / "run.json").write_text('{"my": "notes"}')
    with pytest.raises(ag.FileError, match="choose another folder"):
        quick_solution.save(tmp_path)
    with pytest.raises(ag.FileError, match="empty"):
        quick_solution.save("")
    quick_solution.save(tmp_path / "a")
    quick_solution.save(tmp_path / "a")
    with pytest.raises(ag.FileError, match="give the folder"):
        ag.load(tmp_path / "run.json")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def half(path):
        path.write_text("ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(ag.FileError, match="No space left"):
        write_atomically(target, half)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_json_has_no_nan():
    assert json.loads(json_text({"a": float("nan"), "b": np.float64(1.5), "c": [np.inf], "d": np.bool_(True)})) == {
        "a": None,
        "b": 1.5,
        "c": [None],
        "d": True,
    }
