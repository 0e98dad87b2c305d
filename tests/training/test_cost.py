"""The model of what a step costs: its algebra, and steps that are really measured."""

import json

import pytest
from typer.testing import CliRunner

from anagram.methods import make_method
from anagram.programs.cli import app
from anagram.training.cost import Cost, fitted
from tolerances import assert_close

COST = Cost(parameters=100, rows=8000, alone=1e-3, each_row=1e-5, sent=80_000, device_bytes=10**6, checked=(0.0, 0.0))


def test_a_line_is_fitted_and_neither_part_is_negative():
    assert_close(fitted([100, 400], [3.0, 6.0]), (2.0, 0.01))
    assert fitted([100, 200], [1.0, 3.0]) == (0.0, 0.0125)  # all of it in the points
    assert fitted([100, 200], [3.0, 1.0]) == (2.0, 0.0)  # nothing of it
    assert fitted([100, 100], [3.0, 1.0]) == (2.0, 0.0)  # nothing to tell them apart


def test_points_are_shared_and_the_rest_is_not():
    assert_close(COST.seconds(1), 1e-3 + 8e-2)
    assert_close(COST.seconds(8) - COST.talking(8), 1e-3 + 1e-2)
    assert COST.talking(1) == 0
    # All that is handed on goes around twice; messages are as many as there are rounds.
    assert_close(COST.talking(8), 2 * 80_000 * 7 / 8 / COST.bandwidth + 6 * COST.latency)


def test_it_scales_until_twice_the_devices_hardly_help():
    ends = COST.ends_at
    assert COST.seconds(2 * ends) > 0.75 * COST.seconds(ends)
    assert COST.seconds(ends) <= 0.75 * COST.seconds(ends // 2)
    assert COST.limit == "what each device does for itself"
    slow = Cost(**{**vars(COST), "alone": 0.0, "bandwidth": 1e7})
    assert slow.limit == "sums across devices"
    assert slow.ends_at < ends


def test_bytes_follow_from_the_method():
    dense, large = make_method("auto"), make_method("large")
    assert dense.sent(1000, 4000) < 1.01 * 8 * (1000**2 + 1000)
    assert large.sent(10**6, 10**6) < dense.sent(10**6, 10**6) / 1000
    assert make_method("adam").sent(1000, 4000) < 100_000
    assert make_method("newton").sent(1000, 4000) < 0.51 * 8 * 1000**2


def test_a_plan_is_printed_and_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--method", "gd", "--set", "width=4", "--set", "depth=1", "--set", "points=60", "--json", "plan.json"]
    result = CliRunner().invoke(app, ["plan", "lotka-volterra", *options])
    assert result.exit_code == 0, result.output
    for word in ("parameters", "memory", "sent", "512", "It scales to about", "measured"):
        assert word in result.stdout
    told = json.loads((tmp_path / "plan.json").read_text())
    assert [file.name for file in tmp_path.iterdir()] == ["plan.json"]
    assert told["method"] == "gd"
    assert told["device_bytes"] > 0
    assert_close(told["seconds"]["1"], told["alone"] + told["each_row"] * told["rows"])


@pytest.mark.parametrize("option", ["--bandwidth", "--latency"])
def test_a_network_that_cannot_be_is_refused(option):
    result = CliRunner().invoke(app, ["plan", "heat", option, "0"])
    assert result.exit_code == 2
    assert f"{option} must be a positive number, not 0.0" in result.stderr
