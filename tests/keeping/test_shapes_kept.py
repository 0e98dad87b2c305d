"""Runs on shapes: saved, loaded, resumed, repeated, and damaged."""

import functools
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import anagram as ag
from anagram.programs.page import write_page
from anagram.statement.domains.outline import Outlined
from mutations import damaged_json
from solids import HalfBall
from untrained import untrained

QUIET = {"progress": False, "checkpoint_every": 0.0}
_KEPT = tempfile.TemporaryDirectory(prefix="anagram-shapes-kept-")
INSIDE, OUTSIDE = {"x": 0.3, "y": -0.4}, {"x": 0.9, "y": 0.9}


def drum(shape):
    return ag.Problem(
        shape,
        equation=ag.Condition(lambda u: u.laplacian("x", "y"), equals=-4.0),
        edge=ag.Condition(lambda u: u, on=shape.boundary()),
        solution=lambda x, y: 1 - x**2 - y**2,
    )


DRUM = drum(ag.Disk())


@functools.cache
def kept():
    """The folder of a short run on a disk, and its solution."""
    folder = Path(_KEPT.name) / "drum"
    return folder, ag.solve(DRUM, ag.MLP(4), "anagram", points=40, steps=6, folder=folder, **QUIET)


@pytest.fixture
def run(tmp_path):
    return Path(shutil.copytree(kept()[0], tmp_path / "run"))


def test_without_its_problem_a_run_knows_its_outline(run):
    solution, loaded = kept()[1], ag.load(run)
    assert loaded.problem is None
    assert isinstance(loaded.domain, Outlined)
    assert repr(loaded.domain) == repr(solution.domain)
    assert loaded(**INSIDE) == solution(**INSIDE)
    with pytest.raises(ag.ProblemError, match="outside of Disk"):
        loaded(**OUTSIDE)
    again = ag.load(loaded.save(run.parent / "again"))
    assert again(**INSIDE) == solution(**INSIDE)
    assert (
        json.loads((run / "run.json").read_text())["unknowns"]
        == (json.loads((run.parent / "again" / "run.json").read_text())["unknowns"])
    )


def test_with_its_problem_it_has_its_shape(run):
    loaded = ag.load(run, problem=DRUM)
    assert loaded.domain is DRUM.domain
    assert loaded.residual("equation", np.array([[0.1, 0.2]])).shape == (1,)
    square = drum(ag.Box(x=(-1, 1), y=(-1, 1)))
    for other in (square, drum(ag.Ellipse((0, 0), (1, 0.9)))):
        with pytest.raises(ag.FileError, match=r"holds a solution on Disk.*another one"):
            ag.load(run, problem=other)


def test_a_run_on_a_shape_goes_on_and_is_repeated_bit_for_bit(run):
    solution = kept()[1]
    further = ag.solve(DRUM, ag.MLP(4), "anagram", points=40, steps=9, progress=False)
    with pytest.raises(ag.AnagramError, match="points or their sources are others"):
        ag.resume(run, drum(ag.Ellipse((0, 0), (1, 0.9))), steps=9, **QUIET)
    np.testing.assert_array_equal(ag.resume(run, DRUM, steps=9, **QUIET).theta, further.theta)
    again, _ = ag.repeat(kept()[0], DRUM, progress=False)
    np.testing.assert_array_equal(again.theta, solution.theta)


def test_an_evolution_and_a_solid_are_kept(tmp_path):
    moving = ag.Box(t=(0, 1)) * ag.Ellipse((0, 0), (1, 0.5), 0.5)
    solution = untrained(moving, lambda u: u.d("t") - u.laplacian("x", "y"))
    loaded = ag.load(solution.save(tmp_path / "moving"))
    assert (loaded.domain.axes, loaded.domain.space) == (("t", "x", "y"), ("x", "y"))
    assert loaded(0.5, 0.1, 0.1) == solution(0.5, 0.1, 0.1)
    with pytest.raises(ag.ProblemError, match=r"outside of Box\(t=\(0, 1\)\) \* Ellipse"):
        loaded(0.5, 0.1, 0.6)
    solution = untrained(HalfBall(), lambda u: u.laplacian())
    loaded = ag.load(solution.save(tmp_path / "ball"))
    assert loaded(0.1, 0.2, 0.3) == solution(0.1, 0.2, 0.3)
    page = write_page([tmp_path / "ball"], tmp_path / "ball.html").read_text()
    assert "does not say where its shape ends" in page
    assert "does not say where" not in write_page([solution], tmp_path / "known.html").read_text()


def test_damaged_outlines_are_refused_or_fine(run):
    text = (run / "run.json").read_text()
    record = json.loads(text)
    for case in range(40):
        rng = np.random.default_rng([7, case])
        shape = json.loads(damaged_json(record["unknowns"]["shape"], rng)) if case else {"axes": ["x", "y"]}
        (run / "run.json").write_text(json.dumps({**record, "unknowns": {**record["unknowns"], "shape": shape}}))
        try:
            loaded = ag.load(run)
        except ag.FileError:
            continue
        loaded.to_numpy(5)
    (run / "run.json").write_text(text)
    ag.load(run)


def test_runs_that_were_kept_before_there_were_shapes_are_boxes(run):
    record = json.loads((run / "run.json").read_text())
    del record["unknowns"]["shape"]
    (run / "run.json").write_text(json.dumps(record))
    assert ag.load(run).domain.is_box
