"""Rungs: the networks and points of plans, and their way through JSON."""

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.models import Features, spec_from_json
from anagram.models.parametric import count_parameters
from anagram.statement.domains import Kronecker
from anagram.statement.sizes import Sizes
from anagram.training.configuration import model_to_json
from anagram.training.ladder import Facts, next_plan
from anagram.training.rungs import ADDED, LEVELS, Outcome, Plan, Rung, rung_from_json, rung_points
from mutations import damaged_json
from problems import parabola
from tolerances import assert_close

OUTCOME = Outcome(
    parameters=65,
    points=42,
    steps=30,
    seconds=0.5,
    compile_seconds=2.0,
    loss=1e-8,
    validation_loss=2e-8,
    relative_error=None,
    estimate=1e-5,
    trusted=False,
    reasons=("one", "two"),
    stopped_because="its floor is in sight",
)


def in_dimensions(count, **more):
    box = ag.Box(**{f"x{k}": (0, 1) for k in range(count)})
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.laplacian()),
        walls=ag.Condition(lambda u: u, on=box.boundary()),
        **more,
    )


def system():
    box = ag.Box(t=(0, 1))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u, psi: (u.d("t"), psi.d("t") - 1j * psi)),
        start=ag.Condition(lambda u, psi: (u, psi), on=box.face(t=0), equals=(1.0, 1.0)),
        unknowns={"u": float, "psi": complex},
    )


@pytest.mark.parametrize("estimate", [None, 1e-5])
def test_rungs_survive_json(estimate):
    plan = Plan(2, depth=3, scale=2.0, ratio=0.02, density=10.0, cells=True)
    outcome = replace(OUTCOME, estimate=estimate)
    model = model_to_json(plan.model(parabola(), Sizes((0.5,), (2.0,), {})))
    rung = Rung(plan, outcome, model)
    data = json.loads(json.dumps(rung.as_json()))
    assert rung_from_json(data) == rung
    assert {"level", "density", "parameters", "estimate", "trusted", "stopped_because"} <= set(data)
    assert spec_from_json(data["model"]).size == (2.0,)


TRAINED = {
    "weights": [[[1.0], [2.0]]],
    "biases": [[0.0, 0.5]],
    "velocities": None,
    "activation": "tanh",
    "scale": 1.0,
}


@pytest.mark.parametrize("trained", [None, TRAINED])
def test_rungs_of_features_survive_json(trained):
    plan = Plan(0, density=3.0, features=60, steepness=2.5, below=-1 if trained is None else 4)
    spec = plan.model(parabola(), Sizes((0.5,), (2.0,), {}), 3, trained)
    rung = Rung(plan, OUTCOME, model_to_json(spec))
    data = json.loads(json.dumps(rung.as_json()))
    assert rung_from_json(data) == rung
    again = spec_from_json(data["model"])
    assert (again.seed, again.steepness, again.trained) == (spec.seed, (2.5,), trained)
    assert again.activation == ("gaussian" if trained is None else "tanh")


@pytest.mark.parametrize("state", [parabola, system, lambda: in_dimensions(2)])
def test_there_are_as_many_features_as_parameters_allow(state):
    problem = state()
    outputs = problem.sought.outputs
    for wanted in (60, 300):
        model = Plan(0, features=wanted, steepness=2.0).model(problem, Sizes((1.5,), (3.0,), {}))
        assert isinstance(model, Features)
        assert abs(count_parameters(model, problem.sought) - wanted) <= 2 * outputs
        assert (model.like.offset, model.like.size, model.steepness) == ((1.5,), (3.0,), (2.0,))


def test_features_may_be_steeper_along_one_axis_and_have_more_points_there():
    problem = in_dimensions(2)
    even = Plan(0, features=60, steepness=2.0)
    uneven = replace(even, times=4.0, axis=1)
    model = uneven.model(problem, Sizes((0.0,), (1.0,), {}))
    assert isinstance(model, Features)
    assert model.steepness == (1.0, 4.0), "the geometric mean is that of even ones"
    inside = problem.inside[0]
    points = [sample(problem, rung_points(plan, problem, 61), 0)[inside].x for plan in (even, uneven)]
    assert len(np.unique(points[1][:, 1])) > 1.5 * len(np.unique(points[0][:, 1]))


def test_other_rungs_have_other_features():
    """They are compared with each other: what one of them does not see another one may."""
    sizes = Sizes((0.0,), (1.0,), {})
    models = [
        Plan(0, features=features, steepness=2.0).model(parabola(), sizes, seed)
        for features, seed in ((60, 0), (61, 0), (60, 1), (60, 0))
    ]
    seeds = [model.options()["seed"] for model in models]
    assert len(set(seeds)) == 3
    assert seeds[0] == seeds[-1]


def test_losses_that_are_not_finite_survive():
    rung = Rung(Plan(1), replace(OUTCOME, loss=np.nan, validation_loss=np.inf), {})
    again = rung_from_json({**rung.as_json(), "loss": None, "validation_loss": None})
    assert np.isnan(again.outcome.loss)
    assert again.outcome.residual == rung.outcome.residual == np.inf


def test_damaged_rungs_are_refused():
    """Whatever is in a file is read or refused, and nothing else."""
    data = json.loads(json.dumps(Rung(Plan(1), OUTCOME, {"kind": "MLP"}).as_json()))
    rng, refused, damaged = np.random.default_rng(0), 0, {}
    for name in ADDED:
        found = rung_from_json({k: v for k, v in data.items() if k != name})
        assert found == rung_from_json(data), "an earlier version"
    for name in set(data) - set(ADDED):
        with pytest.raises(ag.FileError, match="the record of a rung is damaged"):
            rung_from_json({k: v for k, v in data.items() if k != name})
    for _ in range(300):
        text = damaged_json(data, rng)
        with contextlib.suppress(ValueError, RecursionError):
            damaged = json.loads(text)
        try:
            found = rung_from_json(damaged)
        except ag.FileError:
            refused += 1
        else:
            next_plan(Facts(1, True, False, 1e-6, 1100), [found, found])
    assert refused > 100


def test_what_an_outcome_says_of_its_residual():
    assert OUTCOME.residual == pytest.approx(2e-4)
    assert not OUTCOME.overfitted
    assert replace(OUTCOME, validation_loss=1.1e-7).overfitted


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("state", [parabola, system, lambda: in_dimensions(2), lambda: in_dimensions(5)])
def test_networks_are_as_large_as_their_level(state, depth):
    problem = state()
    counts = []
    for level, wanted in enumerate(LEVELS):
        model = Plan(level, depth=depth, scale=2.0).model(problem, Sizes((1.5,), (3.0,), {}))
        assert len(set(model.widths)) == 1
        assert (len(model.widths), model.scale, model.offset, model.size) == (depth, 2.0, (1.5,), (3.0,))
        counts.append(count_parameters(model, problem.sought))
        larger = ag.MLP(*[model.widths[0] + 1] * depth)
        assert count_parameters(larger, problem.sought) > 1.08 * wanted
        assert counts[-1] <= 1.08 * wanted
    assert np.all(np.diff(counts) > 0)


def rows_inside(problem, rules, inner=("equation",)):
    rows = {k: len(problem.components[k]) + sum(problem.components[k]) for k in inner}
    return sum(len(problem.region(k).draw(rules[k], np.random.default_rng(0)).x) * rows[k] for k in inner)


@pytest.mark.parametrize("state", [parabola, system, lambda: in_dimensions(2), lambda: in_dimensions(3)])
def test_there_are_so_many_rows_for_each_parameter(state):
    problem = state()
    for parameters in (65, 150):
        for density in (4.0, 10.0):
            rules = rung_points(Plan(0, density=density), problem, parameters)
            assert 0.85 < rows_inside(problem, rules) / (density * parameters) < 1.2
    assert rows_inside(problem, rung_points(Plan(0, density=4.0), problem, 2)) >= 36


def test_which_points_a_rung_has():
    line, cube = parabola(), in_dimensions(3)
    assert isinstance(rung_points(Plan(0), line, 65)["equation"], ag.GaussLegendre)
    assert set(rung_points(Plan(0), line, 65)) == {"equation"}, "ends are points: there is nothing to choose"
    assert isinstance(rung_points(Plan(0, cells=True), line, 65)["equation"], ag.Cells)
    square = rung_points(Plan(0, cells=True), in_dimensions(2), 65)
    assert [type(square[k]) for k in ("equation", "walls")] == [ag.Cells, ag.GaussLegendre]
    assert {type(rule) for rule in rung_points(Plan(0), cube, 65).values()} == {Kronecker}
    wide = rung_points(Plan(0, features=160, steepness=2.0), cube, 160)
    assert {type(rule) for rule in wide.values()} == {ag.GaussLegendre}, "a smooth solution is sampled by few nodes"


def test_data_keep_the_points_they_were_measured_at():
    box = ag.Box(x=(0, 1))
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("x", "x")),
        data=ag.Condition(lambda u: u, on=box.points(x=np.linspace(0, 1, 7)), equals=lambda x: x),
    )
    assert set(rung_points(Plan(0), problem, 65)) == {"equation"}


def test_walls_have_more_points_in_many_dimensions():
    """Most of a cube of many dimensions lies near its walls."""
    shares = {}
    for count in (3, 5):
        rules = rung_points(Plan(1), in_dimensions(count), 150)
        inside, walls = (rules[key] for key in ("equation", "walls"))
        assert isinstance(inside, Kronecker)
        assert isinstance(walls, Kronecker)
        shares[count] = walls.count / inside.count
    assert_close(shares[5], 2 * shares[3], 0.02)
