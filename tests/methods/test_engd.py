import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.methods import Anagram, Engd
from problems import parabola
from tolerances import ACCUMULATED, assert_close

SQUARE = ag.Box(x=(0, 1), y=(0, 1))


def poisson(weight=1.0):
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: jnp.sin(3 * x) * y),
        walls=ag.Condition(lambda u: u, on=SQUARE.boundary(), equals=lambda x, y: x * y, weight=weight),
    )


def prepared(problem, spec, points, seed=0):
    model = ag.ParametricModel(problem.sought, spec, seed)
    return Compound(problem, model), model.theta, ag.sample(problem, points)


def step_of(method, compound, theta, batch):
    return jax.jit(lambda t: method.step(compound, method.init(compound, t, batch), batch))(theta)


def test_on_a_linear_problem_it_is_anagram_with_weighted_rows():
    """Well conditioned and without a cutoff the two are the same step."""
    compound, _, batch = prepared(poisson(7.0), ag.Polynomial(3), ag.GaussLegendre(8))
    theta = jnp.asarray(np.random.default_rng(0).normal(size=compound.model.parameters))
    one, _ = step_of(Engd(), compound, theta, batch)
    other, _ = step_of(Anagram(0.0, rows="weighted", factorisation="svd"), compound, theta, batch)
    assert_close(one.theta, other.theta, ACCUMULATED)
    equal_rows, _ = step_of(Anagram(0.0, rows="paper", factorisation="svd"), compound, theta, batch)
    assert np.abs(equal_rows.theta - one.theta).max() > 1e4 * ACCUMULATED  # the weights are not a detail


@pytest.mark.long
def test_the_two_drift_apart_with_the_square_of_the_condition_number():
    """On an equation that only zero solves, a step of length 1 leads to θ = 0; what is left is its error."""
    left, line = [], ag.Box(x=(0, 1))
    nothing = ag.Problem(
        line, equation=ag.Condition(lambda u: u.d("x", "x")), ends=ag.Condition(lambda u: u, on=line.boundary())
    )
    for degree in (4, 12, 28):
        compound, _, batch = prepared(nothing, ag.Polynomial(degree), ag.GaussLegendre(60))
        theta = jnp.asarray(np.random.default_rng(0).normal(size=compound.model.parameters))
        steps = (Engd(rcond=0.0), Anagram(0.0, rows="weighted", factorisation="svd"))
        errors = [float(jnp.abs(step_of(method, compound, theta, batch)[0].theta).max()) for method in steps]
        left.append((np.linalg.cond(jax.jit(compound.features)(theta, batch)[1]), *errors))
    kappa, of_engd, of_anagram = map(np.array, zip(*left, strict=True))
    assert np.all(np.diff(kappa) > 0)
    assert np.all(of_anagram < 1e-14 * kappa)
    assert np.all(of_engd < 1e-14 * kappa**2)
    assert of_engd[-1] > 30 * of_anagram[-1]


def test_a_nonlinear_energy_takes_its_second_part_into_account():
    line = ag.Box(x=(0, 1))
    cubic = ag.Problem(line, c=ag.Condition(lambda u: u**3, equals=8.0))
    compound, theta, batch = prepared(cubic, ag.Polynomial(0), ag.Grid(3))
    theta = theta * 0 + 1.0
    # One parameter: E(θ) = ½(θ³ − 8)², whose Newton step is E'/E''.
    first, second = 3 * (1 - 8.0), 9 + (1 - 8.0) * 6
    state, info = step_of(Engd(search="full"), compound, theta, batch)
    assert int(info["negative"]) == 1
    assert float(info["step_length"]) == 0.0  # Newton's step leads uphill, where the energy is concave
    forced, info = step_of(Engd(search="paper"), compound, theta, batch)
    assert_close((forced.theta - theta)[0], -info["step_length"] * first / second, scale=1e-4)
    plain, info = step_of(Engd(variation="gauss-newton", search="full"), compound, theta, batch)
    assert_close((plain.theta - theta)[0], -info["step_length"] * first / 9)
    assert plain.loss < state.loss


def test_it_lowers_the_loss_where_zero_is_no_length():
    """Where a single run ends depends on rounding, and one in eight is slow: half of them must have got far."""
    problem, falls = parabola(), []
    for seed in range(8):
        solution = ag.solve(problem, ag.MLP(4), "engd", points=ag.Grid(20), steps=60, seed=seed, progress=False)
        assert np.all(solution.history.steps["step_length"] > 0)
        falls.append(solution.loss / solution.history.blocks[0]["loss"])
    assert max(falls) < 1
    assert np.median(falls) < 0.1


def test_small_eigenvalues_are_dropped():
    compound, theta, batch = prepared(poisson(), ag.MLP(6), ag.Grid(8))
    _, info = step_of(Engd(rcond=1e-3), compound, theta, batch)
    eigenvalues = np.linalg.eigvalsh(jax.jit(compound.gram)(theta, batch).matrix)
    assert int(info["rank"]) == np.sum(eigenvalues > 1e-3 * eigenvalues.max())


def test_wrong_options_are_named():
    with pytest.raises(ag.SettingError, match="rcond"):
        Engd(rcond=2.0)
    with pytest.raises(ag.SettingError, match="variation"):
        Engd(variation="half")
    with pytest.raises(ag.SettingError, match="search"):
        Engd(search="some")
