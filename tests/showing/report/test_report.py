import io
import sys

import matplotlib as mpl
import numpy as np
import pytest

import anagram as ag
from anagram.showing.report.progress import Progress, describe
from anagram.showing.report.stages import beginnings, sketches, stretch_ends
from anagram.training.budget import Budget
from anagram.training.history import History


def panels(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def test_two_axes_give_maps_of_solution_error_and_residual(quick_solution, tmp_path):
    figure = quick_solution.plot(tmp_path / "s.png")
    assert [ax.get_title() for ax in panels(figure)] == ["u", "|error of u|", "|residual of equation|"]
    assert (panels(figure)[0].get_xlabel(), panels(figure)[0].get_ylabel()) == ("t", "x")
    assert (tmp_path / "s.png").read_bytes()[:4] == b"\x89PNG"
    quick_solution.plot(tmp_path / "s.pdf")
    assert (tmp_path / "s.pdf").read_bytes()[:4] == b"%PDF"


def test_one_axis_and_complex_values():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line, c=ag.Condition(lambda psi: psi.d("x") - 1j * psi), unknowns={"psi": complex}, solution=lambda x: 0j * x
    )
    figure = ag.solve(problem, ag.MLP(4), "anagram", points=ag.Grid(20), steps=1, progress=False).plot()
    labels = [text.get_text() for text in panels(figure)[0].get_legend().get_texts()]
    assert labels == ["Re psi", "exact", "Im psi"]


def test_many_axes_give_a_plane_through_the_centre():
    problem = ag.catalogue.problem("laplace-5d")
    figure = ag.solve(problem, ag.MLP(4), "anagram", points=60, steps=1, progress=False).plot()
    assert "x3 = 0.5, x4 = 0.5, x5 = 0.5" in panels(figure)[0].get_xlabel()


def test_very_many_axes_are_named_together():
    problem = ag.catalogue.problem("heat-10d", dimension=9)
    figure = ag.solve(problem, ag.MLP(2), "gd", points=30, steps=0, progress=False).plot()
    assert panels(figure)[0].get_xlabel().endswith("(at x2 … x9 = 0)")


def test_convergence_shows_losses_and_error(quick_solution):
    figure = quick_solution.plot_convergence()
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["loss", "loss on fresh points", "L² error", "sketch, then a new start"]
    assert figure.axes[1].get_xlabel() == "training time (s)"


def test_pictures_say_where_curves_jump(quick_solution):
    count = quick_solution.history.count
    stage = np.array([0, 0, 0, *[1] * (count - 3)])
    anew = np.zeros(count, dtype=bool)
    anew[[2, 5]] = True  # the end of the sketch, and another start
    blocks = [*({"step": k, "seconds": 0.1 * k, "validation_loss": 1.0} for k in (0, 4, 4, count))]
    history = History({**quick_solution.history.steps, "stage": stage, "anew": anew}, blocks)
    summary = {**quick_solution.summary, "stretches": [0.0, 0.5, 1.0]}
    solution = ag.Solution(None, quick_solution.model, quick_solution.theta, history, summary)
    assert (sketches(history), beginnings(history), stretch_ends(history, summary)) == ([(0, 3)], [6], [4])
    ax = solution.plot_convergence().axes[0]
    places = {line.get_label(): line.get_xdata()[0] for line in ax.lines}
    assert (places["goes back"], places["next stretch"]) == (6, 4)


def test_titles_fit_into_narrow_pictures(quick_solution):
    summary = {**quick_solution.summary, "problem": "a problem with a rather long name"}
    alone = ag.Solution(None, quick_solution.model, quick_solution.theta, quick_solution.history, summary)
    figure = alone.plot()
    assert len(panels(figure)) == 1  # without its problem there is neither error nor residual
    renderer = figure.canvas.get_renderer()
    figure.draw(renderer)
    box = figure._suptitle.get_window_extent(renderer)
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


def test_a_run_of_no_steps_can_be_drawn(heat):
    solution = ag.solve(heat, ag.MLP(4), "anagram", points=ag.Grid(8), steps=0, progress=False)
    solution.plot_convergence()
    solution.plot()


def test_drawing_leaves_no_traces(quick_solution):
    before = dict(mpl.rcParams)
    quick_solution.plot()
    assert dict(mpl.rcParams) == before


def test_a_picture_that_cannot_be_written(quick_solution, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ag.FileError, match="cannot write the picture"):
        quick_solution.plot(tmp_path / "file" / "s.png")
    with pytest.raises(ag.FileError, match="cannot write the picture"):
        quick_solution.plot(tmp_path / "s.nonsense")


def test_progress_lines_where_there_is_no_terminal(heat, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    ag.solve(heat, ag.MLP(4), "anagram", points=ag.Grid(8), steps=3)
    assert stream.getvalue().startswith("heat  compiling\nheat  step 0  loss ")
    assert "\x1b" not in stream.getvalue()


def test_progress_bar_on_a_terminal(heat, monkeypatch):
    from rich.console import Console

    stream = io.StringIO()
    monkeypatch.setattr(
        "anagram.showing.report.progress.Console", lambda file: Console(file=stream, force_terminal=True, width=140)
    )
    with Progress(heat, Budget(steps=10, seconds=5.0)) as bar:
        bar(
            {
                "step": 4,
                "seconds": 1.0,
                "loss": 1e-3,
                "validation_loss": 2e-3,
                "l2_error": None,
                "seconds_per_step": 0.25,
            }
        )
        assert bar.bar is not None
        assert bar.bar.tasks[0].completed == 0.4
    assert "step 4" in stream.getvalue()


def test_descriptions_have_what_is_known():
    record = {"step": 7, "loss": 1e-3, "validation_loss": 2e-3, "l2_error": 1e-5, "rank": 12, "step_length": 0.5}
    assert describe(record, 3.2) == "step 7  loss 1.0e-03  fresh 2.0e-03  error 1.0e-05  rank 12  η 5e-01  3 s left"
    assert "damping" not in describe(record, None)
    assert np.isfinite(len(describe({**record, "damping": 1e-4}, None)))
