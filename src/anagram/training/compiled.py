"""The compiled programs of a run. They depend on equations, model and shapes alone: other runs use them again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch
from anagram.compound.judge import Judge
from anagram.compound.reuse import reuse, shapes_text
from anagram.environment import step_compilation
from anagram.methods import Method
from anagram.training.blocks import run_block
from anagram.training.moving import MovingPoints

Program = Callable[..., Any]
_METHODS: dict[type, int] = {}


@dataclass(frozen=True)
class Compiled:
    """The programs of a run: its beginning, a block of steps, what it is measured by, points that move.

    All of them take the numbers in the operators first.
    """

    begin: Program
    block: Any  # it also says what it returns, by `out_info`
    measure: Program
    moved: Program
    looks: tuple[Program | None, ...]

    @property
    def ready(self) -> tuple[Any, ...]:
        """Those that are compiled already."""
        return (self.begin, self.block, self.measure, *(look for look in self.looks if look is not None))

    def bound(self, numbers: Any) -> Compiled:
        """The same programs for given numbers."""
        return Compiled(
            functools.partial(self.begin, numbers),
            functools.partial(self.block, numbers),
            functools.partial(self.measure, numbers),
            functools.partial(self.moved, numbers),
            tuple(None if look is None else functools.partial(look, numbers) for look in self.looks),
        )


def programs_of_run(
    method: Method, compound: Compound, judge: Judge, moving: Sequence[MovingPoints], batch: Batch, fresh: Batch
) -> Compiled:
    """The programs of a run, compiled now or before."""
    theta = compound.model.theta
    probes = [points.probes(batch) for points in moving]
    told, key = method_text(method), None
    if told is not None:
        kinds = [(type(points).__name__, points.signature) for points in moving]
        shapes = shapes_text(theta, batch, fresh, judge.data, probes)
        key = f"run {compound.fingerprint} {told} {kinds} {shapes}"
    return reuse(key, lambda: _compile(method, compound, judge, moving, probes, batch, fresh))


def method_text(method: Method) -> str | None:
    """What tells a method from others; None if its text does not say all of it."""
    if not _says_all(method):
        return None
    kind = _METHODS.setdefault(type(method), len(_METHODS))  # its name may be that of another class
    return f"{kind} {method!r}"


def _says_all(method: Any) -> bool:
    """Whether the text of a method tells it from all others of its class: not if it carries arrays or functions."""
    return all(
        isinstance(value, int | float | str | None)
        or (isinstance(value, tuple) and all(isinstance(v, int | float | str) for v in value))
        or (isinstance(value, Method) and type(value).__module__.startswith("anagram.") and _says_all(value))
        for value in vars(method).values()
    )


def _compile(
    method: Method,
    compound: Compound,
    judge: Judge,
    moving: Sequence[MovingPoints],
    probes: Sequence[Batch],
    batch: Batch,
    fresh: Batch,
) -> Compiled:
    numbers, theta, count = compound.numbers, compound.model.theta, jnp.asarray(0)

    def begin(numbers: Any, theta: Any, batch: Batch) -> Any:
        return method.init(compound.with_numbers(numbers), theta, batch)

    def block(numbers: Any, *rest: Any) -> Any:
        return run_block(method, compound.with_numbers(numbers), *rest)

    def moved(numbers: Any, state: Any, batch: Batch) -> Any:
        return method.moved(compound.with_numbers(numbers), state, batch)

    def look(points: MovingPoints) -> Callable[..., Any]:
        return lambda numbers, theta, probes: points.view(compound.with_numbers(numbers), theta, probes)

    layout = compound.layout
    quick_jit, program = layout.quick_jit, layout.program
    beginning = quick_jit(begin).lower(numbers, theta, batch)
    state = beginning.out_info
    looks = [
        program(quick_jit(look(points)).lower(numbers, theta, seen).compile()) if points.has_view else None
        for points, seen in zip(moving, probes, strict=True)
    ]
    # A few steps, with all their time in factorisations, gain nothing from optimisations.
    step = quick_jit if method.steps_are_few else functools.partial(layout.jit, options=step_compilation())
    return Compiled(
        begin=program(beginning.compile()),
        block=program(step(block).lower(numbers, state, batch, count, fresh, count).compile()),
        measure=program(step(judge.measure).lower(numbers, theta, *judge.data).compile()),
        # Where no points move it is seldom needed, and compiled when it is.
        moved=program(step(moved).lower(numbers, state, batch).compile() if moving else quick_jit(moved)),
        looks=tuple(looks),
    )


def logged_columns(programs: Compiled) -> dict[str, np.dtype]:
    """The columns that steps are logged in, with the type of their values."""
    log: dict[str, Any] = programs.block.out_info[1]
    return {key: np.dtype(leaf.dtype) for key, leaf in log.items()}
