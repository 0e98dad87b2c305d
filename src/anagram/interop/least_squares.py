"""Our methods as solvers of ``optimistix.least_squares``: one step of theirs is one step of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Int

from anagram import spectrum
from anagram.errors import SettingError
from anagram.interop.function import FunctionMap
from anagram.methods import Method, make_method

# A loss that no step lowers is at its minimum if no parameter promises more than so many times its rounding error.
# The number is large because a promise is made by J alone: where r is large, its curvature can eat most of it.
ROUNDINGS = 1e3


class SolverState(eqx.Module):
    """The state of the method, the residual and auxiliary output there, the last info, and whether to stop."""

    method_state: Any
    residual: Any
    aux: Any
    info: dict[str, Array]
    accepted: Int[Array, ""]
    terminate: Bool[Array, ""]
    result: optx.RESULTS


class LeastSquares(optx.AbstractLeastSquaresSolver):
    """A method of this package for ``optimistix.least_squares`` (and for ``optimistix.root_find``).

    It stops when a step changes y and the residual by less than `atol` + `rtol` times their size, or when no step
    lowers the loss any more. The latter is a success if the Gauss–Newton step from there is within the tolerances,
    or if no parameter promises more than rounding hides, and ``RESULTS.nonlinear_divergence`` otherwise. A residual
    or derivative that is not finite is ``RESULTS.nonfinite``; a *trial* that is not finite only shortens the step.

    ``options={"jac": "fwd"}`` or ``"bwd"`` of ``least_squares`` chooses how J is differentiated; without it,
    whichever needs fewer sweeps. ``solution.stats`` has the loss ½‖r‖², the number of steps that moved, and the
    last info of the method.

    Args:
        method: a name (see `anagram.methods.METHODS`) or a method object.
        rtol: relative tolerance.
        atol: absolute tolerance. With both tolerances 0 a solve ends at rounding.
        norm: how changes are measured.
        options: options of the method when it is given by name.
    """

    rtol: float
    atol: float
    norm: Callable[[Any], Any]
    method: Method

    def __init__(
        self,
        method: str | Method = "auto",
        rtol: float = 1e-8,
        atol: float = 1e-8,
        norm: Callable[[Any], Any] = optx.max_norm,
        **options: Any,
    ) -> None:
        for name, value in (("rtol", rtol), ("atol", atol)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
                raise SettingError(f"{name} must be a number that is not negative, not {value!r}")
        self.method = make_method(method, **options)
        if self.method.fresh_points:
            name = type(self.method).__name__.lower()
            raise SettingError(
                f"'{name}' wants fresh points at every step, and a function has none: set its option resample=False"
            )
        self.rtol, self.atol, self.norm = float(rtol), float(atol), norm

    def init(
        self, fn: Any, y: Any, args: Any, options: dict[str, Any], f_struct: Any, aux_struct: Any, tags: frozenset
    ) -> SolverState:
        function = _map(fn, y, args, options)
        state = _strong(self.method.init(function, function.theta, function.batch))
        info = jax.eval_shape(lambda s: self.method.step(function, s, function.batch)[1], state)
        residual, aux = fn(y, args)
        finite = jnp.isfinite(state.loss)
        return SolverState(
            method_state=state,
            residual=residual,
            aux=aux,
            info={key: jnp.zeros(leaf.shape, leaf.dtype) for key, leaf in info.items()},
            accepted=jnp.asarray(0),
            terminate=~finite | (state.loss == 0),
            result=optx.RESULTS.where(finite, optx.RESULTS.successful, optx.RESULTS.nonfinite),
        )

    def step(
        self, fn: Any, y: Any, args: Any, options: dict[str, Any], state: SolverState, tags: frozenset
    ) -> tuple[Any, SolverState, Any]:
        function = _map(fn, y, args, options)
        before = state.method_state
        after, info = self.method.step(function, before, function.batch)
        y_before, y_after = function.unravel(before.theta), function.unravel(after.theta)
        residual, aux = fn(y_after, args)
        moved = jnp.any(after.theta != before.theta)
        small = self._small(y_after, _minus(y_after, y_before), residual, _minus(residual, state.residual))
        settled = jax.lax.cond(
            info["stuck"], lambda: self._settled(function, after.theta, y_after, residual), lambda: jnp.asarray(False)
        )
        results = optx.RESULTS
        result = results.where(info["stuck"] & ~settled, results.nonlinear_divergence, results.successful)
        new = SolverState(
            method_state=_strong(after),
            residual=residual,
            aux=aux,
            info=_strong(info),
            accepted=state.accepted + moved,
            terminate=(moved & small) | info["stuck"] | info["failed"] | (after.loss == 0),
            result=results.where(info["failed"], results.nonfinite, result),
        )
        # Theirs is the auxiliary output at the old y; `postprocess` gives the one at the new y.
        return y_after, new, state.aux

    def terminate(
        self, fn: Any, y: Any, args: Any, options: dict[str, Any], state: SolverState, tags: frozenset
    ) -> tuple[Bool[Array, ""], optx.RESULTS]:
        return state.terminate, state.result

    def postprocess(
        self,
        fn: Any,
        y: Any,
        aux: Any,
        args: Any,
        options: dict[str, Any],
        state: SolverState,
        tags: frozenset,
        result: optx.RESULTS,
    ) -> tuple[Any, Any, dict[str, Any]]:
        # `aux` is one step behind; the state has the one that belongs to y.
        stats = {**state.info, "loss": state.method_state.loss, "num_accepted_steps": state.accepted}
        return y, state.aux, stats

    def _small(self, y: Any, y_change: Any, residual: Any, residual_change: Any) -> Bool[Array, ""]:
        """Whether changes of y and of the residual are both within the tolerances."""

        def within(value: Any, change: Any) -> Bool[Array, ""]:
            scaled = jax.tree.map(lambda v, c: jnp.abs(c) / (self.atol + self.rtol * jnp.abs(v)), value, change)
            return self.norm(scaled) < 1

        return within(y, y_change) & within(residual, residual_change)

    def _settled(self, function: FunctionMap, theta: Array, y: Any, residual: Any) -> Bool[Array, ""]:
        """Whether a θ that no step improves is a minimum as far as tolerances and rounding let us see.

        Either the Gauss–Newton step from it is within the tolerances, or no parameter by itself promises to lower
        ‖r‖² by more than rounding hides. Rounding changes r by about ε(|r| + |J||θ|), and ‖r‖² accordingly.
        """
        rows, features = function.features(theta, function.batch)
        step = spectrum.svd(rows, features).truncated(0.0).direction
        small = self._small(y, function.unravel(step), residual, ravel_pytree(residual)[1](features @ step))
        lengths = jnp.sum(features**2, axis=0)
        promised = jnp.max(jnp.where(lengths > 0, (features.T @ rows) ** 2 / jnp.where(lengths > 0, lengths, 1.0), 0.0))
        hidden = jnp.finfo(rows.dtype).eps * jnp.abs(rows) @ (jnp.abs(rows) + jnp.abs(features) @ jnp.abs(theta))
        return small | (promised <= ROUNDINGS * hidden)


def _map(fn: Any, y: Any, args: Any, options: dict[str, Any]) -> FunctionMap:
    return FunctionMap(lambda tree: fn(tree, args)[0], y, options.get("jac"))


def _minus(a: Any, b: Any) -> Any:
    return jax.tree.map(jnp.subtract, a, b)


def _strong(tree: Any) -> Any:
    """The same numbers with types of their own: loops must not promote them."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype=jnp.result_type(leaf)), tree)
