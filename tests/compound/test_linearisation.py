import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram import spectrum
from anagram.compound import Linearisation
from oracles import damped_step, dense_features
from tolerances import ACCUMULATED, assert_close

pytestmark = pytest.mark.rounding

BOX = ag.Box(t=(0, 1), x=(-1, 1))
PROBLEM = ag.Problem(
    BOX,
    equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") - 0.1 * u.d("x", "x"), equals=lambda t, x: t - x),
    flux=ag.Condition(lambda u: u.normal_derivative(), on=BOX.faces("x"), equals=0.3, weight=5.0),
)
MODEL = ag.ParametricModel(PROBLEM.sought, ag.MLP(5), 1)
THETA = MODEL.theta + 0.1 * jnp.sin(jnp.arange(MODEL.parameters))
TALL, WIDE = ag.sample(PROBLEM, ag.GaussLegendre(5), seed=1), ag.sample(PROBLEM, ag.GaussLegendre(2), seed=1)
RNG = np.random.default_rng(0)
BASIS = np.linalg.qr(RNG.normal(size=(MODEL.parameters, 6)))[0]
V = RNG.normal(size=MODEL.parameters)
CASES = {"whole": (TALL, 2**20), "wide": (WIDE, 2**20), "chunks": (TALL, 8 * 4 * MODEL.parameters)}


@functools.cache
def found(case):
    """Everything that a linearisation gives, by one compiled program; and what it says of itself."""
    batch, chunk_bytes = CASES[case]
    compound = ag.Compound(PROBLEM, MODEL, chunk_bytes=chunk_bytes)
    facts = {}

    def everything(theta, w):
        linear = Linearisation(compound, theta, batch)
        facts.update(whole=linear.features is not None, wide=linear.is_wide)
        steps = {
            squared: [spectrum.for_dampings(linear, squared).damped(damping) for damping in (1e-3, 1.0)]
            for squared in (True, False)
        }
        return {
            "loss": linear.loss,
            "trace": linear.trace,
            "gram": linear.gram(),
            "in a basis": linear.gram(jnp.asarray(BASIS)),
            "pulled": linear.transposed_times(w),
            "second": linear.second(jnp.asarray(V)),
            "steps": steps,
        }

    w = np.cos(np.arange(compound.count_rows(batch)))
    return jax.jit(everything)(THETA, jnp.asarray(w)), facts, w


@functools.cache
def dense(case):
    """r and J with no help of ours."""
    batch, _ = CASES[case]
    compound = ag.Compound(PROBLEM, MODEL)
    residual = np.asarray(jax.jit(compound.residual)(THETA, batch))
    hessian = jax.jit(jax.jacfwd(jax.jacfwd(lambda t: compound.residual(t, batch))))(THETA)
    return residual, dense_features(compound, THETA, batch), np.einsum("spq,p,q->s", hessian, V, V)


@pytest.mark.parametrize("case", CASES)
def test_it_agrees_with_dense_matrices(case):
    values, _, w = found(case)
    residual, features, second = dense(case)
    assert_close(values["loss"], 0.5 * residual @ residual, ACCUMULATED)
    assert_close(values["trace"], np.sum(features**2), ACCUMULATED)
    for gram, matrix in ((values["gram"], features), (values["in a basis"], features @ BASIS)):
        assert_close(gram.matrix, matrix.T @ matrix, ACCUMULATED)
        assert_close(gram.gradient, matrix.T @ residual, ACCUMULATED)
        assert_close(gram.square, residual @ residual, ACCUMULATED)
    assert_close(values["pulled"], features.T @ w, ACCUMULATED)
    assert_close(values["second"], second, ACCUMULATED)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("squared", [True, False])
def test_damped_steps_of_it(case, squared):
    values, _, _ = found(case)
    residual, features, _ = dense(case)
    for damping, step in zip((1e-3, 1.0), values["steps"][squared], strict=True):
        expected = damped_step(features, residual, damping)
        assert_close(step.direction, expected, 1e-8)
        assert_close(step.predicted, -(features.T @ residual) @ expected + damping * expected @ expected, 1e-8)


def test_which_form_is_taken():
    assert found("whole")[1] == {"whole": True, "wide": False}
    assert found("wide")[1] == {"whole": True, "wide": True}
    assert found("chunks")[1] == {"whole": False, "wide": False}


def test_features_are_evaluated_once_for_all_that_need_them():
    """One linearisation a step: its parts share J."""
    calls = []

    class Counting(ag.Compound):
        def features(self, theta, batch):
            calls.append(1)
            return super().features(theta, batch)

    def step(theta):
        linear = Linearisation(Counting(PROBLEM, MODEL), theta, TALL)
        spectrum.for_dampings(linear, jnp.asarray(True)).damped(1e-3)
        return linear.loss, linear.transposed_times(jnp.ones(linear.residual.size)), linear.gram()

    jax.eval_shape(step, THETA)
    assert len(calls) == 1
