"""Where the rungs of features begin: with the solution of an earlier rung, and on top of its hidden layers."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anagram.models import MLP, Chebyshev, Enriched, ParametricModel, Waves, trained_layers
from anagram.models.mlp import Network
from anagram.models.separable import SeparableNetwork
from anagram.models.waves import WaveNetwork, by_degree, tails
from anagram.solution import Solution
from anagram.training.guesses import features_near


def layers_of(solution: Solution) -> dict[str, Any] | None:
    """The hidden layers of the network of a solution; None if it has none."""
    spec, module = solution.model.spec, solution.model._module(jnp.asarray(solution.theta))
    if isinstance(spec, Enriched):
        spec, module = spec.model, module.inner
    if not isinstance(spec, MLP) or not isinstance(module, Network):
        return None
    return trained_layers(module, spec.scale)


def tails_of(solution: Solution) -> tuple[float, float]:
    """The tails of a solution whose functions are split between axes, see `anagram.models.waves.tails`; else zeros."""
    spec, module = solution.model.spec, solution.model._module(jnp.asarray(solution.theta))
    if isinstance(module, SeparableNetwork):
        return module.tail(), 0.0
    if not isinstance(spec, Chebyshev | Waves) or not isinstance(module, WaveNetwork):
        return 0.0, 0.0
    fine, coarse = spec.split(solution.model.sought.domain)
    of = by_degree(module.factors.fine, fine), by_degree(module.factors.coarse, coarse)
    return tails(np.asarray(module.weight), np.asarray(module.bias), *of)


def grown(model: ParametricModel, like: Solution, seed: int) -> np.ndarray | None:
    """Parameters of a sum of products that is a smaller one, with a little of what is new in it."""
    module, other = model.module, like.model._module(jnp.asarray(like.theta))
    if not isinstance(module, SeparableNetwork) or not isinstance(other, SeparableNetwork):
        return None
    same = eqx.tree_at(lambda m: m.weight, module, jnp.asarray(other.grown(module.weight.shape, seed)))
    return _with_coefficients_of(like, model, np.array(model.parameters_of(same)))


def fitted(model: ParametricModel, like: Solution) -> np.ndarray | None:
    """Parameters with which features come close to a solution; None where this is not known how to do."""
    names = [u.name for u in model.sought.unknowns]
    shared = _shared(model, like)
    if shared is not None:
        return shared

    def values(x: np.ndarray) -> dict[str, np.ndarray]:
        found = like(x)
        return found if isinstance(found, dict) else {names[0]: found}

    theta = features_near(model, values)
    return None if theta is None else _with_coefficients_of(like, model, theta)


def _with_coefficients_of(like: Solution, model: ParametricModel, theta: np.ndarray) -> np.ndarray:
    """Parameters with the coefficients of a solution; these come first, in units of their first guesses."""
    known, sizes = like.coefficients, model.placement["coefficients"]
    theta[: len(known)] = [known[name] / float(sizes[name]) for name in sorted(known)]
    return theta


def _shared(model: ParametricModel, like: Solution) -> np.ndarray | None:
    """Parameters of the functions that both models have, and zeros; None where they are not made of such functions."""
    module, other = model.module, like.model._module(jnp.asarray(like.theta))
    if not isinstance(module, WaveNetwork) or not isinstance(other, WaveNetwork) or like.coefficients:
        return None
    if module.kinds != other.kinds or not _are_alike(module, other):
        return None
    known = {key: column for column, key in enumerate(_keys(other))}
    weight = np.zeros(module.weight.shape)
    for column, key in enumerate(_keys(module)):
        if key in known:
            weight[:, column] = np.asarray(other.weight)[:, known[key]]
    same = eqx.tree_at(lambda m: (m.weight, m.bias), module, (jnp.asarray(weight), other.bias))
    return np.array(model.parameters_of(same))


def _keys(network: WaveNetwork) -> list[tuple[float, ...]]:
    """What tells the functions of a network apart."""
    return [tuple(row) for row in network.function_keys().tolist()]


def _are_alike(one: WaveNetwork, other: WaveNetwork) -> bool:
    """Whether two networks have the same box, units and bends."""
    known, there = ((network.placement, network.factors.bends) for network in (one, other))
    if jax.tree.structure(known) != jax.tree.structure(there):
        return False
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(known), jax.tree.leaves(there), strict=True))
