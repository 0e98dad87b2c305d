"""Settling: the last steps of a fit to noisy data.

A run ends where the loss falls no more, and with noise the loss is noise: parameters may still be several standard
errors away from those that fit best. Steps of Gauss and Newton's method are taken until they move nothing by more than
a small part of its standard error. Between them rows are weighted anew: outliers by their size (iteratively reweighted
least squares), data by the noise that their residuals show, priors by the marginal likelihood.

Then equations are tightened: κ falls (see `anagram.statement.noise`), as long as the model can follow. Were equations
satisfied but for what the noise of the data asks of them, their rows would have ‖r‖²/ε² ≤ tr(J_d (JᵀJ)⁻¹ J_dᵀ), the
number of parameters that data determine. More than that is what a network cannot represent, and it would push
coefficients aside: the last κ without it is kept. The posterior there is the answer.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch, enough_points, point_rules, row_scale, sample
from anagram.compound.reuse import reuse, shapes_text
from anagram.errors import ProblemError
from anagram.methods.newton import Newton
from anagram.models import ParametricModel
from anagram.statement.domains import GaussLegendre, Kronecker, PointRule
from anagram.statement.domains.rules import MOST_NODES
from anagram.statement.noise import TRAINED, Levels, first_levels, threshold, tightness
from anagram.statement.problem import Problem
from anagram.statement.sizes import in_natural_sizes, natural_sizes
from anagram.tangent.evidence import best_factors
from anagram.tangent.posterior import Posterior

KAPPAS = (TRAINED, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
SAME = 0.01  # of the parameters that data determine: a smaller κ that changes less is of no use
ROUNDS = 40  # of weights
STEPS = 40  # of Gauss and Newton's method with the same weights
AT_REST, LOOKED_AT = 0.2, 128  # standard errors that the second half of these may move, and points to look at
GAIN = 1e-3  # in units of squares of standard errors: steps that promise less end a round
LEVELS, WEIGHTS, PRIORS = 1e-3, 0.02, 0.1  # relative changes of noise, of the weights of outliers, and of priors
CLIMBS, AGAIN = 6, 2  # rounds in which the weights of priors are chosen, at first and with every other κ
PRIOR_SHARE = 4  # points of an equation for each of a prior
NORMAL_MAD = 1.4826  # standard deviations of a Gaussian that is known by its median absolute deviation


@dataclass(frozen=True)
class Settled:
    """A fit that has come to rest.

    Attributes:
        theta: the parameters.
        posterior: what the data leave open.
        levels: σ of each measured value, given or estimated.
        spread: by data condition, root mean square of its residuals in units of σ, degrees of freedom counted.
        freedom: values less the parameters that they determine.
        priors: by prior, the factor by which its weight was changed.
        kappa: κ at which equations were held.
        bent: ‖r‖²/ε² of equations beside what the noise of the data explains; above one the model does not follow.
        steps: how many were taken.
        at_rest: whether the last of them moved nothing any more.
    """

    theta: np.ndarray
    posterior: Posterior
    levels: Levels
    spread: Mapping[str, float]
    freedom: float
    priors: Mapping[str, float]
    kappa: float
    bent: float
    steps: int
    at_rest: bool

    @property
    def determined(self) -> float:
        """How many parameters the data determine."""
        return float(sum(self.posterior.shares[key] for key in self.levels))


@dataclass
class _Weights:
    """What rows are weighted by, between two rounds."""

    levels: dict[str, np.ndarray]
    outliers: dict[str, np.ndarray] = field(default_factory=dict)
    priors: dict[str, float] = field(default_factory=dict)
    kappa: float = TRAINED

    def copy(self, kappa: float) -> _Weights:
        """The same with another κ."""
        return _Weights(dict(self.levels), dict(self.outliers), dict(self.priors), kappa)


class Settling:
    """A fit on fixed points: equations in natural sizes, data by their likelihood.

    `trained` has the points of the run of another statement of the same problem: they may have moved to where they are
    needed.
    """

    def __init__(
        self,
        problem: Problem,
        model: ParametricModel,
        points: int | None = None,
        seed: int = 0,
        trained: tuple[Problem, Batch] | None = None,
    ) -> None:
        if not problem.measured:
            raise ProblemError(
                "no condition has noise: say which values are measured, and how well, as in "
                "Condition(lambda u: u, on=box.points(...), equals=values, noise=0.01), or noise='estimate'"
            )
        self.problem = in_natural_sizes(problem, natural_sizes(problem))
        self.model = model
        self.compound = Compound(self.problem, model)
        if trained is not None:
            self.batch = _in_sizes_of(self.problem, *trained)
        else:
            inside = max(int(points or 0), enough_points(self.problem, model.parameters))
            self.batch = sample(self.problem, _rules(self.problem, inside), seed)
        key = f"settle {self.compound.fingerprint} {shapes_text(self.batch)}"
        programs = reuse(key, lambda: _programs(self.compound))
        self._begin, self._step, self._rows, self._triangles, self._values = (
            functools.partial(program, self.compound.numbers) for program in programs
        )

    def weighted(self, weights: _Weights, *, outliers: bool = True) -> Batch:
        """The batch with rows weighted so."""
        tight, batch = self.tightness(weights), dict(self.batch)
        for key, sigma in weights.levels.items():
            scale = tight / sigma
            if outliers and key in weights.outliers:
                scale = scale * np.sqrt(weights.outliers[key])
            batch[key] = batch[key]._replace(scale=jnp.asarray(scale))
        for key, factor in weights.priors.items():
            batch[key] = batch[key]._replace(scale=self.batch[key].scale * (np.sqrt(factor) * weights.kappa / TRAINED))
        return batch

    def __call__(self, theta: Any) -> Settled:
        """Settle from some parameters."""
        weights = _Weights({key: np.array(v) for key, v in first_levels(self.problem).items()})
        weights.priors = dict.fromkeys(self.problem.priors, 1.0)
        found: Settled | None = None
        for kappa in KAPPAS:
            tried = weights.copy(kappa)
            other = self._settled(found.theta if found is not None else theta, tried, found.steps if found else 0)
            if found is not None and (other.bent > 1 or not other.at_rest):
                break
            same = found is not None and found.determined - other.determined < SAME * max(1.0, other.determined)
            found, weights = other, tried
            if same:
                break
        assert found is not None
        return found

    def _settled(self, theta: Any, weights: _Weights, steps: int) -> Settled:
        """Settle with one κ; the weights change."""
        theta, climbs, half = jnp.asarray(theta, dtype=float), 0, None
        for _ in range(ROUNDS):
            theta, taken, half = self._fitted(theta, weights)
            steps += taken
            changed = self._weigh_anew(theta, weights)
            if self.problem.priors and not changed and climbs < (CLIMBS if weights.kappa == TRAINED else AGAIN):
                climbs += 1
                changed = self._weigh_priors(theta, weights)
            if not changed:
                break
        posterior = self.posterior(theta, weights)
        spread, freedom = self._spread(theta, weights, posterior)
        return Settled(
            np.asarray(theta),
            posterior,
            weights.levels,
            spread,
            freedom,
            weights.priors,
            weights.kappa,
            self._bent(theta, weights, posterior),
            steps,
            half is None or self._moved(half, theta, posterior) <= AT_REST,
        )

    def _bent(self, theta: Any, weights: _Weights, posterior: Posterior) -> float:
        rows = self._rows(theta, self.weighted(weights))
        equations = [key for key in self.problem.soft if key not in (*self.problem.measured, *self.problem.priors)]
        squares = sum(float(jnp.sum(rows[key] ** 2)) for key in equations) / self.tightness(weights) ** 2
        return squares / max(1.0, sum(posterior.shares[key] for key in self.problem.measured))

    def tightness(self, weights: _Weights) -> float:
        """ε with some weights."""
        return tightness(self.problem, weights.levels, weights.kappa)

    def _fitted(self, theta: Any, weights: _Weights) -> tuple[Any, int, Any]:
        """Steps with the same weights, until one gains nothing; and the parameters half way, if none did so."""
        batch, tight = self.weighted(weights), self.tightness(weights)
        state = self._begin(theta, batch)
        if not np.isfinite(state.loss):
            raise ProblemError("the residual is not finite: the fit cannot be settled")
        half = None
        for count in range(1, STEPS + 1):
            before = float(state.loss)
            state, log = self._step(state, batch)
            gain = (before - float(state.loss)) / tight**2
            if gain <= GAIN or bool(log["failed"]):
                return state.theta, count, None
            if count == STEPS // 2:
                half = state.theta
        return state.theta, STEPS, half

    def _moved(self, before: Any, after: Any, posterior: Posterior) -> float:
        """How far parameters are apart, in standard errors of what they mean: the farthest coefficient or field.

        Networks have valleys along which nothing that they stand for moves: a fit may rest while they creep.
        """
        found = [0.0]
        one, two = self.model.coefficients(before), self.model.coefficients(after)
        for name, std in zip(posterior.names, np.sqrt(np.diag(posterior.covariance)), strict=True):
            found.append(abs(two[name] - one[name]) / std)
        x = self.model.sought.domain.draw(Kronecker(LOOKED_AT), np.random.default_rng(0)).x
        gap = np.asarray(self._values(after, x)) - np.asarray(self._values(before, x))
        errors, first = posterior.std(x), 0
        for unknown in self.model.sought.unknowns:
            size = np.linalg.norm(gap[:, first : first + unknown.components], axis=1)
            first += unknown.components
            found.append(float(np.sqrt(np.mean(size**2) / np.mean(errors[unknown.name] ** 2))))
        return max(found)

    def residuals(self, theta: Any, weights: _Weights) -> dict[str, np.ndarray]:
        """The residuals of measured values in units of their noise."""
        rows, tight = self._rows(theta, self.weighted(weights, outliers=False)), self.tightness(weights)
        return {key: np.asarray(rows[key]) / tight for key in self.problem.measured}

    def _weigh_anew(self, theta: Any, weights: _Weights) -> bool:
        """Noise and outliers by the residuals; says whether anything changed much."""
        changed = False
        found = self.residuals(theta, weights)
        determined = None
        for key, residual in found.items():
            condition = self.problem.conditions[key]
            limit, factor = threshold(condition), 1.0
            if isinstance(condition.noise, str):
                if limit is not None:
                    factor = NORMAL_MAD * float(np.median(np.abs(residual)))
                else:
                    determined = determined or self.posterior(theta, weights)
                    free = max(1.0, residual.size - determined.shares[key])
                    factor = float(np.sqrt(np.sum(residual**2) / free))
                factor = max(factor, np.finfo(float).eps)
                weights.levels[key] = factor * weights.levels[key]
                # With one set of data and no prior the fit does not depend on it.
                matters = len(found) > 1 or bool(self.problem.priors) or limit is not None
                changed |= matters and abs(np.log(factor)) > LEVELS
            if limit is not None:
                size = np.maximum(np.abs(residual) / factor, np.finfo(float).tiny)
                new = np.minimum(1.0, limit / size)
                old = weights.outliers.get(key, np.ones_like(new))
                changed |= bool(np.max(np.abs(new - old)) > WEIGHTS)
                weights.outliers[key] = new
        return changed

    def _weigh_priors(self, theta: Any, weights: _Weights) -> bool:
        triangles = {k: np.asarray(t) for k, t in self._triangles(theta, self.weighted(weights)).items()}
        priors = {key: triangles[key] for key in self.problem.priors}
        data = [triangles[key] for key in self.problem.measured]
        fixed = [t for key, t in triangles.items() if key not in (*priors, *self.problem.measured)]
        factors = best_factors(fixed, data, priors, self.tightness(weights))
        for key, factor in factors.items():
            weights.priors[key] *= factor
        return any(abs(np.log(factor)) > PRIORS for factor in factors.values())

    def posterior(self, theta: Any, weights: _Weights) -> Posterior:
        """The posterior at some parameters.

        Where outliers count less, data count as if they had the noise σ·√(mean ψ²)/mean ψ', that with which Huber's
        estimate of a mean from them would scatter.
        """
        levels = dict(weights.levels)
        found = self.residuals(theta, weights) if weights.outliers else {}
        for key in weights.outliers:
            limit = threshold(self.problem.conditions[key])
            assert limit is not None
            size = np.abs(found[key])
            psi, inside = np.minimum(size, limit), np.mean(size <= limit)
            levels[key] = levels[key] * np.sqrt(np.mean(psi**2)) / max(float(inside), 1 / size.size)
        seen = _Weights(levels, {}, weights.priors, weights.kappa)
        tight = self.tightness(seen)
        # Priors were weighted beside equations that hold to within another ε.
        ratio = (tight / self.tightness(weights)) ** 2
        seen.priors = {key: factor * ratio for key, factor in weights.priors.items()}
        triangles = self._triangles(theta, self.weighted(seen))
        return Posterior.of(self.model, theta, triangles, tight)

    def posterior_of(self, theta: Any, kept: Mapping[str, Any]) -> Posterior:
        """The posterior at the parameters of a fit that has settled, from what the summary of its run keeps."""
        first = first_levels(self.problem)
        levels = {
            key: np.array(sigma) * (float(kept["noise"][key]) / float(np.sqrt(np.mean(sigma**2))))
            for key, sigma in first.items()
        }
        weights = _Weights(levels, {}, {key: float(kept["priors"][key]) for key in self.problem.priors}, kept["kappa"])
        theta = jnp.asarray(theta, dtype=float)
        robust = [key for key in self.problem.measured if self.problem.conditions[key].robust is not None]
        weights.outliers = {key: np.ones_like(levels[key]) for key in robust}
        return self.posterior(theta, weights)

    def _spread(self, theta: Any, weights: _Weights, posterior: Posterior) -> tuple[dict[str, float], float]:
        spread, freedom = {}, 0.0
        for key, residual in self.residuals(theta, weights).items():
            limit = threshold(self.problem.conditions[key])
            free = max(1.0, residual.size - posterior.shares[key])
            freedom += free
            if limit is not None:
                spread[key] = NORMAL_MAD * float(np.median(np.abs(residual)))
            else:
                spread[key] = float(np.sqrt(np.sum(residual**2) / free))
        return spread, freedom


def _in_sizes_of(problem: Problem, other: Problem, batch: Batch) -> Batch:
    """The batch of another statement of a problem, with rows divided by the sizes of this one."""
    data = {key: row_scale(problem, key, np.asarray(batch[key].x), np.ones(0)) for key in problem.measured}
    ratios = {key: other.row_sizes(key) / problem.row_sizes(key) for key in problem.soft}
    for key in problem.priors:
        ratios[key] = ratios[key] * np.sqrt(problem.weight(key) / other.weight(key))
    scales = {key: data.get(key, np.asarray(batch[key].scale) * ratios[key]) for key in problem.soft}
    return {key: batch[key]._replace(scale=jnp.asarray(scale)) for key, scale in scales.items()}


def _rules(problem: Problem, inside: int) -> dict[str, PointRule]:
    """Nodes of a quadrature in up to two dimensions, points spread at random in more."""
    rules = point_rules(problem, None, inside, random=True)
    dimension = problem.domain.dimension
    if dimension > 2:
        return rules

    def rule(count: int) -> PointRule:
        return GaussLegendre(min(MOST_NODES, max(3, round(count ** (1 / dimension)))))

    # A prior has more rows than an equation, and needs to be known less well.
    wanted = {key: inside // PRIOR_SHARE if key in problem.priors else inside for key in problem.soft}
    return {**rules, **{key: rule(wanted[key]) for key in problem.soft if problem.region(key).dimension > 0}}


def _programs(compound: Compound) -> tuple[Any, ...]:
    """First state, step, rows and triangular factors by condition; numbers in operators come first."""
    method = Newton()

    def begin(numbers: Any, theta: Any, batch: Batch) -> Any:
        return method.init(compound.with_numbers(numbers), theta, batch)

    def step(numbers: Any, state: Any, batch: Batch) -> Any:
        return method.step(compound.with_numbers(numbers), state, batch)

    def rows(numbers: Any, theta: Any, batch: Batch) -> Any:
        return compound.with_numbers(numbers).rows(theta, batch)

    def triangles(numbers: Any, theta: Any, batch: Batch) -> Any:
        return compound.with_numbers(numbers).triangles(theta, batch)

    def values(numbers: Any, theta: Any, x: Any) -> Any:
        return jax.vmap(compound.with_numbers(numbers).model.values, (None, 0))(theta, x)

    layout = compound.layout
    return tuple(layout.program(layout.quick_jit(program)) for program in (begin, step, rows, triangles, values))
