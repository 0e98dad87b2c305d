"""solve(): the loop over blocks of steps, with monitors and stopping rules."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.adaptive import ADAPT_EVERY, WORSE, AdaptivePoints
from anagram.batch import Batch, Points, checked_seed, count_rows, point_rules, sample, warn_if_few
from anagram.compound import Compound
from anagram.condition import check_finite
from anagram.defaults import complete
from anagram.environment import physical_memory
from anagram.errors import PointsWarning, ProblemError, SettingError
from anagram.evaluation import Judge
from anagram.history import History
from anagram.methods import Method
from anagram.models import ModelSpec, ParametricModel, count_parameters
from anagram.models.spec import spec_to_json
from anagram.pool import Pool, RedrawnPoints, batch_of
from anagram.problem import Problem
from anagram.setting import Setting
from anagram.solution import Solution
from anagram.tangent.points import TangentPoints

BLOCK = 64  # steps at most between two looks at the run
BLOCK_SECONDS = 0.4
CONVERGED = 1e-8  # a run that stops by itself has converged if the loss fell by this factor, else it is stuck

Monitor = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True)
class Budget:
    """When to stop.

    `tol` is compared with the root mean square residual of all conditions on fresh points,
    sqrt(2·validation loss). A run is stagnant when the loss fell by less than the fraction `least_progress` in
    the last `patience` steps.
    """

    steps: int
    seconds: float | None = None
    tol: float | None = None
    patience: int = 100
    least_progress: float = 1e-9

    def __post_init__(self) -> None:
        if isinstance(self.steps, bool) or not isinstance(self.steps, int | np.integer) or self.steps < 0:
            raise SettingError(f"steps must be a whole number that is not negative, not {self.steps!r}")
        for name in ("seconds", "tol"):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < np.inf:
                raise SettingError(f"{name} must be a positive number, not {value!r}")
        if isinstance(self.patience, bool) or not isinstance(self.patience, int) or self.patience < 1:
            raise SettingError(f"patience must be a whole number of steps, at least one, not {self.patience!r}")


def solve(
    problem: Problem,
    model: Any = None,
    method: str | Method | None = None,
    *,
    points: Points = None,
    steps: int | None = None,
    seconds: float | None = None,
    tol: float | None = None,
    seed: int = 0,
    start: Solution | None = None,
    patience: int = 100,
    progress: bool = True,
    monitors: Sequence[Monitor] = (),
    options: Mapping[str, Any] | None = None,
) -> Solution:
    """Solve a problem by training a model with a method.

    Args:
        problem: the conditions to satisfy.
        model: `MLP(...)`, `Fourier(...)`, `Polynomial(...)`, an equinox module, or these by unknown.
        method: a name (see `anagram.methods.METHODS`) or a method object.
        points: rules or a number of points, see `anagram.batch.sample`.
        steps: the largest number of steps.
        seconds: the largest training time, compilation not counted.
        tol: stop when the root mean square residual on fresh points is this small.
        seed: for the model's first parameters and for random points.
        start: a solution of the same model to go on from, in place of fresh parameters.
        patience: stop after this many steps without progress.
        progress: show a progress bar (plain lines where the output is no terminal).
        monitors: functions called with the record of every block.
        options: options of the method when it is given by name.

    What is left out comes from ``problem.setting`` or from defaults. Ctrl-C stops after the current block
    and returns what was reached.
    """
    if start is not None:
        if model is not None:
            raise SettingError("give either model= or start=: a run that goes on has the model of its start")
        model = start.model.spec
    setting = _complete(problem, model, method, points, steps, options, continued=start is not None)
    budget = Budget(setting.steps or 0, seconds, tol, patience)
    if not progress:
        return Trainer(problem, setting, seed, start).train(budget, monitors)
    from anagram.report.progress import Progress

    with Progress(problem, budget) as bar:
        return Trainer(problem, setting, seed, start).train(budget, [*monitors, bar])


def _complete(
    problem: Problem, model: Any, method: Any, points: Any, steps: Any, options: Any, continued: bool
) -> Setting:
    if not isinstance(problem, Problem):
        raise SettingError(
            f"solve needs a Problem, not {type(problem).__name__}; those of the catalogue: catalogue.problem(name)"
        )
    setting = problem.setting or Setting()
    if method is not None:
        setting = setting.with_method(method)
    if continued and setting.method == "auto":
        # There is a solution to begin with, and nowhere else to go.
        options = {"sketch": 0, "restarts": 0, **(options or {})}
    if options:
        setting = replace(setting, options={**setting.options, **options})
    given = {"model": model, "points": points, "steps": steps}
    return complete(replace(setting, **{k: v for k, v in given.items() if v is not None}), problem)


@dataclass(frozen=True)
class Compiled:
    """The compiled functions of a run. They depend on shapes alone: runs with other seeds use them again."""

    begin: Callable[..., Any]
    block: Callable[..., Any]
    measure: Callable[..., Any]
    moved: Callable[..., Any]
    rows: Callable[..., Any] | None
    candidates: Callable[..., Any] | None


def reusable_key(model: Any, method: Method, shapes: Any) -> str | None:
    """What compiled functions depend on; None for models and methods that carry arrays of their own."""
    if not isinstance(model, ModelSpec) or jax.tree.leaves(method):
        return None
    return f"{spec_to_json(model)} {method!r} {shapes}"


class Trainer:
    """One run: model, batch, method and judge, and the compiled functions that work on them."""

    def __init__(self, problem: Problem, setting: Setting, seed: int, start: Solution | None = None) -> None:
        self.problem, self.setting, self.seed = problem, setting, checked_seed(seed)
        self.method = setting.make_method()
        _refuse_too_large(self.method, count_parameters(setting.model, problem.asked), 0)
        self.model = ParametricModel(problem.asked, setting.model, self.seed)
        if start is not None:
            if start.model.asked.unknowns != problem.unknowns or start.domain.axes != problem.domain.axes:
                raise SettingError("the solution to start from has other unknowns or axes than the problem")
            self.model.adopt(start.theta)
        self.compound = Compound(problem, self.model)
        inside = self.method.points_inside(problem, self.model.parameters)
        rules = point_rules(problem, setting.points, inside, random=self.method.fresh_points)
        self.pool = Pool(problem, rules, self.seed, BLOCK) if self.method.fresh_points else None
        self.redrawn = RedrawnPoints(problem, {} if self.pool else rules, self.seed)
        self.batch = sample(problem, rules, seed=self.seed)
        _refuse_too_large(self.method, self.model.parameters, count_rows(self.batch))
        if self.pool is None and not self.redrawn.any:
            warn_if_few(self.batch, self.model.parameters)
        self.judge = Judge(self.compound, self.batch, self.seed)
        self.adaptive = AdaptivePoints(self.compound, rules)
        self.chosen = TangentPoints(self.compound, {} if self.pool else rules, self.seed)
        self._adapted_at = 0
        self.history = History()
        self.seconds = 0.0
        self._compile()

    def _compile(self) -> None:
        started = time.perf_counter()
        fresh, place = self._fresh()
        shapes = jax.tree.map(jnp.shape, (self.model.theta, self.batch, fresh, self.judge.data))
        # Points that move are looked at by functions of their own, also where there are as many of them.
        looks = (*self.adaptive.order.items(), *self.chosen.rules.items())
        key = reusable_key(self.setting.model, self.method, (shapes, looks))
        compiled = self.problem.compiled.get(key) if key else None
        if compiled is None:
            compiled = self._compile_functions(fresh, place)
            if key:
                self.problem.compiled[key] = compiled
        self._block, self._measure, self._moved = compiled.block, compiled.measure, compiled.moved
        self.adaptive.rows_of, self.chosen.look = compiled.rows, compiled.candidates
        self.state = compiled.begin(self.model.theta, self.batch)
        self.compile_seconds = time.perf_counter() - started
        if not np.isfinite(self.state.loss):
            self._explain_start()

    def _compile_functions(self, fresh: Batch, place: int) -> Compiled:
        method, compound, theta = self.method, self.compound, self.model.theta
        begin = jax.jit(lambda theta, batch: method.init(compound, theta, batch)).lower(theta, self.batch).compile()
        state = begin(theta, self.batch)
        block = jax.jit(lambda *arguments: run_block(method, compound, *arguments))
        moved = jax.jit(lambda state, batch: method.moved(compound, state, batch))
        return Compiled(
            begin=begin,
            block=block.lower(state, self.batch, jnp.asarray(0), fresh, jnp.asarray(place)).compile(),
            measure=jax.jit(self.judge.measure).lower(theta, *self.judge.data).compile(),
            moved=moved.lower(state, self.batch).compile(),
            rows=self.adaptive.compile(theta),
            candidates=self.chosen.compile(theta, self.batch),
        )

    def _explain_start(self) -> None:
        """The first loss is not finite: name a condition and a point."""
        for key, part in self.batch.items():
            rows = jax.vmap(lambda p, key=key: self.compound.point_rows(key, self.model.theta, p))(part)
            values = np.asarray(rows).sum(axis=1)
            check_finite(
                values, self.problem.domain.axes, np.asarray(part.x), f"condition '{key}' for the initial model"
            )
        raise ProblemError("the loss of the initial model overflows: scale the sources or the weights down")

    def train(self, budget: Budget, monitors: Sequence[Monitor] = (), look_every: float | None = None) -> Solution:
        """Run blocks of steps until the budget, the goal or the method says stop.

        Monitors look at the run about every `look_every` seconds.
        """
        monitors = list(monitors)
        pace = None
        with Interrupts() as interrupts:
            record = self._record({})
            _show(monitors, record)
            reason = self._reason(budget, record)
            while reason is None:
                record = self._advance(_block_length(budget, self.history.count, self.seconds, pace, look_every))
                pace = record["seconds_per_step"]
                _show(monitors, record)
                reason = "interrupted" if interrupts.seen else self._reason(budget, record)
        _warn_if_overfitted(self.history.blocks[0]["loss"], record)
        return Solution(
            problem=self.problem,
            model=self.model,
            theta=np.asarray(self.state.theta),
            history=self.history,
            summary=self._summary(reason, record),
        )

    def _advance(self, length: int) -> dict[str, Any]:
        started = time.perf_counter()
        fresh, place = self._fresh()
        length = min(
            length,
            BLOCK - place,
            ADAPT_EVERY if self.adaptive.any else BLOCK,
            self.redrawn.steps_left(self.history.count) or BLOCK,
            self.chosen.steps_left(self.history.count) or BLOCK,
        )
        self.state, log, taken = self._block(self.state, self.batch, jnp.asarray(length), fresh, jnp.asarray(place))
        taken = int(taken)
        elapsed = time.perf_counter() - started
        log = {key: np.asarray(values)[:taken] for key, values in log.items()}
        self.history.extend(log, self.seconds + elapsed * np.arange(1, taken + 1) / taken)
        self.seconds += elapsed
        self.history.note_stages()
        self._redraw()
        self._adapt()
        return self._record({"seconds_per_step": elapsed / taken, **{k: v[-1].tolist() for k, v in log.items()}})

    def _fresh(self) -> tuple[Batch, int]:
        """The points drawn for the steps to come, and the place of the next step among them."""
        return ({}, 0) if self.pool is None else self.pool.at(self.history.count)

    def _redraw(self) -> None:
        """Draw or choose new points where it is time to; a sketch keeps those it has."""
        if (self.redrawn.any or self.chosen.any) and not self.history.sketching:
            started = time.perf_counter()
            batch = self.redrawn.draw(self.history.count, self.batch)
            if self.chosen.due(self.history.count):
                batch = self.chosen.choose(self.history.count, self.method.iterate(self.state)[0], batch)
            if batch is not self.batch:
                self.batch = batch
                self.state = self._moved(self.state, self.batch)
            self.seconds += time.perf_counter() - started

    def _adapt(self) -> None:
        """Move points if the loss on fresh points says so."""
        if not self.adaptive.any or self.history.count < self._adapted_at + ADAPT_EVERY or self.history.sketching:
            return
        started = time.perf_counter()
        theta, loss = self.method.iterate(self.state)
        if self._measure(theta, *self.judge.data).validation_loss > WORSE * loss:
            self.batch, moved = self.adaptive.improve(theta, self.batch)
            if moved:
                self.state = self._moved(self.state, self.batch)
                self.history.moved_at = self.history.count
        self._adapted_at = self.history.count
        self.seconds += time.perf_counter() - started

    def _record(self, info: dict[str, Any]) -> dict[str, Any]:
        measured = self.measured = self._measure(self.state.theta, *self.judge.data)
        record = {
            "step": self.history.count,
            "seconds": self.seconds,
            "loss": float(self.state.loss),
            "validation_loss": float(measured.validation_loss),
            "l2_error": _known(measured.l2_error),
            "relative_l2_error": _known(measured.relative_l2_error),
            **{k: v for k, v in info.items() if k != "loss"},
        }
        self.history.blocks.append(record)
        return record

    def _reason(self, budget: Budget, record: dict[str, Any]) -> str | None:
        if record.get("failed"):
            return "failed: the step is not finite; the parameters are those before it"
        if budget.tol is not None and np.sqrt(2 * record["validation_loss"]) <= budget.tol:
            return "tolerance reached"
        if record.get("stuck"):
            if record["loss"] <= CONVERGED * self.history.blocks[0]["loss"]:
                return "converged: no step lowers the loss much any more"
            return "stuck: no step lowers the loss; try another seed, model or method"
        if self.history.count >= budget.steps:
            return "steps used up"
        if budget.seconds is not None and self.seconds >= budget.seconds:
            return "time used up"
        noisy = self.pool is not None or self.redrawn.any or self.chosen.any or self.method.may_rise
        waited = self.history.waited_in_vain(budget.patience, budget.least_progress, noisy=noisy)
        return None if waited is None else f"stagnant: no progress in {waited} steps"

    def _summary(self, reason: str, record: dict[str, Any]) -> dict[str, Any]:
        return {
            "problem": self.problem.name,
            "method": self.setting.method
            if isinstance(self.setting.method, str)
            else type(self.method).__name__.lower(),
            "seed": self.seed,
            "steps": self.history.count,
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            **{k: record[k] for k in ("loss", "validation_loss", "l2_error", "relative_l2_error")},
            "condition_losses": {key: float(self.measured.condition_losses[key]) for key in self.problem.conditions},
            "parameters": self.model.parameters,
            "points": sum(len(part.x) for part in self.batch.values()),
            "rows": count_rows(self.batch),
            "coefficients": self.model.coefficients(self.state.theta),
            "stopped_because": reason,
        }


def run_block(
    method: Method, compound: Compound, state: Any, batch: Batch, count: Any, pool: Batch | None = None, place: Any = 0
) -> tuple[Any, dict[str, Any], Any]:
    """At most `count` steps as one compiled loop; a failed or stuck step ends it. Returns state, log, steps taken.

    Each step takes its own points out of a pool, from a place on, for the conditions that are in it.
    """
    template = jax.eval_shape(lambda s: method.step(compound, s, batch)[1], state)
    log = jax.tree.map(lambda leaf: jnp.zeros((BLOCK, *leaf.shape), leaf.dtype), template)

    def goes_on(carry: Any) -> Any:
        taken, _, _, halted = carry
        return (taken < count) & ~halted

    def body(carry: Any) -> Any:
        taken, state, log, _ = carry
        state, info = method.step(compound, state, batch_of(batch, pool or {}, place + taken))
        log = jax.tree.map(lambda column, value: column.at[taken].set(value), log, info)
        return taken + 1, state, log, info["failed"] | info["stuck"]

    taken, state, log, _ = jax.lax.while_loop(goes_on, body, (jnp.asarray(0), state, log, jnp.asarray(False)))
    return state, log, taken


def _refuse_too_large(method: Method, parameters: int | None, rows: int) -> None:
    """The matrices of a step must fit into memory; say so before any of them is allocated."""
    there = physical_memory()
    if parameters is None or there is None or method.memory(parameters, rows) <= there:
        return
    needed = method.memory(parameters, rows) / 2**30
    fewer = " or fewer points" if method.memory(parameters, 0) <= there else ""
    raise SettingError(
        f"a model with {parameters} parameters needs matrices of about {needed:.0f} GB, this machine has "
        f"{there / 2**30:.0f}: take a smaller model{fewer}"
    )


def _warn_if_overfitted(first: float, record: dict[str, Any]) -> None:
    loss, fresh = record["loss"], record["validation_loss"]
    if fresh > 30 * loss and fresh > 1e-8 * first:
        warnings.warn(
            f"the loss on fresh points ({fresh:.1e}) is far above the loss ({loss:.1e}): the model fits its points and "
            "not the equation between them. Use more points or a smaller model; do not trust the loss.",
            PointsWarning,
            stacklevel=3,
        )


class Interrupts:
    """Ctrl-C, or a request to terminate, asks for a stop after the current block; a second one stops at once.

    Outside the main thread, where signals cannot be caught, nothing changes.
    """

    def __enter__(self) -> Interrupts:
        self.seen = False
        self._before: dict[Any, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM)}
        return self

    def _note(self, *_: Any) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


def _show(monitors: list[Monitor], record: dict[str, Any]) -> None:
    """Call every monitor; one that fails is dropped, the run goes on."""
    for monitor in tuple(monitors):
        try:
            monitor(record)
        except Exception as error:
            monitors.remove(monitor)
            warnings.warn(f"a monitor failed and is not called again: {type(error).__name__}: {error}", stacklevel=3)


def _block_length(budget: Budget, done: int, seconds: float, pace: float | None, look_every: float | None) -> int:
    if pace is None:
        return min(budget.steps - done, 1)
    length = max(1, min(BLOCK, int((look_every or BLOCK_SECONDS) / max(pace, 1e-9))))
    if budget.seconds is not None:
        length = max(1, min(length, int((budget.seconds - seconds) / max(pace, 1e-9))))
    return min(budget.steps - done, length)


def _known(value: Any) -> float | None:
    number = float(value)
    return None if np.isnan(number) else number
