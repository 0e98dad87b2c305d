import json
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import anywhere
from touchstone import TOUCHSTONES


def record(problem="plate", tol=1e-3, seed=0, error=1e-4, reached=True, seconds=2.0):
    return {
        "problem": problem,
        "tol": tol,
        "seed": seed,
        "machine": "2 cores",
        "wall_seconds": 5.0,
        "seconds": seconds,
        "reached": reached,
        "true_error": error,
        "stopped_because": "",
    }


def test_the_last_record_of_a_run_counts_and_lines_cut_off_do_not(tmp_path):
    path = tmp_path / "anywhere.jsonl"
    lines = [json.dumps(r) for r in (record(error=None), record(seed=1), record(error=2e-4))]
    path.write_text("\n".join([*lines, lines[0][:20]]), encoding="utf-8")
    assert sorted((r["seed"], r["true_error"]) for r in anywhere.load(path)) == [(0, 2e-4), (1, 1e-4)]
    assert anywhere.load(tmp_path / "nothing") == []


def test_tables_show_claims_that_are_not_true():
    runs = [record(), record(seed=1, error=4e-3), record(seed=2, error=0.5, reached=False, seconds=9.0)]
    runs += [record("kdv"), record("kdv", seed=1, error=None, reached=False, seconds=None)]
    text = anywhere.table("2 cores", 1e-3, runs, list(TOUCHSTONES))
    assert "| plate | 2/3 | 2 | 9 | 4.0e-03 | 5.0e-01 | **4.0e-03** |" in text
    assert "| kdv | 1/2 | 3.5 | 5 | inf | inf | 1.0e-04 |" in text
    assert "reached 3/5 (60 %), the true error is below tol in 2/5 (40 %)" in text
    assert "above 3 tol: 1/3 (33 %); the worst ratio is 4 (plate, seed 1)" in text
    assert "broke down: kdv (1)" in text


def test_the_figure_is_drawn(tmp_path):
    runs = [record(), record(tol=1e-6, error=np.inf), record("kdv", error=None, reached=False, seconds=None)]
    anywhere.figure(runs, {name: stone.smooth for name, stone in TOUCHSTONES.items()}, tmp_path / "a" / "figure.png")
    assert (tmp_path / "a" / "figure.png").stat().st_size > 1000
    anywhere.figure([], {}, tmp_path / "none.png")


def test_true_errors_are_relative_and_of_everything():
    problem = TOUCHSTONES["heat-rod"].state()

    class Shifted(SimpleNamespace):
        def __call__(self, points):
            return problem.exact(points)["u"] + 3.0

    shifted = Shifted(problem=problem, coefficients={"kappa": 1.1})
    errors, spread = anywhere.true_errors(shifted, {"kappa": 1.0})
    assert 0.008 < errors["u"] < 0.01
    assert spread["u"] > 0.1
    assert errors["kappa"] == pytest.approx(0.1)


def test_jobs_share_the_cores(monkeypatch):
    assert anywhere.shares(1) == [None]
    monkeypatch.setattr(anywhere.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(anywhere, "_siblings", lambda thread: str(thread % 4))
    assert [len(s) for s in anywhere.shares(4)] == [2, 2, 2, 2]
    assert len({core % 4 for cores in anywhere.shares(2) for core in cores}) == 4
    with pytest.raises(SystemExit, match="10 cores, there are 8"):
        anywhere.shares(5)
