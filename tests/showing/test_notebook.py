"""What notebooks show of problems and solutions."""

import base64
import re

import anagram as ag
from anagram.showing.notebook import solution_html


def shown(solution):
    return re.sub(r"<[^>]*>", " ", solution._repr_html_())


def test_a_solution_shows_its_equations_its_errors_and_its_picture(quick_solution):
    html = quick_solution._repr_html_()
    assert quick_solution.problem._repr_latex_().replace("&", "&amp;") in html
    assert f"true relative error {quick_solution.relative_l2_error:.1e}" in " ".join(shown(quick_solution).split())
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert base64.b64decode(picture)[:4] == b"\x89PNG"


def test_tolerances_and_doubts_are_shown(quick_solution):
    q = quick_solution
    known = {"tol": 1e-6, "reached": False, "relative_error_estimate": 2e-5, "coefficients": {"rate": 0.5}}
    doubted = {"value": 1e-5, "relative": 2e-5, "reliable": False, "reasons": ["thin layers"]}
    solution = ag.Solution(None, q.model, q.theta, q.history, {**q.summary, **known, "error_estimate": doubted})
    text = " ".join(shown(solution).split())
    assert "tolerance 1e-06 not reached" in text
    assert "estimated relative error 2.0e-05, not to be relied on" in text
    assert "rate 0.5" in text
    assert "anagram-equations" not in solution_html(solution)  # without its problem


def test_names_are_texts_and_never_programs(quick_solution):
    q, evil = quick_solution, "<script>alert(1)</script>"
    summary = {**q.summary, "problem": evil, "stopped_because": evil, "model": evil, "coefficients": {evil: 1.0}}
    assert "<script" not in ag.Solution(None, q.model, q.theta, q.history, summary)._repr_html_()


def test_a_problem_shows_what_is_looked_for_and_where():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        law=ag.Condition(lambda u, kappa: kappa * u.d("x", "x")),
        ends=ag.Condition(lambda u, kappa: u, on=line.boundary(), equals=1.0),
        coefficients={"kappa": 1.0},
    )
    latex = problem._repr_latex_()
    assert latex.startswith(r"$\begin{aligned}\text{find}\quad & u \quad\text{on Box(x=(0, 1))}")
    assert r"\kappa u_{x x} = 0" in latex
    assert latex.endswith(r"\end{aligned}$")
