"""Shapes in figures and on pages: drawn up to their edge, and nothing outside."""

import base64
import json
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
from chromium import NoBrowser, find_chromium
from headless import Browser
from looking import assert_sound, coordinates, map_of, tip

import anagram as ag
from anagram.programs.page import write_page
from anagram.showing.report.kernels import kernel_figure, reference_points
from anagram.showing.report.page.fields import field_data
from solids import HalfBall
from tolerances import assert_close
from untrained import untrained


def heat(u):
    return u.d("t") - u.laplacian("x", "y")


def inside_only(x, y):
    """It is NaN outside of the unit disk, and says so."""
    return jnp.sqrt(1 + 1e-9 - x**2 - y**2)


@pytest.fixture(scope="module")
def on_disk():
    return untrained(ag.Disk(), lambda u: u.laplacian(), solution=inside_only)


@pytest.fixture(scope="module")
def evolving():
    return untrained(ag.Box(t=(0, 2)) * ag.Disk((0, 0), 1), heat, solution=lambda t, x, y: jnp.cos(3 * x + t))


@pytest.fixture(scope="module")
def in_space():
    return untrained(HalfBall(), lambda u: u.laplacian())


class Picture:
    """A figure as it is drawn, to ask for colours."""

    def __init__(self, figure):
        figure.set_dpi(50)
        figure.canvas.draw()
        self.axes = figure.axes
        self.pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)

    def is_white(self, panel, x, y):
        column, row = self.axes[panel].transData.transform((x, y))
        return bool(np.all(self.pixels[len(self.pixels) - 1 - round(row), round(column)] == 255))


def test_figures_are_white_outside_and_coloured_up_to_the_edge(on_disk):
    picture = Picture(on_disk.plot())
    for panel in range(3):
        for angle in np.linspace(0, 2 * np.pi, 9):
            outside, inside = (r * np.array([np.cos(angle), np.sin(angle)]) for r in (1.1, 0.95))
            if np.max(np.abs(outside)) < 1:  # within the axes
                assert picture.is_white(panel, *outside)
            assert not picture.is_white(panel, *inside)
    assert picture.axes[0].get_aspect() == 1


def test_unknowns_are_drawn_where_they_live_with_the_residuals_of_their_own_conditions():
    square, rod = ag.Box(x=(-1, 1), y=(-1, 1)), ag.Disk(radius=0.4)
    made = untrained(
        square, lambda u: u.laplacian(), lambda v: 2 * v.laplacian(), unknowns={"u": square - rod, "v": rod}
    )
    picture = Picture(made.plot())
    titles = [ax.get_title() for ax in picture.axes if ax.get_title()]
    assert titles == ["u", "|residual of c0|", "v", "|residual of c1|"]
    for panel, inner in ((0, True), (1, True), (2, False), (3, False)):
        for angle in np.linspace(0.1, 2 * np.pi, 7):
            near, far = (r * np.array([np.cos(angle), np.sin(angle)]) for r in (0.35, 0.45))
            assert picture.is_white(panel, *near) == inner
            if inner:
                assert not picture.is_white(panel, *far)
    assert picture.axes[2].get_xlim() == (-0.4025, 0.4025)  # a pixel is as wide as the grid


def test_an_evolution_is_drawn_at_several_instants_and_a_solid_where_it_is_cut(evolving, in_space, tmp_path):
    figure = evolving.plot()
    labels = [ax.get_xlabel() for ax in figure.axes]
    assert [sum(f"t = {t}" in label for label in labels) for t in (0, 1, 2)] == [3, 3, 3]
    figure = in_space.plot()
    assert "z = 0.5" in figure.axes[0].get_xlabel()
    loaded = ag.load(evolving.save(tmp_path / "run"))
    assert Picture(loaded.plot()).is_white(0, 0.9, 0.9)


def test_kernels_are_drawn_around_points_of_the_shape(on_disk):
    centres = reference_points(on_disk.domain)
    assert centres.shape == (16, 2)
    assert on_disk.domain.contains(centres).all()
    assert len(np.unique(np.round(centres, 9), axis=0)) == 16
    _, spreads = kernel_figure(on_disk.tangent_space(40), "ntk", "disk")
    assert np.all((spreads > 0) & (spreads < 1))
    moving = reference_points(ag.Box(t=(0, 2)) * ag.Disk())
    assert_close(moving[:, 0], np.ones(16))


def decoded(array, kind=np.float32):
    return np.frombuffer(base64.b64decode(array["data"]), kind)


def test_pages_carry_nothing_outside(on_disk, evolving, in_space):
    data = field_data(on_disk)
    line = np.linspace(-1, 1, data["size"])
    inside = (np.hypot(*np.meshgrid(line, line, indexing="ij")) <= 1 + 1e-9).ravel()
    assert {q["kind"] for q in data["quantities"]} == {"solution", "error", "residual"}
    for quantity in data["quantities"]:
        assert np.array_equal(np.isfinite(decoded(quantity)), inside)
    assert data["shape"]["cover"] is None
    (loop,) = (decoded(loop).reshape(-1, 2) for loop in data["shape"]["outline"])
    assert_close(np.hypot(*loop.T), np.ones(len(loop)), 1e-6)
    assert field_data(evolving)["shape"]["axes"] == [1, 2]
    data = field_data(in_space)
    cover = decoded(data["shape"]["cover"], np.uint8).reshape([data["size"]] * 3)
    values = decoded(data["quantities"][0]).reshape(cover.shape)
    assert np.all(np.isnan(values[cover == 0]))
    assert np.all(np.isfinite(values[cover == 255]))
    volume = cover.mean() / 255 * 4 * data["size"] ** 3 / (data["size"] - 1) ** 3
    assert_close(volume, 2 * np.pi / 3, 0.05)


def test_pages_of_shapes_in_a_browser(on_disk, evolving, tmp_path):
    try:
        executable, environment = find_chromium()
    except NoBrowser as error:
        pytest.skip(f"no browser can be had: {error}")
    browser = Browser(executable, environment, pathlib.Path(tmp_path / "profile"))
    try:
        for solution, point in ((on_disk, (0.3, -0.45)), (evolving, (1.0, 0.3, -0.45))):
            page = browser.open(write_page([solution], tmp_path / "page.html"))
            page.settle()
            assert page.run("document.querySelectorAll('.map path.outline').length") == 3
            x, y = point[-2:]
            place = f"{map_of('solution')} .plot-area"
            page.hover(place, (1 + x) / 2, (1 + y) / 2)
            heading, values = tip(page, map_of("solution"))
            found = coordinates(heading)
            near = [*point[:-2], found["x"], found["y"]]
            assert np.hypot(found["x"] - x, found["y"] - y) < 0.04
            assert_close(values["u"], solution(*near), 1e-2)  # coordinates are shown with few digits
            page.hover(place, 0.98, 0.98)
            words = page.run(f"document.querySelector({json.dumps(map_of('solution') + ' .tip-value')}).textContent")
            assert words == "outside"
            alpha = page.run(
                f"(() => {{ const c = document.querySelector({json.dumps(map_of('solution') + ' canvas')}); "
                "const all = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; "
                "const at = (x, y) => all[4 * (Math.floor(y * c.height) * c.width + Math.floor(x * c.width)) + 3]; "
                "return [at(0.5, 0.5), at(0.5, 0.01), at(0.1, 0.1), at(0.9, 0.88)]; })()"
            )
            assert alpha == [255, 255, 0, 0]
            assert_sound(page)
            page.close()
    finally:
        browser.close()
