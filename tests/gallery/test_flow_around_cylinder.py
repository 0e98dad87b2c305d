"""The flow around a cylinder: what its model has built in, its points, and how its forces are found."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import anagram as ag
from anagram.training.history import History
from tolerances import assert_close
from untrained import SUMMARY

SCRIPT = Path(__file__).parents[2] / "docs" / "gallery" / "flow_around_cylinder.py"


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def flow(gallery):
    """Some field that nobody has trained."""
    problem = gallery.problem()
    model = ag.ParametricModel(problem.sought, gallery.Flow(5, 5, seed=1))
    return ag.Solution(problem, model, np.asarray(model.theta), History(), dict(SUMMARY))


@pytest.mark.parametrize("condition", ["inlet", "walls"])
def test_velocities_are_built_in(flow, condition):
    x = flow.problem.region(condition).draw(ag.GaussLegendre(30), np.random.default_rng(0)).x
    assert_close(flow.residual(condition, x), np.zeros(len(x)), scale=1.0)


def test_points_are_near_the_cylinder(gallery):
    columns = gallery.points_inside(1000).columns
    points = np.stack([columns["x"], columns["y"]], axis=1)
    assert gallery.channel.contains(points).all()
    near = np.hypot(*(points - gallery.CENTRE).T) < 2
    assert 0.4 < near.mean() < 0.9  # 13 % of the area


def test_forces_balance_momentum(gallery, flow):
    """Of any fields, pull and flux of momentum through all of the boundary are what the inside gains (Gauss)."""
    re = gallery.REYNOLDS

    def through(u, v, p):
        out = u * p.normal("x") + v * p.normal("y")
        stress = 2 * u.d("x") * p.normal("x") + (u.d("y") + v.d("x")) * p.normal("y")
        return u * out + p * p.normal("x") - stress / re

    def inside(u, v, p):
        spread = u.d("x") + v.d("y")
        return gallery.momentum(u, v, p)[0] + u * spread - spread.d("x") / re

    outer = flow.integral(through, over=gallery.channel.boundary("x=0", "y=0", "y=4.1", "x=22"), nodes=200)
    drag = gallery.forces(flow)["drag"] / 2
    assert_close(outer + drag, flow.integral(inside, nodes=200), 1e-8, scale=1.0)
