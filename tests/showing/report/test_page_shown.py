"""Pages in a browser: what readers see, and what happens when they point, slide, switch and play."""

import functools
import json
import shutil
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from chromium import NoBrowser, find_chromium
from headless import Browser
from looking import FAINT, assert_sound, coordinates, map_of, picture, read, tip

import anagram as ag
from anagram.programs.page import write_page
from tolerances import assert_close

EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
SHOWN = 1e-4  # five digits


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    try:
        executable, environment = find_chromium()
    except NoBrowser as error:
        pytest.skip(f"no browser can be had: {error}")
    running = Browser(executable, environment, tmp_path_factory.mktemp("profile"))
    yield running
    running.close()


@pytest.fixture(scope="session")
def solutions(heat):
    """Runs to look at, trained when they are asked for."""

    @functools.cache
    def solved(name):
        if name == "heat":
            return ag.solve(heat, ag.MLP(8), "anagram", points=ag.Grid(10), steps=12, progress=False)
        if name == "other":
            return ag.solve(heat, ag.MLP(8), "adam", points=ag.Grid(10), steps=3, progress=False)
        if name == "five":
            problem = ag.catalogue.problem("laplace-5d")
            return ag.solve(problem, ag.MLP(4), "adam", points=60, steps=1, progress=False)
        line = ag.Box(x=(0, 2))
        waves = ag.Problem(
            line,
            wave=ag.Condition(lambda psi, v: psi.d("x") - 1j * psi),
            slope=ag.Condition(lambda psi, v: v.d("x") - 1.0),
            unknowns={"psi": complex, "v": float},
            solution={"psi": lambda x: jnp.exp(1j * x)},
            name="waves",
        )
        return ag.solve(waves, ag.MLP(4), "adam", points=ag.Grid(20), steps=2, progress=False)

    return solved


@pytest.fixture(scope="session")
def page_of(solutions, tmp_path_factory):
    """The page of one run or several, by their names."""
    root = tmp_path_factory.mktemp("pages")

    @functools.cache
    def written(*names):
        return write_page([solutions(name) for name in names], root / f"{'-'.join(names)}.html")

    return written


@pytest.fixture
def show(browser):
    opened = []

    def open_page(path, *arguments, **named):
        opened.append(browser.open(path, *arguments, **named))
        return opened[-1]

    yield open_page
    for page in opened:
        page.close()


@pytest.mark.parametrize("names", [("heat",), ("heat", "other")], ids="-".join)
def test_pages_fit_fetch_nothing_and_complain_about_nothing(show, page_of, names):
    page = show(page_of(*names))
    assert page.run("document.querySelectorAll('.plot svg, .map svg').length") >= 9
    assert_sound(page)


def test_pointing_at_a_map_tells_the_values_there(show, page_of, solutions):
    page, solution = show(page_of("heat")), solutions("heat")
    i, j = 40, 112
    page.hover(f"{map_of('solution')} .plot-area", i / 160, j / 160)
    t, x = i / 160, j / 160
    heading, values = tip(page, map_of("solution"))
    assert_close(coordinates(heading)["t"], t, 1e-3)
    assert_close(coordinates(heading)["x"], x, 1e-3)
    assert_close(values["u"], solution(t=t, x=x), SHOWN)
    exact = np.exp(-(np.pi**2) * t / 4) * np.sin(np.pi * x)
    assert_close(tip(page, map_of("error"))[1]["error"], solution(t=t, x=x) - exact, SHOWN)
    residual = solution.residual("equation", np.array([[t, x]]))[0]
    assert_close(tip(page, map_of("residual"))[1]["residual"], residual, SHOWN)
    page.run(f"document.querySelector({json.dumps(map_of('error') + ' .map')}).focus()")
    page.key("ArrowRight", 39)
    assert_close(coordinates(tip(page, map_of("solution"))[0])["t"], t + 1 / 160, 1e-3)
    page.key("Escape", 27)
    assert tip(page, map_of("solution")) == ("", {})


def test_colours_are_those_of_the_values(show, page_of, solutions):
    page, solution = show(page_of("heat")), solutions("heat")
    lines = np.linspace(0, 1, 161)
    grid = solution(t=lines[:, None], x=lines[None, :])
    low, high = (
        (-np.abs(grid).max(), np.abs(grid).max()) if grid.min() < -0.1 * grid.max() else (grid.min(), grid.max())
    )
    for i, j in ((0, 80), (100, 80), (160, 20), (0, 0)):
        share = float((grid[i, j] - low) / (high - low))
        pixel, bar = page.run(
            f"(() => {{ const [p, b] = document.querySelectorAll({json.dumps(map_of('solution') + ' canvas')}); "
            f"const at = (c, x, y) => [...c.getContext('2d').getImageData(x, y, 1, 1).data]; "
            f"return [at(p, Math.round({i / 160} * (p.width - 1)), Math.round({1 - j / 160} * (p.height - 1))), "
            f"at(b, 0, 255 - Math.round({share} * 255))]; }})()"
        )
        assert np.abs(np.subtract(pixel, bar)).max() <= 4, (i, j, pixel, bar)


def test_slices_of_five_dimensions(show, page_of, solutions):
    page, solution = show(page_of("five")), solutions("five")
    place = map_of("solution")
    before = picture(page, place)
    page.set('input[data-axis="x3"]', 7)
    assert picture(page, place) != before
    page.hover(f"{place} .plot-area", 2 / 8, 6 / 8)
    heading, values = tip(page, place)
    assert coordinates(heading) == {"x1": 0.25, "x2": 0.75}
    assert_close(values["u"], solution(0.25, 0.75, 7 / 8, 0.5, 0.5), SHOWN)
    page.set("#fields select", "3", "change")
    assert page.run("[...document.querySelectorAll('input[type=range]')].map((e) => e.dataset.axis)") == [
        "x1",
        "x3",
        "x5",
    ]
    page.set('input[data-axis="x1"]', 1)
    page.hover(f"{place} .plot-area", 1.0, 3 / 8)
    heading, values = tip(page, place)
    assert coordinates(heading) == {"x4": 1.0, "x2": 0.375}
    assert_close(values["u"], solution(0.125, 0.375, 7 / 8, 1.0, 0.5), SHOWN)
    assert_close(
        tip(page, map_of("error"))[1]["error"],
        solution(0.125, 0.375, 7 / 8, 1.0, 0.5) - np.sin(np.pi * np.array([0.125, 0.375, 7 / 8, 1.0, 0.5])).sum(),
        SHOWN,
    )
    assert "9 points along each axis" in page.text("#fields figcaption")
    assert_sound(page)


def test_the_course_in_time_plays_and_can_be_dragged(show, page_of, solutions):
    page, solution = show(page_of("heat")), solutions("heat")
    curve = '.plot[data-kind="solution"]'
    drawn = f"document.querySelector({json.dumps(curve + ' path.solid')}).getAttribute('d')"
    index = "Number(document.querySelector('input[data-axis=t]').value)"
    first = page.run(drawn)
    page.click(".play")
    page.wait(f"{index} >= 3")
    page.click(".play")
    stopped = page.run(index)
    assert page.run(drawn) != first
    page.settle()
    assert page.run(index) == stopped
    page.set("input[data-axis=t]", 80)
    assert page.text(".slider output") == "0.5"
    page.hover(f"{curve} .plot-area", 0.25, 0.5)
    heading, values = tip(page, curve)
    x = coordinates(heading)["x"]
    assert_close(values["u"], solution(t=0.5, x=x), SHOWN)
    assert_close(values["exact"], np.exp(-(np.pi**2) / 8) * np.sin(np.pi * x), SHOWN)
    page.run("document.querySelector('input[data-axis=t]').focus()")
    page.key("ArrowRight", 39)
    assert page.run(index) == 81


def test_complex_and_several_unknowns_are_chosen(show, page_of, solutions):
    page, solution = show(page_of("waves"), 390), solutions("waves")
    curve, residual = '.plot[data-kind="solution"]', '.plot[data-kind="residual"]'
    at = solution(x=np.array([0.5]))
    for component, value in (("Re psi", at["psi"].real), ("Im psi", at["psi"].imag), ("v", at["v"])):
        page.set("#fields select", component, "change")
        page.hover(f"{curve} .plot-area", 0.25, 0.5)
        heading, values = tip(page, curve)
        assert_close(coordinates(heading)["x"], 0.5, 0.01)
        there = solution(x=np.array([coordinates(heading)["x"]]))
        expected = {"Re psi": there["psi"].real, "Im psi": there["psi"].imag, "v": there["v"]}[component]
        assert_close([values[component]], expected, SHOWN)
        assert abs(values[component] - value[0]) < 0.1
    assert page.run("document.querySelector('.plot[data-kind=error]')") is None  # nothing is known of v
    for condition in ("wave", "slope"):
        page.set("#fields .control:nth-of-type(2) select", condition, "change")
        page.hover(f"{residual} .plot-area", 0.5, 0.5)
        heading, values = tip(page, residual)
        expected = solution.residual(condition, np.array([[coordinates(heading)["x"]]]))
        assert_close([values[f"|residual of {condition}|"]], expected, SHOWN)
    assert_sound(page)
    both = show(page_of("heat", "waves"))
    assert both.run("[...document.querySelectorAll('#fields h3')].map((e) => e.textContent)") == ["A: heat", "B: waves"]
    assert_sound(both)


def test_convergence_can_be_pointed_at_and_switched(show, page_of, solutions):
    page, history = show(page_of("heat")), solutions("heat").history
    plot = '.plot[data-against="step"]'
    page.hover(f"{plot} .plot-area", 0.5, 0.5)
    heading, values = tip(page, plot)
    assert heading == "step = 6"
    assert_close(values["loss"], history.steps["loss"][5], SHOWN)
    nearest = min(history.blocks, key=lambda block: abs(block["step"] - 6))
    assert_close(values["L² error"], nearest["l2_error"], SHOWN)
    page.click('.switch[data-key="loss"]')
    page.hover(f"{plot} .plot-area", 0.5, 0.5)
    assert set(tip(page, plot)[1]) == {"loss on fresh points", "L² error"}
    ticks = page.text(f"{plot} svg")
    page.click('.switch[data-key="log"]')
    assert page.text(f"{plot} svg") != ticks
    for key in ("validation_loss", "l2_error"):
        page.click(f'.switch[data-key="{key}"]')
    assert page.text(f"{plot} .plot-empty") == "All lines are switched off."
    assert page.complaints() == []


def test_a_comparison_has_all_runs(show, page_of, solutions):
    page = show(page_of("heat", "other"))
    cells = page.run("[...document.querySelectorAll('.runs tr')].map((r) => [...r.children].map((c) => c.textContent))")
    by_name = {row[0]: row[1:] for row in cells}
    assert by_name["Method"] == ["anagram", "adam"]
    assert by_name["Problem"] == ["heat"]  # said once for both
    assert_close([read(v) for v in by_name["Loss"]], [solutions("heat").loss, solutions("other").loss], 5e-3)
    assert page.run("document.querySelector('td.best') !== null")
    plot = '.plot[data-against="seconds"]'
    lines = f"[...document.querySelectorAll('{plot} path[data-name]')].map((p) => p.dataset.name)"
    assert page.run(lines) == [
        f"{run}  {what}" for run in "AB" for what in ("loss", "loss on fresh points", "L² error")
    ]
    page.click('#convergence .switch[data-key="0"]')
    assert page.run(lines) == [f"B  {what}" for what in ("loss", "loss on fresh points", "L² error")]
    for run, name in enumerate(("heat", "other")):
        page.hover(f"{map_of('solution', run)} .plot-area", 0.5, 0.5)
        assert_close(tip(page, map_of("solution", run))[1]["u"], solutions(name)(t=0.5, x=0.5), SHOWN)
    # The colours are those of the larger errors; the other run has its own when they need not be the same.
    smaller = int(solutions("other").l2_error < solutions("heat").l2_error)
    before = picture(page, map_of("error", smaller))
    page.click('#fields .switch[data-key="same"]')
    assert picture(page, map_of("error", smaller)) != before
    page.click('#fields .switch[data-key="0"]')
    assert page.run("document.querySelectorAll('.panel[data-run=\"0\"]').length") == 0
    assert page.run("document.querySelectorAll('.panel[data-run=\"1\"]').length") == 3


def test_stages_are_marked_also_where_runs_are_compared(show, solutions, tmp_path):
    first, other = solutions("heat"), solutions("other")
    stage, anew = np.array([0] * 4 + [1] * 8), np.arange(12) == 8
    steps = {**first.history.steps, "stage": stage, "anew": anew}
    staged = ag.Solution(None, first.model, first.theta, replace(first.history, steps=steps), first.summary)
    for runs, style in ((staged, ""), ([staged, other], "c1")):
        page = show(write_page(runs, tmp_path / f"page-{style}.html"))
        for against in ("step", "seconds"):
            marks = f'.plot[data-against="{against}"] :is(.band, .mark)'
            kinds = page.run(f"[...document.querySelectorAll('{marks}')].map((e) => e.getAttribute('class').trim())")
            assert kinds == [f"band {style}".strip(), f"mark {style}".strip()]
        assert "Shaded: the sketch" in page.text("#convergence figcaption")
        assert "Dotted lines: the iterate goes back" in page.text("#convergence figcaption")
    page.click('#convergence .switch[data-key="0"]')  # the marks of a run go with its lines
    assert page.run(f"document.querySelectorAll('{marks}').length") == 0


def test_light_and_dark_are_legible(show, page_of):
    paper = "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
    light, dark = show(page_of("heat"), 390), show(page_of("heat"), 390, dark=True)
    assert light.run(paper) > 240
    assert dark.run(paper) < 40
    assert light.run(FAINT) == []
    assert dark.run(FAINT) == []
    light.click("#theme")
    dark.click("#theme")
    assert light.run(paper) < 40
    assert dark.run(paper) > 240
    assert light.run(FAINT) == []
    nameless = (
        "[...document.querySelectorAll('button, select, input, [role=group]')].filter((e) => "
        "!(e.textContent.trim() || e.labels?.length || e.getAttribute('aria-label'))).length"
    )
    assert light.run(nameless) == 0


def test_names_do_not_execute(show, solutions, tmp_path):
    folder = solutions("other").save(tmp_path / "run")
    record = json.loads((folder / "run.json").read_text())
    record["summary"] |= {"problem": EVIL, "method": EVIL, "stopped_because": EVIL, "model": EVIL}
    record |= {"origin": {}, "versions": {EVIL: EVIL}}
    record["unknowns"] = {"axes": {"t": [0, 1], f"x{EVIL}": [0, 1]}, "fields": {EVIL: "real"}, "coefficients": {}}
    (folder / "run.json").write_text(json.dumps(record))
    shutil.copytree(folder, tmp_path / "again")
    for sources in ([folder], [folder, tmp_path / "again"]):
        page = show(write_page(sources, tmp_path / "page.html"), 390)
        page.hover(f"{map_of('solution')} .plot-area", 0.5, 0.5)
        assert EVIL in page.text("h1")
        assert EVIL in page.text(".tip-name")
        assert_sound(page)
        # And if a name were ever read as HTML, its program would be refused.
        page.run(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(EVIL[9:])})")
        page.run(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 3'}))"
        )
        page.settle()
        assert page.run("window.hacked") is None


def test_the_record_can_be_copied(show, solutions, tmp_path):
    folder = solutions("other").save(tmp_path / "a run")
    page = show(write_page(folder, tmp_path / "page.html"))
    page.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.click("details .copy")
    assert json.loads(page.run("window.copied")) == json.loads((folder / "run.json").read_text())
    page.click(".command .copy")
    assert page.run("window.copied") == f"anagram repeat '{folder}'"
    assert page.run("document.querySelector('details').open") is False


def test_the_spectrum_is_shown_where_there_is_one(show, page_of, solutions, tmp_path):
    assert show(page_of("heat")).run("document.getElementById('spectrum').hidden")
    solution = ag.load(solutions("heat").save(tmp_path / "run"))
    looks = {0: 1.0, 4: 1e-1, 10: 1e-2}
    places = 10.0 ** -np.arange(11)
    for step, size in looks.items():
        solution.history.blocks.append({"step": step, "spectrum": (size * places).tolist()})
    solution.history.blocks[-1]["spectrum"][4] = None
    page = show(write_page(solution, tmp_path / "page.html"))
    assert not page.run("document.getElementById('spectrum').hidden")
    for at, look in ((0, 0), (1, 0), (3, 4), (6, 4), (9, 10)):
        page.hover("#spectrum .plot-area", at / 10, 1 - 2 / 10)
        heading, values = tip(page, "#spectrum")
        assert coordinates(heading) == {"step": look, "place": 0.2}
        assert_close(values["σ"], looks[look] * places[2], SHOWN)
    page.hover("#spectrum .plot-area", 1.0, 1 - 4 / 10)
    assert "unknown" in page.text("#spectrum .tip")
    assert_sound(page)


def test_the_ladder_of_a_climb_is_shown(show, solutions, tmp_path):
    solution = solutions("heat")
    rungs = [
        {"parameters": size, "points": 700, "steps": 80, "seconds": 1.0, "validation_loss": residual**2 / 2}
        | {"estimate": residual / 3, "trusted": True, "relative_error": residual / 4, "depth": 2, "cells": True}
        for size, residual in ((151, 1e-3), (301, 1e-5), (290, 2e-5), (547, 1e-7))
    ]
    more = {"tol": 1e-6, "reached": False, "rungs": rungs, "missing": "the residual is largest in 'walls'"}
    climbed = ag.Solution(solution.problem, solution.model, solution.theta, solution.history, solution.summary | more)
    page = show(write_page([climbed], tmp_path / "climb.html"))
    assert page.run("document.querySelectorAll('#ladder .plot svg circle.dot').length") == 2 * 3 * 4
    page.hover('#ladder [data-against="seconds"] .plot-area', 0.999, 0.5)
    heading, values = tip(page, '#ladder [data-against="seconds"]')
    assert heading == "time = 4"
    assert_close(values["estimated relative error"], 1e-7 / 3, 1e-2)
    assert_sound(page)
    assert "Ladder" in page.text("header.top nav")
    assert_sound(show(write_page([climbed, solution], tmp_path / "both.html")))
