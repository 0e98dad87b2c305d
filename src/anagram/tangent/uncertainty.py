"""Standard errors, intervals and correlations of what was learned from data, in one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from anagram.errors import SettingError
from anagram.tangent.identifiability import OPEN, undetermined
from anagram.tangent.posterior import Posterior
from anagram.tangent.settling import Settled

BEYOND = 5.0  # standard deviations by which residuals may differ from the noise that was given
LEVEL = 0.95


@dataclass(frozen=True)
class Uncertainty:
    """How well data determine the coefficients.

    Attributes:
        names: the coefficients, in the order of rows and columns of the matrices.
        values: their values.
        covariance: their covariance.
        noise: by data condition, the standard deviation of its values: given or estimated (root mean square).
        freedom: values less the parameters that they determine, if the noise was estimated; infinite if it is known.
        findings: what speaks against these numbers, in sentences; nothing if all is well.
    """

    names: tuple[str, ...]
    values: Mapping[str, float]
    covariance: Float[np.ndarray, "coefficients coefficients"]
    noise: Mapping[str, float]
    freedom: float
    findings: tuple[str, ...] = ()

    @property
    def std(self) -> dict[str, float]:
        """The standard errors."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance)).tolist(), strict=True))

    @property
    def correlation(self) -> Float[np.ndarray, "coefficients coefficients"]:
        """The covariance in units of standard errors."""
        size = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(size, size)

    def interval(self, name: str, level: float = LEVEL) -> tuple[float, float]:
        """Between which numbers a coefficient lies with this probability."""
        if name not in self.names:
            raise SettingError(f"there is no coefficient '{name}'; there are {', '.join(self.names) or 'none'}")
        reach = quantile(level, self.freedom) * self.std[name]
        return self.values[name] - reach, self.values[name] + reach

    def __str__(self) -> str:
        lines = []
        for name in self.names:
            low, high = self.interval(name)
            lines.append(f"{name} = {self.values[name]:.6g} ± {self.std[name]:.2g}  (95 %: {low:.6g} to {high:.6g})")
        matrix = self.correlation
        for i, one in enumerate(self.names):
            lines += [f"correlation of {one} and {two}: {matrix[i, j]:+.2f}" for j, two in enumerate(self.names[:i])]
        lines += [f"noise of '{key}': {sigma:.3g}" for key, sigma in self.noise.items()]
        return "\n".join([*lines, *self.findings])


def quantile(level: float, freedom: float) -> float:
    """How many standard errors an interval reaches to either side: Gauss' where noise is known, Student's where not."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise SettingError(f"the level of an interval is a probability between 0 and 1, such as 0.95, not {level!r}")
    from scipy import stats  # takes long to load

    spread = stats.norm if not np.isfinite(freedom) else stats.t(freedom)
    return float(spread.ppf((1 + level) / 2))


def uncertainty_of(settled: Settled, estimated: Sequence[str]) -> Uncertainty:
    """Of a fit that has settled; `estimated` are the data whose noise was not given."""
    posterior = settled.posterior
    values = posterior.model.coefficients(jnp.asarray(posterior.theta))
    covariance = posterior.covariance
    noise = {key: float(np.sqrt(np.mean(sigma**2))) for key, sigma in settled.levels.items()}
    findings = (
        *undetermined(posterior.names, _sizes(posterior, values), covariance),
        *_contradictions(settled, estimated),
    )
    return Uncertainty(posterior.names, values, covariance, noise, settled.freedom if estimated else np.inf, findings)


def _sizes(posterior: Posterior, values: Mapping[str, float]) -> dict[str, float]:
    """What the errors of coefficients are compared with: their values or first guesses, whichever are larger.

    A coefficient may well be zero. Along directions that nothing sees values may have run anywhere; then it is the
    first guesses.
    """
    guesses = {name: abs(guess) for name, guess in posterior.model.sought.coefficients.items()}
    return {
        name: guesses[name] if error > OPEN * guesses[name] else max(guesses[name], abs(values[name]))
        for name, error in zip(posterior.names, posterior.open_std, strict=True)
    }


def _contradictions(settled: Settled, estimated: Sequence[str]) -> list[str]:
    """Where residuals, equations or the fit itself do not look as they should."""
    found = []
    for key, spread in settled.spread.items():
        slack = BEYOND / np.sqrt(2 * max(1.0, settled.levels[key].size - settled.posterior.shares[key]))
        if key not in estimated and not 1 / (1 + slack) <= spread <= 1 + slack:
            found.append(
                f"the residuals of '{key}' are {spread:.2g} times the noise that was given: look at the noise "
                "(noise='estimate' takes it from the residuals), at the equation, or for outliers (robust='huber')"
            )
    if settled.bent > 1:
        found.append("the model does not satisfy the equations to within the noise: a larger one, or more steps, may")
    if not settled.at_rest:
        found.append("the fit has not come to rest: more steps may help")
    return found


def to_json(settled: Settled, found: Uncertainty) -> dict[str, Any]:
    """What the summary of a run keeps: numbers from which the posterior can be made again."""
    return {
        "coefficients": found.std,
        "correlation": found.correlation.tolist(),
        "noise": dict(found.noise),
        "freedom": found.freedom if np.isfinite(found.freedom) else None,
        "determined": settled.determined,
        "priors": dict(settled.priors),
        "kappa": settled.kappa,
        "findings": list(found.findings),
    }


def from_json(data: Mapping[str, Any], names: Sequence[str], values: Mapping[str, float]) -> Uncertainty:
    """The same from the summary of a run."""
    size = np.array([float(data["coefficients"][name]) for name in names])
    covariance = np.array(data["correlation"], dtype=float).reshape(len(size), len(size)) * np.outer(size, size)
    freedom = np.inf if data.get("freedom") is None else float(data["freedom"])
    return Uncertainty(tuple(names), values, covariance, dict(data["noise"]), freedom, tuple(data["findings"]))
