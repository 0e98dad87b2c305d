"""Methods as optimistix solvers, on problems that have nothing to do with differential equations."""

import re
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optimistix as optx
import pytest
import scipy.optimize

import anagram as ag
from anagram.interop import function
from anagram.interop.function import FunctionMap
from anagram.methods import METHODS, make_method
from oracles import dense_features
from tolerances import ACCUMULATED, assert_close

RESULTS = optx.RESULTS


def solve(fn, y0, method="auto", args=None, max_steps=256, throw=True, rtol=1e-10, atol=1e-10, **options):
    solver = ag.interop.LeastSquares(method, rtol=rtol, atol=atol, **options)
    return optx.least_squares(fn, solver, y0, args=args, max_steps=max_steps, throw=throw)


# -- problems -----------------------------------------------------------------------------------------------
def rosenbrock(y, _):
    return jnp.stack([1 - y[0], 10 * (y[1] - y[0] ** 2)])


def powell_singular(y, _):
    a, b, c, d = y
    return jnp.stack([a + 10 * b, jnp.sqrt(5.0) * (c - d), (b - 2 * c) ** 2, jnp.sqrt(10.0) * (a - d) ** 2])


def decays(y, x):
    """Three exponentials; the data are free of noise."""
    return sum(y[i] * jnp.exp(-y[i + 1] * x) for i in (0, 2, 4)) - (
        0.0951 * jnp.exp(-x) + 0.8607 * jnp.exp(-3 * x) + 1.5576 * jnp.exp(-5 * x)
    )


def brown_dennis(y, _):
    t = jnp.arange(1, 21) / 5
    return (y[0] + t * y[1] - jnp.exp(t)) ** 2 + (y[2] + y[3] * jnp.sin(t) - jnp.cos(t)) ** 2


def saturation(y, data):
    x, measured = data
    return y[0] * (1 - jnp.exp(-y[1] * x)) - measured


def logistic(y, data):
    x, measured = data
    return y[0] / (1 + jnp.exp(y[1] - y[2] * x)) - measured


def table(text):
    """Rows of y and x, as the Statistical Reference Datasets of NIST print them."""
    measured, x = np.array(text.split(), dtype=float).reshape(-1, 2).T
    return x, measured


MISRA1A = table(
    """10.07 77.6   14.73 114.9  17.94 141.1  23.93 190.8  29.61 239.9  35.18 289.0  40.02 332.8
       44.82 378.4  50.76 434.8  55.05 477.3  61.01 536.8  66.40 593.1  75.47 689.1  81.78 760.0"""
)
BOXBOD = table("109 1  149 2  149 3  191 5  213 7  224 10")
RAT42 = table("8.930 9  10.800 14  18.590 21  22.330 28  39.350 42  56.110 57  61.730 63  64.620 70  67.080 79")
# model, data, starts, certified parameters, certified residual sum of squares
NIST = {
    "Misra1a": (
        saturation,
        MISRA1A,
        [(500.0, 0.0001), (250.0, 0.0005)],
        (2.3894212918e2, 5.5015643181e-4),
        1.2455138894e-1,
    ),
    "BoxBOD": (saturation, BOXBOD, [(1.0, 1.0), (100.0, 0.75)], (2.1380940889e2, 5.4723748542e-1), 1.1680088766e3),
    "Rat42": (
        logistic,
        RAT42,
        [(100.0, 1.0, 0.1), (75.0, 2.5, 0.07)],
        (7.2462237576e1, 2.6180768402, 6.7359200066e-2),
        8.0565229338,
    ),
}


# -- solutions ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("method", "fn", "y0", "expected", "accuracy"),
    [
        ("auto", rosenbrock, (-1.2, 1.0), (1.0, 1.0), 1e-10),
        ("auto", powell_singular, (3.0, -1.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0), 1e-5),
        ("auto", decays, (1.2, 0.3, 5.6, 5.5, 6.5, 7.6), (0.0951, 1, 0.8607, 3, 1.5576, 5), 1e-6),
        ("anagram", rosenbrock, (-1.2, 1.0), (1.0, 1.0), 1e-10),
        ("anagram", powell_singular, (3.0, -1.0, 0.0, 1.0), (0.0, 0.0, 0.0, 0.0), 1e-5),
    ],
)
def test_residuals_that_vanish(method, fn, y0, expected, accuracy):
    options = {"cutoff": 1e-14} if method == "anagram" else {}
    solution = solve(fn, jnp.array(y0), method, args=0.05 * jnp.arange(24), **options)
    assert solution.result == RESULTS.successful
    value = solution.value
    if fn is decays:  # the three terms may come in any order
        value = value.reshape(3, 2)[jnp.argsort(value[1::2])].ravel()
    assert_close(value, expected, accuracy, scale=1.0)
    assert solution.stats["loss"] < 1e-24


@pytest.mark.parametrize("name", NIST)
def test_certified_fits(name):
    """Residuals that do not vanish, parameters of very different size."""
    fn, data, starts, certified, squares = NIST[name]
    for start in starts:
        solution = solve(fn, jnp.array(start), args=data)
        assert solution.result == RESULTS.successful
        assert_close(solution.value / jnp.array(certified), np.ones(len(certified)), 1e-6)
        assert_close(2 * solution.stats["loss"], squares, 1e-9)


def test_a_large_residual_is_lowered_as_others_lower_it():
    y0 = jnp.array([25.0, 5.0, -5.0, -1.0])
    ours = solve(brown_dennis, y0, max_steps=1000, rtol=1e-8, atol=1e-8)
    theirs = optx.least_squares(brown_dennis, optx.LevenbergMarquardt(1e-8, 1e-8), y0, max_steps=1000)
    assert_close(ours.value, theirs.value, 1e-5)
    assert_close(2 * ours.stats["loss"], 85822.2016263, 1e-11)


def peaks(y, data):
    x, measured = data
    return jnp.sum(y["height"] * jnp.exp(-(((x[:, None] - y["centre"]) / y["width"]) ** 2) / 2), axis=1) - measured


def peaks_problem(seed=0):
    random = np.random.default_rng(seed)
    x = np.linspace(0, 10, 200)
    true = {
        "centre": np.array([2.0, 4.0, 4.6, 7.0]),
        "height": np.array([1.0, 2.0, 0.7, 1.5]),
        "width": np.array([0.3, 0.4, 0.25, 0.6]),
    }
    measured = np.asarray(peaks(true, (x, 0.0))) + 0.01 * random.normal(size=x.size)
    guess = {"centre": true["centre"] + 0.2, "height": np.ones(4), "width": np.full(4, 0.5)}
    return (x, measured), guess


def test_a_tree_of_parameters_fits_peaks_as_scipy_does():
    data, guess = peaks_problem()
    solution = solve(peaks, guess, args=data, ratio=0.9)
    flat, unravel = jax.flatten_util.ravel_pytree(guess)
    rows = jax.jit(lambda flat: peaks(unravel(flat), data))
    scipys = scipy.optimize.least_squares(rows, flat, jac=jax.jit(jax.jacfwd(rows)), method="lm", xtol=1e-12)
    assert jax.tree.structure(solution.value) == jax.tree.structure(guess)
    assert_close(2 * solution.stats["loss"], 2 * scipys.cost, ACCUMULATED)
    expected = unravel(scipys.x)
    for key in guess:  # peaks may come in any order
        ours, theirs = (tree[key][jnp.argsort(tree["centre"])] for tree in (solution.value, expected))
        assert_close(ours, theirs, 1e-5, key)


@pytest.mark.parametrize("method", ["auto", "anagram"])
def test_more_parameters_than_rows(method):
    """A circle and a plane in twelve dimensions: a point on both is found."""
    normal = jnp.linspace(-1.0, 1.0, 12)

    def fn(y, _):
        return {"circle": y @ y - 4, "plane": normal @ y - 0.5}

    solution = solve(fn, jnp.ones(12), method)
    assert solution.stats["loss"] < 1e-28
    assert_close(solution.value @ solution.value, 4.0, ACCUMULATED)


def test_trees_of_any_shape():
    """Scalars, tuples, matrices and empty leaves in; a nested tree out; integers are made numbers of float64."""

    def fn(y, shift):
        matrix, (offset, empty), power = y
        return {"matrix": (matrix @ matrix - jnp.eye(2) * 4, empty), "rest": [offset - shift, power**3 - 27]}

    y0 = (np.array([[1, 2], [0, 3]]), (0.0, jnp.zeros((0, 3))), 2)
    value = solve(fn, y0, args=jnp.asarray(1.5)).value
    assert jax.tree.structure(value) == jax.tree.structure(y0)
    assert_close(value[0] @ value[0], 4 * np.eye(2), ACCUMULATED)
    assert_close(value[1][0], 1.5, ACCUMULATED)
    assert_close(value[2], 3.0, ACCUMULATED)
    assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(value))


# -- one step is one step -------------------------------------------------------------------------------------
def methods_for_functions():
    ready = [make_method(name) for name in METHODS if not METHODS[name]().fresh_points]
    return [*ready, ag.Spring(resample=False)]


@pytest.mark.parametrize("method", methods_for_functions(), ids=lambda method: type(method).__name__)
def test_one_step_of_theirs_is_one_step_of_ours(method):
    data, guess = peaks_problem()
    function_map = FunctionMap(lambda y: peaks(y, data), guess)
    state = jax.jit(lambda theta: method.init(function_map, theta, function_map.batch))(function_map.theta)
    step = jax.jit(lambda state: method.step(function_map, state, function_map.batch))
    for _ in range(3):
        state, info = step(state)
    solver = ag.interop.LeastSquares(method, 0, 0)
    solution = optx.least_squares(peaks, solver, guess, args=data, max_steps=3, throw=False)
    assert int(solution.stats["num_steps"]) == 3
    # Conjugate gradients end where their residual is small, and not at rounding.
    close = ACCUMULATED if not isinstance(method, METHODS["large"]) else 1e-6
    assert_close(jax.flatten_util.ravel_pytree(solution.value)[0], state.theta, close)
    assert_close(solution.stats["loss"], state.loss, close)
    for key in set(info) - {"loss", "trials", "ratio"}:
        assert_close(np.float64(solution.stats[key]), np.float64(info[key]), close, key)


def test_a_step_by_hand_is_bit_for_bit_the_method():
    method = ag.Anagram()
    solver = ag.interop.LeastSquares(method)
    y = jnp.array([-1.2, 1.0])
    function_map = FunctionMap(lambda y: rosenbrock(y, None), y)
    fn = lambda y, args: (rosenbrock(y, args), None)
    structure = jax.eval_shape(lambda: rosenbrock(y, None))
    before = solver.init(fn, y, None, {}, structure, None, frozenset())
    after, info = method.step(function_map, before.method_state, function_map.batch)
    new_y, new, _ = solver.step(fn, y, None, {}, before, frozenset())
    assert np.array_equal(new_y, after.theta)
    assert np.array_equal(new.method_state.loss, after.loss)
    assert all(np.array_equal(new.info[key], value) for key, value in info.items())
    assert solver.terminate(fn, new_y, None, {}, new, frozenset())[1] == RESULTS.successful


def test_a_compound_model_takes_the_same_way_as_a_plain_function():
    """``compound.residual`` is a function of (θ, batch): a differential equation like any other problem."""
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x") + u**2),
        start=ag.Condition(lambda u: u, on=line.face(x=0), equals=1.0, weight=3.0),
    )
    model = ag.ParametricModel(problem.sought, ag.MLP(5), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(20))
    method = ag.Anagram()
    state = jax.jit(lambda theta: method.init(compound, theta, batch))(model.theta)
    step = jax.jit(lambda state: method.step(compound, state, batch)[0])
    for _ in range(4):
        state = step(state)
    solver = ag.interop.LeastSquares(method)
    solution = optx.least_squares(compound.residual, solver, model.theta, args=batch, max_steps=4, throw=False)
    assert_close(solution.value, state.theta, 1e-6)
    assert_close(solution.stats["loss"], state.loss, 1e-6)


@pytest.mark.parametrize(("jac", "chunk"), [("fwd", 2**20), ("bwd", 2**20), ("fwd", 8), ("bwd", 3200)])
def test_features_of_a_function(jac, chunk, monkeypatch):
    monkeypatch.setattr(function, "CHUNK_BYTES", chunk)
    data, guess = peaks_problem()
    function_map = FunctionMap(lambda y: peaks(y, data), guess, jac)
    theta, batch = function_map.theta, function_map.batch
    residual, features = jax.jit(function_map.features)(theta, batch)
    assert function_map.count_rows(batch) == residual.size == 200
    assert_close(features, dense_features(function_map, theta, batch))
    assert_close(residual, jax.jit(function_map.residual)(theta, batch))


def test_what_follows_from_a_function():
    """All that methods ask for, against the definition."""
    data, guess = peaks_problem()
    function_map = FunctionMap(lambda y: peaks(y, data), guess)
    assert function_map.jac == "fwd"
    theta, batch = function_map.theta, function_map.batch

    @jax.jit
    def everything(theta):
        f = function_map
        r = f.residual(theta, batch)
        products = f.times(theta, batch, theta), f.transposed_times(theta, batch, r), f.second(theta, batch, theta)
        return (
            r,
            f.loss(theta, batch),
            f.gradient(theta, batch),
            products,
            f.gram(theta, batch),
            f.triangle(theta, batch),
        )

    residual, loss, gradient, (times, transposed, second), gram, triangle = everything(theta)
    features = dense_features(function_map, theta, batch)
    stacked = np.c_[features, residual]
    assert_close(loss, 0.5 * residual @ residual)
    assert_close(gradient, features.T @ residual)
    assert_close(times, features @ theta)
    assert_close(transposed, features.T @ residual)
    assert_close(gram.matrix, features.T @ features)
    assert_close(triangle.T @ triangle, stacked.T @ stacked)
    lengths = np.array([-1e-3, 0.0, 1e-3])
    rows = np.array([jax.jit(function_map.residual)((1 + t) * theta, batch) for t in lengths])
    assert_close(second, (rows[0] - 2 * rows[1] + rows[2]) / 1e-6, 1e-3)


# -- what optimistix offers around a solve ----------------------------------------------------------------------
def test_auxiliary_output_belongs_to_the_value():
    def fn(y, _):
        return rosenbrock(y, None), {"sum": y.sum(), "twice": (2 * y,)}

    solver = ag.interop.LeastSquares("anagram", rtol=1e-9, atol=1e-9)
    for steps in (0, 256):
        y0 = jnp.array([-1.2, 1.0])
        solution = optx.least_squares(fn, solver, y0, has_aux=True, max_steps=steps, throw=False)
        assert_close(solution.aux["sum"], solution.value.sum())
        assert_close(solution.aux["twice"][0], 2 * solution.value)


def test_too_few_steps():
    y0 = jnp.array([-1.2, 1.0])
    solution = solve(rosenbrock, y0, "anagram", max_steps=2, throw=False)
    assert solution.result == RESULTS.nonlinear_max_steps_reached
    assert int(solution.stats["num_steps"]) == 2
    assert float(solution.stats["loss"]) < float(jnp.sum(rosenbrock(y0, None) ** 2)) / 2
    with pytest.raises(eqx.EquinoxRuntimeError, match="maximum number of steps"):
        solve(rosenbrock, y0, "anagram", max_steps=2)


@pytest.mark.parametrize("method", ["auto", "anagram"])
def test_not_finite_at_the_start(method):
    fn = lambda y, _: jnp.log(y)
    solution = solve(fn, jnp.array([-1.0, 2.0]), method, throw=False)
    assert solution.result == RESULTS.nonfinite
    assert int(solution.stats["num_steps"]) == 0
    if method == "anagram":
        with pytest.raises(eqx.EquinoxRuntimeError, match="[Nn]onfinite"):
            solve(fn, jnp.array([-1.0, 2.0]), method)


def test_a_derivative_that_is_not_finite():
    solution = solve(lambda y, _: jnp.sqrt(y) + 1, jnp.zeros(2), throw=False)
    assert solution.result == RESULTS.nonfinite
    assert_close(solution.value, np.zeros(2))


@pytest.mark.parametrize("method", ["auto", "anagram"])
def test_trials_that_are_not_finite_shorten_the_step(method):
    """From 20 the full Gauss–Newton step for log leads to a negative number."""
    solution = solve(lambda y, _: jnp.log(y), jnp.array([20.0]), method)
    assert_close(solution.value, np.ones(1), ACCUMULATED)


def test_no_tolerances_means_rounding():
    fn, data, starts, certified, _ = NIST["Rat42"]
    solution = solve(fn, jnp.array(starts[1]), args=data, rtol=0, atol=0)
    assert solution.result == RESULTS.successful
    assert bool(solution.stats["stuck"])
    assert_close(solution.value / jnp.array(certified), np.ones(3), 1e-6)


def test_stuck_far_from_a_minimum_is_no_success():
    """A cutoff that leaves out the only way down: no length lowers the loss."""
    fn = lambda y, _: jnp.stack([1e6 * (y[0] - 1), y[1] - 1])
    solution = solve(fn, jnp.array([1.0, 5.0]), "anagram", cutoff=1e-3, throw=False)
    assert bool(solution.stats["stuck"])
    assert solution.result == RESULTS.nonlinear_divergence
    with pytest.raises(eqx.EquinoxRuntimeError, match="diverged"):
        solve(fn, jnp.array([1.0, 5.0]), "anagram", cutoff=1e-3)


def test_starts_that_are_solutions():
    at_zero = solve(rosenbrock, jnp.ones(2), "anagram")
    assert (int(at_zero.stats["num_steps"]), float(at_zero.stats["loss"])) == (0, 0.0)
    constant = solve(lambda y, _: 3.0 + 0 * y, jnp.ones(2))
    assert_close(constant.value, np.ones(2))


def test_tolerances_are_those_of_optimistix():
    """Looser tolerances stop earlier, and the last change is within them."""
    fn, data, starts, certified, _ = NIST["BoxBOD"]
    steps = []
    for tolerance in (1e-2, 1e-6):
        solution = solve(fn, jnp.array(starts[1]), "anagram", args=data, rtol=tolerance, atol=tolerance)
        assert not bool(solution.stats["stuck"])
        assert_close(solution.value / jnp.array(certified), np.ones(2), 3 * tolerance)
        steps.append(int(solution.stats["num_steps"]))
    assert steps[0] < steps[1]


@pytest.mark.parametrize("method", ["auto", "anagram"])
def test_vmap_and_jit(method):
    """Ten data sets at once give what they give one by one; they stop at different steps."""
    random = np.random.default_rng(0)
    x = jnp.linspace(0, 3, 30)
    true = jnp.asarray(random.uniform(0.5, 2.0, (10, 2)))
    measured = jax.vmap(lambda y: saturation(y, (x, 0.0)))(true) + 0.01 * random.normal(size=(10, 30))
    starts = jnp.asarray(random.uniform(0.5, 2.0, (10, 2)))

    def fit(y0, measured):
        solution = solve(saturation, y0, method, args=(x, measured), throw=False)
        return solution.value, solution.stats["num_steps"], solution.result == RESULTS.successful

    values, steps, successful = jax.jit(jax.vmap(fit))(starts, measured)
    assert bool(jnp.all(successful))
    assert len(set(steps.tolist())) > 1
    alone = jax.jit(fit)
    for index in range(0, 10, 3):
        assert_close(values[index], alone(starts[index], measured[index])[0], 1e-7)


def test_derivatives_of_the_solution():
    """By the implicit function theorem, against differences; tags describe the Hessian."""
    x = jnp.linspace(0, 3, 30)

    def fit(noise):
        measured = saturation(jnp.array([2.0, 0.7]), (x, 0.0)) + noise * jnp.sin(5 * x)
        return optx.least_squares(
            saturation,
            ag.interop.LeastSquares(rtol=1e-13, atol=1e-13),
            jnp.array([1.0, 1.0]),
            args=(x, measured),
            adjoint=optx.ImplicitAdjoint(lineax.Cholesky()),
            tags=frozenset({lineax.positive_semidefinite_tag}),
        ).value

    fit = jax.jit(fit)
    expected = (fit(0.1 + 3e-3) - fit(0.1 - 3e-3)) / 6e-3
    assert_close(jax.jacrev(fit)(0.1), expected, 1e-4)


def test_roots_and_the_best_so_far():
    solver = ag.interop.LeastSquares("anagram", rtol=1e-8, atol=1e-8)
    assert_close(optx.root_find(rosenbrock, solver, jnp.array([-1.2, 1.0])).value, np.ones(2), ACCUMULATED)
    fn, data, starts, certified, _ = NIST["BoxBOD"]
    aux = lambda y, data: (fn(y, data), 2 * y)
    best = optx.BestSoFarLeastSquares(solver)
    solution = optx.least_squares(aux, best, jnp.array(starts[1]), args=data, has_aux=True)
    assert_close(solution.value / jnp.array(certified), np.ones(2), 1e-6)
    assert_close(solution.aux, 2 * solution.value)


def test_functions_with_a_reverse_rule_only():
    @jax.custom_vjp
    def cube(y):
        return y**3

    cube.defvjp(lambda y: (y**3, y), lambda y, g: (3 * y**2 * g,))
    fn = lambda y, _: cube(y) - jnp.array([8.0, 27.0, 64.0])
    solver = ag.interop.LeastSquares(rtol=1e-10, atol=1e-10, acceleration=0)
    solution = optx.least_squares(fn, solver, jnp.full(3, 5.0), options={"jac": "bwd"})
    assert_close(solution.value, [2.0, 3.0, 4.0], ACCUMULATED)


# -- mistakes ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sgd"}, "no method 'sgd'"),
        ({"rtol": -1}, "rtol must be a number that is not negative"),
        ({"atol": "small"}, "atol must be a number"),
        ({"atol": float("nan")}, "atol must be a number"),
        ({"ratio": 2}, "ratio must lie between"),
        ({"momentum": 2}, "momentum"),
        ({"method": ag.Auto(), "ratio": 0.5}, "ready method"),
    ],
)
def test_mistakes_with_options(options, message):
    with pytest.raises(ag.SettingError, match=message):
        ag.interop.LeastSquares(**options)


def test_methods_that_want_fresh_points_are_refused():
    class Fresh(ag.Anagram):
        @property
        def fresh_points(self):
            return True

    with pytest.raises(ag.SettingError, match="'fresh' wants fresh points"):
        ag.interop.LeastSquares(Fresh())


@pytest.mark.parametrize(
    ("fn", "y0", "message"),
    [
        (rosenbrock, jnp.ones(2, jnp.float32), "y0 has numbers of type float32"),
        (lambda y, _: y.astype(jnp.float32), jnp.ones(2), "the residual has numbers of type float32"),
        (lambda y, _: jnp.ones(2), (), "y0 has no numbers"),
        (lambda y, _: {}, jnp.ones(2), "the residual has no numbers"),
    ],
)
def test_mistakes_with_numbers(fn, y0, message):
    with pytest.raises(ag.SettingError, match=message):
        solve(fn, y0)


def test_complex_numbers_are_refused():
    for fn, y0, what in (
        (lambda y, _: jnp.abs(y), jnp.ones(2, complex), "y0"),
        (lambda y, _: y + 1j, jnp.ones(2), "the residual"),
    ):
        with pytest.warns(UserWarning, match="Complex"), pytest.raises(ag.SettingError, match=f"{what} is complex"):
            solve(fn, y0)


def test_a_mistake_with_jac():
    with pytest.raises(ag.SettingError, match="jac must be one of fwd, bwd, not 'central'"):
        optx.least_squares(rosenbrock, ag.interop.LeastSquares(), jnp.ones(2), options={"jac": "central"})


def test_optimistix_is_imported_only_when_used(monkeypatch):
    code = "import sys, anagram; assert 'optimistix' not in sys.modules; anagram.interop.LeastSquares()"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "optimistix", None)
    with pytest.raises(ag.MissingError, match=r"pip install 'anagram-pinn\[optimistix\]'"):
        _ = ag.interop.LeastSquares
    with pytest.raises(ImportError, match="optimistix"):
        exec("from anagram.interop import LeastSquares")
    with pytest.raises(AttributeError, match="no attribute 'Adam'"):
        _ = ag.interop.Adam
    assert dir(ag.interop) == ["LeastSquares"]


def test_the_example_of_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "interop.md").read_text(encoding="utf-8")
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) >= 2
    assert_close(names["solution"].value["limit"], 2.3894212918e2, 1e-6)
