"""The comparison with other programs: its classical solvers, its clock, its counting of lines and its page."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

BENCH = Path(__file__).parents[2] / "bench"
sys.path[:0] = [str(BENCH), str(BENCH / "peers")]

counting = importlib.import_module("counting")
driver = importlib.import_module("peers")
page = importlib.import_module("page")
problems = importlib.import_module("common_problems")
watch = importlib.import_module("watch")
chebyshev = importlib.import_module("with_chebyshev")
scipy_solvers = importlib.import_module("with_scipy")


def error(name, values):
    return problems.relative_error(values, problems.exact_values(name))


# -- the problems -------------------------------------------------------------------------------------------
def test_points_lie_inside():
    for name, problem in problems.PROBLEMS.items():
        points = problems.evaluation_points(name)
        assert points.shape == (problems.COUNT, len(problem.lower))
        assert np.all((points >= problem.lower) & (points <= problem.upper))
        if problem.inside is not None:
            assert np.all(problem.inside(points))


def test_what_is_not_a_number_is_as_wrong_as_can_be():
    assert problems.relative_error(np.array([np.nan, 1.0]), np.ones(2)) > 1e300


# -- classical solvers --------------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "count"), [("laplace-2d", 18), ("heat", 16), ("laplace-5d", 9)])
def test_chebyshev_on_boxes(name, count):
    found = getattr(chebyshev, name.replace("-", "_"))(count)
    values = chebyshev.at(found, problems.evaluation_points(name), (0,) * found.ndim, (1,) * found.ndim)
    assert error(name, values) < (1e-12 if found.ndim == 2 else 1e-6)


def test_chebyshev_on_a_disk():
    points = problems.evaluation_points("disk")
    assert error("disk", chebyshev.on_disk(12, chebyshev.disk(12), points)) < 1e-9


def test_an_unknown_rate_by_both():
    u, k = chebyshev.rate(24)
    points = problems.evaluation_points("rate")
    assert error("rate", chebyshev.to_points(24, 0, 1, points[:, 0]) @ u) < 1e-12
    assert problems.coefficient_error("rate", {"k": k}) < 1e-12
    values, found = scipy_solvers.rate(1e-5)
    assert error("rate", values(points)) < 1e-5
    assert problems.coefficient_error("rate", found) < 1e-5


def test_hares_and_lynxes_by_both():
    times = np.linspace(0, 5.99, 50)
    path = solve_ivp(
        lambda t, y: (y[0] * (1 - y[1] / 2), -y[1] * (1 - y[0] / 2)),
        (0, 6),
        (1, 1),
        "DOP853",
        times,
        rtol=1e-12,
        atol=1e-12,
    )
    pieces = chebyshev.hunt(18)
    weights = chebyshev.to_points(18, 0, 1, times - times.astype(int))
    found = np.einsum("pi,piu->pu", weights, pieces[times.astype(int)])
    np.testing.assert_allclose(found, path.y.T, rtol=1e-9)
    values, _ = scipy_solvers.hunt(1e-9)
    np.testing.assert_allclose(values(times[:, None]), path.y.T, rtol=1e-6)


def test_allen_cahn_by_both():
    points = problems.evaluation_points("allen-cahn")[:200]
    found = chebyshev.between_steps(*chebyshev.allen_cahn(128), points)
    values, _ = scipy_solvers.allen_cahn(1e-5, 513)
    assert problems.relative_error(values(points), found) < 3e-3


def test_the_heat_equation_by_differences():
    values, _ = scipy_solvers.heat(1e-6, 257)
    assert error("heat", values(problems.evaluation_points("heat"))) < 1e-4


# -- the driver ---------------------------------------------------------------------------------------------
def test_a_watch_stands_still_while_it_looks(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(watch.time, "perf_counter", lambda: clock[0])
    seen = watch.Watch("laplace-2d", 10.0)
    seen.begin()
    clock[0] = 4.0

    def values():
        clock[0] += 100.0
        return problems.exact_values("laplace-2d")

    assert seen.look(values)
    assert seen.seconds == 4.0
    assert seen.look(values)  # too early for another look
    assert seen.seconds == 4.0
    clock[0] += 6.0
    assert not seen.look(values)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line]
    assert [line["seconds"] for line in lines] == [4.0, 10.0]
    assert lines[0]["error"] == 0.0


def test_all_run_a_problem_before_any_runs_the_next():
    todo = list(driver.tasks(["heat", "disk"], list(driver.ENTRANTS), [0, 1]))
    assert len(set(todo)) == len(todo)
    seen = [(seed, problem) for problem, _, _, _, seed in todo]
    assert seen == sorted(seen, key=lambda pair: (pair[0], ["heat", "disk"].index(pair[1])))
    assert not any(driver.ENTRANTS[name].classical for _, name, _, _, seed in todo if seed == 1)


def test_lines_of_users_are_counted():
    assert counting.lines_of("with_anagram.py", "hunt") == 15
    assert counting.lines_of("with_scipy.py", "disk") is None
    for entrant in driver.ENTRANTS.values():
        for name in problems.PROBLEMS:
            lines = counting.lines_of(entrant.script, name)
            assert lines is None or 3 <= lines < 100


def record(problem, entrant, curve, option="", cache="", seed=0, **more):
    told = {"limit": 10.0, "machine": "a machine", "date": "2026-01-02", "versions": {"numpy": "2.0"}}
    run = {"problem": problem, "entrant": entrant, "option": option, "cache": cache, "seed": seed}
    return {**run, **told, "curve": curve, "peak_megabytes": 100, **more}


def test_the_page_says_who_was_first(tmp_path, monkeypatch):
    records = [
        record("heat", "anagram", [[0.2, 2e-4, 9.0]], "1e-3", "cold"),
        record("heat", "anagram", [[0.4, 1e-9, 12.0]], "1e-7", "cold"),
        record("heat", "anagram", [[0.2, 2e-4, 4.0]], "1e-3", "warm"),
        record("heat", "jinns", [[0.1, 1e-2, 6.0], [0.15, 5e-4, 6.1], [3.0, 9e-6, 9.0]]),
        record("heat", "deepxde", [], failed="1: ValueError: broken"),
        record("heat", "chebyshev", [[0.001, 1e-12, 0.5]]),
        record("disk", "jinns", [], note=watch.NOT_POSSIBLE + "boxes only"),
        record("disk", "anagram", [[0.3, 1e-8, 8.0]], "1e-3", "cold"),
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in records) + '{"cut o')
    there = driver.load(path)
    assert there == records
    anagram, jinns = page.of(there, "heat", "anagram"), page.of(there, "heat", "jinns")
    assert page.time_to(anagram, 1e-3) == 0.2
    assert page.time_to(anagram, 1e-7) == 0.4
    assert page.time_to(anagram, 1e-3, 2) == 9.0
    assert page.time_to(jinns, 1e-5) == 3.0
    assert page.time_to(jinns, 1e-7) == page.NEVER
    text = page.page(there)
    assert "First of the networks at 1e-3, in training time: jinns: heat; anagram: disk." in text
    assert "A classical solver is there before all networks at 1e-7: heat." in text
    assert "Only networks come to 1e-7: disk." in text
    assert "1: ValueError: broken" in text
    assert "boxes only" in text
    assert "busy with other work, or may have been, at 8 of 8 runs" in text
    assert "busy" not in page.conditions([run | {"load": 1.0} for run in there])
    monkeypatch.setattr(page, "DOCS", tmp_path)
    page.write(there)
    assert (tmp_path / "peers.md").read_text() == text
    assert (tmp_path / "figures" / "peers.png").stat().st_size > 10_000


def test_the_worse_of_two_seeds_is_told():
    runs = [record("heat", "jinns", [[t, 1e-4, t]], seed=seed) for seed, t in enumerate((1.0, 2.0))]
    assert page.time_to(runs, 1e-3) == 2.0
    assert page.time_to([*runs, record("heat", "jinns", [], seed=2)], 1e-3) == 2.0


def test_the_longest_of_like_runs_is_told():
    short, long = (record("heat", "jinns", [[1.0, 1e-4, 1.0]]) | {"limit": limit} for limit in (5.0, 20.0))
    assert driver.longest([long, short]) == [long]
