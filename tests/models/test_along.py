"""Unknowns that depend on some of the axes only."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import ParametricModel
from anagram.statement.fields import laplacian
from tolerances import assert_close

BOX = ag.Box(t=(0, 1), x=(0, 2))


def problem(**unknowns):
    return ag.Problem(
        BOX,
        equation=ag.Condition(lambda u, k: u.d("t") - (k * u.d("x")).d("x")),
        unknowns={"u": float, **unknowns},
    )


@pytest.mark.parametrize("model", [ag.MLP(5), ag.Features(12), ag.Polynomial(3), {"u": ag.MLP(3), "k": ag.MLP(4)}])
def test_a_field_of_x_alone_does_not_change_in_time(model):
    made = ParametricModel(problem(k="x").sought, model)
    theta = made.theta + 0.3 * np.cos(np.arange(made.parameters))
    early, late = (made.values(theta, jnp.array([t, 0.7])) for t in (0.1, 0.9))
    assert early[1] == late[1]
    assert early[0] != late[0]
    fields = made.quantities(theta, BOX.frame)
    at = jnp.array([0.3, 0.7])
    assert fields["k"].d("t").at(at) == 0
    assert fields["k"].d("t", "x").at(at) == 0
    slope = (made.values(theta, at + jnp.array([0, 1e-5])) - made.values(theta, at - jnp.array([0, 1e-5])))[1] / 2e-5
    assert_close(fields["k"].d("x").at(at), slope, 1e-7)


def test_sums_of_derivatives_leave_out_other_axes():
    made = ParametricModel(problem(k="x").sought, ag.MLP(6))
    fields, at = made.quantities(made.theta, BOX.frame), jnp.array([0.3, 0.7])
    assert_close(laplacian(fields["k"], "t", "x").at(at), fields["k"].d("x", "x").at(at))
    assert_close((fields["k"].d("t", "t") + 2 * fields["k"].d("t", "x")).at(at), 0.0, scale=1.0)


def test_all_axes_are_no_restriction():
    assert problem(k=("x", "t")).unknowns[1].along is None


@pytest.mark.parametrize(
    ("said", "match"), [("z", "name axes of the domain"), (("x", "x"), "each once"), (3, "names of")]
)
def test_axes_that_are_none_are_refused(said, match):
    with pytest.raises(ag.ProblemError, match=match):
        problem(k=said)


def test_shapes_are_refused():
    disk = ag.Disk()
    with pytest.raises(ag.ProblemError, match="needs a box"):
        ag.Problem(disk, equation=ag.Condition(lambda u, k: k * u.d("x")), unknowns={"u": float, "k": "x"})


def test_axes_are_kept_in_files(tmp_path):
    stated = ag.Problem(
        BOX,
        equation=ag.Condition(lambda u, k: u.d("t") - k, equals=1.0),
        start=ag.Condition(lambda u: u, on=BOX.face(t=0)),
        unknowns={"u": float, "k": "x"},
    )
    solution = ag.solve(stated, ag.MLP(3), "gd", points=ag.Grid(4), steps=1, progress=False)
    solution.save(tmp_path / "run")
    again = ag.load(tmp_path / "run")
    assert again.model.sought.unknowns[1].along == ("x",)
    assert_close(again["k"](t=0.2, x=0.5), solution["k"](t=0.9, x=0.5))
