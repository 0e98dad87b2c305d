"""Models with kinks."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import Enriched, Kink, ParametricModel, kinks_of, spec_from_json, spec_to_json
from anagram.statement.evaluation import nested
from leibniz import assert_derivatives_agree

LINE = ag.Box(x=(-1, 2))


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_derivative_of_its_order_is_the_first_that_jumps(order):
    (function,) = Kink(x=0.25, order=order).functions(LINE)
    sides = jnp.array([[0.25 - 1e-9], [0.25 + 1e-9]])
    jumps = [float(jnp.diff(jax.vmap(nested(function, (times,)))(sides))[0]) for times in range(order + 1)]
    assert np.max(np.abs([*jumps[:-1], 0.0])) < 1e-8
    assert jumps[-1] == pytest.approx(math.factorial(order) / 3**order, rel=1e-6)  # in units of the domain


@pytest.mark.parametrize("x", [-0.5, 0.3])
def test_derivatives_of_a_network_with_a_kink(x):
    """Leibniz' rule against nested differentiation of the values."""
    problem = ag.Problem(LINE, equation=ag.Condition(lambda u: u.d("x", "x")))
    model = ParametricModel(problem.sought, ag.MLP(4, 4) + Kink(x=0.25, order=2), 0)
    assert_derivatives_agree(model, jnp.array([x]), [(0,), (1,), (2,)], (((2,), 1.0),))


def test_recipes_are_written_and_read():
    spec = ag.MLP(6) + Kink(x=0.5, order=1) + Kink(x=-0.5, order=2)
    assert isinstance(spec, Enriched)
    assert spec_to_json(spec_from_json(spec_to_json(spec))) == spec_to_json(spec)
    assert repr(spec).endswith("Kink(x=0.5, order=1) + Kink(x=-0.5, order=2)")


def test_too_many_kinks_are_left_to_the_model():
    def steps(count):
        edges = np.linspace(-0.9, 1.9, count)
        equation = ag.Condition(lambda u: u.d("x", "x"), equals=lambda x: sum(np.where(x > e, 1.0, 0.0) for e in edges))
        return ag.Problem(LINE, equation=equation)

    assert len(kinks_of(steps(3))) == 3
    assert kinks_of(steps(12)) == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Kink(order=-1, x=0.0), "from 0 to"),
        (lambda: Kink(order=1), "across one axis"),
        (lambda: Kink(order=1, x=0.0, y=1.0), "across one axis"),
        (lambda: Kink(order=1, x=float("inf")), "finite number"),
        (lambda: Kink(order=1, y=0.0).functions(LINE), "has the axes x"),
        (lambda: Kink(order=1, x=5.0).functions(LINE), "lies outside"),
        (lambda: 3 + Kink(order=1, x=0.0), "added to a recipe"),
    ],
)
def test_bad_kinks_are_refused(make, message):
    with pytest.raises(ag.SettingError, match=message):
        make()
