import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains.cells import Mesh
from tolerances import assert_close


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 7, 64])
def test_cells_tile_the_cube(dimension, count):
    mesh = Mesh(dimension, count)
    assert len(mesh.leaves) == count
    assert_close(mesh.volumes.sum(), 1.0)
    assert mesh.volumes.max() <= 2.01 * mesh.volumes.min()
    x, weight = mesh.points(3)
    assert x.shape == (count * 3**dimension, dimension)
    assert x.min() > 0
    assert x.max() < 1
    # Three Gauss–Legendre points integrate degree five exactly, however the cells lie.
    assert_close(weight @ np.prod(x**5, axis=1), (1 / 6) ** dimension)


def resolve(mesh, function, rounds):
    """Adapt to a known function as if it were a residual, looking at points of its own."""
    for _ in range(rounds):
        x, weight = mesh.points(5)
        indicator = (function(x) ** 2 * weight).reshape(len(mesh.leaves), -1).sum(axis=1)
        mesh.improve(indicator, np.zeros(len(mesh.leaves), int), share=0.2, gain=100)
    return mesh


def test_cells_gather_where_the_residual_is():
    layer = lambda x: np.exp(-(((x[:, 0] - 0.3) / 0.01) ** 2))
    uniform = Mesh(2, 256)
    adapted = resolve(Mesh(2, 256), layer, 12)
    assert len(adapted.leaves) == 256
    assert_close(adapted.volumes.sum(), 1.0)
    near = lambda mesh: np.mean(np.abs(mesh.points(1)[0][:, 0] - 0.3) < 0.05)
    assert near(adapted) > 3 * near(uniform)
    exact = 0.01 * np.sqrt(np.pi / 2)
    error = lambda mesh: abs(mesh.points(4)[1] @ layer(mesh.points(4)[0]) ** 2 - exact) / exact
    assert error(adapted) < 1e-4
    assert error(uniform) > 1e-1


def test_some_points_stay_everywhere():
    mesh = resolve(Mesh(2, 64), lambda x: x[:, 0] < 0.01, 30)
    assert mesh.volumes.max() <= 4.0 / 64 + 1e-12


def test_nothing_moves_without_a_reason():
    mesh = Mesh(2, 64)
    before = mesh.points(2)[0]
    assert mesh.improve(np.ones(64), np.zeros(64, int), share=0.5, gain=4) == 0
    assert_close(mesh.points(2)[0], before)


def test_halves_that_were_joined_can_be_halved_again():
    mesh = Mesh(1, 16)
    here, there = (lambda x: x[:, 0] < 0.1), (lambda x: x[:, 0] > 0.9)
    resolve(mesh, here, 6)
    resolve(mesh, there, 12)
    assert len(mesh.leaves) == 16
    assert_close(mesh.volumes.sum(), 1.0)
    assert np.mean(mesh.points(1)[0] > 0.9) > 0.4


def test_the_rule_keeps_to_its_region():
    box = ag.Box(t=(0, 2), x=(-1, 1))
    cloud = box.draw(ag.Cells(300), np.random.default_rng(0))
    assert abs(len(cloud.x) - 300) <= 16
    walls = box.faces("x").draw(ag.Cells(40), np.random.default_rng(0))
    assert set(walls.x[:, 1]) == {-1.0, 1.0}
    assert_close(walls.weight.sum(), 1.0)


@pytest.mark.parametrize("arguments", [(0,), (2.5,), (100, 0), (True,)])
def test_mistakes(arguments):
    with pytest.raises(ag.SettingError, match="positive whole number"):
        ag.Cells(*arguments)
