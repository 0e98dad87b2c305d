"""What the monitor writes, read back from the event file."""

import io
import struct
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from tensorboardX.proto.event_pb2 import Event

import anagram as ag
from anagram.showing.report.tensorboard import TensorBoard

RECORD = {
    "step": 0, "seconds": 0.0, "loss": 2.0, "validation_loss": 3.0, "l2_error": None, "rank": 12, "damping": 1e-3,
    "step_norm": 0.5, "failed": False,
}  # fmt: skip


def events(folder):
    """All events of a folder: each is its length, a checksum, the message, and a checksum."""
    for path in sorted(folder.iterdir()):
        data, place = path.read_bytes(), 0
        while place < len(data):
            (length,) = struct.unpack_from("<Q", data, place)
            yield Event.FromString(data[place + 12 : place + 12 + length])
            place += 16 + length


def values(folder, tag):
    """Step and value of everything with a tag."""
    return [(event.step, value) for event in events(folder) for value in event.summary.value if value.tag == tag]


def draw():
    figure = Figure(figsize=(2, 1), dpi=50)
    figure.subplots().plot([0, 1])
    return figure


def test_numbers_become_curves(tmp_path):
    with TensorBoard(tmp_path) as board:
        board(RECORD)
        board(RECORD | {"step": 5, "loss": 1e-27, "l2_error": np.float64(0.25), "condition_losses": {"walls": 0.125}})
        board(RECORD | {"step": 6, "loss": float("nan")})
    losses = [(step, value.simple_value) for step, value in values(tmp_path, "loss/training")]
    assert losses == [(0, 2.0), (5, np.float32(1e-27))]
    assert [(s, v.simple_value) for s, v in values(tmp_path, "error/rms")] == [(5, 0.25)]
    assert [v.simple_value for _, v in values(tmp_path, "method/rank")] == [12, 12, 12]
    assert [v.simple_value for _, v in values(tmp_path, "condition_losses/walls")] == [0.125]
    tags = {value.tag for event in events(tmp_path) for value in event.summary.value}
    assert tags == {
        "loss/training", "loss/fresh_points", "error/rms", "method/rank", "method/damping",
        "method/step_norm", "time/seconds", "condition_losses/walls",
    }  # fmt: skip


def test_networks_of_a_climb_are_runs_of_their_own(tmp_path):
    with TensorBoard(tmp_path / "one") as board:
        board(RECORD | {"step": 7})
        board.move_to(tmp_path / "one")
        board(RECORD | {"step": 8})
        board.move_to(tmp_path / "two")
        board(RECORD)
    assert [step for step, _ in values(tmp_path / "one", "loss/training")] == [7, 8]
    assert [step for step, _ in values(tmp_path / "two", "loss/training")] == [0]


def test_spectra_become_histograms_of_their_logarithms(tmp_path):
    spectrum = [*np.logspace(-14, 2, 33), 0.0, float("nan")]
    with TensorBoard(tmp_path) as board:
        board(RECORD | {"spectrum": spectrum})
        board(RECORD | {"step": 1, "spectrum": [0.0]})
    ((step, value),) = values(tmp_path, "spectrum/log10")
    assert (step, value.histo.num) == (0, 33)
    assert (value.histo.min, value.histo.max) == pytest.approx((-14, 2))
    assert sum(value.histo.bucket) == 33


def test_pictures_come_at_intervals_and_at_the_end(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("anagram.showing.report.tensorboard.time.monotonic", lambda: now[0])
    board = TensorBoard(tmp_path, draw, every=10)
    for step in range(25):
        now[0] = float(step)
        board(RECORD | {"step": step})
    board.close()
    board.close()
    pictures = values(tmp_path, "solution")
    assert [step for step, _ in pictures] == [10, 20, 24]
    image = Image.open(io.BytesIO(pictures[0][1].image.encoded_image_string))
    assert image.size == (100, 50)


def test_slow_pictures_come_less_often(tmp_path, monkeypatch):
    now = [0.0]

    def slow():
        now[0] += 2.0
        return draw()

    monkeypatch.setattr("anagram.showing.report.tensorboard.time.monotonic", lambda: now[0])
    board = TensorBoard(tmp_path, slow, every=1)
    for step in range(1, 60):
        now[0] += 1.0
        board(RECORD | {"step": step})
    assert board._next_picture - now[0] > 1
    board.close()
    assert [step for step, _ in values(tmp_path, "solution")] == [1, 41, 59]


def test_a_picture_that_fails_is_the_last(tmp_path):
    def broken():
        raise RuntimeError("no ink")

    with TensorBoard(tmp_path, broken, every=0) as board:
        with pytest.warns(UserWarning, match="no pictures for TensorBoard: RuntimeError: no ink"):
            board(RECORD)
        board(RECORD | {"step": 1})
    assert len(values(tmp_path, "loss/training")) == 2


def test_a_run_that_goes_on_purges_what_it_does_again(tmp_path):
    with TensorBoard(tmp_path) as board:
        board(RECORD | {"step": 40})
    assert any(event.session_log.status and event.step == 40 for event in events(tmp_path))


def test_nothing_happens_without_records(tmp_path):
    with TensorBoard(tmp_path, draw):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(ag.FileError, match="cannot write to the folder"):
        TensorBoard(tmp_path / "file")
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ag.MissingError, match="pip install 'anagram-pinn\\[tensorboard\\]'"):
        TensorBoard(tmp_path)
