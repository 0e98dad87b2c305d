"""Evolutions cut along time: what can be cut, and what the parts are."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.statement.stretches import evolution_axis, orders, stretch

TIME = ag.Box(t=(1, 5))
START = TIME.face(t=1)


def oscillator(**more):
    return ag.Problem(
        TIME,
        equation=ag.Condition(lambda u: u.d("t", "t") + 4 * u, equals=lambda t: jnp.sin(t), weight=3.0),
        place=ag.Condition(lambda u: u, on=START, equals=2.0),
        speed=ag.Condition(lambda u: u.d("t"), on=START, equals=-1.0),
        **more,
    )


def pair():
    return ag.Problem(
        TIME,
        equation=ag.Condition(lambda u, psi: (u.d("t") + u * u, psi.d("t") - 1j * u * psi)),
        start=ag.Condition(lambda u, psi: (u, psi), on=START, equals=(1.0, 1.0j)),
        unknowns={"u": float, "psi": complex},
    )


def test_which_problems_evolve():
    assert evolution_axis(oscillator()) == "t"
    assert evolution_axis(pair()) == "t"
    assert orders(oscillator(), "t") == {"u": 2}
    assert orders(pair(), "t") == {"u": 1, "psi": 1}


def conditions(*, on_end=False, missing=False, more=None, **options):
    parts = {"equation": ag.Condition(lambda u: u.d("t", "t") + u), "place": ag.Condition(lambda u: u, on=START)}
    if not missing:
        parts["speed"] = ag.Condition(lambda u: u.d("t"), on=TIME.face(t=5 if on_end else 1), equals=1.0)
    return ag.Problem(TIME, parts | (more or {}), **options)


@pytest.mark.parametrize(
    "problem",
    [
        conditions(on_end=True),
        conditions(missing=True),
        conditions(more={"again": ag.Condition(lambda u: u.d("t"), on=START, equals=1.0)}),
        conditions(more={"data": ag.Condition(lambda u: u, on=TIME.points(t=2.0), equals=1.0)}),
        ag.Problem(
            TIME,
            equation=ag.Condition(lambda u, k: u.d("t") + k * u),
            start=ag.Condition(lambda u: u, on=START, equals=1.0),
            coefficients={"k": 1.0},
        ),
    ],
    ids=["two ends", "too few", "too many", "data", "coefficients"],
)
def test_others_do_not(problem):
    assert evolution_axis(problem) is None


def test_the_first_stretch_has_the_conditions_of_the_problem():
    part = stretch(oscillator(name="swing"), "t", 1.0, 2.0, None)
    assert part.domain.intervals == {"t": (1.0, 2.0)}
    assert (part.name, list(part.conditions)) == ("swing", ["equation", "place", "speed"])
    assert part.weight("equation") == 3.0
    assert evolution_axis(part) == "t"
    batch = sample(part, ag.GaussLegendre(4))
    t = np.asarray(batch["equation"].x)
    assert ((t > 1) & (t < 2)).all()
    np.testing.assert_allclose(batch["equation"].source, np.sin(t))
    np.testing.assert_array_equal(batch["speed"].source, [[-1.0]])
    np.testing.assert_array_equal(batch["place"].x, [[1.0]])


def test_later_stretches_begin_where_the_last_one_ended():
    part = stretch(oscillator(), "t", 2.0, 3.5, {"u": (0.25, -0.5)})
    assert evolution_axis(part) == "t"
    batch = sample(part, ag.GaussLegendre(4))
    begins = {key: (float(b.x[0, 0]), float(b.source[0, 0])) for key, b in batch.items() if key != "equation"}
    assert sorted(begins.values()) == [(2.0, -0.5), (2.0, 0.25)]
    assert part.equations["equation"] == oscillator().equations["equation"]


def test_stretches_of_systems_keep_their_kinds():
    part = stretch(pair(), "t", 2.0, 3.0, {"u": (0.5,), "psi": (0.1 - 0.2j,)})
    assert [(u.name, u.is_complex) for u in part.unknowns] == [("u", False), ("psi", True)]
    assert evolution_axis(part) == "t"
    assert sample(part)["start"].source.tolist() == [[0.5, 0.1, -0.2]]
    assert stretch(part, "t", 2.5, 3.0, {"u": (1.0,), "psi": (1.0,)}).domain.intervals == {"t": (2.5, 3.0)}
