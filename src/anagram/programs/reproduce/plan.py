"""The plan: which problem is solved with which method, network, points and number of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from anagram import catalogue
from anagram.catalogue.burgers import paper_grid
from anagram.errors import SettingError
from anagram.models import MLP
from anagram.statement.domains import GaussLegendre, Redrawn, Sobol
from anagram.statement.problem import Problem
from anagram.training.defaults import default_model
from anagram.training.setting import Setting

METHODS = {
    "anagram": "ANaGRAM",
    "engd": "E-NGD",
    "gd": "GD",
    "adam": "Adam",
    "lbfgs": "L-BFGS",
    "auto": "our default",
}
VISCOSITIES = (1.0, 1e-1, 1e-2, 1e-3)
PROBLEMS = ("laplace-2d", "heat", "laplace-5d", "allen-cahn", "burgers")
STEPS = {
    "laplace-2d": {"anagram": 2000, "engd": 2000, "gd": 20_000, "adam": 20_000, "lbfgs": 2000, "auto": 400},
    "heat": {"anagram": 2000, "engd": 2000, "gd": 20_000, "adam": 20_000, "lbfgs": 2000, "auto": 400},
    "laplace-5d": {"anagram": 1000, "engd": 1000, "gd": 20_000, "adam": 20_000, "lbfgs": 1000, "auto": 400},
    "allen-cahn": {"anagram": 4000, "engd": 1000, "gd": 50_000, "adam": 50_000, "lbfgs": 4000, "auto": 400},
    "burgers": {"anagram": 1000},
}
# The paper's numbers of points in a placement of our own, for the default method.
OUR_POINTS: dict[str, Any] = {
    "laplace-2d": GaussLegendre(30),
    "heat": GaussLegendre(30),
    "laplace-5d": {"equation": Sobol(4000), "walls": Sobol(500)},
    "allen-cahn": {
        "equation": Redrawn(Sobol(900)),
        "initial": Redrawn(Sobol(30)),
        "walls": Redrawn(Sobol(60)),
    },
}
COARSE = 24  # points on an axis of the Burgers grid when the plan is scaled down
# Milliseconds of a step of one seed on two cores: where nothing has been measured yet, the time left is guessed
# from them, corrected by how fast this machine has been so far.
COST = {
    "laplace-2d": {"anagram": 7, "engd": 6, "gd": 4, "adam": 0.6, "lbfgs": 2, "auto": 5},
    "heat": {"anagram": 17, "engd": 18, "gd": 8, "adam": 1.2, "lbfgs": 4, "auto": 15},
    "laplace-5d": {"anagram": 130, "engd": 130, "gd": 60, "adam": 10, "lbfgs": 30, "auto": 130},
    "allen-cahn": {"anagram": 150, "engd": 500, "gd": 25, "adam": 4, "lbfgs": 12, "auto": 200},
    "burgers": {"anagram": 15_000},
}


@dataclass(frozen=True)
class Experiment:
    """A problem and a method, for all seeds: one row of a table of the paper."""

    problem: str
    method: str
    steps: int
    seeds: tuple[int, ...]
    viscosity: float | None = None
    coarse: bool = False

    @property
    def name(self) -> str:
        """The name of its files."""
        viscosity = "" if self.viscosity is None else f"-nu{self.viscosity:g}"
        return f"{self.problem}{viscosity}-{self.method}"

    @property
    def cost(self) -> float:
        """Seconds of all seeds, roughly, on two cores."""
        share = (COARSE / 240) ** 2 if self.coarse else 1.0
        return 1e-3 * COST[self.problem][self.method] * self.steps * len(self.seeds) * share

    def stated(self) -> Problem:
        """The problem with the setting of this row."""
        parameters = {} if self.viscosity is None else {"nu": self.viscosity}
        if self.method == "auto":
            return paper_setting_for_auto(self.problem)
        problem = catalogue.problem(self.problem, paper=True, **parameters)
        setting = problem.setting
        assert setting is not None, "every problem of the plan has a setting of the paper"
        if self.method != "anagram":
            options = {"search": "paper"} if self.method in ("gd", "engd") else {}
            setting = replace(setting.with_method(self.method), options=options)
        if self.coarse:
            # Fewer rows than parameters: the Gram matrix of the parameters is no longer the smaller one.
            options = {**setting.options, "factorisation": "auto"}
            setting = replace(setting, points=paper_grid(COARSE), options=options)
        return problem.restated(setting=replace(setting, steps=self.steps))


def paper_setting_for_auto(name: str) -> Problem:
    """A problem with the paper's network and numbers of points, and all else as the default method has it."""
    model = catalogue.problem(name, paper=True).setting.model
    problem = catalogue.problem(name)
    scale = getattr(default_model(problem), "scale", 1.0)
    network = MLP(*model.widths, activation=model.activation, scale=scale)
    return problem.restated(setting=Setting(network, points=OUR_POINTS[name], steps=400))


def plan(
    problems: Sequence[str] = PROBLEMS,
    methods: Sequence[str] = tuple(METHODS),
    seeds: Sequence[int] = tuple(range(10)),
    scale: float = 1.0,
) -> list[Experiment]:
    """The experiments, problem by problem, in the order of the methods given.

    Args:
        problems: names of problems of the paper.
        methods: names of methods of the paper, and ``auto``.
        seeds: for the first parameters and random points. Burgers is run once for each viscosity, as in the paper, with
            seed 0.
        scale: a factor for the numbers of steps; below 1 the Burgers grid is coarser, too.
    """
    _known("problem", problems, PROBLEMS)
    _known("method", methods, METHODS)
    if not 0 < scale <= 1:
        raise SettingError(f"the scale must be above 0 and at most 1, not {scale:g}")
    if not seeds:
        raise SettingError("at least one seed is needed")
    experiments = []
    seeds = tuple(dict.fromkeys(seeds))
    for problem in dict.fromkeys(problems):
        for method in dict.fromkeys(methods):
            if method not in STEPS[problem]:
                continue
            steps = max(1, round(scale * STEPS[problem][method]))
            if problem == "burgers":
                experiments += [
                    Experiment(problem, method, steps, (0,), viscosity, scale < 1) for viscosity in VISCOSITIES
                ]
            else:
                experiments.append(Experiment(problem, method, steps, seeds))
    if not experiments:
        raise SettingError(f"nothing to do: {', '.join(problems)} with {', '.join(methods)} is not in the paper")
    return experiments


def _known(kind: str, given: Sequence[str], known: Any) -> None:
    if not given:
        raise SettingError(f"at least one {kind} is needed; there are {', '.join(known)}")
    for name in given:
        if name not in known:
            raise SettingError(f"there is no {kind} '{name}' in the paper; there are {', '.join(known)}")
