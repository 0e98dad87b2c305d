import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import Enriched, ParametricModel, Singular, spec_from_json, spec_to_json
from anagram.statement.evaluation import nested
from leibniz import assert_derivatives_agree
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
    inner = start + angle * rng.uniform(0.05, 0.95, 5)
    at = lambda theta, r: np.array([0.1 + r * np.cos(theta), -0.2 + r * np.sin(theta)]).T
    for function in corner.functions(PLANE):
        laplacian = jax.jit(jax.vmap(lambda x, f=function: nested(f, (2, 0))(x) + nested(f, (0, 2))(x)))
        assert np.max(np.abs(laplacian(at(inner, 0.4)))) < 1e-12
        values = jax.jit(jax.vmap(lambda x, f=function: jnp.stack([f(x), nested(f, (1, 0))(x), nested(f, (0, 1))(x)])))
        for slope, theta in zip(sides, (start, start + angle), strict=True):
            value, along_x, along_y = values(at(theta, 0.3)[None])[0]
            across = -np.sin(theta) * along_x + np.cos(theta) * along_y
            assert abs(float(across if slope else value)) < 1e-13


def test_derivatives_of_an_enriched_network():
    """Leibniz' rule against nested differentiation of the values."""
    problem = ag.Problem(PLANE, equation=ag.Condition(lambda u: u.laplacian()))
    model = ParametricModel(problem.sought, ag.MLP(5, 4, offset=1.0, size=2.0) + CORNER, 3)
    point = jnp.array([0.3, 0.5])
    indices, total = [(0, 0), (1, 0), (1, 1), (0, 2)], (((2, 0), 1.0), ((0, 2), 1.0))
    assert_derivatives_agree(model, point, indices, total)


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
