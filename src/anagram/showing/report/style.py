"""How pictures look, and how they are written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from anagram.errors import FileError

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "legend.frameon": False,
    "savefig.dpi": 160,
    "image.cmap": "viridis",
    "axes.grid": False,
}
BLUE, ORANGE, GREEN, GREY = COLOURS = ("#20639b", "#e07a1f", "#3a8f5c", "#7f7f7f")
INK = "#262626"  # of the edge of a shape


def positive(values: Any) -> np.ndarray:
    """Numbers for a logarithmic axis; what is not positive is left out."""
    values = np.asarray(values, dtype=float)
    return np.where(values > 0, values, np.nan)


def finish(figure: Figure, path: str | Path | None) -> Figure:
    """Write a picture if told where."""
    FigureCanvasAgg(figure)
    if path is not None:
        try:
            if Path(path).is_dir():
                raise IsADirectoryError(f"'{path}' is a folder")
            if Path(path).is_symlink():
                Path(path).unlink()  # a picture takes its place; in a folder from someone else it may lead anywhere
            figure.savefig(path)
        except (OSError, ValueError) as error:
            raise FileError(f"cannot write the picture '{path}': {error}") from error
    return figure
