"""Pages without a browser: what they say, what they refuse, how large they are. See also test_page_shown.py."""

import base64
import json
import re
import shutil

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import anagram as ag
from anagram.programs.commands.report import report
from anagram.programs.page import write_page
from anagram.showing.report.page.data import thinned
from anagram.showing.report.page.encode import json_html, number_html, script_json
from anagram.showing.report.page.fields import FIELD_BYTES, STATED_ELSEWHERE, choose_sampling
from anagram.training.history import History
from tolerances import assert_close

EVIL = "</script><script>window.hacked = 1</script>"


@pytest.fixture(scope="module")
def solution(heat):
    return ag.solve(heat, ag.MLP(8), "anagram", points=ag.Grid(10), steps=12, progress=False)


@pytest.fixture(scope="module")
def folder(solution, tmp_path_factory):
    return solution.save(tmp_path_factory.mktemp("runs") / "heat")


def changed(folder, to, change):
    """A copy of a run with another record."""
    shutil.copytree(folder, to)
    record = json.loads((to / "run.json").read_text())
    change(record)
    (to / "run.json").write_text(json.dumps(record))
    return to


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])


def test_a_page_has_the_numbers_of_its_run(solution, folder, tmp_path):
    page = write_page(folder, tmp_path / "deep" / "page.html")
    text = page.read_text()
    for value in (solution.loss, solution.validation_loss, solution.l2_error):
        assert number_html(value) in text
    assert "u_t = ¼ u_xx" in text
    assert f"anagram repeat {folder}" in text
    shown = re.search(r"<pre[^>]*>(.*?)</pre>", text, re.DOTALL)[1]
    assert "<b>&quot;validation_loss&quot;</b>" in shown
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text


def test_curves_are_those_of_the_history(solution, folder, tmp_path):
    (run,) = data_of(write_page(folder, tmp_path / "page.html"))["runs"]
    curves = {curve["key"]: np.frombuffer(base64.b64decode(curve["value"]["data"])) for curve in run["curves"]}
    assert_close(curves["loss"][1:], solution.history.steps["loss"], 0.0)
    assert curves["loss"][0] == solution.history.blocks[0]["loss"]
    assert_close(curves["l2_error"], solution.history.column("l2_error"), 0.0)


def test_thinned_curves_keep_extremes_and_ends():
    values = np.random.default_rng(0).normal(size=100_000)
    values[[31_234, 77_777]] = 99.0, -99.0
    values[5:9] = np.nan
    kept = thinned(values, 1000)
    assert len(kept) <= 1000
    assert {0, 31_234, 77_777, 99_999} <= set(kept.tolist())
    assert np.all(np.diff(kept) > 0)
    assert len(thinned(np.arange(7.0))) == 7


def test_sketches_are_told_apart(solution, tmp_path):
    count = solution.history.count
    steps = {**solution.history.steps, "stage": np.array([0, 0, 0, 1, 1, 0, *[2] * (count - 6)])}
    drawn = ag.Solution(None, solution.model, solution.theta, History(steps, []), solution.summary)
    (run,) = data_of(write_page(drawn, tmp_path / "page.html"))["runs"]
    assert run["sketch"] == [[0, 3], [5, 6]]
    assert [curve["key"] for curve in run["curves"]] == ["loss"]
    assert "rank" in [trace["key"] for trace in run["traces"]]


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 6, 7, 12])
@pytest.mark.parametrize("count", [2, 9])
def test_fields_are_bounded_whatever_the_domain(dimension, count):
    box = ag.Box(**{f"x{k}": (0, k + 1) for k in range(dimension)})
    sampling = choose_sampling(box, count)
    assert len(sampling.x) * count * 4 * 4 / 3 <= FIELD_BYTES
    assert sampling.size >= 5
    assert sampling.size % 2 == 1  # the middle is one of the points
    assert np.all((sampling.x >= box.low) & (sampling.x <= box.high))
    if sampling.kind == "tensor":
        assert len(sampling.x) == sampling.size**dimension
    else:
        assert len(sampling.x) == sampling.size**2 * len(sampling.pairs)


def test_names_are_texts_and_never_programs(folder, tmp_path):
    def evil(record):
        record["summary"] |= {"problem": EVIL, "method": EVIL, "stopped_because": EVIL, "model": EVIL}
        record["summary"]["coefficients"] = {EVIL: 1.0}
        record["summary"]["error_estimate"] = {"value": None, "reasons": [EVIL]}
        record["versions"] = {EVIL: EVIL, "device": EVIL}

    first, second = (changed(folder, tmp_path / name, evil) for name in ("a", "b<script>alert(1)</script>"))
    for sources in ([first], [first, second]):
        text = write_page(sources, tmp_path / "page.html").read_text()
        assert "<script>window" not in text
        assert "<script>alert" not in text
        assert text.count("</script>") == 2  # the data and the program
        assert "&lt;script&gt;window.hacked = 1" in text
        assert "$" not in text.split("<style>")[0]  # all placeholders are filled


def test_texts_that_look_like_placeholders_stay_as_they_are(folder, tmp_path):
    odd = changed(folder, tmp_path / "odd", lambda r: r["summary"].update(problem="$data ${style} $$ \\1"))
    assert "<h1>$data ${style} $$ \\1</h1>" in write_page(odd, tmp_path / "page.html").read_text()


def test_json_in_scripts_and_in_markup():
    awkward = {"a": EVIL, "b": "\u2028 & <!--", "c": [1, None, True, 1e-30], "d": {"e": [[1], []]}, "f": {}}
    text = script_json(awkward)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == awkward
    shown = json_html(awkward)
    assert "<script" not in shown
    plain = re.sub(r"</?[bi]>", "", shown)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#x27;", "'"), ("&amp;", "&")):
        plain = plain.replace(entity, character)
    assert json.loads(plain) == awkward


def test_numbers_are_printed_as_in_journals():
    assert number_html(2.1286e-14) == "2.13 × 10<sup>−14</sup>"
    assert number_html(-1234567.0) == "−1.23 × 10<sup>6</sup>"
    assert number_html(1020) == "1\u2009020"
    assert number_html(13.66) == "13.7"
    assert number_html(12345.6) == "12346"
    assert number_html("<b>") == number_html(None) == number_html(float("nan")) == number_html(10**400) == "–"


def test_summaries_with_values_of_the_wrong_kind_are_shown_without_them(solution, tmp_path):
    wrong = {"loss": "<b>", "seconds": [], "parameters": {}, "error_estimate": "?", "coefficients": 3, "setting": 1}
    odd = ag.Solution(None, solution.model, solution.theta, History({}, [{"step": "?"}]), solution.summary | wrong)
    text = write_page([odd, solution], tmp_path / "page.html").read_text()
    assert '<th role="rowheader" scope="row">Loss</th><td role="cell">–</td>' in text


def test_problems_of_ones_own_are_not_executed(folder, tmp_path):
    own = changed(folder, tmp_path / "own", lambda r: r.update(origin={"file": "problem.py", "name": "problem"}))
    marker = tmp_path / "executed"
    (own / "problem.py").write_text(f"open({str(marker)!r}, 'w')")
    page = write_page(own, tmp_path / "page.html")
    assert not marker.exists()
    (run,) = data_of(page)["runs"]
    assert [q["kind"] for q in run["fields"]["quantities"]] == ["solution"]
    assert run["fields"]["notes"] == [STATED_ELSEWHERE]
    assert f"anagram repeat {own} --trust" in page.read_text()


def test_a_solution_that_was_not_saved(solution, tmp_path):
    text = write_page(solution, tmp_path / "page.html").read_text()
    assert "anagram repeat" not in text
    assert "&quot;validation_loss&quot;" in text


def test_a_run_of_no_steps(heat, tmp_path):
    still = ag.solve(heat, ag.MLP(8), "anagram", points=ag.Grid(10), steps=0, progress=False)
    (run,) = data_of(write_page(still, tmp_path / "page.html"))["runs"]
    assert [curve["key"] for curve in run["curves"]] == ["validation_loss", "l2_error"]
    assert run["traces"] == []


def test_runs_that_cannot_be_read_are_named(folder, tmp_path):
    missing, empty, broken = tmp_path / "missing", tmp_path / "empty", tmp_path / "broken"
    empty.mkdir()
    shutil.copytree(folder, broken)
    (broken / "solution.safetensors").write_bytes(b"\0" * 100)
    going = changed(folder, tmp_path / "going", lambda r: r.update(summary=None, status="running"))
    garbled = changed(folder, tmp_path / "garbled", lambda r: r.update(summary=[1, 2]))
    target = tmp_path / "page.html"
    for bad, why in (
        (missing, "no folder"),
        (empty, "run.json' is missing"),
        (broken, "cannot read"),
        (going, "has not ended"),
        (garbled, "does not describe"),
    ):
        with pytest.raises(ag.FileError, match=why) as caught:
            write_page(bad, target)
        assert str(bad) in str(caught.value)
    with pytest.raises(ag.FileError, match="2 of 3 runs cannot be read") as caught:
        write_page([missing, folder, broken], target)
    assert str(missing) in str(caught.value)
    assert str(broken) in str(caught.value)
    assert str(folder) not in str(caught.value)
    with pytest.raises(ag.FileError, match="nothing to report"):
        write_page([], target)
    assert not target.exists()
    assert not missing.exists()


def test_pages_that_cannot_be_written(folder, tmp_path):
    with pytest.raises(ag.FileError, match="it is a folder"):
        write_page(folder, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ag.FileError, match="cannot write"):
        write_page(folder, tmp_path / "file" / "page.html")


def test_the_command(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(report)
    done = CliRunner().invoke(app, [str(folder)])
    assert done.exit_code == 0, done.output
    assert "report.html" in done.stdout
    assert (folder / "report.html").exists()
    assert CliRunner().invoke(app, [str(folder), str(folder), "--quiet"]).stdout == ""
    assert (tmp_path / "comparison.html").exists()
    failed = CliRunner().invoke(app, [str(folder), "nowhere"])
    assert failed.exit_code == 2
    assert "nowhere" in failed.stderr
