"""Where the rungs of features begin: with the solution of an earlier rung, and on top of its hidden layers."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy import linalg

from anagram.models import MLP, Enriched, ParametricModel, trained_layers
from anagram.models.features import FeatureNetwork
from anagram.models.mlp import Network
from anagram.solution import Solution
from anagram.statement.domains import Kronecker

ROWS = 2  # for each feature, on which values are fitted
GUARD = 1e-9  # of the size of the features: a start needs no more digits


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
    module, sought = model.module, model.sought
    if not isinstance(module, FeatureNetwork) or sought.ansatz or any(u.on or u.along for u in sought.unknowns):
        return None
    x = sought.domain.draw(Kronecker(ROWS * module.weight.shape[1]), np.random.default_rng(0)).x
    values = like(x)
    by_name = values if isinstance(values, dict) else {sought.unknowns[0].name: values}
    columns: list[np.ndarray] = []
    for unknown in sought.unknowns:
        value = np.asarray(by_name[unknown.name])
        columns += [np.real(value), np.imag(value)] if unknown.is_complex else [value]
    place = module.placement
    wanted = (np.stack(columns, axis=1) - np.asarray(place.offset)) / np.asarray(place.size)
    features = module.features(x)
    features = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    count = features.shape[1]
    guarded = np.concatenate([features, GUARD * np.linalg.norm(features) * np.eye(count)])
    sides = np.concatenate([wanted, np.zeros((count, wanted.shape[1]))])
    factor = np.asarray(linalg.qr(np.concatenate([guarded, sides], axis=1), mode="r")[0])[:count]
    found = linalg.solve_triangular(factor[:, :count], factor[:, count:]).T
    fit = eqx.tree_at(lambda m: (m.weight, m.bias), module, (jnp.asarray(found[:, :-1]), jnp.asarray(found[:, -1])))
    theta = np.array(model.parameters_of(fit))
    known = like.coefficients
    if known:
        # Coefficients come first in θ, in units of their first guesses.
        sizes = model.placement["coefficients"]
        theta[: len(known)] = [known[name] / float(sizes[name]) for name in sorted(known)]
    return theta
