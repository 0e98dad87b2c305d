import numpy as np
import pytest

import anagram as ag
from anagram.showing.report.kernels import kernel_figure, kernel_values, reference_points, spread
from anagram.tangent import TangentSpace
from tolerances import assert_close


@pytest.fixture(scope="module")
def space(heat):
    model = ag.ParametricModel(heat.sought, ag.MLP(6), 0)
    return TangentSpace(heat, model, points=ag.GaussLegendre(12))


def test_sixteen_reference_points_lie_inside(heat):
    points = reference_points(heat.domain)
    assert points.shape == (16, 2)
    assert points.min() > 0
    assert points.max() < 1
    assert len(reference_points(ag.Box(x=(0, 2)))) == 16
    five = reference_points(ag.catalogue.problem("laplace-5d").domain)
    assert five.shape == (16, 5)
    assert np.all(five[:, 2:] == 0.5)


def test_the_values_are_those_of_the_space(space):
    x, centres = np.random.default_rng(0).random((2, 4, 2))
    assert_close(kernel_values(space, "ntk", x, centres), space.ntk("equation", x, "equation", centres))
    assert_close(kernel_values(space, "nntk", x, centres), space.nntk("equation", x, "equation", centres))
    assert_close(kernel_values(space, "green", x, centres), space.green(x, "equation", centres))
    with pytest.raises(ag.SettingError, match="choose from ntk, nntk, green"):
        kernel_values(space, "rbf", x, centres)


def test_the_spread_of_a_bump_is_its_width():
    box = ag.Box(x=(0, 2), y=(0, 1))
    x = np.stack([g.ravel() for g in np.meshgrid(np.linspace(0, 2, 201), np.linspace(0, 1, 101))], axis=1)
    centre = np.array([[1.0, 0.5]])
    distance = ((x - centre) / np.array([2, 1])) ** 2
    width = 0.05
    bump = np.exp(-distance.sum(axis=1) / (2 * width**2))[:, None]
    assert_close(spread(box, x, centre, bump)[0], width, 1e-3)
    assert_close(spread(box, x, centre, np.ones((len(x), 1)))[0], np.sqrt(1 / 6), 0.02)


def test_pictures_in_two_dimensions_and_in_one(space, tmp_path):
    figure, spreads = kernel_figure(space, "nntk", "a title", tmp_path / "k.png")
    assert (tmp_path / "k.png").stat().st_size > 20_000
    assert len(figure.axes) == 17
    assert spreads.shape == (16,)
    line = ag.Problem(ag.Box(x=(0, 1)), equation=ag.Condition(lambda u: u.d("x", "x")))
    flat = TangentSpace(line, ag.ParametricModel(line.sought, ag.MLP(4), 0), points=ag.GaussLegendre(30))
    figure, _ = kernel_figure(flat, "green", "a title")
    assert len(figure.axes) == 16
