import warnings

import numpy as np
import pytest

import anagram as ag
from tolerances import assert_close


def test_calling_by_position_name_and_array(quick_solution):
    one = quick_solution(0.5, 0.25)
    assert one.shape == ()
    assert_close(quick_solution(x=0.25, t=0.5), one)
    t, x = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 7)
    grid = quick_solution(t, x)
    assert grid.shape == (5, 7)
    assert_close(quick_solution(t=0.5, x=x), grid[2])
    points = np.stack(np.broadcast_arrays(t, x), axis=-1)
    assert_close(quick_solution(points), grid)
    assert_close(quick_solution(np.array([0.5, 0.25])), one)


def test_operators_of_the_solution(quick_solution):
    x, h = 0.4, 1e-5
    slope = quick_solution.evaluate(lambda u: u.d("x"), 0.5, x)
    assert_close(slope, (quick_solution(0.5, x + h) - quick_solution(0.5, x - h)) / (2 * h), 1e-6)
    u_t, u_xx = quick_solution.evaluate(lambda u: (u.d("t"), u.d("x", "x")), t=0.5, x=np.array([0.1, 0.2]))
    residual = quick_solution.residual("equation", np.array([[0.5, 0.1], [0.5, 0.2]]))
    assert_close(residual, np.abs(u_t - 0.25 * u_xx))


def test_residuals_of_conditions_with_normals():
    square = ag.Box(x=(0, 1), y=(0, 2))
    k = square.field(lambda x, y: 1 + x)
    problem = ag.Problem(
        square,
        inside=ag.Condition(lambda u: u.laplacian()),
        flux=ag.Condition(lambda u: (k * u).normal_derivative(), on=square.boundary(), equals=3.0),
    )
    solution = ag.solve(problem, ag.MLP(4), "anagram", points=64, steps=1, progress=False)
    x = np.array([[0.0, 0.7], [0.4, 2.0]])
    slopes = solution.evaluate(lambda u: ((k * u).d("x"), (k * u).d("y")), x)
    assert_close(solution.residual("flux", x), np.abs([-slopes[0][0] - 3.0, slopes[1][1] - 3.0]))
    with pytest.raises(ag.ProblemError, match="no condition 'walls'; there are inside, flux"):
        solution.residual("walls", x)


def test_no_points_and_columns_of_points():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(line, c=ag.Condition(lambda u: u, equals=1.0))
    solution = ag.solve(problem, ag.Polynomial(2), points=9, steps=3, progress=False)
    assert solution(x=[]).shape == (0,)
    assert solution(np.ones((4, 1))).shape == (4,)
    assert solution(np.ones(4)).shape == (4,)


def test_many_points_are_evaluated_in_chunks(quick_solution, monkeypatch):
    x = np.random.default_rng(0).uniform(size=(1000, 2))
    whole = quick_solution(x)
    monkeypatch.setattr("anagram.training.reached.CHUNK", 300)
    assert_close(quick_solution(x), whole)


@pytest.mark.parametrize(
    "mistake",
    [
        lambda s: s(0.5),
        lambda s: s(t=0.5),
        lambda s: s(t=0.5, y=1.0),
        lambda s: s(np.ones((4, 3))),
        lambda s: s["v"],
        lambda s: s(t=[0.1, 0.2], x=[0.1, 0.2, 0.3]),
        lambda s: s("a", 0.0),
        lambda s: s.evaluate("u_x", 0, 0),
    ],
)
def test_mistakes_are_named(quick_solution, mistake):
    with pytest.raises(
        ag.ProblemError,
        match="coordinates t, x|columns|no unknown 'v'|t \\(2,\\), x \\(3,\\)|must be numbers|function of fields",
    ):
        mistake(quick_solution)


def test_it_says_what_it_is(quick_solution):
    assert "heat: 12 steps" in repr(quick_solution)


def test_estimates_are_kept_with_the_solution(quick_solution, tmp_path):
    q = quick_solution
    solution = ag.Solution(q.problem, q.model, q.theta, q.history, dict(q.summary), q.configuration)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.EstimateWarning)
        value = solution.error_estimate
        solution.save(tmp_path / "run")
        loaded = ag.load(tmp_path / "run")
        loaded.problem = None  # as of a problem of one's own
        assert loaded.error_estimate == value
    assert loaded.relative_error_estimate == solution.estimate_error().relative
    loaded.summary["error_estimate"] = {"value": None, "reasons": ["the model is large"]}
    with pytest.raises(ag.ProblemError, match="was not estimated: the model is large"):
        _ = loaded.error_estimate
