"""Many seeds side by side: blocks of steps of all of them as one compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch, sample
from anagram.compound.layout import Layout
from anagram.compound.reuse import reuse, shapes_text
from anagram.methods import Method
from anagram.models import ParametricModel
from anagram.statement.problem import Problem
from anagram.training.compiled import method_text
from anagram.training.setting import Setting


class _Programs(NamedTuple):
    """The beginning, and a block of steps; numbers in operators first."""

    begin: Callable[..., Any]
    block: Callable[..., Any]


class Together:
    """Seeds of one setting, trained side by side.

    `state` is that of the method with a leading axis of seeds, `done` the number of steps, and `failed` says for which
    seeds some step was not finite.
    """

    def __init__(self, problem: Problem, setting: Setting, seeds: Sequence[int]) -> None:
        models = [ParametricModel(problem.sought, setting.model, seed) for seed in seeds]
        self.model, self.compound = models[0], Compound(problem, models[0], layout=Layout())
        self.batch, axis = _stacked([sample(problem, setting.points, seed=seed) for seed in seeds])
        thetas, method = jnp.stack([model.theta for model in models]), setting.make_method()
        told, shapes = method_text(method), shapes_text(thetas, self.batch)
        key = None if told is None else f"together {axis} {self.compound.fingerprint} {told} {shapes}"
        programs = reuse(key, lambda: _compile(method, self.compound, thetas, self.batch, axis))
        self._block = programs.block
        self.state = programs.begin(self.compound.numbers, thetas, self.batch)
        self.failed, self.done = np.zeros(len(seeds), dtype=bool), 0

    def advance(self, count: int) -> None:
        """So many steps of every seed."""
        numbers = self.compound.numbers
        self.state, failed = jax.block_until_ready(self._block(numbers, self.state, self.batch, count))
        self.failed = self.failed | np.asarray(failed)
        self.done += count

    def restore(self, state: Any, failed: np.ndarray, done: int) -> None:
        """Go on from what was kept of the same seeds."""
        self.state, self.failed, self.done = state, failed, done


def _compile(method: Method, compound: Compound, thetas: Any, batch: Batch, axis: int | None) -> _Programs:
    def begin(numbers: Any, thetas: Any, batch: Batch) -> Any:
        bound = compound.with_numbers(numbers)
        return jax.vmap(lambda theta, own: method.init(bound, theta, own), in_axes=(0, axis))(thetas, batch)

    def block(numbers: Any, state: Any, batch: Batch, count: Any) -> Any:
        bound = compound.with_numbers(numbers)
        step = jax.vmap(lambda state, own: method.step(bound, state, own), in_axes=(0, axis))

        def body(_: Any, carry: Any) -> Any:
            state, failed = carry
            state, info = step(state, batch)
            return state, failed | info["failed"]

        return jax.lax.fori_loop(0, count, body, (state, jnp.zeros(len(thetas), dtype=bool)))

    beginning = jax.jit(begin).lower(compound.numbers, thetas, batch)
    lowered = jax.jit(block).lower(compound.numbers, beginning.out_info, batch, 1)
    return _Programs(beginning.compile(), lowered.compile())


def _stacked(batches: list[Batch]) -> tuple[Batch, int | None]:
    """One batch for all seeds if they have the same points, else all of them along a leading axis."""
    first = batches[0]
    same = all(
        all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(other), strict=True))
        for other in batches[1:]
    )
    if same:
        return first, None
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *batches), 0
