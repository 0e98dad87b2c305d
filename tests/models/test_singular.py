import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import Enriched, ParametricModel, Singular, spec_from_json, spec_to_json
from anagram.statement.evaluation import nested
from anagram.statement.expressions import Wanted
from tolerances import assert_close

BOX = ag.Box(t=(0, 1), x=(-1, 1))
PLANE = ag.Box(x=(-1, 1), y=(-1, 1))
CORNER = Singular((0.0, 0.0), 1.5 * np.pi, start=0.0, kind="values")


def test_exponents_at_a_re_entrant_corner():
    assert_close(np.array([e for e, _ in CORNER.terms]), np.array([2 / 3, 4 / 3]), 1e-14)
    mixed = Singular((0, 0), np.pi, start=0.0, kind="value-slope")
    assert_close(np.array([e for e, _ in mixed.terms]), np.array([0.5, 1.5]), 1e-14)
    assert not Singular((0, 0), np.pi / 2, start=0.0, kind="values").terms  # r² sin 2θ is a polynomial


@pytest.mark.parametrize("kind", ["values", "slopes", "value-slope", "slope-value"])
@pytest.mark.parametrize("start", [0.0, 2.0, -1.0])
def test_they_are_harmonic_and_vanish_where_they_should(kind, start):
    """On the two sides of the corner the value, or the slope across the side, is zero."""
    angle = 1.4 * np.pi
    corner = Singular((0.1, -0.2), angle, start, kind)
    rng = np.random.default_rng(0)
    sides = {"values": (0, 0), "slopes": (1, 1), "value-slope": (0, 1), "slope-value": (1, 0)}[kind]
    for function in corner.functions(PLANE):
        for theta in start + angle * rng.uniform(0.05, 0.95, 5):
            point = jnp.array([0.1 + 0.4 * np.cos(theta), -0.2 + 0.4 * np.sin(theta)])
            laplacian = nested(function, (2, 0))(point) + nested(function, (0, 2))(point)
            assert abs(float(laplacian)) < 1e-12
        for slope, theta in zip(sides, (start, start + angle), strict=True):
            along = np.array([np.cos(theta), np.sin(theta)])
            point = jnp.asarray(np.array([0.1, -0.2]) + 0.3 * along)
            across = -along[1] * nested(function, (1, 0))(point) + along[0] * nested(function, (0, 1))(point)
            assert abs(float(across if slope else function(point))) < 1e-13


def test_derivatives_of_an_enriched_network():
    """Leibniz' rule against nested differentiation of the values."""
    problem = ag.Problem(PLANE, equation=ag.Condition(lambda u: u.laplacian()))
    model = ParametricModel(problem.sought, ag.MLP(5, 4, offset=1.0, size=2.0) + CORNER, 3)
    point = jnp.array([0.3, 0.5])
    indices, total = [(0, 0), (1, 0), (1, 1), (0, 2)], (((2, 0), 1.0), ((0, 2), 1.0))
    found = model.source(model.theta).derivatives(point, {"u": Wanted(indices, [total])})["u"]
    slow = {i: nested(lambda x: model.values(model.theta, x)[0], i)(point) for i in [*indices, (2, 0)]}
    for index in indices:
        assert_close(found.values[index], slow[index], 1e-12, str(index))
    assert_close(found.sums[0], slow[2, 0] + slow[0, 2], 1e-12)


def test_models_of_one_recipe_share_their_programs():
    """What is static in a module is compared when a compiled program is called with another one."""
    one, other = ((ag.MLP(4) + CORNER).build(PLANE, 1, jax.random.key(seed)) for seed in (0, 1))
    assert jax.tree.structure(one) == jax.tree.structure(other)
    further = (ag.MLP(4) + Singular((0.0, 0.0), 1.4 * np.pi, start=0.0)).build(PLANE, 1, jax.random.key(0))
    assert jax.tree.structure(one) != jax.tree.structure(further)


def test_recipes():
    spec = ag.MLP(6) + CORNER + Singular((1, 1), 1.2 * np.pi, start=1.0)
    assert isinstance(spec, Enriched)
    again = spec_from_json(spec_to_json(spec))
    assert spec_to_json(again) == spec_to_json(spec)
    problem = ag.Problem(PLANE, equation=ag.Condition(lambda u: u.laplacian()))
    model = ParametricModel(problem.sought, spec, 0)
    assert model.parameters == spec.count(PLANE, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Singular((0, 0, 0), 4.0), "two finite coordinates"),
        (lambda: Singular((0, 0), 7.0), "between 0 and 2π"),
        (lambda: Singular((0, 0), 4.0, kind="both"), "kind= is one of"),
        (lambda: Singular((0, 0), 4.0).functions(PLANE), "no corner at"),
        (lambda: Singular((0, 0), 4.0, 0.0).functions(ag.Box(x=(0, 1))), "corners in the plane"),
        (lambda: 3 + Singular((0, 0), 4.0), "added to a recipe"),
    ],
)
def test_mistakes(make, message):
    with pytest.raises(ag.errors.SettingError, match=message):
        make()
