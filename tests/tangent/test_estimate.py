import numpy as np
import pytest

import anagram as ag
from anagram.tangent.estimate import Estimator
from tolerances import assert_close


def test_the_estimate_is_close_to_the_error_as_a_number_and_as_a_function(quick_solution):
    estimate = quick_solution.estimate_error()
    assert estimate.reliable
    assert 0.6 < float(estimate) / quick_solution.l2_error < 1.6
    assert_close(quick_solution.error_estimate, float(estimate), 1e-12)
    x = np.random.default_rng(0).random((50, 2))
    true = quick_solution(x) - quick_solution.problem.exact(x)["u"]
    assert np.linalg.norm(quick_solution.error_field(x) - true) < 0.5 * np.linalg.norm(true)
    assert quick_solution.error_field(t=0.5, x=np.linspace(0, 1, 7)).shape == (7,)


def test_the_error_of_a_linear_model_on_a_linear_problem_is_exact():
    """The tangent space is the model, which holds the solution: the estimate is the error to rounding."""
    problem = ag.Problem(
        ag.Box(x=(0, 1)),
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.0),
        ends=ag.Condition(lambda u: u, on=ag.Box(x=(0, 1)).boundary()),
        solution=lambda x: x**2 - x,
    )
    model = ag.ParametricModel(problem.sought, ag.Polynomial(4))
    estimator = Estimator(problem, model)
    theta = np.array([0.3, -0.2, 0.5, 0.0, 0.1])
    estimate = estimator(theta)
    x = np.linspace(0, 1, 20_001)
    values = np.polynomial.chebyshev.chebval(2 * x - 1, theta)
    assert_close(estimate.value, np.sqrt(np.mean((values - (x**2 - x)) ** 2)), 1e-3)
    assert estimate.unseen < 1e-10
    assert estimate.disagreement < 1e-10


def test_errors_of_learned_coefficients_are_estimated_too():
    """u' = κ u with u = e^{x/2} measured everywhere: the right curve with κ = 0.52 is wrong by 0.02 in κ alone."""
    problem = ag.Problem(
        ag.Box(x=(0, 1)),
        equation=ag.Condition(lambda u, kappa: u.d("x") - kappa * u),
        data=ag.Condition(lambda u: u, equals=lambda x: np.e ** (0.5 * x)),
        coefficients={"kappa": 0.52},
    )
    model = ag.ParametricModel(problem.sought, ag.Polynomial(8))
    curve = np.polynomial.chebyshev.chebinterpolate(lambda z: np.exp((z + 1) / 4), 8)
    theta = np.concatenate([[1.0], curve])  # coefficients come before the model, in units of their guesses
    assert model.coefficients(theta) == {"kappa": 0.52}
    estimate = Estimator(problem, model)(theta)
    assert_close(estimate.coefficients["kappa"], 0.02, 1e-6)
    assert estimate.value < 1e-6


def _sin(x):
    import jax.numpy as jnp

    return jnp.sin(jnp.pi * x)


def test_what_the_tangent_space_does_not_hold_is_said():
    """A straight line for a wave: all of the residual lies outside, and the number comes with a warning."""
    problem = ag.Problem(ag.Box(x=(0, 1)), data=ag.Condition(lambda u: u, equals=lambda x: _sin(8 * x)), name="wave")
    solution = ag.solve(problem, ag.Polynomial(1), "anagram", points=ag.GaussLegendre(40), steps=3, progress=False)
    estimate = solution.estimate_error()
    assert not estimate.reliable
    assert "outside the tangent space" in str(estimate)
    with pytest.warns(ag.EstimateWarning, match="not reliable"):
        _ = solution.error_estimate


def test_a_linearisation_that_does_not_hold_is_said():
    """u² = 1 far from a solution: the corrected function does not satisfy the equation."""
    problem = ag.Problem(ag.Box(x=(0, 1)), equation=ag.Condition(lambda u: u * u, equals=1.0))
    estimator = Estimator(problem, ag.ParametricModel(problem.sought, ag.Polynomial(2)))
    near, far = estimator(np.array([1.001, 0.0, 0.0])), estimator(np.array([0.05, 0.0, 0.0]))
    assert near.reliable
    assert_close(near.value, 0.001, 0.01)
    assert not far.reliable


def test_what_is_wrong_is_said(quick_solution, heat):
    for points in (-3, 0, 2.5):
        with pytest.raises(ag.SettingError, match="number of fresh points"):
            quick_solution.estimate_error(points=points)
    with pytest.raises(ag.SettingError, match="the seed"):
        quick_solution.estimate_error(seed=-1)
    lost = ag.Solution(None, quick_solution.model, quick_solution.theta, quick_solution.history, quick_solution.summary)
    with pytest.raises(ag.ProblemError, match="loaded without its problem"):
        lost.estimate_error()
    with pytest.raises(ag.ProblemError, match="loaded without its problem"):
        lost.tangent_space()


def test_conditions_that_leave_the_solution_open_are_noticed():
    line = ag.Box(x=(0, 1))
    equation = ag.Condition(lambda u: u.d("x", "x"), equals=1.0)
    ends = ag.Condition(lambda u: u, on=line.boundary())
    start = ag.Condition(lambda u: u, on=line.face(x=0))
    for conditions, words in (
        ({"equation": equation}, "do not determine"),
        ({"equation": equation, "start": start}, "do not determine"),
        ({"ends": ends}, "inside the domain"),
        ({"equation": equation, "ends": ends}, ""),
    ):
        problem = ag.Problem(line, conditions)
        model = ag.ParametricModel(problem.sought, ag.MLP(6), 0)
        estimate = Estimator(problem, model)(model.theta)
        assert words in "; ".join(estimate.reasons)
        assert estimate.reliable == (not words)


def test_a_model_whose_spectrum_does_not_fit_is_not_estimated(quick_solution, monkeypatch):
    parameters = quick_solution.model.parameters
    monkeypatch.setattr("anagram.tangent.estimate.device_memory", lambda: 8 * parameters**2)
    with pytest.raises(ag.SettingError, match=f"a model with {parameters} parameters is not estimated"):
        quick_solution.estimate_error(seed=5)
