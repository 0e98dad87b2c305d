"""Waves around periodic axes, times polynomials along the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.models import ParametricModel, Waves, spec_from_json, spec_to_json
from anagram.models.waves import tails
from anagram.statement.expressions import Wanted
from anagram.statement.unknowns import Unknown, Unknowns
from anagram.training.guesses import features_near
from tolerances import assert_close

RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1))
TORUS = ag.Box(x=ag.periodic(-1, 1), y=ag.periodic(0, 3))
PIPE = ag.Box(t=(0, 2), x=ag.periodic(-1, 1), y=(0, 3))
CASES = [
    (RING, Waves(40, waves=9, offset=1.0, size=2.0)),
    (TORUS, Waves(24, waves=3)),
    (PIPE, Waves(60, waves=5)),
]


def drawn(domain, spec, *names):
    unknowns = tuple(Unknown(name, False, None) for name in names or ("u",))
    model = ParametricModel(Unknowns(domain, unknowns, {}), spec, 0)
    return model, np.random.default_rng(1).standard_normal(model.parameters)


def points(domain, count=16):
    return domain.draw(ag.Sobol(count), np.random.default_rng(0)).x


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_it_is_linear_in_its_parameters(domain, spec):
    model, theta = drawn(domain, spec)
    values, x = jax.jit(jax.vmap(model.values, (None, 0))), points(domain)
    zero = np.asarray(values(0 * theta, x))
    assert_close(values(jnp.asarray(2 * theta), x) - zero, 2 * (values(jnp.asarray(theta), x) - zero))
    assert model.is_linear
    assert model.parameters == spec.count(domain, 1) == spec.width + 1


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_its_functions_by_numpy_are_those_of_the_model(domain, spec):
    model, theta = drawn(domain, spec)
    module, x = model._module(jnp.asarray(theta)), points(domain)
    place = module.placement
    assert_close(
        place.offset + place.size * (module.features(x) @ module.weight.T + module.bias), jax.jit(jax.vmap(module))(x)
    )


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_no_function_is_made_of_the_others(domain, spec):
    x = points(domain, 512)
    functions = np.column_stack([np.ones(len(x)), drawn(domain, spec)[0].module.features(x)])
    assert np.linalg.cond(functions) < 20


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_jets_are_derivatives(domain, spec):
    model, theta = drawn(domain, spec)
    x = jnp.asarray([0.7, 0.3, 0.2][: len(domain.axes)])
    rest = (0,) * (len(x) - 2)
    sums = [(((2, 0, *rest), 1.0), ((0, 2, *rest), 3.0)), (((0, 0, *rest), 2.0),)]
    indices = [(0, 0, *rest), (1, 0, *rest), (0, 2, *rest), (1, 1, *rest), (0, 3, *rest)]
    u = lambda x: model.values(jnp.asarray(theta), x)[0]

    @jax.jit
    def both(x):
        found = model.source(jnp.asarray(theta)).derivatives(x, {"u": Wanted(indices, sums)})["u"]
        slope, hessian = jax.grad(u)(x), jax.hessian(u)(x)
        third = jax.jvp(lambda x: jax.hessian(u)(x)[1, 1], (x,), (jnp.zeros_like(x).at[1].set(1.0),))[1]
        expected = [u(x), slope[0], hessian[1, 1], hessian[0, 1], third, hessian[0, 0] + 3 * hessian[1, 1], 2 * u(x)]
        return jnp.stack([*found.values.values(), *found.sums]), jnp.stack(expected)

    found, expected = both(x)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_it_is_periodic(domain, spec):
    model, theta = drawn(domain, spec)
    shift = domain.lengths * [axis in domain.periodic_axes for axis in domain.axes]
    values, x = jax.jit(jax.vmap(model.values, (None, 0))), points(domain)
    assert_close(values(jnp.asarray(theta), x + shift), values(jnp.asarray(theta), x), tolerance=1e-10)


def test_recipes_come_back_from_json():
    spec = CASES[0][1]
    again = spec_from_json(spec_to_json(spec))
    assert again.options() == spec.options()
    assert repr(again) == repr(spec)


def test_functions_that_it_holds_are_fitted():
    model, _ = drawn(RING, Waves(60, waves=7), "u", "v")
    known = {"u": lambda x: x[:, 0] ** 2 * np.cos(np.pi * x[:, 1]), "v": lambda x: 1 + np.sin(3 * np.pi * x[:, 1])}
    theta = features_near(model, lambda x: {name: f(x) for name, f in known.items()})
    assert theta is not None
    x = points(RING)
    values = jax.jit(jax.vmap(model.values, (None, 0)))(jnp.asarray(theta), x)
    assert_close(values, np.column_stack([f(x) for f in known.values()]), tolerance=1e-8)


@pytest.mark.parametrize("arguments", [{"width": 0}, {"width": 2.5}, {"waves": 0}, {"waves": True}, {"width": 10**9}])
def test_what_makes_no_sense_is_refused(arguments):
    with pytest.raises(SettingError, match="of Waves is a whole number"):
        Waves(**{"width": 8, "waves": 3, **arguments})


@pytest.mark.parametrize("domain", [ag.Box(t=(0, 1), x=(0, 1)), ag.Box(nu=ag.parameter(0, 1), x=ag.periodic(0, 1))])
def test_other_domains_are_refused(domain):
    with pytest.raises(SettingError, match="boxes with a periodic axis"):
        drawn(domain, Waves(8, waves=3))


def test_the_tail_of_an_even_solution_is_that_of_its_cosines():
    """The last of an odd number of waves is a sine, of which an even solution has none."""
    waves, others = 11, 9
    which = np.arange(waves * others)
    fine, coarse = which % waves, which // waves
    cosines = np.where((fine == 0) | (fine % 2 == 1), 0.9 ** ((fine + 1) // 2), 0.0)
    weight = (cosines * 0.1**coarse)[None]
    found, _ = tails(weight, np.zeros(1), fine, coarse)
    assert found > 0.1
