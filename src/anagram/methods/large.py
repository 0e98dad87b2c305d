"""The default method for many parameters: its steps from products J·v and Jᵀ·w, without any matrix of size P×P.

The steps (JᵀJ + λI) p = −Jᵀr, the search for the edge, the acceleration and the walk are those of
`anagram.methods.auto`. Systems are solved by conjugate gradients, with a preconditioner of some modes that are found
at random at every step (`anagram.spectrum.iterative`). Memory is a few hundred vectors as long as θ, and what devices
send to each other is one such vector for each product.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from anagram.compound import ResidualMap, Unformed
from anagram.compound.batch import Batch
from anagram.errors import SettingError
from anagram.methods.advance import Family, Front, StepRule, advance
from anagram.methods.auto import Auto
from anagram.spectrum.iterative import Iterative, Nystrom, nystrom

TRIALS, SOLVE = 5, 5  # of a step, and products of a solve, about
DRAWN = 6_000_011  # random vectors that nothing else is drawn with


class Large(Auto):
    """(JᵀJ + λI) p = −Jᵀr by conjugate gradients, with the smallest λ whose step keeps a part ρ* of its promise.

    Args:
        modes: how many modes of JᵀJ the preconditioner takes out.
        products: products with JᵀJ at most in one solve.
        accuracy: a solve ends when what is left has this fraction of the length of the right-hand side.
        ratio: ρ* while the loss is large; these and the following are those of `anagram.methods.Auto`.
        end_ratio: ρ* at the end.
        growth: a step is at most so many times as long as the last one.
        acceleration: the largest 2‖a‖/‖p‖ at which half of the geodesic acceleration is added; 0 never does.
        precision: how closely the edge is found, in log λ.
    """

    modes: int = eqx.field(static=True)
    products: int = eqx.field(static=True)
    accuracy: float = eqx.field(static=True)

    def __init__(
        self,
        modes: int = 64,
        products: int = 100,
        accuracy: float = 1e-6,
        ratio: float = 0.075,
        end_ratio: float = 0.5,
        growth: float = 3.0,
        acceleration: float = 0.75,
        precision: float = 0.1,
    ) -> None:
        super().__init__(ratio, end_ratio, growth=growth, acceleration=acceleration, precision=precision, sketch=0)
        for name, value in (("modes", modes), ("products", products)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SettingError(f"{name} must be a whole number, at least 1, not {value!r}")
        if isinstance(accuracy, bool) or not isinstance(accuracy, int | float) or not 0 < accuracy < 1:
            raise SettingError(f"accuracy must lie between 0 and 1, not {accuracy!r}")
        self.modes, self.products, self.accuracy = modes, products, float(accuracy)

    def memory(self, parameters: int, rows: int) -> int:
        # Random vectors, their products, modes and what an SVD of them takes; vectors of a solve and of a walk.
        return 8 * parameters * (6 * min(self.modes, parameters) + 32)

    def sent(self, parameters: int, rows: int) -> int:
        # Products for the modes, and those of the solves: a handful of trials, two solves each.
        return 8 * (parameters + 1) * (min(self.modes, parameters) + 2 * TRIALS * SOLVE)

    def _loss(self, compound: ResidualMap, theta: Float[Array, " params"], batch: Batch) -> Float[Array, ""]:
        return 0.5 * compound.square(theta, batch)

    def _advance(
        self, compound: ResidualMap, front: Front, batch: Batch, rule: StepRule
    ) -> tuple[Front, dict[str, Array]]:
        after, info = advance(compound, front, batch, rule, self._family)
        return after, {name: value for name, value in info.items() if name != "squared"}

    def _family(self, compound: ResidualMap, front: Front, batch: Batch, rule: StepRule) -> Family:
        """Damped steps by products with JᵀJ."""
        linear = Unformed(compound, front.theta, batch)
        size = front.theta.size
        # The same random vectors at every step: they are as good as others, and runs repeat.
        modes: Nystrom = nystrom(linear.normal_times, size, min(self.modes, size), jax.random.key(DRAWN))
        dampings = Iterative(linear.normal_times, linear.gradient, modes, self.accuracy, self.products)
        return Family(linear, dampings, jnp.sum(modes.values), jnp.zeros(()), False)
