"""A run in TensorBoard: losses, errors, what the method does, the spectrum and the solution as it grows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anagram.errors import MissingError, RunWarning
from anagram.keeping.atomic import prepare_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_SECONDS = 60.0
PICTURE_SHARE = 0.05  # of the time of a run may be spent on pictures
BINS = 60
TAGS = {
    "loss": "loss/training",
    "validation_loss": "loss/fresh_points",
    "l2_error": "error/rms",
    "relative_l2_error": "error/relative",
    "seconds": "time/seconds",
    "seconds_per_step": "time/seconds_per_step",
}


class TensorBoard:
    """A monitor for `solve` that writes what TensorBoard shows. Needs the extra ``tensorboard``.

    Every number of a record becomes a curve, and a spectrum the histogram of its decimal logarithms. Close it, or
    use it as a context, so that the last picture is drawn and everything is written.

    Args:
        folder: where the event files go; one folder for each run.
        picture: draws the solution as it is now; called about every `every` seconds and at the end.
        every: seconds between pictures, more if they take long to draw.
    """

    def __init__(
        self, folder: str | Path, picture: Callable[[], Figure] | None = None, every: float = PICTURE_SECONDS
    ) -> None:
        self._writer_of = _summary_writer()
        self.folder = prepare_folder(folder)
        self.picture, self.every = picture, every
        self._writer: Any = None
        self._step = 0
        self._next_picture = time.monotonic() + every

    def __call__(self, record: Mapping[str, Any]) -> None:
        """Write the record of a block."""
        self._step = int(record["step"])
        writer = self._open()
        for key, value in record.items():
            if key == "step" or isinstance(value, bool | str | None):
                continue
            if key == "spectrum":
                self._write_spectrum(value)
            elif isinstance(value, Mapping):  # by condition, for example
                for name, part in value.items():
                    _add_number(writer, f"{key}/{name}", part, self._step)
            else:
                _add_number(writer, TAGS.get(key, f"method/{key}"), value, self._step)
        if time.monotonic() >= self._next_picture:
            self._write_picture()

    def move_to(self, folder: Path) -> None:
        """Write what comes next into another folder, as another run."""
        if folder != self.folder:
            self.close()
            self.folder = prepare_folder(folder)

    def close(self) -> None:
        """Draw the last picture and finish the file; nothing happens the second time."""
        if self._writer is None:
            return
        self._write_picture()
        self._writer.close()
        self._writer = None

    def __enter__(self) -> TensorBoard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Any:
        if self._writer is None:
            # A run that goes on has written steps before: what lies beyond its first step is no longer true.
            self._writer = self._writer_of(str(self.folder), purge_step=self._step or None, flush_secs=10)
        return self._writer

    def _write_spectrum(self, spectrum: Any) -> None:
        values = np.asarray(spectrum, dtype=float).ravel()
        values = np.log10(values[np.isfinite(values) & (values > 0)])
        if values.size:
            self._writer.add_histogram("spectrum/log10", values, self._step, bins=BINS)

    def _write_picture(self) -> None:
        """A picture that fails is the last one; curves are more important."""
        if self.picture is None:
            return
        started = time.monotonic()
        try:
            pixels = _pixels(self.picture())
        except Exception as error:
            self.picture = None
            message = f"no pictures for TensorBoard: {type(error).__name__}: {error}"
            warnings.warn(message, RunWarning, stacklevel=3)
            return
        self._writer.add_image("solution", pixels, self._step, dataformats="HWC")
        finished = time.monotonic()
        self._next_picture = finished + max(self.every, (finished - started) / PICTURE_SHARE)


def _add_number(writer: Any, tag: str, value: Any, step: int) -> None:
    """Whatever is not one finite number has no place on a curve."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool) and np.isfinite(value):
        writer.add_scalar(tag, float(value), step)


def _pixels(figure: Figure) -> np.ndarray:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def _summary_writer() -> Callable[..., Any]:
    try:
        from tensorboardX import SummaryWriter
    except ModuleNotFoundError as error:
        raise MissingError(
            f"logging to TensorBoard needs tensorboardX ({error}); "
            "install it with: pip install 'anagram-pinn[tensorboard]'"
        ) from error
    return SummaryWriter
