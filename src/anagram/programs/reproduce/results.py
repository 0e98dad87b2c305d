"""Results of experiments on disk: one JSON file for each, with the curves of every seed, and their statistics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from anagram.errors import FileError
from anagram.keeping.atomic import json_text, write_atomically
from anagram.keeping.records import is_number, is_whole
from anagram.programs.reproduce.plan import METHODS, PROBLEMS, Experiment
from anagram.untrusted import read_json, read_text

QUANTITIES = ("l2_error", "test_loss", "loss")
STATISTICS = ("median", "minimum", "maximum", "mean", "std")


@dataclass
class Run:
    """One seed: quantities at some of its steps, and the training seconds until then."""

    steps: list[int]
    seconds: list[float]
    curves: dict[str, list[float]]
    machine: str
    stopped_because: str = "steps used up"
    profile: dict[str, Any] | None = None
    together: int = 1  # seeds that were trained side by side; each has its share of the time

    @property
    def seconds_per_step(self) -> float:
        """Training time of a step."""
        return self.seconds[-1] / max(1, self.steps[-1])

    def last(self, quantity: str) -> float:
        """The value at the end."""
        return self.curves[quantity][-1]


@dataclass
class Results:
    """All runs of one experiment that are there."""

    experiment: Experiment
    runs: dict[int, Run] = field(default_factory=dict)

    @property
    def missing(self) -> list[int]:
        """Seeds that have not been run."""
        return [seed for seed in self.experiment.seeds if seed not in self.runs]

    def chosen(self) -> list[Run]:
        """The runs of the seeds of the experiment."""
        return [self.runs[seed] for seed in self.experiment.seeds if seed in self.runs]

    def statistics(self, quantity: str) -> dict[str, float]:
        """Median, minimum, maximum, mean and standard deviation of the last values over the seeds."""
        values = np.array([run.last(quantity) for run in self.chosen()])
        functions = (np.median, np.min, np.max, np.mean, sample_deviation)
        return {name: float(f(values)) for name, f in zip(STATISTICS, functions, strict=True)}

    @property
    def machine(self) -> str:
        """Where the runs were made, and how many side by side."""
        places = dict.fromkeys(
            run.machine + (f", {run.together} seeds side by side" if run.together > 1 else "") for run in self.chosen()
        )
        return " and ".join(places)

    def median_seconds(self) -> tuple[float, float]:
        """Seconds of a step and of a whole run."""
        runs = self.chosen()
        return float(np.median([r.seconds_per_step for r in runs])), float(np.median([r.seconds[-1] for r in runs]))

    # -- files ----------------------------------------------------------------------------------------
    def write(self, folder: Path) -> None:
        """Write to the folder of the results; seeds that another process has written there meanwhile stay."""
        self.runs = {**Results.read(folder, self.experiment).runs, **self.runs}
        data = {
            **_identity(self.experiment),
            "runs": {
                str(seed): {
                    "machine": run.machine,
                    "stopped_because": run.stopped_because,
                    "together": run.together,
                    "steps": run.steps,
                    "seconds": [float(f"{s:.4g}") for s in run.seconds],
                    **{key: [float(f"{v:.3g}") for v in values] for key, values in run.curves.items()},
                    **({"profile": run.profile} if run.profile else {}),
                }
                for seed, run in sorted(self.runs.items())
            },
        }
        text = json_text(data, indent=None)
        write_atomically(self.path(folder, self.experiment), lambda p: p.write_text(text + "\n", encoding="utf-8"))

    @staticmethod
    def path(folder: Path, experiment: Experiment) -> Path:
        """The file of an experiment."""
        return folder / "runs" / f"{experiment.name}.json"

    @classmethod
    def read(cls, folder: Path, experiment: Experiment) -> Results:
        """What there is of an experiment, nothing if it has never been run."""
        path = cls.path(folder, experiment)
        try:
            data = read_json(read_text(path))
            identity = {key: data[key] for key in _identity(experiment)}
            runs = {int(seed): _run_from(run) for seed, run in data["runs"].items()}
        except FileNotFoundError:
            return cls(experiment)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
            raise FileError(f"cannot read the results in '{path}': {error}; remove the file to run it again") from error
        if identity != _identity(experiment):
            raise FileError(
                f"'{path}' holds runs of {identity['steps']} steps and the plan asks for {experiment.steps}: "
                "choose another folder for another scale"
            )
        return cls(experiment, runs)


def all_results(folder: Path) -> list[Results]:
    """All experiments of a folder with all their seeds, in the order of the plan."""
    found = []
    for path in sorted((folder / "runs").glob("*.json")):
        try:
            data = read_json(read_text(path))
            if not is_whole(data["steps"]) or not (data["viscosity"] is None or is_number(data["viscosity"])):
                raise ValueError("its steps or its viscosity are none")
            experiment = Experiment(
                data["problem"],
                data["method"],
                data["steps"],
                tuple(sorted(int(seed) for seed in data["runs"])),
                data["viscosity"],
                data["coarse"],
            )
            known = experiment.problem in PROBLEMS and experiment.method in METHODS
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"cannot read the results in '{path}': {error}; remove the file to run it again") from error
        if known:
            found.append(Results.read(folder, experiment))
    methods = list(METHODS)

    def place(results: Results) -> tuple:
        experiment = results.experiment
        return (
            PROBLEMS.index(experiment.problem),
            -(experiment.viscosity or 0.0),
            methods.index(experiment.method),
        )

    return sorted(found, key=place)


def sample_deviation(values: np.ndarray) -> float:
    """The standard deviation as the paper has it, with n − 1 in the denominator; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _identity(experiment: Experiment) -> dict[str, Any]:
    return {
        "problem": experiment.problem,
        "method": experiment.method,
        "steps": experiment.steps,
        "viscosity": experiment.viscosity,
        "coarse": experiment.coarse,
    }


def _run_from(data: dict[str, Any]) -> Run:
    def numbers(key: str) -> list[float]:
        return [float("nan") if v is None else float(v) for v in data[key]]

    run = Run(
        steps=[int(s) for s in data["steps"]],
        seconds=numbers("seconds"),
        curves={key: numbers(key) for key in QUANTITIES},
        machine=str(data["machine"]),
        stopped_because=str(data["stopped_because"]),
        profile=_profile_from(data.get("profile")),
        together=int(data.get("together", 1)),
    )
    if not run.steps or len({len(run.steps), len(run.seconds), *map(len, run.curves.values())}) != 1:
        raise ValueError("a run without steps, or with curves of different lengths")
    return run


def _profile_from(data: Any) -> dict[str, Any] | None:
    """Values along x at some times."""
    if data is None:
        return None
    x = [float(v) for v in data["x"]]
    times = {
        str(time): {name: [float(v) for v in lines[name]] for name in ("u", "exact")}
        for time, lines in data["times"].items()
    }
    together = np.array([x, *(line for lines in times.values() for line in lines.values())])
    if together.shape[1] < 2 or not np.all(np.isfinite(together)) or not np.all(np.diff(x) > 0):
        raise ValueError("a profile that is none")
    return {"x": x, "times": times}


def paper_numbers() -> dict[str, Any]:
    """What the paper prints, by problem and method."""
    return json.loads(resources.files("anagram.programs.reproduce").joinpath("paper.json").read_text(encoding="utf-8"))


def of_problem(results: list[Results], problem: str) -> Iterator[Results]:
    """Those that have runs of a problem."""
    return (r for r in results if r.experiment.problem == problem and r.chosen())
