"""Where the rungs of features begin: with the solution of an earlier rung, and on top of its hidden layers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from anagram.models import MLP, Enriched, ParametricModel, trained_layers
from anagram.models.mlp import Network
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


def fitted(model: ParametricModel, like: Solution) -> np.ndarray | None:
    """Parameters with which features come close to a solution; None where this is not known how to do."""
    names = [u.name for u in model.sought.unknowns]

    def values(x: np.ndarray) -> dict[str, np.ndarray]:
        found = like(x)
        return found if isinstance(found, dict) else {names[0]: found}

    theta, known = features_near(model, values), like.coefficients
    if theta is not None and known:
        # Coefficients come first in θ, in units of their first guesses.
        sizes = model.placement["coefficients"]
        theta[: len(known)] = [known[name] / float(sizes[name]) for name in sorted(known)]
    return theta
