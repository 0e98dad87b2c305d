"""Models side by side along an axis."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import Pieces, spec_from_json, spec_to_json
from anagram.models.parametric import ModelSource, count_parameters
from anagram.statement.expressions import Wanted
from tolerances import assert_close

BOX = ag.Box(t=(0, 3), x=(-1, 1))
PROBLEM = ag.Problem(BOX, c=ag.Condition(lambda u, v: (u, v)), unknowns=("u", "v"))
EDGES = (0.0, 1.0, 1.5, 3.0)
SPEC = Pieces(ag.MLP(4, size=2.0), ag.MLP(3, 3, offset=(1.0, -1.0)), ag.Polynomial(2), axis="t", edges=EDGES)


@pytest.fixture(scope="module")
def model():
    return ag.ParametricModel(PROBLEM.sought, SPEC, 5)


def test_every_point_has_the_model_of_its_stretch(model):
    parts = model.module.parts
    both = jax.jit(lambda point: (model.values(model.theta, point), [part(point) for part in parts]))
    for t, place in [(0.0, 0), (0.7, 0), (1.0, 1), (1.4, 1), (1.5, 2), (2.9, 2), (3.0, 2)]:
        found, of_parts = both(jnp.array([t, 0.3]))
        assert_close(found, of_parts[place], what=f"t = {t}")


def test_models_live_on_their_stretches(model):
    """Each network sees its stretch from 0 to 1, and starts with parameters of its own."""
    first, second, _ = model.module.parts
    assert_close(first.placement.low, [0.0, -1.0])
    assert_close(second.placement.low, [1.0, -1.0])
    assert_close(second.placement.length, [0.5, 2.0])
    twins = Pieces(ag.MLP(4), ag.MLP(4), axis="t", edges=(0, 1, 3)).build(BOX, 1, jax.random.key(0))
    assert not np.allclose(twins.parts[0].weights[0], twins.parts[1].weights[0])


def test_parameters_are_those_of_all_pieces(model):
    expected = (4 * 3 + 2 * 5) + (3 * 3 + 3 * 4 + 2 * 4) + 2 * 9
    assert model.parameters == count_parameters(SPEC, PROBLEM.sought) == expected
    assert_close(model.parameters_of(model._module(2 * model.theta)), 2 * model.theta)


def test_derivatives_are_those_of_the_piece(model):
    """At a third order too; pieces are differentiated as they are, networks by jets."""

    @jax.jit
    def derivatives(point):
        found = []
        for source in (model.source(model.theta), *(ModelSource(part, PROBLEM.sought) for part in model.module.parts)):
            values = source.derivatives(point, {"v": Wanted([(1, 0), (0, 2), (1, 2)])})["v"].values
            found.append(jnp.stack(list(values.values())))
        return found

    for t, place in ((0.4, 0), (1.2, 1), (2.2, 2)):
        whole, *parts = derivatives(jnp.array([t, 0.3]))
        assert_close(whole, parts[place], 1e-11, f"at {t}")
        assert not np.allclose(whole, parts[place - 1])


def test_pieces_of_one_kind_are_one_program():
    """However many there are; values and derivatives are those of each piece."""
    ring = ag.Box(t=(0, 4), x=ag.periodic(0, 1))
    sought = ag.Problem(ring, c=ag.Condition(lambda u, v: (u, v)), unknowns={"u": float, "v": complex}).sought
    kinds = [ag.MLP(4), ag.MLP(4, size=3.0), ag.MLP(3, 3), ag.MLP(4)]
    whole = ag.ParametricModel(sought, Pieces(*kinds, axis="t", edges=range(5)), 1)
    text = str(jax.make_jaxpr(whole.values)(whole.theta, jnp.zeros(2)))
    assert text.count("scan[") == 2, "one for each kind"
    wanted = {"u": Wanted([(0, 0), (1, 1), (0, 3)]), "v": Wanted([(1, 0)], [(((2, 0), 1.0), ((0, 2), 0.5))])}
    derivatives = jax.jit(lambda x: jax.tree.leaves(found(whole.source(whole.theta).derivatives(x, wanted))))
    for k, part in enumerate(whole.module.parts):
        x = jnp.array([k + 0.3, 0.2])
        expected = jax.tree.leaves(found(ModelSource(part, sought).derivatives(x, wanted)))
        for value, of_part in zip(derivatives(x), expected, strict=True):
            assert_close(value, of_part, 1e-11, f"piece {k}")
        assert_close(whole.values(whole.theta, x + jnp.array([0, 1.0])), whole.values(whole.theta, x), 1e-11)


def found(derivatives):
    return {name: (list(one.values.values()), one.sums) for name, one in derivatives.items()}


def test_pieces_of_shapes():
    domain = ag.Box(t=(0, 2)) * ag.Disk()
    sought = ag.Problem(domain, c=ag.Condition(lambda u: u)).sought
    model = ag.ParametricModel(sought, Pieces(ag.MLP(3), ag.MLP(3), axis="t", edges=(0, 1, 2)), 0)
    second = model.module.parts[1].placement
    assert_close(second.low, [1.0, -1.0, -1.0])
    assert_close(second.length, [1.0, 2.0, 2.0])
    with pytest.raises(ag.SettingError, match="one of a shape"):
        ag.ParametricModel(sought, Pieces(ag.MLP(3), axis="x", edges=(-1, 1)), 0)


def test_recipes_survive_json():
    again = spec_from_json(spec_to_json(SPEC))
    assert again.options() == SPEC.options()
    assert "3 along t" in repr(again)
    a, b = (ag.ParametricModel(PROBLEM.sought, spec, 5) for spec in (SPEC, again))
    np.testing.assert_array_equal(a.theta, b.theta)


def test_a_model_in_pieces_can_be_trained_and_loaded(tmp_path):
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(line, data=ag.Condition(lambda u: u, equals=lambda x: jnp.where(x < 0.5, x, 1.0 + 2 * x)))
    spec = Pieces(ag.Polynomial(1), ag.Polynomial(1), axis="x", edges=(0, 0.5, 1))
    solution = ag.solve(problem, spec, "anagram", points=ag.GaussLegendre(20), steps=3, progress=False)
    x = np.array([0.1, 0.45, 0.5, 0.9])
    expected = np.where(x < 0.5, x, 1 + 2 * x)
    assert_close(solution(x), expected, 1e-9)
    solution.save(tmp_path)
    np.testing.assert_array_equal(ag.load(tmp_path)(x), solution(x))


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda: Pieces(axis="t", edges=(0, 1)), "a recipe such as MLP"),
        (lambda: Pieces(jnp.tanh, axis="t", edges=(0, 1)), "a recipe such as MLP"),
        (lambda: Pieces(ag.MLP(3), ag.MLP(3), axis="t", edges=(0, 1)), "2 pieces need 3 edges"),
        (lambda: Pieces(ag.MLP(3), ag.MLP(3), axis="t", edges=(0, 2, 1)), "edges that increase"),
        (
            lambda: ag.ParametricModel(PROBLEM.sought, Pieces(ag.MLP(3), axis="y", edges=(0, 1)), 0),
            "there is no axis 'y'",
        ),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(ag.SettingError, match=message):
        mistake()
