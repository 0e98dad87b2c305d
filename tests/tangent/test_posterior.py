"""Standard errors, against closed forms and against fits to many draws of noise."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import ParametricModel
from anagram.tangent.evidence import minus_log_evidence
from anagram.tangent.identifiability import undetermined
from anagram.tangent.posterior import inverse_root
from anagram.tangent.settling import Settling
from anagram.tangent.uncertainty import quantile, uncertainty_of
from inverse import RATE, SIGMA, decay, noisy, places, rate_and_error
from tolerances import ACCUMULATED, assert_close

LINE = ag.Box(x=(-1, 1))


def regression(x, y, noise):
    return ag.Problem(LINE, data=ag.Condition(lambda u: u, on=LINE.points(x=x), equals=y, noise=noise))


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 40)
    return x, np.sin(2 * x) + 0.1 * rng.standard_normal(40)


def settled(problem, model, theta=None):
    made = ParametricModel(problem.sought, model)
    return Settling(problem, made)(made.theta if theta is None else theta)


def test_linear_regression_has_its_closed_form(sample):
    x, y = sample
    sigma = np.random.default_rng(4).uniform(0.05, 0.2, 40)
    found = settled(regression(x, y, sigma), ag.Polynomial(3))
    at = np.linspace(-1, 1, 7)
    powers, rows = np.vander(at, 4), np.vander(x, 4) / sigma[:, None]
    inverse = np.linalg.inv(rows.T @ rows)
    assert_close(found.posterior.std(at[:, None])["u"], np.sqrt(np.sum(powers @ inverse * powers, axis=1)), ACCUMULATED)
    assert found.posterior.shares["data"] == pytest.approx(4)
    assert found.freedom == pytest.approx(36)


def test_noise_is_estimated_by_the_residuals(sample):
    x, y = sample
    found = settled(regression(x, y, "estimate"), ag.Polynomial(3))
    residual = y - np.polyval(np.polyfit(x, y, 3), x)
    assert_close(found.levels["data"], np.full((40, 1), np.sqrt(residual @ residual / 36)), ACCUMULATED)
    told = uncertainty_of(found, ["data"])
    assert told.freedom == pytest.approx(36)
    assert quantile(0.95, told.freedom) == pytest.approx(2.0281, abs=1e-4)  # Student's, from tables
    assert quantile(0.95, np.inf) == pytest.approx(1.96, abs=1e-3)


def test_a_rate_and_its_error_have_their_closed_form():
    t = places(60)
    y = noisy(t, 1)
    found = settled(decay(y, t), ag.Polynomial(9))
    rate, error = rate_and_error(t, y)
    told = uncertainty_of(found, [])
    assert found.at_rest
    assert told.findings == ()
    assert abs(told.values["k"] - rate) < 0.02 * error  # the equation holds to within ε, not exactly
    assert told.std["k"] == pytest.approx(error, rel=0.02)
    low, high = told.interval("k")
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.02)
    # The field is known by the rate: its error is that of exp(−k t).
    at = np.array([[0.5], [1.5]])
    assert_close(found.posterior.std(at)["u"], at[:, 0] * np.exp(-rate * at[:, 0]) * error, 0.03)


def test_errors_are_those_of_many_fits():
    """Sixty draws of noise: their spread is the standard error, to within what sixty draws can say."""
    t = places(40)
    problem = decay(noisy(t, 0), t)
    model = ParametricModel(problem.sought, ag.Polynomial(8))
    settling, found = Settling(problem, model), []
    for seed in range(60):  # the same problem with other values
        data = settling.batch["data"]._replace(source=jnp.asarray(noisy(t, seed))[:, None])
        settling.batch = {**settling.batch, "data": data}
        found.append(settling(model.theta))
    values = np.array([model.coefficients(f.theta)["k"] for f in found])
    errors = np.sqrt([f.posterior.covariance[0, 0] for f in found])
    assert 0.75 < np.std(values) / np.mean(errors) < 1.25
    inside = np.abs(values - RATE) < 1.96 * errors
    assert inside.mean() >= 0.88  # 95 % of 60 draws, less two and a half standard deviations


def test_a_product_of_coefficients_leaves_their_ratio_open():
    t = places(30)
    box = ag.Box(t=(0, 2))
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u, a, b: u.d("t") + a * b * u),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=1.0),
        data=ag.Condition(lambda u: u, on=box.points(t=t), equals=noisy(t, 2), noise=SIGMA),
        coefficients={"b": 0.5, "a": 2.0},
    )
    found = settled(problem, ag.Polynomial(8))
    told = uncertainty_of(found, [])
    assert told.values["a"] * told.values["b"] == pytest.approx(rate_and_error(t, noisy(t, 2))[0], abs=1e-3)
    assert len(told.findings) == 1
    assert "'b' and 'a' apart" in told.findings[0]
    assert "+1 % in" in told.findings[0]
    assert "-1 % in" in told.findings[0]


def test_combinations_are_named():
    assert undetermined(("a", "b"), {"a": 1.0, "b": 2.0}, np.diag([1e-4, 1e-4])) == []
    (alone,) = undetermined(("a", "b"), {"a": 1.0, "b": 2.0}, np.diag([1e4, 1e-4]))
    assert alone.startswith("the data do not determine 'a'")
    # a + b is known, a − b is not: in percent of a = 1 and b = 4.
    direction = np.array([1.0, -1.0])
    (both,) = undetermined(("a", "b"), {"a": 1.0, "b": 4.0}, 100 * np.outer(direction, direction))
    assert "+1 % in 'a'" in both
    assert "-0.25 % in 'b'" in both


def test_the_inverse_root_sees_small_singular_values():
    rng = np.random.default_rng(0)
    q, r = np.linalg.qr(rng.standard_normal((6, 6)))[0], np.linalg.qr(rng.standard_normal((6, 6)))[0]
    rows = (q * np.geomspace(1, 1e-7, 6)) @ r
    root, held = inverse_root(rows)
    assert held == 0
    # JᵀJ itself would have a condition number of 1e14.
    assert_close(rows @ root @ root.T @ rows.T, np.eye(6), 1e-5)


def test_evidence_is_that_of_gaussians():
    """Against the density of the data themselves, N(0, σ² + D (EᵀE + λPᵀP)⁻¹ Dᵀ), in a dense form."""
    rng = np.random.default_rng(1)
    size, tight = 5, 0.1
    equation, data, prior = (rng.standard_normal((rows, size + 1)) for rows in (3, 8, 6))
    equation[:, -1] = prior[:, -1] = 0.0  # nothing but the data says where the fields are
    unlikely = minus_log_evidence([equation], [data], prior, tight)

    def dense(power):
        precision = equation[:, :-1].T @ equation[:, :-1] + 10**power * prior[:, :-1].T @ prior[:, :-1]
        jacobian, y = data[:, :-1], data[:, -1]
        spread = tight**2 * (np.eye(8) + jacobian @ np.linalg.inv(precision) @ jacobian.T)
        return y @ np.linalg.solve(spread, y) + np.linalg.slogdet(spread)[1]

    for power in (-2.0, 0.5, 3.0):
        assert unlikely(power) - unlikely(0.0) == pytest.approx(dense(power) - dense(0.0), rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("robust", [None, "huber"])
def test_outliers_move_a_fit_that_is_not_robust(robust):
    t = places(100)
    y = noisy(t, 5)
    error = rate_and_error(t, y)[1]
    y[::20] += 2.0  # five in a hundred are gross
    found = settled(decay(y, t, robust=robust), ag.Polynomial(8))
    told = uncertainty_of(found, [])
    off = abs(told.values["k"] - RATE) / error
    if robust is None:
        assert off > 10
        assert "times the noise that was given" in told.findings[0]
    else:
        assert off < 3
        assert told.findings == ()
        assert told.std["k"] == pytest.approx(error, rel=0.3)


def test_noise_with_outliers_is_estimated_by_the_median():
    t = places(200)
    y = noisy(t, 6)
    y[::20] -= 3.0
    found = settled(decay(y, t, noise="estimate", robust="huber"), ag.Polynomial(8))
    assert float(found.levels["data"][0, 0]) == pytest.approx(SIGMA, rel=0.2)


def test_wrong_noise_is_said():
    t = places(60)
    told = uncertainty_of(settled(decay(noisy(t, 1), t, noise=SIGMA / 10), ag.Polynomial(9)), [])
    assert any("times the noise that was given" in finding for finding in told.findings)


def test_without_noise_nothing_can_be_settled():
    t = places(10)
    problem = decay(noisy(t, 0), t, noise=None)
    with pytest.raises(ag.ProblemError, match="no condition has noise"):
        Settling(problem, ParametricModel(problem.sought, ag.Polynomial(3)))
