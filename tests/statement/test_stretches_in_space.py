"""Evolutions in space and time cut along time."""

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.statement.condition import OnPoints
from anagram.statement.domains import Face
from anagram.statement.stretches import evolution_axis, orders, stretch, stretch_edges, why_no_evolution

BOX = ag.Box(x=(0, 2), t=(1, 5))
RING = ag.Box(t=(0, 1), x=ag.periodic(-1, 1))
ROOM = ag.Box(t=(0, 1), x=(0, 1), y=(0, 1))
DISK = ag.Box(t=(0, 1)) * ag.Disk()
MOMENTS = np.linspace(0, 1, 5)


def heat(*, start=None, walls=None, equation=None, **more):
    """On a box whose first axis is space: the axis is found by what is stated and not by its name or place."""
    return ag.Problem(
        BOX,
        equation=equation or ag.Condition(lambda u: u.d("t") - u.d("x", "x"), equals=lambda t, x: t + x, weight=2.0),
        start=start or ag.Condition(lambda u: u, on=BOX.face(t=1), equals=lambda x: jnp.sin(x)),
        walls=walls or ag.Condition(lambda u: u, on=BOX.faces("x"), equals=lambda t: t),
        **more,
    )


def korteweg():
    return ag.Problem(
        RING,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") + 0.1 * u.d("x", "x", "x")),
        start=ag.Condition(lambda u: u, on=RING.face(t=0), equals=lambda x: jnp.cos(jnp.pi * x), weight=7.0),
    )


def wave():
    return ag.Problem(
        ROOM,
        equation=ag.Condition(lambda u: u.d("t", "t") - u.d("x", "x") - u.d("y", "y")),
        start=ag.Condition(lambda u: (u, u.d("t")), on=ROOM.face(t=0), equals=(lambda x, y: x * y, 1.0)),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=ROOM.faces("x", "y")),
    )


def flow(pin):
    """A pressure has no derivative along t: it needs no beginning, but a value somewhere."""

    def equation(u, v, p):
        laplacians = [w.d("x", "x") + w.d("y", "y") for w in (u, v)]
        return (
            u.d("t") - laplacians[0] + p.d("x"),
            v.d("t") - laplacians[1] + p.d("y"),
            u.d("x") + v.d("y"),
        )

    return ag.Problem(
        ROOM,
        equation=ag.Condition(equation),
        start=ag.Condition(lambda u, v: (u, v), on=ROOM.face(t=0), equals=1.0),
        walls=ag.Condition(lambda u, v: (u, v), on=ROOM.faces("x", "y")),
        pin=pin,
        unknowns=("u", "v", "p"),
    )


def disk():
    return ag.Problem(
        DISK,
        equation=ag.Condition(lambda psi: 1j * psi.d("t") + psi.d("x", "x") + psi.d("y", "y")),
        start=ag.Condition(lambda psi: psi, on=DISK.face(t=0), equals=lambda x, y: (1 - x**2 - y**2) * 1j),
        walls=ag.Condition(lambda psi: psi, on=DISK.boundary(), equals=lambda t: 0j * t),
        unknowns={"psi": complex},
    )


PINNED = ag.Condition(lambda p: p, on=ROOM.points(t=MOMENTS, x=0, y=0))
MASS = ag.Condition(lambda u: ag.integral(u, over="x"), equals=lambda t: t)
EVOLUTIONS = {
    "heat": (heat(), "t"),
    "ring": (korteweg(), "t"),
    "second order": (wave(), "t"),
    "pressure": (flow(PINNED), "t"),
    "pressure along a line": (flow(ag.Condition(lambda p: p, on=ROOM.slice(x=0, y=0))), "t"),
    "shape": (disk(), "t"),
    "start and walls together": (
        ag.Problem(
            BOX,
            equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x")),
            given=ag.Condition(lambda u: u, on=BOX.face(t=1) | BOX.faces("x"), equals=lambda t, x: t * x),
        ),
        "t",
    ),
    "walls that hold exactly": (heat(walls=ag.Condition(lambda u: u, on=BOX.faces("x"), exact=True)), "t"),
    "mass at every t": (heat(mass=MASS), "t"),
    "looks elsewhere in space": (heat(more=ag.Condition(lambda u: u - u.at(x=0), on=BOX.slice(x=1.0))), "t"),
}


@pytest.mark.parametrize("name", EVOLUTIONS)
def test_what_evolves(name):
    problem, axis = EVOLUTIONS[name]
    assert evolution_axis(problem) == axis


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (lambda: ag.catalogue.problem("laplace-2d"), "along x, 'walls' holds at its end"),
        (lambda: heat(end=ag.Condition(lambda u: u, on=BOX.face(t=5))), "along t, 'end' holds at its end"),
        (lambda: heat(start=ag.Condition(lambda u: u.d("t") - u, on=BOX.face(x=0))), "0 of 1 beginning values"),
        (lambda: heat(more=ag.Condition(lambda u: u.d("x"), on=BOX.face(t=1))), "2 of 1 beginning values"),
        (lambda: heat(data=ag.Condition(lambda u: u, on=BOX.points(t=2, x=1), equals=3.0)), "'data' gives values at"),
        (lambda: heat(mass=ag.Condition(lambda u: ag.integral(u))), "'mass' looks at other moments"),
        (lambda: heat(late=ag.Condition(lambda u: u - u.at(t=1), on=BOX.face(x=0))), "'late' looks at other"),
        (lambda: heat(part=ag.Condition(lambda u: u, on=BOX.slice(t=2.0))), "'part' holds on slice(t=2), a part"),
        (lambda: heat(part=ag.Condition(lambda u: u, on=ag.Box(x=(0, 2), t=(1, 2)))), "'part' holds on Box"),
        (lambda: heat(start=ag.Condition(lambda u: u, on=BOX.face(t=1), exact=True)), "leave exact= out"),
        (lambda: flow(ag.Condition(lambda u: u, on=ROOM.points(t=MOMENTS, x=0, y=0))), "'pin' gives values at points"),
        (
            lambda: flow(ag.Condition(lambda p: p, on=ROOM.points(t=MOMENTS, x=0, y=0), equals=np.arange(5.0))),
            "'pin' gives values at points",
        ),
        (
            lambda: heat(equation=ag.Condition(lambda u, k: u.d("t") - k * u.d("x", "x")), coefficients={"k": 1.0}),
            "it has unknown coefficients",
        ),
    ],
)
def test_what_does_not_and_why(problem, why):
    problem = problem()
    assert evolution_axis(problem) is None
    assert why in why_no_evolution(problem)
    with pytest.raises(ag.SettingError, match="cuts an evolution along time"):
        stretch_edges(problem, 4)


def test_orders_are_those_along_the_axis():
    assert orders(korteweg(), "t") == {"u": 1}
    assert orders(wave(), "t") == {"u": 2}
    assert orders(flow(PINNED), "t") == {"u": 1, "v": 1, "p": 0}


@pytest.mark.parametrize("name", EVOLUTIONS)
def test_the_first_stretch_is_the_problem_for_a_shorter_time(name):
    problem, axis = EVOLUTIONS[name]
    low, high = problem.domain.intervals[axis]
    part = stretch(problem, axis, low, (low + high) / 2, None)
    assert list(part.conditions) == list(problem.conditions)
    assert evolution_axis(part) == axis
    assert part.equations == problem.equations
    k = problem.domain.axes.index(axis)
    for key, batch in sample(part, 60).items():
        t = np.asarray(batch.x)[:, k]
        assert (t >= low).all(), key
        assert (t <= (low + high) / 2).all(), key
        assert part.region(key).dimension == problem.region(key).dimension
        assert part.weight(key) == problem.weight(key)
        assert part.conditions[key].exact == problem.conditions[key].exact


def test_later_stretches_have_the_same_conditions_with_other_values():
    """So that their programs are those of the first one."""
    values = OnPoints(lambda x: 10 * x[:, 0] + x[:, 1])
    part = stretch(heat(), "t", 2.0, 3.0, {"u": (values,)})
    assert list(part.conditions) == ["equation", "start", "walls"]
    batch = sample(part, ag.GaussLegendre(6))
    x = np.asarray(batch["start"].x)
    assert (x[:, 1] == 2.0).all()
    np.testing.assert_allclose(batch["start"].source[:, 0], 10 * x[:, 0] + 2.0)
    # Walls and equation have the values of their own moments.
    t = np.asarray(batch["walls"].x)[:, 1]
    assert 2 < t.min() < t.max() < 3
    np.testing.assert_allclose(batch["walls"].source[:, 0], t)
    assert set(np.asarray(batch["walls"].x)[:, 0]) == {0.0, 2.0}
    np.testing.assert_allclose(batch["equation"].source[:, 0], np.asarray(batch["equation"].x).sum(axis=1))
    assert part.weight("equation") == 2.0
    assert stretch(korteweg(), "t", 0.5, 1.0, {"u": (0.0,)}).weight("start") == 7.0


def test_systems_of_second_order_begin_with_values_and_slopes():
    part = stretch(wave(), "t", 0.5, 1.0, {"u": (OnPoints(lambda x: x[:, 1]), OnPoints(lambda x: -x[:, 2]))})
    batch = sample(part, 50)["start"]
    np.testing.assert_allclose(batch.source, np.asarray(batch.x)[:, 1:] * [1, -1])
    # Normals of walls are those of the walls.
    normals = np.asarray(sample(part, 50)["walls"].normal)
    assert (normals[:, 0] == 0).all()
    np.testing.assert_allclose(np.abs(normals).sum(axis=1), 1)


def test_beginnings_that_are_given_otherwise_become_values():
    """A multiple of the unknown, or data of start and walls in one condition: the next stretch has values alone."""
    plain = {"u": (OnPoints(lambda x: x[:, 0]),)}
    multiple = heat(start=ag.Condition(lambda u: 3 * u, on=BOX.face(t=1), weight=5.0))
    part = stretch(multiple, "t", 2.0, 3.0, plain)
    assert list(part.conditions) == ["equation", "walls", "u begins, 0"]
    assert part.weight("u begins, 0") == 5.0
    both = stretch(EVOLUTIONS["start and walls together"][0], "t", 2.0, 3.0, plain)
    assert [part.end for part in both.region("given").parts] == [("x", False), ("x", True)]
    batch = sample(both, ag.GaussLegendre(5))
    np.testing.assert_allclose(batch["u begins, 0"].source[:, 0], np.asarray(batch["u begins, 0"].x)[:, 0])
    assert evolution_axis(both) == "t"


def test_a_pressure_is_held_at_as_many_moments_of_each_stretch():
    part = stretch(flow(PINNED), "t", 0.5, 1.0, {"u": (0.0,), "v": (0.0,)})
    np.testing.assert_allclose(part.region("pin").x, [[0.5 + t / 2, 0, 0] for t in MOMENTS])


def test_shapes_stay_what_they_are():
    problem = disk()
    part = stretch(problem, "t", 0.25, 0.5, {"psi": (OnPoints(lambda x: x[:, 1] + 2j * x[:, 2]),)})
    assert part.domain.intervals["t"] == (0.25, 0.5)
    batch = sample(part, 80)
    x = np.asarray(batch["start"].x)
    assert (x[:, 0] == 0.25).all()
    np.testing.assert_allclose(batch["start"].source, x[:, 1:] * [1, 2])
    walls = np.asarray(batch["walls"].x)
    np.testing.assert_allclose(np.hypot(walls[:, 1], walls[:, 2]), 1)
    np.testing.assert_allclose(np.asarray(batch["walls"].normal)[:, 1:], walls[:, 1:], atol=1e-12)
    again = stretch(part, "t", 0.3, 0.4, None)
    assert not isinstance(again.region("start"), Face)
    assert again.domain.intervals["t"] == (0.3, 0.4)


def test_numbers_in_front_of_weights_are_kept():
    def by_position(t):
        return 1 + t

    problem = heat(walls=ag.Condition(lambda u: u, on=BOX.faces("x"), weight=by_position))
    part = stretch(problem.restated(weights={"walls": 4.0}), "t", 2.0, 3.0, {"u": (0.0,)})
    assert part.weight("walls") == 4.0
    np.testing.assert_allclose(part.weights_at("walls", np.array([[0.0, 2.5]])), 3.5)


def test_edges():
    assert stretch_edges(heat(), 4) == ("t", [1.0, 2.0, 3.0, 4.0, 5.0])
    assert stretch_edges(heat(), [1.5, 4]) == ("t", [1.0, 1.5, 4.0, 5.0])
    assert stretch_edges(heat(), np.array([2.0])) == ("t", [1.0, 2.0, 5.0])


@pytest.mark.parametrize("wrong", [0, 1, -3, True, 2.5, "many", [], [2, 2], [3, 2], [np.nan], ["a"], 10**9, {"a": 1}])
def test_bad_stretches(wrong):
    with pytest.raises(ag.SettingError, match="stretches= is a number of equal stretches"):
        stretch_edges(heat(), wrong)


@pytest.mark.parametrize("wrong", [[0.5], [1.0, 2.0], [2.0, 5.0]])
def test_edges_lie_inside(wrong):
    with pytest.raises(ag.SettingError, match="inside of t, between 1 and 5"):
        stretch_edges(heat(), wrong)
