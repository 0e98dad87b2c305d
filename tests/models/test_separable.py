"""Sums of products of functions of one axis each."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.models import ParametricModel, spec_from_json, spec_to_json
from anagram.statement.expressions import Wanted
from anagram.statement.unknowns import Unknown, Unknowns
from tolerances import assert_close

SPACE = ag.Box(x=(0, 1), y=(-1, 2), z=(0, 3), w=(2, 4))
RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1), k=ag.parameter(0.1, 10, log=True), m=ag.parameter(0, 3))


def drawn(domain, spec, *names, seed=0):
    unknowns = tuple(Unknown(name, False, None) for name in names or ("u",))
    model = ParametricModel(Unknowns(domain, unknowns, {}), spec, seed)
    return model, jnp.asarray(np.random.default_rng(1).standard_normal(model.parameters) / 2)


def points(domain, count=16):
    return domain.draw(ag.Sobol(count), np.random.default_rng(0)).x


def derived(function, axis):
    """Its derivative along an axis, as JAX sees it."""
    return lambda x: jax.grad(function)(x)[axis]


@pytest.mark.parametrize("domain", [SPACE, RING], ids=["open", "of all kinds"])
def test_jets_are_derivatives(domain):
    model, theta = drawn(domain, ag.Separable(3, degree=4, offset=1.5, size=2.0), "u", "v")
    x = jnp.asarray(points(domain, 4)[2])
    sums = [
        (((2, 0, 0, 0), 1.0), ((0, 2, 0, 0), 3.0), ((0, 0, 2, 0), -1.0)),
        (((1, 1, 0, 0), 2.0), ((0, 0, 0, 2), 0.5)),
        (((0, 0, 0, 0), 2.0),),
    ]
    indices = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (0, 3, 0, 0), (0, 0, 2, 0), (0, 0, 3, 0)]

    @jax.jit
    def both(x):
        def plain(index):
            value = lambda x: model.values(theta, x)[1]
            for axis, times in enumerate(index):
                for _ in range(times):
                    value = derived(value, axis)
            return value(x)

        found = model.source(theta).derivatives(x, {"v": Wanted(indices, sums)})["v"]
        expected = [plain(index) for index in indices]
        expected += [sum(c * plain(index) for index, c in terms) for terms in sums]
        return jnp.stack([*found.values.values(), *found.sums]), jnp.stack(expected)

    found, expected = both(x)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, 1e-10)


def test_it_is_the_sum_of_products_that_its_name_says():
    model, theta = drawn(SPACE, ag.Separable(2, degree=5))
    weight, x = np.asarray(model._module(theta).weight), points(SPACE)
    z = 2 * (x - SPACE.low) / SPACE.lengths - 1
    slow = [
        sum(np.prod([np.polynomial.chebyshev.chebval(z[n, k], weight[0, r, k]) for k in range(4)]) for r in range(2))
        for n in range(len(x))
    ]
    assert_close(jax.jit(jax.vmap(model.values, (None, 0)))(theta, x)[:, 0], slow)


def test_it_is_periodic():
    model, theta = drawn(RING, ag.Separable(2, degree=5))
    values, x = jax.jit(jax.vmap(model.values, (None, 0))), points(RING)
    assert_close(values(theta, x + np.array([0, 2, 0, 0])), values(theta, x), 1e-12)


@pytest.mark.parametrize("parameters", [("terms", 5), ("degree", 9), ("both", 7)])
def test_a_larger_one_begins_with_the_same_values(parameters):
    kind, size = parameters
    small, theta = drawn(SPACE, ag.Separable(3, degree=4), "u", "v")
    larger = ag.Separable(size if kind != "degree" else 3, degree=size if kind != "terms" else 4)
    model, _ = drawn(SPACE, larger, "u", "v")
    weight = small._module(theta).grown(model.module.weight.shape, 0)
    grown = model.parameters_of(type(model.module)(jnp.asarray(weight), model.module.placement, model.module.kinds))
    x = points(SPACE, 64)
    before, after = (jax.jit(jax.vmap(m.values, (None, 0)))(t, x) for m, t in ((small, theta), (model, grown)))
    new = 0.1 * np.max(np.abs(before)) if kind != "degree" else 1e-13
    assert np.max(np.abs(after - before)) <= new
    assert kind == "degree" or np.max(np.abs(after - before)) > 0, "new terms that are zero would stay so"
    # And back: what is left out is small, as it was zero.
    again = model._module(grown).grown(small.module.weight.shape, 0)
    assert_close(again, small._module(theta).weight)


def test_the_tail_is_that_of_the_last_functions():
    """Of e^{−a x} with its Chebyshev coefficients along one axis, and constants along the others."""
    model, _ = drawn(SPACE, ag.Separable(1, degree=8))
    module = model.module
    series = np.polynomial.chebyshev.chebinterpolate(lambda z: np.exp(-z), 8)
    weight = np.zeros(module.weight.shape)
    weight[..., 0] = 1.0
    weight[0, 0, 2] = series
    tail = type(module)(jnp.asarray(weight), module.placement, module.kinds).tail()
    assert tail == pytest.approx(np.abs(series[-2:]).max() / np.linalg.norm(series))


def test_terms_that_cancel_make_the_tail_no_smaller():
    model, theta = drawn(SPACE, ag.Separable(2, degree=3))
    module = model._module(theta)
    weight = np.asarray(module.weight).copy()
    weight[:, 1] = weight[:, 0]
    weight[:, 1, 0] *= -1 + 1e-3
    cancelled = type(module)(jnp.asarray(weight), module.placement, module.kinds)
    assert cancelled.tail() > 100 * type(module)(jnp.asarray(weight[:, :1]), module.placement, module.kinds).tail()


def test_the_number_of_parameters_is_known_beforehand():
    for domain, spec, outputs in itertools.product(
        (SPACE, RING), (ag.Separable(1, degree=1), ag.Separable(3, degree=4)), (1, 2)
    ):
        names = ("u", "v")[:outputs]
        assert drawn(domain, spec, *names)[0].parameters == spec.count(domain, outputs)


def test_recipes_come_back_from_json():
    spec = ag.Separable(3, degree=5, offset=1.0, size=2.0)
    again = spec_from_json(spec_to_json(spec))
    assert again.options() == spec.options()
    assert repr(again) == repr(spec)


@pytest.mark.parametrize("arguments", [{"terms": 0}, {"terms": 2.5}, {"degree": 0}, {"degree": True}, {"terms": 10**9}])
def test_what_makes_no_sense_is_refused(arguments):
    given = {"terms": 2, "degree": 3, **arguments}
    with pytest.raises(SettingError, match="of Separable is a whole number"):
        ag.Separable(given.pop("terms"), **given)
