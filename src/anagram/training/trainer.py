"""One run of a method: blocks of steps, what they say, and why they end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound, processes
from anagram.compound.batch import Batch, checked_seed, count_rows, in_round_numbers, point_rules, sample, warn_if_few
from anagram.compound.judge import Judge, Measured
from anagram.errors import AnagramError, PointsWarning, ProblemError, ProcessError, RunWarning, SettingError
from anagram.models import ParametricModel, count_parameters
from anagram.models.waves import WaveNetwork
from anagram.statement.arguments import parameter_names
from anagram.statement.condition import check_finite
from anagram.statement.domains import PointSet
from anagram.statement.problem import Problem
from anagram.training.adaptive import AdaptivePoints
from anagram.training.budget import BLOCK, Budget, block_length, is_check
from anagram.training.compiled import logged_columns, programs_of_run
from anagram.training.defaults import default_points
from anagram.training.guesses import features_near, fitting_problem, with_coefficients
from anagram.training.history import History
from anagram.training.interrupts import Interrupts
from anagram.training.memory import (
    is_for_memory,
    out_of_memory,
    refuse_too_large,
    refuse_what_does_not_fit,
    run_bytes,
)
from anagram.training.moving import Iterate, MovingPoints
from anagram.training.pool import Pool, RedrawnPoints, batch_of
from anagram.training.reached import Reached
from anagram.training.runstate import Best, RunState
from anagram.training.setting import Setting
from anagram.training.tangent_points import TangentPoints

WORTH_SAYING = 10.0  # times as large as it was, and the loss on fresh points is worth a warning
CONVERGED = 1e-8  # a run that stops by itself has converged if the loss fell by this factor, else it is stuck

GUESSING = 80  # steps at most in which a network is fitted to a first guess

Monitor = Callable[..., Any]


class Trainer:
    """One run: model, batch, method and judge, and the compiled functions that work on them.

    `start` are other first parameters; `result` makes what `solution` returns. What can be refused is refused before
    anything is compiled; a run that is not compiled yet has no state.
    """

    def __init__(
        self,
        problem: Problem,
        setting: Setting,
        seed: int,
        start: Reached | np.ndarray | None = None,
        result: Callable[..., Reached] = Reached,
        *,
        compile_now: bool = True,
    ) -> None:
        self.result = result
        self.problem, self.setting, self.seed = problem, setting, checked_seed(seed)
        self.method = setting.make_method()
        refuse_too_large(self.method, count_parameters(setting.model, problem.sought), 0)
        self.model = ParametricModel(problem.sought, setting.model, self.seed)
        self.start: np.ndarray | None = None
        if isinstance(start, Reached):
            if start.model.sought.unknowns != problem.unknowns or start.domain.axes != problem.domain.axes:
                raise SettingError("the solution to start from has other unknowns or axes than the problem")
            start = start.theta
        self.begin_with(start if start is not None else self._guessed())
        self.compound = Compound(problem, self.model)
        inside = default_points(problem, self.method, self.model.parameters)
        wanted = setting.points
        if wanted is None and isinstance(self.model.module, WaveNetwork) and not self.method.fresh_points:
            wanted = self.model.module.resolving_rule(problem.domain.axes)
        rules = point_rules(problem, wanted, inside, random=self.method.fresh_points)
        self.pool = Pool(problem, rules, self.seed, BLOCK) if self.method.fresh_points else None
        kinds: tuple[MovingPoints, ...] = (
            RedrawnPoints(problem, {} if self.pool else rules, self.seed),
            TangentPoints(self.compound, {} if self.pool else rules, self.seed),
            AdaptivePoints(self.compound, rules),
        )
        self.moving = tuple(points for points in kinds if points.conditions)
        self.batch = sample(problem, rules, seed=self.seed)
        self.points = sum(len(part.x) for part in self.batch.values())
        refuse_too_large(self.method, self.model.parameters, count_rows(self.batch))
        if self.pool is None and not any(points.are_new for points in self.moving):
            warn_if_few(self.batch, self.model.parameters)
        if self.method.steps_are_few and not self.moving:
            self.batch = in_round_numbers(self.batch)  # compiling takes longer than all of its steps
        self.batch = self.compound.layout.put(self.batch)
        self.judge = Judge(self.compound, self.batch, self.seed, rules)
        self.history = History()
        self.best: Best | None = None
        self.seconds = self.compile_seconds = 0.0
        self.device_bytes = 0  # that the run takes on each device, once it is compiled
        self.state: Any = None
        if compile_now:
            self.compile()

    def _guessed(self) -> np.ndarray | None:
        """First parameters near the first guess of the problem; None if it has none."""
        values = self.problem.guess
        if values is None:
            return None
        found = features_near(self.model, values)
        if found is not None:
            return found
        options = {"sketch": 0, "restarts": 0}
        setting = Setting(self.setting.model, "auto", options, steps=GUESSING)
        fit = Trainer(fitting_problem(self.problem, values), setting, self.seed)
        fit.train(Budget(GUESSING), quiet=True)
        return with_coefficients(self.model, np.asarray(fit.state.theta))

    def begin_with(self, start: np.ndarray | None) -> None:
        """Take other first parameters, if there are some, before anything is compiled."""
        if start is not None:
            self.start = np.asarray(start)
            self.model.adopt(self.start)

    def compile(self) -> None:
        """Compile what is not compiled yet, and begin."""
        try:
            self._compile()
        except (MemoryError, jax.errors.JaxRuntimeError) as error:
            _refuse_lost(error)
            raise SettingError(out_of_memory(error, self.model.parameters, count_rows(self.batch))) from error

    def _compile(self) -> None:
        started = time.perf_counter()
        compound, fresh = self.compound, self._fresh()[0]
        programs = programs_of_run(self.method, compound, self.judge, self.moving, self.batch, fresh)
        self.logged = {**logged_columns(programs), "seconds": np.dtype(float)}
        parameters = self.model.parameters
        self.device_bytes = run_bytes(programs.ready, self.method, parameters, count_rows(self.batch))
        refuse_what_does_not_fit(self.device_bytes, self.method, parameters)
        programs = programs.bound(compound.numbers)
        self._block, self._measure, self._moved = programs.block, programs.measure, programs.moved
        for points, look in zip(self.moving, programs.looks, strict=True):
            points.look = look
        self.state = programs.begin(self.model.theta, self.batch)
        self.compile_seconds = time.perf_counter() - started
        if not np.isfinite(self.state.loss):
            self._explain_start()

    def _explain_start(self) -> None:
        """The first loss is not finite: name a condition and a point."""
        for key, part in self.batch.items():
            rows = jax.vmap(lambda p, key=key: self.compound.point_rows(key, self.model.theta, p))(part)
            values = np.asarray(rows).sum(axis=1)
            check_finite(
                values, self.problem.domain.axes, np.asarray(part.x), f"condition '{key}' for the initial model"
            )
        raise ProblemError("the loss of the initial model overflows: scale the sources or the weights down")

    def train(
        self,
        budget: Budget,
        monitors: Sequence[Monitor] = (),
        look_every: float | None = None,
        keep: str = "last",
        goal: Callable[[Trainer], str | None] | None = None,
        quiet: bool = False,
    ) -> Reached:
        """Run blocks of steps until the budget, the goal, the method or a monitor says stop.

        Monitors look at the run about every `look_every` seconds. A run that breaks off, by an error of the user's
        functions or for want of memory, ends with what was reached before.
        """
        monitors, pace = list(monitors), None
        with Interrupts() as interrupts:
            if not self.history.blocks:
                self._look({})
                self._tell(monitors)
            goal = goal or (lambda _: None)
            reason = "interrupted" if processes.any_of(interrupts.seen) else self._reason(budget)
            if reason is None and self.history.count:  # it may have been stopped just before it was asked
                reason = goal(self)
            while reason is None:
                try:
                    self._advance(block_length(budget, self.history.count, self.seconds, pace, look_every))
                except ProcessError:
                    raise
                except (AnagramError, MemoryError, jax.errors.JaxRuntimeError) as error:
                    _refuse_lost(error)
                    reason = self._broken_off(error)
                    break
                pace = self.record["seconds_per_step"]
                # A monitor is heard also where the run ends here: it may be a rung, and others would follow.
                stop = processes.any_of(self._tell(monitors))
                reason = "interrupted" if processes.any_of(interrupts.seen) else self._reason(budget) or goal(self)
                if stop and reason != "interrupted":
                    reason = "stopped by a monitor"
        if not quiet:
            _warn_if_overfitted(self.history.blocks[0]["loss"], self.record)
            if keep == "last":
                _warn_if_past_its_best(self.best, self.record)
        return self.solution(reason, keep)

    @property
    def record(self) -> dict[str, Any]:
        """What the last look at the run saw."""
        return self.history.blocks[-1]

    def run_state(self) -> RunState:
        """All that the run goes on from, between two blocks."""
        points = {name: array for moving in self.moving for name, array in moving.arrays().items()}
        return RunState(
            self.state, self.batch, bool(self.moving), points, self.history, self.seconds, self.best, self.start
        )

    def restore(self, state: RunState) -> None:
        """Go on from a state that a run of the same configuration gave."""
        for moving in self.moving:
            moving.restore(state.points)
        self.state, self.batch, self.history = state.method, state.batch, state.history
        self.seconds, self.best = state.seconds, state.best

    def solution(self, reason: str = "not stopped yet", keep: str = "last") -> Reached:
        """What has been reached: the last parameters, or those that are best on fresh points."""
        theta, losses = self.state.theta, self.record
        if keep == "best" and self.best is not None and self.best.validation_loss < losses["validation_loss"]:
            theta = jnp.asarray(self.best.theta)
            losses = self._losses(theta, float(self._moved(self.state._replace(theta=theta), self.batch).loss))
        reached = self.result(
            problem=self.problem,
            model=self.model,
            theta=np.asarray(theta),
            history=self.history,
            summary=self._summary(reason, theta, losses),
        )
        # Points that have moved are where the solution needs them; others can be drawn again.
        reached.batch = self.batch if self.moving and self.pool is None else None
        return reached

    def _broken_off(self, error: Exception) -> str:
        """Why a run could not go on; its last block is looked at if that was not done yet."""
        if self.history.count > self.record["step"]:
            try:
                self._look({})
            except (MemoryError, jax.errors.JaxRuntimeError):
                self.history.blocks.append({**self.record, "step": self.history.count, "seconds": self.seconds})
        known = isinstance(error, AnagramError)
        why = str(error) if known else out_of_memory(error, self.model.parameters, count_rows(self.batch))
        return f"failed: {why}; what was reached before is kept"

    def _tell(self, monitors: list[Monitor]) -> bool:
        """Show the last record to all monitors; one that returns True stops the run, one that fails is dropped."""
        stop = False
        for monitor in tuple(monitors):
            try:
                answer = monitor(self.record, self) if _wants_run(monitor) else monitor(self.record)
            except Exception as error:
                monitors.remove(monitor)
                message = f"a monitor failed and is not called again: {type(error).__name__}: {error}"
                warnings.warn(message, RunWarning, stacklevel=3)
                continue
            stop |= isinstance(answer, bool | np.bool_) and bool(answer)
        return stop

    def _advance(self, length: int) -> None:
        started = time.perf_counter()
        fresh, place = self._fresh()
        until_moved = (points.steps_left(self.history.count) or BLOCK for points in self.moving)
        length = min(length, BLOCK - place, *until_moved)
        state, log, taken = self._block(self.state, self.batch, jnp.asarray(length), fresh, jnp.asarray(place))
        taken = int(taken)  # what goes wrong on a device is said here
        elapsed = processes.of_first(time.perf_counter() - started)
        log = {key: np.asarray(values)[:taken] for key, values in log.items()}
        self.state = state  # only now: if another process has gone, state and history are still of the same step
        self.history.extend(log, self.seconds + elapsed * np.arange(1, taken + 1) / taken)
        self.seconds += elapsed
        self.history.note_stages()
        self._move_points()
        self._look({"seconds_per_step": elapsed / taken, **{k: v[-1].tolist() for k, v in log.items()}})

    def step_batch(self) -> Batch:
        """The points of the next step."""
        return batch_of(self.batch, *self._fresh())

    def _fresh(self) -> tuple[Batch, int]:
        """The points drawn for the steps to come, and the place of the next step among them."""
        return ({}, 0) if self.pool is None else self.pool.at(self.history.count)

    def _move_points(self) -> None:
        """Let points move where it is time to; a sketch keeps those it has."""
        if not self.moving or self.history.sketching:
            return
        started = time.perf_counter()
        for points in self.moving:
            theta, loss = self.method.iterate(self.state)
            at = Iterate(theta, loss, lambda theta=theta: self._measure(theta, *self.judge.data).validation_loss)
            batch = points.after(self.history.count, at, self.batch)
            if batch is None:
                continue
            self.batch = self.compound.layout.put(batch)
            self.state = self._moved(self.state, self.batch)
            if not points.noisy:
                self.history.moved_at = self.history.count
        self.seconds += processes.of_first(time.perf_counter() - started)

    def _look(self, info: dict[str, Any]) -> None:
        """Measure the parameters and append what is seen to the history."""
        losses = self._losses(self.state.theta, float(self.state.loss))
        count = self.history.count
        self.history.blocks.append(
            {"step": count, "seconds": self.seconds, **losses, **{k: v for k, v in info.items() if k != "loss"}}
        )
        fresh = losses["validation_loss"]
        if is_check(count) and np.isfinite(fresh) and (self.best is None or fresh < self.best.validation_loss):
            self.best = Best(count, fresh, np.asarray(self.state.theta))

    def _losses(self, theta: Any, loss: float) -> dict[str, Any]:
        measured = self._measure(theta, *self.judge.data)
        return {
            "loss": loss,
            "validation_loss": float(measured.validation_loss),
            "l2_error": _known(measured.l2_error),
            "relative_l2_error": _known(measured.relative_l2_error),
        }

    def _reason(self, budget: Budget) -> str | None:
        """Why to stop now, if so; the rules that look at losses are asked at checks only."""
        record = self.record
        if record.get("failed"):
            return "failed: the step is not finite; the parameters are those before it"
        check = is_check(self.history.count)
        if record.get("stuck"):
            # Gauss and Newton's method ends where the model is as close as it comes, be that near or far.
            if self.method.steps_are_few or record["loss"] <= CONVERGED * self.history.blocks[0]["loss"]:
                return "converged: no step lowers the loss much any more"
            return "stuck: no step lowers the loss; try another seed, model or method"
        if self.history.count >= budget.steps:
            return "steps used up"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return "time used up"
        return self._without_progress(budget) if check else None

    def _without_progress(self, budget: Budget) -> str | None:
        early, best = budget.early_stopping, self.best
        if early is not None and best is not None and self.history.count >= best.step + early:
            return f"stopped early: the loss on fresh points was lowest {self.history.count - best.step} steps ago"
        noisy = self.pool is not None or any(p.noisy for p in self.moving) or self.method.may_rise
        waited = self.history.waited_in_vain(
            budget.patience, budget.least_progress, noisy=noisy, best_at=0 if best is None else best.step
        )
        return None if waited is None else f"stagnant: no progress in {waited} steps"

    def _summary(self, reason: str, theta: Any, losses: dict[str, Any]) -> dict[str, Any]:
        measured: Measured = self._measure(theta, *self.judge.data)
        best = self.best
        if best is None or self.record["validation_loss"] < best.validation_loss:
            best = Best(self.history.count, self.record["validation_loss"], np.zeros(0))
        return {
            "problem": self.problem.name,
            "method": self.setting.method
            if isinstance(self.setting.method, str)
            else type(self.method).__name__.lower(),
            "seed": self.seed,
            "model": repr(self.setting.model),
            "steps": self.history.count,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            **{k: losses[k] for k in ("loss", "validation_loss", "l2_error", "relative_l2_error")},
            "condition_losses": {key: float(measured.condition_losses[key]) for key in self.problem.soft},
            # Where points are given there are no others: these losses are on the points of the run itself.
            "given_points": [k for k in self.problem.conditions if isinstance(self.problem.region(k), PointSet)],
            "parameters": self.model.parameters,
            "points": self.points,
            "rows": count_rows(self.batch),
            "devices": self.compound.layout.count,
            "device_bytes": self.device_bytes,
            "coefficients": self.model.coefficients(theta),
            "best": {"step": best.step, "validation_loss": best.validation_loss},
            "stopped_because": reason,
        }


def _refuse_lost(error: Exception) -> None:
    """Where processes share a run, an error of devices that is not for want of memory is a process that has gone."""
    if processes.are_several() and isinstance(error, jax.errors.JaxRuntimeError) and not is_for_memory(error):
        raise processes.gone(error) from error


def _warn_if_overfitted(first: float, record: dict[str, Any]) -> None:
    loss, fresh = record["loss"], record["validation_loss"]
    if fresh > 30 * loss and fresh > 1e-8 * first:
        warnings.warn(
            f"the loss on fresh points ({fresh:.1e}) is far above the loss ({loss:.1e}): the model fits its points and "
            "not the equation between them. Use more points or a smaller model; do not trust the loss.",
            PointsWarning,
            stacklevel=3,
        )


def _warn_if_past_its_best(best: Best | None, record: dict[str, Any]) -> None:
    if best is not None and record["validation_loss"] > WORTH_SAYING * best.validation_loss:
        warnings.warn(
            f"the loss on fresh points ({record['validation_loss']:.1e}) was {best.validation_loss:.1e} at step "
            f"{best.step}: keep those parameters with keep='best' (--keep best), or use more points",
            PointsWarning,
            stacklevel=3,
        )


def _wants_run(monitor: Monitor) -> bool:
    """Whether a monitor takes the run beside the record."""
    names = parameter_names(monitor)
    return names is not None and len(names) > 1


def _known(value: Any) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number
