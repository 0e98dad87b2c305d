import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.methods import make_method
from anagram.methods.cutoffs import elbow
from anagram.methods.search import LEVELS, first_valley, full_grid, grid_without_zero, refined_grid
from oracles import truncated_step
from tolerances import ACCUMULATED, assert_close

SQUARE = ag.Box(x=(0, 1), y=(0, 1))


def poisson():
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: jnp.exp(x) * y),
        walls=ag.Condition(lambda u: u, on=SQUARE.boundary(), equals=lambda x, y: x * y, weight=5.0),
    )


def first_step(problem, spec, method, points=ag.Grid(12)):
    model = ag.ParametricModel(problem.sought, spec, 0)
    compound = ag.Compound(problem, model)
    batch = ag.sample(problem, points)
    state = jax.jit(lambda t: method.init(compound, t, batch))(model.theta)
    return compound, batch, state, *jax.jit(lambda s: method.step(compound, s, batch))(state)


@pytest.mark.parametrize("spec", [ag.Polynomial(6), ag.Polynomial(5, "legendre"), ag.Fourier(2)], ids=repr)
@pytest.mark.parametrize("factorisation", ["auto", "svd", "qr"])
def test_one_step_solves_a_linear_problem_in_least_squares(spec, factorisation):
    """A linear model and a linear operator: learning rate 1 gives the least-squares solution."""
    method = ag.Anagram(1e-13, factorisation=factorisation)
    compound, batch, before, after, info = first_step(poisson(), spec, method)
    residual, features = jax.jit(compound.features)(before.theta, batch)
    expected = before.theta - np.linalg.lstsq(features, residual, rcond=1e-13)[0]
    assert float(info["step_length"]) == 1.0
    assert_close(after.theta, expected, ACCUMULATED)
    gradient, size = (
        features.T @ jax.jit(compound.residual)(after.theta, batch),
        np.linalg.norm(features) * np.linalg.norm(residual),
    )
    assert_close(gradient, np.zeros_like(gradient), scale=size)


def test_regression_is_a_problem_whose_operator_is_the_identity():
    """Algorithm 1: a polynomial of degree 8 finds itself in one step."""
    line = ag.Box(x=(-1, 1))
    coefficients = np.random.default_rng(0).normal(size=9)
    target = np.polynomial.chebyshev.Chebyshev(coefficients)
    problem = ag.Problem(line, fit=ag.Condition(lambda u: u, equals=lambda x: float(target(x))))
    after = first_step(problem, ag.Polynomial(8), ag.Anagram(1e-13), ag.Grid(40))[3]
    assert_close(after.theta, coefficients, ACCUMULATED)


@pytest.mark.parametrize("rows", ["weighted", "paper"])
def test_the_direction_is_the_truncated_pseudo_inverse_of_the_chosen_rows(rows):
    method = ag.Anagram(1e-3, relative=True, rows=rows, search="full")
    compound, batch, before, after, info = first_step(poisson(), ag.MLP(10), method)
    scale = 1.0 if rows == "weighted" else 1 / np.concatenate([np.ravel(b.scale) for b in batch.values()])
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    features = (features.T * scale).T
    step, rank = truncated_step(features, scale * residual, 1e-3 * np.linalg.norm(features, 2))
    assert int(info["rank"]) == rank
    assert_close(after.theta - before.theta, float(info["step_length"]) * step, 1e-6)
    loss = jax.jit(compound.loss)
    losses = [loss(before.theta + 2.0**-k * step, batch) for k in range(LEVELS)]
    assert float(info["step_length"]) == 2.0 ** -int(np.argmin(losses))
    assert_close(info["loss"], min(losses), 1e-6)


@pytest.mark.parametrize("factorisation", ["auto", "svd", "lq", "eigh"])
def test_the_elbow_is_a_cutoff_like_any_other(factorisation):
    """One step with ε at the elbow is the step with that number as ε, and the elbow is chosen afresh."""
    method = ag.Anagram("elbow", factorisation=factorisation, search="full")
    compound, batch, before, after, info = first_step(poisson(), ag.MLP(10), method)
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    sigma = np.linalg.svd(features, compute_uv=False)
    floor = (6e-8 if factorisation == "eigh" else 1e-13) * sigma[0]
    step, rank = truncated_step(features, residual, sigma[int(elbow(sigma, floor)) - 1] * (1 - 1e-9))
    assert int(info["rank"]) == rank < np.sum(sigma > floor)
    assert_close(after.theta - before.theta, float(info["step_length"]) * step, 1e-4)
    again = jax.jit(lambda s: method.step(compound, s, batch))(after)[1]
    assert float(again["cutoff"]) != float(info["cutoff"])


@pytest.mark.parametrize("cutoff", [1e-3, "elbow"])
def test_the_loss_never_rises(cutoff):
    problem = ag.catalogue.problem("allen-cahn")
    model = ag.ParametricModel(problem.sought, ag.MLP(8, 8), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(12))
    method = ag.Anagram(cutoff)
    state = method.init(compound, model.theta, batch)
    _, info = jax.jit(lambda s: jax.lax.scan(lambda s, _: method.step(compound, s, batch), s, None, length=40))(state)
    losses = np.concatenate([[state.loss], info["loss"]])
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < (0.1 if cutoff == 1e-3 else 1) * losses[0]


@pytest.mark.parametrize("search", [full_grid, refined_grid, first_valley])
def test_line_search_takes_the_best_length_or_none(search):
    for best in (0, 1, 7, 18, 30):
        length, loss = search(lambda eta: (jnp.log2(eta) + best) ** 2, jnp.asarray(1e6))
        assert float(length) == 2.0**-best
        assert float(loss) < 1e-20
    length, loss = search(lambda eta: 1 + eta, jnp.asarray(1.0))
    assert (float(length), float(loss)) == (0.0, 1.0)
    length, _ = search(lambda eta: jnp.where(eta > 0.1, jnp.nan, (eta - 2.0**-6) ** 2), jnp.asarray(1.0))
    assert float(length) == 2.0**-6


def test_the_search_without_zero_takes_the_best_length_even_uphill():
    length, loss = grid_without_zero(lambda eta: (jnp.log2(eta) + 7) ** 2, jnp.asarray(1e6))
    assert float(length) == 2.0**-7
    assert float(loss) < 1e-20
    length, loss = grid_without_zero(lambda eta: 1 + eta, jnp.asarray(1.0))
    assert (float(length), float(loss)) == (2.0**-30, 1 + 2.0**-30)
    length, loss = grid_without_zero(lambda eta: eta * jnp.nan, jnp.asarray(1.0))
    assert (float(length), float(loss)) == (0.0, 1.0)


def test_nan_leaves_the_state_as_it_was():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(line, c=ag.Condition(lambda u: np.log(u)))
    model = ag.ParametricModel(problem.sought, ag.Polynomial(2), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(9))
    method = ag.Anagram()
    state = method.init(compound, model.theta, batch)  # log 0
    after, info = method.step(compound, state, batch)
    assert bool(info["failed"])
    assert_close(after.theta, state.theta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cutoff": -1}, "not negative"),
        ({"cutoff": 2.0}, "below 1"),
        ({"cutoff": "x"}, "not negative, or 'elbow'"),
        ({"cutoff": True}, "not negative, or 'elbow'"),
        ({"cutoff": "elbow", "factorisation": "cholesky"}, "does not give"),
        ({"rows": "all"}, "weighted"),
        ({"search": "golden"}, "full, refined"),
        ({"factorisation": "lu"}, "no factorisation"),
        ({"factorisation": "cholesky"}, "does not give"),
        ({"momentum": 0.9}, "momentum"),
    ],
)
def test_mistakes_with_options(options, message):
    with pytest.raises(ag.SettingError, match=message):
        make_method("anagram", **options)


def test_the_elbow_from_the_command_line():
    setting = ag.Setting(method="anagram").with_changes({"cutoff": "elbow"})
    assert setting.make_method().cutoff == "elbow"


def test_methods_by_name():
    assert isinstance(make_method("anagram", cutoff=1e-3), ag.Anagram)
    with pytest.raises(ag.SettingError, match="no method 'sgd'; choose from auto, anagram"):
        make_method("sgd")
    with pytest.raises(ag.SettingError, match="ready method"):
        make_method(ag.Anagram(), cutoff=1)
