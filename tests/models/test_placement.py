"""The units of networks: offset + size·N, in values and derivatives, in files and in compiled programs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.models import spec_from_json, spec_to_json
from anagram.models.parametric import ModelSource
from anagram.statement.expressions import Wanted
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer
from compiling import compilations
from problems import parabola
from tolerances import assert_close

BOX = ag.Box(t=(0, 2), x=(-1, 1))
SOUGHT = ag.Problem(BOX, c=ag.Condition(lambda u, v: (u, v)), unknowns=("u", "v")).sought
POINT = jnp.array([0.7, 0.2])
OFFSET, SIZE = np.array([3.0, -2.0]), np.array([5.0, 0.25])
PLAIN = ag.ParametricModel(SOUGHT, ag.MLP(5, 4), 1)
PLACED = ag.ParametricModel(SOUGHT, ag.MLP(5, 4, offset=list(OFFSET), size=list(SIZE)), 1)


def test_units_are_not_learned():
    np.testing.assert_array_equal(PLAIN.theta, PLACED.theta)
    assert len(jax.tree.leaves(PLACED.placement)) == 4, "low, length, offset and size"
    assert_close(PLACED.parameters_of(PLACED.module), PLACED.theta)
    assert_close(PLACED.rough(PLACED.theta), PLAIN.rough(PLAIN.theta))


def test_values_are_an_affine_image():
    assert_close(PLACED.values(PLACED.theta, POINT), OFFSET + SIZE * PLAIN.values(PLAIN.theta, POINT))
    one = ag.ParametricModel(SOUGHT, ag.MLP(5, 4, offset=3.0, size=2.0), 1)
    assert_close(one.values(one.theta, POINT), 3 + 2 * PLAIN.values(PLAIN.theta, POINT))


WANTED = Wanted(
    indices=[(0, 0), (1, 0), (0, 2), (1, 2)],
    sums=[(((2, 0), 1.0), ((0, 2), -3.0)), (((0, 0), 2.0), ((0, 0), 0.5))],
)


@pytest.mark.parametrize("highest", [None, -1])
def test_derivatives_and_sums_are_too(highest, monkeypatch):
    """By jets, and by nested forward mode."""
    if highest is not None:
        monkeypatch.setattr("anagram.models.parametric.HIGHEST_ORDER", highest)
    wanted = {"u": WANTED, "v": WANTED}
    plain, placed = (ModelSource(m.module, SOUGHT).derivatives(POINT, wanted) for m in (PLAIN, PLACED))
    for k, name in enumerate("uv"):
        for index, value in plain[name].values.items():
            offset = 0.0 if any(index) else OFFSET[k]
            assert_close(placed[name].values[index], offset + SIZE[k] * value, what=f"{name} {index}")
        second, zeroth = plain[name].sums
        assert_close(placed[name].sums[0], SIZE[k] * second)
        assert_close(placed[name].sums[1], 2.5 * OFFSET[k] + SIZE[k] * zeroth)


def test_other_units_can_be_put_in_place():
    again = PLAIN.placed(PLACED.placement)
    assert_close(again.values(PLAIN.theta, POINT), PLACED.values(PLACED.theta, POINT))
    assert_close(PLAIN.values(PLAIN.theta, POINT), PLAIN.module(POINT), what="the first is as it was")


def test_networks_side_by_side_have_units_of_their_own():
    by_name = ag.ParametricModel(SOUGHT, {"u": ag.MLP(3, size=7.0), "v": ag.Polynomial(1)}, 0)
    without = ag.ParametricModel(SOUGHT, {"u": ag.MLP(3), "v": ag.Polynomial(1)}, 0)
    np.testing.assert_array_equal(by_name.theta, without.theta)
    a, b = (m.values(m.theta, POINT) for m in (by_name, without))
    assert_close(a, jnp.array([7.0, 1.0]) * b)


def test_coefficients_are_learned_in_units_of_their_guesses():
    problem = ag.Problem(
        BOX, c=ag.Condition(lambda u, k, z: (k * u, z * u)), coefficients={"k": -3e6, "z": 0.0}, unknowns="u"
    )
    model = ag.ParametricModel(problem.sought, ag.MLP(3), 0)
    learned = model._unravel(model.theta)["coefficients"]
    assert (float(learned["k"]), float(learned["z"])) == (-1.0, 0.0)
    assert model.coefficients(model.theta) == {"k": -3e6, "z": 0.0}
    twice = model.quantities(2 * model.theta, BOX.frame)
    assert (float(twice["k"].at(POINT)), float(twice["z"].at(POINT))) == (-6e6, 0.0)


def test_recipes_and_solutions_keep_their_units(tmp_path):
    spec = ag.MLP(3, offset=(1.0,), size=(1e-9,))
    again = spec_from_json(spec_to_json(spec))
    assert (again.offset, again.size) == ((1.0,), (1e-9,))
    old = {k: v for k, v in spec_to_json(ag.MLP(3)).items() if k not in ("offset", "size")}
    assert spec_from_json(old).options() == ag.MLP(3).options(), "recipes of earlier versions have no units"
    solution = ag.solve(parabola(), ag.MLP(3, offset=4.0, size=0.5), "gd", points=20, steps=1, progress=False)
    solution.save(tmp_path)
    x = np.linspace(0, 1, 5)
    np.testing.assert_array_equal(ag.load(tmp_path)(x), solution(x))


def test_other_units_are_the_same_program():
    problem = parabola()

    def compiled(**units):
        with compilations() as programs:
            Trainer(problem, Setting(ag.MLP(4, **units), "anagram", points=ag.GaussLegendre(29), steps=1), 0)
        return programs

    first, second = compiled(), compiled(offset=2.0, size=1e6)
    assert first
    assert not second
    a, b = (Compound(problem, ag.ParametricModel(problem.sought, ag.MLP(4, size=s), 0)) for s in (1.0, 1e6))
    assert a.fingerprint == b.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0.0}, "must be positive"),
        ({"size": -1.0}, "must be positive"),
        ({"size": float("nan")}, "finite number"),
        ({"offset": float("inf")}, "finite number"),
        ({"offset": "much"}, "finite number"),
        ({"offset": True}, "finite number"),
        ({"size": ((1.0,), (2.0,))}, "finite number"),
    ],
)
def test_units_that_are_none(options, message):
    with pytest.raises(ag.SettingError, match=message):
        ag.MLP(4, **options)


def test_units_for_other_outputs():
    with pytest.raises(ag.SettingError, match="offset has 3 numbers, the network has 2 outputs"):
        ag.ParametricModel(SOUGHT, ag.MLP(4, offset=(1.0, 2.0, 3.0)), 0)
