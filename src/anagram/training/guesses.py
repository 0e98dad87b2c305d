"""First guesses: parameters with which a model comes close to a function that is known, before it is trained.

A nonlinear problem may have several solutions, or one that is hard to find from nothing: `Problem(guess=...)` says near
which function to begin. Features are fitted by a linear least-squares problem, other models in a few steps of
their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy import linalg

from anagram.errors import SettingError
from anagram.models import ParametricModel
from anagram.models.features import FeatureNetwork
from anagram.models.inputs import Kind, places
from anagram.models.waves import WaveNetwork
from anagram.statement.condition import Condition, OnPoints
from anagram.statement.domains import Kronecker
from anagram.statement.problem import Problem
from anagram.statement.unknowns import Unknown

ROWS = 2  # for each feature, on which values are fitted
GUARD = 1e-9  # of the size of the features: a start needs no more digits

Values = Callable[[np.ndarray], Mapping[str, np.ndarray]]


def features_near(model: ParametricModel, values: Values) -> np.ndarray | None:
    """Parameters with which features come close to functions that are known; None for anything but features."""
    module, sought = model.module, model.sought
    if (
        not isinstance(module, FeatureNetwork | WaveNetwork)
        or sought.ansatz
        or any(u.on is not None or u.along for u in sought.unknowns)
    ):
        return None
    x = sought.domain.draw(Kronecker(ROWS * module.weight.shape[1]), np.random.default_rng(0)).x
    if isinstance(module, WaveNetwork):
        x = _crowded_at_ends(x, module)
    by_name = values(x)
    columns: list[np.ndarray] = []
    for unknown in sought.unknowns:
        value = np.asarray(by_name[unknown.name])
        columns += [np.real(value), np.imag(value)] if unknown.is_complex else [np.real(value)]
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
    return np.array(model.parameters_of(fit))


def _crowded_at_ends(x: np.ndarray, network: WaveNetwork) -> np.ndarray:
    """Even points, moved to where polynomials of a high degree must be known: on other points fits of them blow up."""
    low, length = np.asarray(network.placement.low), np.asarray(network.placement.length)
    moved = x.copy()
    for column, axis in enumerate(places(network.kinds, Kind.OPEN)):
        z, bend = -np.cos(np.pi * (x[:, axis] - low[axis]) / length[axis]), network.bend(column)
        moved[:, axis] = low[axis] + length[axis] * (1 + (z if bend is None else bend.back(z))) / 2
    return moved


def fitting_problem(problem: Problem, values: Values) -> Problem:
    """Find the unknowns that have known values, with all that holds exactly in a problem."""
    conditions = {key: c for key, c in problem.conditions.items() if c.exact}
    for unknown in problem.unknowns:
        conditions[f"guess of {unknown.name}"] = Condition(
            _reads(unknown.name), unknown.on, OnPoints(lambda x, unknown=unknown: _value(values(x), unknown))
        )
    kinds: dict[str, Any] = {
        u.name: (complex if u.is_complex else float, *([] if u.on is None else [u.on])) for u in problem.unknowns
    }
    return Problem(problem.domain, conditions, unknowns=kinds, name=f"{problem.name}, its first guess")


def _reads(name: str) -> Callable[..., Any]:
    return lambda **fields: fields[name]


def _value(values: Mapping[str, np.ndarray], unknown: Unknown) -> np.ndarray:
    found = np.asarray(values[unknown.name])
    return found if unknown.is_complex else np.real(found)


def with_coefficients(model: ParametricModel, fitted: np.ndarray) -> np.ndarray:
    """The parameters of a model from those of the same one without coefficients, which come first."""
    own = np.asarray(model.theta)[: len(model.sought.coefficients)]
    if own.size + fitted.size != model.parameters:
        raise SettingError("the model of the first guess is not that of the problem")
    return np.concatenate([own, fitted])
