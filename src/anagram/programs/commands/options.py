"""What ``--set`` can change: options of the problem, the model, the points and the method, in words."""

from __future__ import annotations

import inspect
import re
from typing import Any

from anagram.programs.commands.common import escape, out

ASKED = ("help", "?", "list")
OF_MODEL = {
    "model": "mlp, fourier or polynomial",
    "width": "of all hidden layers: width=64",
    "depth": "how many hidden layers there are",
    "widths": "of hidden layers one by one: widths=40,20",
    "activation": "tanh, sin, gaussian, ...",
    "init": "how first parameters are drawn",
    "scale": "of first parameters",
    "order": "of a Fourier series: waves along an axis",
    "degree": "of a polynomial",
    "basis": "of a polynomial: legendre or chebyshev",
}
OF_RUN = {"points": "how many there are in all: points=4000", "steps": "at most so many"}


def print_options(target: str | None, method: str | None) -> None:
    """All keys that ``--set`` takes for a problem and a method, with their defaults and what they mean."""
    from anagram.methods import METHODS
    from anagram.programs.loading import problem_parameters

    chosen = method if method in METHODS else "auto"
    of_problem = {} if target is None else problem_parameters(target)
    groups = [
        (f"the problem {target}", {key: (value, "") for key, value in of_problem.items()}),
        ("the model", {key: (None, words) for key, words in OF_MODEL.items()}),
        ("the run", {key: (None, words) for key, words in OF_RUN.items()}),
        (f"the method {chosen}", _of_method(METHODS[chosen])),
    ]
    for name, options in groups:
        if options:
            out.print(f"[bold]Options of {escape(name)}[/]", highlight=False)
        for key, (default, words) in options.items():
            value = key if default is None else f"{key}={default}"
            out.print(f"  {escape(value):24} {escape(words)}".rstrip(), highlight=False)
    others = ", ".join(name for name in METHODS if name != chosen)
    out.print(f"Other methods have others: --method M --set help, M one of {others}.", highlight=False)


def _of_method(kind: Any) -> dict[str, tuple[Any, str]]:
    """Defaults of the options of a method, and the first sentence that is said of each."""
    said = _arguments(inspect.getdoc(kind) or "")
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: (p.default, said.get(p.name, "")) for p in parameters if p.default is not inspect.Parameter.empty}


def _arguments(text: str) -> dict[str, str]:
    """The arguments that a docstring explains, each with its first sentence."""
    _, _, below = text.partition("Args:\n")
    found = re.findall(r"^ {4}(\w+): (.*(?:\n {8,}.*)*)", below, re.MULTILINE)
    return {name: re.split(r"(?<=[.;:]) ", " ".join(words.split()))[0].rstrip(".;:") for name, words in found}
