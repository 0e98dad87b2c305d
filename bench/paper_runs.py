"""Training the seeds of a trial side by side, within a budget of seconds; what is not finished goes on later."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from anagram import PointsWarning
from anagram.compound import Compound
from anagram.keeping.atomic import write_atomically
from anagram.models import ParametricModel
from anagram.programs.reproduce.evaluation import WITHOUT_HALF, Evaluation
from anagram.programs.reproduce.runner import looks, machine
from anagram.training.together import Together
from paper_trials import Trial

BLOCK_SECONDS = 4.0
SAVE_SECONDS = 60.0
QUANTITIES = ("l2_error", "test_loss", "loss")


class Deadline(NamedTuple):
    """When to stop, on the monotonic clock."""

    at: float

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.at - time.monotonic()


class Group:
    """Seeds of one trial, trained side by side."""

    def __init__(self, trial: Trial, seeds: list[int], folder: Path, steps: int) -> None:
        self.trial, self.seeds, self.steps = trial, seeds, steps
        self.path = folder / f"{trial.name}-{'-'.join(map(str, seeds))}.npz"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PointsWarning)  # the paper's points are what they are
            self.together = Together(trial.stated, trial.setting, seeds)
        model, self.batch = self.together.model, self.together.batch
        if trial.draws == "authors":
            thetas = jnp.stack([jnp.asarray(trial.theta(seed, None)) for seed in seeds])
            # Random points are those of the seed in any case.
            axis = 0 if np.ndim(self.batch["equation"].x) == 3 else None
            method, compound = trial.setting.make_method(), self.together.compound
            begin = jax.jit(jax.vmap(lambda theta, own: method.init(compound, theta, own), in_axes=(0, axis)))
            self.together.restore(begin(thetas, self.batch), np.zeros(len(seeds), dtype=bool), 0)
        self.measure, self.data = _measuring(trial, model)
        self.records: list[tuple[int, dict[str, list[float]]]] = []
        self.seconds = 0.0
        self._resume()

    def run(self, deadline: Deadline) -> bool:
        """Train to the end or until the time is up; whether it is the end."""
        planned = looks(self.steps)
        if not self.records:
            self._look()
        pace, saved = None, time.monotonic()
        for look in (step for step in planned if step > self.together.done):
            while self.together.done < look:
                if deadline.left < (pace or 0.0) * 2 + 1.0:
                    self._save()
                    return False
                count = min(look - self.together.done, max(1, int(BLOCK_SECONDS / pace)) if pace else 2)
                started = time.perf_counter()
                self.together.advance(count)
                spent = time.perf_counter() - started
                self.seconds, pace = self.seconds + spent, spent / count
                if time.monotonic() - saved > SAVE_SECONDS:
                    self._save()
                    saved = time.monotonic()
            self._look()
        self.path.unlink(missing_ok=True)
        return True

    def lines(self) -> list[dict[str, Any]]:
        """One record for each seed, with its curves."""
        steps = [step for step, _ in self.records]
        common = {"part": self.trial.part, "trial": self.trial.name, "problem": self.trial.problem}
        how = {"points": self.trial.points, "draws": self.trial.draws, "of": self.steps, "step": self.together.done}
        where = {"machine": machine(), "together": len(self.seeds), "seconds": round(self.seconds / len(self.seeds), 2)}
        return [
            {
                **common,
                **how,
                "seed": seed,
                "finished": self.together.done >= self.steps,
                "failed": bool(self.together.failed[k]),
                **where,
                "steps": steps,
                **{q: [float(f"{values[q][k]:.3g}") for _, values in self.records] for q in QUANTITIES},
            }
            for k, seed in enumerate(self.seeds)
        ]

    def _look(self) -> None:
        state = self.together.state
        measured = self.measure(state.theta, self.data)
        values = {"l2_error": measured.l2_error, "test_loss": measured.test_loss, "loss": WITHOUT_HALF * state.loss}
        self.records.append((self.together.done, {q: np.asarray(v).tolist() for q, v in values.items()}))

    # -- on the way -----------------------------------------------------------------------------------
    def _save(self) -> None:
        leaves: dict[str, Any] = {
            f"leaf{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(self.together.state))
        }
        told = json.dumps({"records": self.records, "done": self.together.done, "seconds": self.seconds})
        self.path.parent.mkdir(parents=True, exist_ok=True)

        def write(path: Path) -> None:
            with path.open("wb") as file:
                np.savez(file, told=np.array(told), failed=self.together.failed, **leaves)

        write_atomically(self.path, write)

    def _resume(self) -> None:
        if not self.path.exists():
            return
        state, tree = jax.tree.flatten(self.together.state)
        with np.load(self.path) as kept:
            told = json.loads(str(kept["told"]))
            leaves = [jnp.asarray(kept[f"leaf{k}"], dtype=leaf.dtype) for k, leaf in enumerate(state)]
            failed = kept["failed"]
        self.records = [(step, values) for step, values in told["records"]]
        self.seconds = told["seconds"]
        self.together.restore(jax.tree.unflatten(tree, leaves), failed, told["done"])


_MEASURING: dict[str, Any] = {}


def _measuring(trial: Trial, model: ParametricModel) -> Any:
    """The error and the test loss of stacked parameters, compiled once a trial, and the points for it."""
    if trial.name not in _MEASURING:
        compound = Compound(trial.stated, model)
        measured = jax.jit(jax.vmap(lambda theta, data: Evaluation.measure(compound, theta, data), (0, None)))
        _MEASURING[trial.name] = measured, trial.evaluation()
    return _MEASURING[trial.name]


def append(path: Path, lines: list[dict[str, Any]]) -> None:
    """One JSON line each, written at once: several programs may write to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def read(path: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """The furthest record of every trial and seed."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            key = (record["trial"], record["seed"])
            if key not in found or record["step"] >= found[key]["step"]:
                found[key] = record
    return found
