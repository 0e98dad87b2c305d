"""Methods that see the gradient ∇ℓ alone: gradient descent with a line search, Adam, L-BFGS, and Adam then L-BFGS."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from anagram.compound import ResidualMap
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.base import Method, State
from anagram.methods.line import Searching, checked_search

if TYPE_CHECKING:
    import optax


class FirstOrder(Method):
    """Methods whose memory is a few vectors as long as θ."""

    def memory(self, parameters: int, rows: int) -> int:
        return 8 * 32 * parameters

    def sent(self, parameters: int, rows: int) -> int:
        return 8 * 4 * (parameters + 1)


class GradientDescent(Searching, FirstOrder):
    """θ ← θ − η ∇ℓ with η from the paper's grid.

    Args:
        search: as in `anagram.methods.Anagram`.
    """

    def __init__(self, search: str = "full") -> None:
        self.search = checked_search(search)

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[State, dict[str, Array]]:
        return self.along(compound, state, batch, -compound.gradient(state.theta, batch))


class OptaxState(NamedTuple):
    """Parameters and loss, the gradient there, and what the transformation of optax remembers."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    gradient: Float[Array, " params"]
    memory: Any


class WithOptax(FirstOrder):
    """Methods that are a gradient transformation of optax."""

    @abc.abstractmethod
    def transformation(self) -> optax.GradientTransformationExtraArgs:
        """The transformation; optax is imported here and nowhere else."""

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> OptaxState:
        loss, gradient = jax.value_and_grad(compound.loss)(theta, batch)
        return OptaxState(theta, loss, gradient, self.transformation().init(theta))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[OptaxState, dict[str, Array]]:
        def loss_at(theta: Array) -> Array:
            return compound.loss(theta, batch)

        change, memory = self.transformation().update(
            state.gradient, state.memory, state.theta, value=state.loss, grad=state.gradient, value_fn=loss_at
        )
        theta = state.theta + change
        loss, gradient = jax.value_and_grad(loss_at)(theta)
        finite = jnp.isfinite(loss) & jnp.all(jnp.isfinite(gradient))
        new = jax.tree.map(
            lambda after, before: jnp.where(finite, after, before), OptaxState(theta, loss, gradient, memory), state
        )
        length = jnp.linalg.norm(change)
        info = {
            "loss": new.loss,
            "step_norm": length,
            "gradient_norm": jnp.linalg.norm(new.gradient),
            "failed": ~finite,
            "stuck": finite & (length == 0.0),
        }
        return new, info

    def moved(self, compound: ResidualMap, state: Any, batch: Batch) -> Any:
        loss, gradient = jax.value_and_grad(compound.loss)(state.theta, batch)
        # What is remembered of other points would be compared with gradients of these.
        return OptaxState(state.theta, loss, gradient, self._remembered(state))

    def _remembered(self, state: OptaxState) -> Any:
        return state.memory


class Adam(WithOptax):
    """Adam with the paper's schedule.

    Args:
        rate: the learning rate at the start.
        drops: the steps at which it is multiplied by `factor`.
        factor: by how much it falls.
    """

    rate: float = eqx.field(static=True)
    drops: tuple[int, ...] = eqx.field(static=True)
    factor: float = eqx.field(static=True)

    def __init__(
        self, rate: float = 1e-3, drops: Sequence[int] = (15_000, 25_000, 35_000, 45_000), factor: float = 0.1
    ) -> None:
        self.rate, self.factor = _positive(rate, "rate"), _positive(factor, "factor")
        drops = (drops,) if isinstance(drops, int) else tuple(drops)
        self.drops = tuple(_whole(step, "drops") for step in drops)

    @property
    def may_rise(self) -> bool:
        return True

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        import optax

        schedule = optax.piecewise_constant_schedule(self.rate, dict.fromkeys(self.drops, self.factor))
        return optax.with_extra_args_support(optax.adam(schedule))


class Lbfgs(WithOptax):
    """L-BFGS with a line search for the strong Wolfe conditions.

    Args:
        remembered: how many pairs of steps and gradients are kept.
        trials: losses at most in a line search.
    """

    remembered: int = eqx.field(static=True)
    trials: int = eqx.field(static=True)

    def __init__(self, remembered: int = 10, trials: int = 20) -> None:
        self.remembered, self.trials = _whole(remembered, "remembered"), _whole(trials, "trials")

    def memory(self, parameters: int, rows: int) -> int:
        return super().memory(parameters, rows) + 8 * 2 * self.remembered * parameters

    def _remembered(self, state: OptaxState) -> Any:
        return self.transformation().init(state.theta)

    def transformation(self) -> optax.GradientTransformationExtraArgs:
        import optax

        search = optax.scale_by_zoom_linesearch(max_linesearch_steps=self.trials, initial_guess_strategy="one")
        return optax.lbfgs(memory_size=self.remembered, linesearch=search)


class AdamLbfgsState(NamedTuple):
    """The state of the method at work, that of the other one, and how many steps were taken."""

    theta: Float[Array, " params"]
    loss: Float[Array, ""]
    adam: OptaxState
    lbfgs: OptaxState
    taken: Int[Array, ""]


class AdamLbfgs(FirstOrder):
    """Adam for the first steps, then L-BFGS from where it came to.

    Args:
        switch: the number of steps of Adam.
        rate: its learning rate.
        remembered: how many pairs of steps and gradients L-BFGS keeps.
    """

    switch: int = eqx.field(static=True)
    first: Adam
    second: Lbfgs

    def __init__(self, switch: int = 1000, rate: float = 1e-3, remembered: int = 10) -> None:
        self.switch = _whole(switch, "switch")
        self.first, self.second = Adam(rate, drops=()), Lbfgs(remembered)

    def memory(self, parameters: int, rows: int) -> int:
        return self.second.memory(parameters, rows)

    @property
    def rate(self) -> float:
        """The learning rate of Adam."""
        return self.first.rate

    @property
    def remembered(self) -> int:
        """How many pairs L-BFGS keeps."""
        return self.second.remembered

    @property
    def may_rise(self) -> bool:
        return True

    def init(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> AdamLbfgsState:
        adam, lbfgs = self.first.init(compound, theta, batch), self.second.init(compound, theta, batch)
        return AdamLbfgsState(theta, adam.loss, adam, lbfgs, jnp.asarray(0))

    def step(self, compound: ResidualMap, state: Any, batch: Batch) -> tuple[AdamLbfgsState, dict[str, Array]]:
        def with_adam() -> tuple[AdamLbfgsState, dict[str, Array]]:
            new, info = self.first.step(compound, state.adam, batch)
            # L-BFGS starts from here, with nothing to remember yet.
            start = state.lbfgs._replace(theta=new.theta, loss=new.loss, gradient=new.gradient)
            return AdamLbfgsState(new.theta, new.loss, new, start, state.taken + 1), info

        def with_lbfgs() -> tuple[AdamLbfgsState, dict[str, Array]]:
            new, info = self.second.step(compound, state.lbfgs, batch)
            return AdamLbfgsState(new.theta, new.loss, state.adam, new, state.taken + 1), info

        return jax.lax.cond(state.taken < self.switch, with_adam, with_lbfgs)

    def moved(self, compound: ResidualMap, state: Any, batch: Batch) -> Any:
        adam = self.first.moved(compound, state.adam, batch)
        lbfgs = self.second.moved(compound, state.lbfgs, batch)
        return state._replace(loss=compound.loss(state.theta, batch), adam=adam, lbfgs=lbfgs)


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise SettingError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingError(f"{name} must be a whole number of steps, at least one, not {value!r}")
    return value
