import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import spec_from_json, spec_to_json
from anagram.models.mlp import ACTIVATIONS
from anagram.statement.fields import Frame
from tolerances import assert_close

BOX = ag.Box(t=(0, 2), x=(-3, 1))
PROBLEM = ag.Problem(BOX, c=ag.Condition(lambda u: u))
SYSTEM = ag.Problem(
    BOX, c=ag.Condition(lambda u, psi, k: (k * u, psi)), unknowns={"u": float, "psi": complex}, coefficients={"k": 3.0}
)
KEY = jax.random.key(0)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_mlp_is_the_composition_of_its_layers(activation):
    network = ag.MLP(5, 4, activation=activation).build(BOX, 2, KEY)
    z = np.array([0.5, -2.0])
    scaled = (z - np.array([0.0, -3.0])) / np.array([2.0, 4.0])
    sigma = ACTIVATIONS[activation]
    hidden = sigma(network.weights[1] @ sigma(network.weights[0] @ scaled + network.biases[0]) + network.biases[1])
    assert_close(network(jnp.asarray(z)), network.weights[2] @ hidden + network.biases[2])


def test_the_papers_parameter_counts():
    for domain, widths, count in [
        (2, (32,), 129),
        (2, (64,), 257),
        (5, (64,), 449),
        (2, (20,) * 3, 921),
        (2, (32,) * 3, 2241),
    ]:
        box = ag.Box(**{f"x{k}": (0, 1) for k in range(domain)})
        problem = ag.Problem(box, c=ag.Condition(lambda u: u))
        assert ag.ParametricModel(problem.sought, ag.MLP(*widths), 0).parameters == count


@pytest.mark.parametrize(
    ("init", "spread", "bias"),
    [
        ("glorot", np.sqrt(2 / 402), 0),
        ("lecun", np.sqrt(1 / 2), 0),
        ("frequency", 2 / np.sqrt(2), 2 / np.sqrt(3)),
        ("small", 0.1, 0.1),
    ],
)
def test_initialisations_have_their_spread(init, spread, bias):
    network = ag.MLP(400, 10, init=init).build(BOX, 1, KEY)
    assert_close(np.std(network.weights[0]), spread, 0.1)
    assert_close(np.sqrt(np.mean(network.biases[0] ** 2)), bias, 0.1)


def test_seeds_choose_the_network():
    a, b, c = (ag.ParametricModel(PROBLEM.sought, ag.MLP(8), seed).theta for seed in (0, 0, 1))
    assert_close(a, b)
    assert np.abs(a - c).max() > 0.1


def test_fourier_waves_are_orthonormal_and_periodic():
    for box, order in [
        (ag.Box(x=(0, 3)), 4),
        (ag.Box(x=(0, 1), y=(-1, 1)), 2),
        (ag.Box(x=(0, 1), y=(0, 1), z=(0, 2)), 1),
    ]:
        series = ag.Fourier(order).build(box, 1, KEY)
        assert series.coefficients.size == (2 * order + 1) ** box.dimension
        n = 4 * order + 3
        closed = np.stack(
            np.meshgrid(*(np.linspace(*i, n + 1)[:-1] for i in box.intervals.values()), indexing="ij"), -1
        )
        points = jnp.asarray(closed.reshape(-1, box.dimension))

        def waves(p, series=series):
            return jax.jacfwd(lambda c: eqx.tree_at(lambda s: s.coefficients, series, c)(p)[0])(
                series.coefficients
            ).ravel()

        waves = jax.jit(waves)
        values = jax.jit(jax.vmap(waves))(points)
        assert_close(values.T @ values / len(points), np.eye(values.shape[1]), 1e-11)
        assert_close(waves(points[3]), waves(points[3] + jnp.asarray(box.lengths)), 1e-11)


@pytest.mark.parametrize(
    ("basis", "evaluate"),
    [("chebyshev", np.polynomial.chebyshev.chebval2d), ("legendre", np.polynomial.legendre.legval2d)],
)
@pytest.mark.parametrize("degree", [0, 1, 5])
def test_polynomials_agree_with_numpy(basis, evaluate, degree):
    polynomial = ag.Polynomial(degree, basis).build(BOX, 1, KEY)
    coefficients = np.random.default_rng(0).normal(size=polynomial.coefficients.shape)
    polynomial = eqx.tree_at(lambda p: p.coefficients, polynomial, jnp.asarray(coefficients))
    point = np.array([0.3, -1.1])
    assert_close(polynomial(jnp.asarray(point))[0], evaluate(0.3 - 1, (-1.1 + 1) / 2, coefficients[0]))


def test_any_equinox_module_is_a_model():
    scalar = eqx.nn.MLP(2, "scalar", 8, 1, activation=jnp.tanh, key=KEY)
    model = ag.ParametricModel(PROBLEM.sought, scalar, 0)
    point = jnp.array([0.5, 0.1])
    assert_close(model.values(model.theta, point), scalar(point)[None])
    assert model.parameters == 2 * 8 + 8 + 8 + 1


def test_systems_split_the_outputs_and_carry_coefficients():
    model = ag.ParametricModel(SYSTEM.sought, ag.MLP(6), 0)
    point = jnp.array([0.5, 0.1])
    values = model.values(model.theta, point)
    fields = model.quantities(model.theta, Frame(BOX.axes))
    assert_close(fields["u"].at(point), values[0])
    assert_close(fields["psi"].at(point), values[1] + 1j * values[2])
    assert_close(fields["k"].at(point), 3.0)
    assert model.coefficients(model.theta) == {"k": 3.0}


def test_one_model_for_each_unknown():
    model = ag.ParametricModel(SYSTEM.sought, {"u": ag.Polynomial(2), "psi": ag.Fourier(1)}, 0)
    assert model.parameters == 9 + 2 * 9 + 1


@pytest.mark.parametrize(
    "spec",
    [ag.MLP(3, 4, activation="sin", init="lecun", scale=0), ag.Fourier(3), ag.Polynomial(4, "legendre")],
    ids=repr,
)
def test_recipes_survive_json(spec):
    again = spec_from_json(spec_to_json(spec))
    assert type(again) is type(spec)
    assert again.options() == spec.options()


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: ag.MLP(), "at least one hidden layer"),
        (lambda: ag.MLP(0), "positive whole numbers"),
        (lambda: ag.MLP(8, activation="relu"), "relu"),
        (lambda: ag.MLP(8, init="he"), "no initialisation 'he'"),
        (lambda: ag.Fourier(-1), "not negative"),
        (lambda: ag.Polynomial(3, "hermite"), "hermite"),
        (lambda: spec_from_json({"kind": "Transformer"}), "no model 'Transformer'"),
        (lambda: ag.ParametricModel(PROBLEM.sought, "mlp", 0), "recipe such as MLP"),
        (lambda: ag.ParametricModel(PROBLEM.sought, jnp.tanh, 0), "with parameters"),
        (lambda: ag.ParametricModel(PROBLEM.sought, eqx.nn.MLP(3, 1, 8, 1, key=KEY), 0), "2 coordinates t, x"),
        (lambda: ag.ParametricModel(PROBLEM.sought, eqx.nn.MLP(2, 2, 8, 1, key=KEY), 0), "gives 2 float64 values"),
        (lambda: ag.ParametricModel(SYSTEM.sought, {"u": ag.MLP(3)}, 0), "exactly the names u, psi"),
        (
            lambda: ag.ParametricModel(PROBLEM.sought, eqx.nn.Linear(2, 1, dtype=complex, key=KEY), 0),
            "complex parameters",
        ),
    ],
)
def test_mistakes_with_models(mistake, message):
    with pytest.raises(ag.SettingError, match=message):
        mistake()


def test_a_rough_model_is_steep_and_bends_all_over_the_domain():
    """First-layer rows of mean square length 2, biases spread over ±2; all else stays, coefficients too."""
    for init in ("lecun", "small"):
        model = ag.ParametricModel(SYSTEM.sought, ag.MLP(40, 7, init=init), 3)
        before, after = model._unravel(model.theta), model._unravel(model.rough(model.theta))
        weight, bias = np.asarray(after["model"].weights[0]), np.sort(after["model"].biases[0])
        assert_close(np.mean(np.sum(weight**2, axis=1)), 4.0)
        ratio = weight / np.asarray(before["model"].weights[0])
        assert_close(ratio, np.full_like(ratio, ratio[0, 0]))
        assert np.diff(bias).max() < 3 * 4 / 40
        assert -2 < bias[0] < -1.8 < 1.8 < bias[-1] < 2
        assert_close(after["model"].weights[1], before["model"].weights[1])
        assert model.coefficients(model.rough(model.theta)) == {"k": 3.0}


def test_models_that_know_no_rough_form_stay_as_they_are():
    plain = ag.ParametricModel(PROBLEM.sought, ag.Polynomial(3), 0)
    assert_close(plain.rough(plain.theta), plain.theta)
    mixed = ag.ParametricModel(SYSTEM.sought, {"u": ag.Polynomial(3), "psi": ag.MLP(5)}, 0)
    before, after = mixed._unravel(mixed.theta)["model"], mixed._unravel(mixed.rough(mixed.theta))["model"]
    assert_close(jax.tree.leaves(after.modules["u"])[0], jax.tree.leaves(before.modules["u"])[0])
    assert not np.allclose(after.modules["psi"].weights[0], before.modules["psi"].weights[0])
