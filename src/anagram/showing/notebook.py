"""What a notebook shows of a solution: what was solved, how well, and a picture."""

from __future__ import annotations

import base64
import io
import math
from html import escape
from typing import Any

from anagram.showing.report.figures import solution_figure
from anagram.training.reached import Reached

DPI = 80  # of the picture in a notebook


def solution_html(solution: Reached) -> str:
    """A heading, the equations in LaTeX, the numbers that matter, and the picture."""
    rows = "".join(f"<tr><th>{name}</th><td>{escape(text)}</td></tr>" for name, text in _facts(solution))
    heading = f"<strong>{escape(str(solution.summary['problem']))}</strong>"
    return (
        f'<div class="anagram-solution">{heading}{_equations(solution)}<table>{rows}</table>{_picture(solution)}</div>'
    )


def _equations(solution: Reached) -> str:
    """The conditions of the problem if it is known; as text too, for those who do not typeset LaTeX."""
    problem = solution.problem
    if problem is None:
        return ""
    text = "\n".join(str(problem).splitlines()[1:])
    return f'<div class="anagram-equations" data-text="{escape(text)}">{escape(problem._repr_latex_())}</div>'


def _facts(solution: Reached) -> list[tuple[str, str]]:
    """Names and values, as far as they are known."""
    summary = solution.summary
    tol, relative = summary.get("tol"), summary.get("relative_error_estimate")
    noted = solution.noted_estimate
    relative = noted.get("relative") if relative is None else relative
    facts = []
    if _is_number(tol):
        reached = summary.get("reached")
        said = "reached" if reached is True else "not reached" if reached is False else "aimed at"
        facts.append(("tolerance", f"{tol:g} {said}"))
    if _is_number(relative):
        doubt = "" if noted.get("reliable") else ", not to be relied on"
        facts.append(("estimated relative error", f"{relative:.1e}{doubt}"))
    if _is_number(summary.get("relative_l2_error")):
        facts.append(("true relative error", f"{summary['relative_l2_error']:.1e}"))
    facts += [(escape(name), f"{value:.10g}") for name, value in (summary.get("coefficients") or {}).items()]
    model = f"{summary.get('model', solution.model.spec)}, {solution.model.parameters} parameters"
    return [*facts, ("model", model), ("stopped", str(summary["stopped_because"]))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _picture(solution: Reached) -> str:
    """The picture of the solution as part of the text; nothing where it cannot be drawn."""
    try:
        figure, file = solution_figure(solution), io.BytesIO()
        figure.savefig(file, format="png", dpi=DPI)
    except Exception:  # a notebook goes on without it; plot() says what is wrong
        return ""
    data = base64.b64encode(file.getvalue()).decode("ascii")
    return f'<img alt="the solution" src="data:image/png;base64,{data}">'
