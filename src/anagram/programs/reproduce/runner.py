"""Running an experiment: its seeds side by side where that is faster, saved on the way, continued where it stopped."""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.environment import has_accelerator
from anagram.errors import FileError, PointsWarning
from anagram.keeping.atomic import write_atomically
from anagram.models import ParametricModel
from anagram.programs.reproduce.evaluation import WITHOUT_HALF, Evaluation, Measured
from anagram.programs.reproduce.plan import Experiment
from anagram.programs.reproduce.results import QUANTITIES, Results, Run
from anagram.statement.problem import Problem
from anagram.training.budget import Budget
from anagram.training.defaults import complete
from anagram.training.interrupts import Interrupts
from anagram.training.setting import Setting
from anagram.training.together import Together
from anagram.training.trainer import Trainer

RECORDS = 60  # looks at a run, more of them at its beginning
BLOCK_SECONDS = 5.0
LOOK_SECONDS = 0.02  # between two looks at the default method, which needs few steps
SAVE_SECONDS = 30.0
# One after the other on a CPU: one matrix keeps all its cores busy, and XLA can hang in a factorisation of several
# matrices that sits inside a loop.
FACTORISING = ("anagram", "engd")
PROFILE_TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)

Report = Callable[[float, str], None]


def machine() -> str:
    """What the times were measured on."""
    device = jax.devices()[0]
    if device.platform != "cpu":
        return device.device_kind
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cores} cores, {platform.machine()}"


def looks(steps: int) -> list[int]:
    """The steps at which errors are measured: the first ones, then at growing distances, and the last."""
    grown = np.geomspace(1, max(1, steps), RECORDS // 2)
    even = np.linspace(0, steps, RECORDS // 2)
    return sorted({round(s) for s in (*grown, *even)})


def run_experiment(experiment: Experiment, folder: Path, interrupts: Interrupts, report: Report) -> Results:
    """Run the seeds that are missing; every group of seeds that ends is written at once.

    `report` is called with the fraction of the missing seeds that is done, and a line of text.
    """
    results = Results.read(folder, experiment)
    missing = results.missing
    if not missing:
        return results
    prepared = Prepared(experiment)
    size = group_size(experiment, len(missing))
    groups = [missing[k : k + size] for k in range(0, len(missing), size)]
    for number, seeds in enumerate(groups):

        def report_group(fraction: float, text: str, number: int = number) -> None:
            report((number + fraction) / len(groups), text)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PointsWarning)  # the paper's points are what they are
            if experiment.method == "auto":
                runs = _solve_one(prepared, seeds[0], interrupts, report_group)
            else:
                runs = Group(prepared, seeds, folder).run(interrupts, report_group)
        if runs is None:
            break
        results.runs |= runs
        results.write(folder)
        Group.checkpoint_path(folder, experiment, seeds).unlink(missing_ok=True)
        if interrupts.seen:
            break
    return results


def group_size(experiment: Experiment, seeds: int) -> int:
    """How many seeds are run side by side."""
    if experiment.method == "auto" or (experiment.method in FACTORISING and not has_accelerator()):
        return 1
    return seeds


class Prepared:
    """What all seeds of an experiment share: the problem, the points of the evaluation, and compiled functions."""

    def __init__(self, experiment: Experiment, problem: Problem | None = None) -> None:
        self.experiment, self.problem = experiment, problem or experiment.stated()
        self._measure: Callable[..., Measured] | None = None

    @property
    def setting(self) -> Setting:
        """How the problem is solved."""
        assert self.problem.setting is not None, "experiments state how they are solved"
        return self.problem.setting

    @cached_property
    def evaluation(self) -> Evaluation:
        """Measures as the paper does, all conditions counting the same."""
        if self.experiment.method != "auto":
            return Evaluation(self.problem, sample(self.problem, self.setting.points))
        paper = replace(self.experiment, method="anagram").stated()
        assert paper.setting is not None
        return Evaluation(paper, sample(paper, paper.setting.points))

    def measure(self, model: ParametricModel, thetas: Any) -> Measured:
        """Error and test loss of parameters stacked along the first axis."""
        if self._measure is None:
            compound = Compound(self.evaluation.problem, model)

            def measured(thetas: Any, data: Any) -> Measured:
                return jax.vmap(lambda theta: Evaluation.measure(compound, theta, data))(thetas)

            self._measure = jax.jit(measured)
        return self._measure(thetas, self.evaluation.data)


class Group:
    """Seeds of one experiment, trained side by side by one compiled step."""

    def __init__(self, prepared: Prepared, seeds: list[int], folder: Path) -> None:
        self.prepared, self.seeds, self.folder = prepared, seeds, folder
        self.experiment, self.problem = prepared.experiment, prepared.problem
        self.together = Together(self.problem, prepared.setting, seeds)
        self.model = self.together.model
        self.records: list[tuple[int, float, dict[str, np.ndarray]]] = []
        self.seconds = 0.0

    @property
    def done(self) -> int:
        """Steps taken so far."""
        return self.together.done

    def run(self, interrupts: Interrupts, report: Report) -> dict[int, Run] | None:
        """Train all seeds to the end; None if an interruption came first. The state is then on disk."""
        self._resume()
        planned = looks(self.experiment.steps)
        if self.done in planned and self.done not in (step for step, _, _ in self.records):
            self._record()  # also where an interruption came between a step and the look at it
        pace, saved = None, time.monotonic()
        for look in (s for s in planned if s > self.done):
            while self.done < look:
                pace = self._advance(look, pace)
                error = np.median(self.records[-1][2]["l2_error"])
                report(self.done / self.experiment.steps, f"step {self.done}, error {error:.1e}")
                if interrupts.seen or time.monotonic() - saved > SAVE_SECONDS:
                    self._save()
                    saved = time.monotonic()
                if interrupts.seen:
                    return None
            self._record()
        return self._runs()

    def _advance(self, look: int, pace: float | None) -> float:
        """A few steps, not beyond the next look; the seconds of one."""
        # Two steps first, for an idea of the pace.
        count = min(look - self.done, max(1, int(BLOCK_SECONDS / pace)) if pace else 2)
        started = time.perf_counter()
        self.together.advance(count)
        elapsed = time.perf_counter() - started
        self.seconds += elapsed / len(self.seeds)
        return elapsed / count

    def _record(self) -> None:
        measured = self.prepared.measure(self.model, self.together.state.theta)
        values = {
            "l2_error": measured.l2_error,
            "test_loss": measured.test_loss,
            "loss": WITHOUT_HALF * self.together.state.loss,
        }
        self.records.append((self.done, self.seconds, {key: np.asarray(v) for key, v in values.items()}))

    def _runs(self) -> dict[int, Run]:
        steps = [step for step, _, _ in self.records]
        seconds = [s for _, s, _ in self.records]
        here = machine()
        runs = {}
        for k, seed in enumerate(self.seeds):
            curves = {key: [float(values[key][k]) for _, _, values in self.records] for key in QUANTITIES}
            profile = self._profile(k) if self.experiment.problem == "burgers" else None
            reason = "some steps were not finite" if self.together.failed[k] else "steps used up"
            runs[seed] = Run(steps, seconds, curves, here, reason, profile, together=len(self.seeds))
        return runs

    def _profile(self, k: int) -> dict[str, Any]:
        """The solution and the reference along x, at some times."""
        near = np.geomspace(1e-4, 0.09, 60)
        x = np.unique(np.round(np.concatenate([np.linspace(-1, 1, 81), -near, near]), 6))
        field = self.model.quantities(self.together.state.theta[k], self.problem.domain.frame)["u"]
        lines = {}
        for t in PROFILE_TIMES:
            points = np.stack([np.full_like(x, t), x], axis=1)
            exact = self.problem.exact(points)
            assert exact is not None
            values = np.asarray(jax.vmap(field.at)(jnp.asarray(points)))
            lines[f"{t:g}"] = {
                "u": [float(f"{v:.4g}") for v in values],
                "exact": [float(f"{v:.4g}") for v in exact["u"]],
            }
        return {"x": x.tolist(), "times": lines}

    # -- on the way -----------------------------------------------------------------------------------
    @staticmethod
    def checkpoint_path(folder: Path, experiment: Experiment, seeds: list[int]) -> Path:
        """The file with the state of a group that is not done."""
        return folder / "runs" / f".{experiment.name}-{len(seeds)}-seeds-from-{seeds[0]}.safetensors"

    def _save(self) -> None:
        """Write state and records."""
        from safetensors.numpy import save

        leaves = {f"state{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(self.together.state))}
        steps, seconds, values = zip(*self.records, strict=True)
        arrays = {
            **{key: np.ascontiguousarray(leaf) for key, leaf in leaves.items()},
            "done": np.array(self.done),
            "failed": self.together.failed.astype(np.uint8),
            "spent": np.array(self.seconds),
            "steps": np.array(steps),
            "seconds": np.array(seconds),
            **{key: np.stack([v[key] for v in values]) for key in QUANTITIES},
        }
        data = save(arrays, metadata={"plan": json.dumps(self._plan())})
        path = self.checkpoint_path(self.folder, self.experiment, self.seeds)
        write_atomically(path, lambda p: p.write_bytes(data))

    def _plan(self) -> list[Any]:
        return [self.experiment.steps, self.experiment.coarse, self.seeds]

    def _resume(self) -> None:
        from safetensors import SafetensorError, safe_open

        path = self.checkpoint_path(self.folder, self.experiment, self.seeds)
        if not path.exists():
            return
        leaves, tree = jax.tree.flatten(self.together.state)
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                planned = json.loads((file.metadata() or {})["plan"])
            stored = [arrays[f"state{k}"] for k in range(len(leaves))]
            if planned != self._plan() or [s.shape for s in stored] != [np.shape(v) for v in leaves]:
                raise ValueError("it belongs to another plan")
            done, spent, failed = int(arrays["done"]), float(arrays["spent"]), arrays["failed"].astype(bool)
            self.records = [
                (int(step), float(seconds), {key: arrays[key][k] for key in QUANTITIES})
                for k, (step, seconds) in enumerate(zip(arrays["steps"], arrays["seconds"], strict=True))
            ]
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"cannot go on from '{path}': {error}; remove the file to start this part again") from error
        self.seconds = spent
        self.together.restore(jax.tree.unflatten(tree, [jnp.asarray(s) for s in stored]), failed, done)


def _solve_one(prepared: Prepared, seed: int, interrupts: Interrupts, report: Report) -> dict[int, Run] | None:
    """The default method: run as `solve` does it, measured as the others are. None if it was interrupted."""
    steps = prepared.experiment.steps
    setting = complete(prepared.setting, prepared.problem)
    trainer = Trainer(prepared.problem, replace(setting, steps=steps), seed)
    run = Run([], [], {key: [] for key in QUANTITIES}, machine())

    def monitor(record: dict[str, Any]) -> None:
        measured = Measured(*(value[0] for value in prepared.measure(trainer.model, trainer.state.theta[None])))
        run.steps.append(record["step"])
        run.seconds.append(record["seconds"])
        for key, value in zip(QUANTITIES, (*measured, WITHOUT_HALF * record["loss"]), strict=True):
            run.curves[key].append(float(value))
        report(record["step"] / steps, f"step {record['step']}, error {float(measured.l2_error):.1e}")

    solution = trainer.train(Budget(steps), [monitor], LOOK_SECONDS)
    if solution.stopped_because == "interrupted":
        interrupts.seen = True
        return None
    kept = sorted({round(k) for k in np.linspace(0, len(run.steps) - 1, RECORDS)})
    run.steps, run.seconds = [run.steps[k] for k in kept], [run.seconds[k] for k in kept]
    run.curves = {key: [values[k] for k in kept] for key, values in run.curves.items()}
    run.stopped_because = solution.stopped_because
    return {seed: run}
