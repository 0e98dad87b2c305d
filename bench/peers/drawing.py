"""The figure of docs/peers.md: errors against training time, and the times to each level."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from common_problems import PROBLEMS
from environments import ENTRANTS
from page import LEVELS, level_name, of, time_to

COLOURS = {
    "anagram": "#d1495b",
    "jinns": "#00798c",
    "scimba": "#30638e",
    "scimba-dsgnar": "#7fa6c9",
    "deepxde": "#edae49",
    "pina": "#8f6bb3",
    "chebyshev": "#333333",
    "scipy": "#777777",
    "scikit-fem": "#b0b0b0",
}
FIRST, LAST = 1e-4, 100.0  # seconds: the axes of time


def draw(records: list[dict[str, Any]], path: Path) -> None:
    """Draw it."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(15, 12), layout="constrained")
    grid = figure.add_gridspec(3, 12)
    for k, problem in enumerate(PROBLEMS):
        axes = figure.add_subplot(grid[k // 4, 3 * (k % 4) : 3 * (k % 4) + 3])
        for name, entrant in ENTRANTS.items():
            _curves(axes, of(records, problem, name), name, entrant.classical)
        axes.set(xscale="log", yscale="log", title=problem, xlim=(FIRST, LAST), ylim=(1e-16, 3))
        axes.set(xlabel="seconds of training", ylabel="relative error" if k % 4 == 0 else "")
        axes.grid(alpha=0.3)
    legend = figure.add_subplot(grid[1, 9:12])
    legend.axis("off")
    for name, entrant in ENTRANTS.items():
        legend.plot(
            [], [], "o" if entrant.classical or name == "anagram" else "-", color=COLOURS[name], label=entrant.title
        )
    legend.legend(loc="center", fontsize=11, frameon=False)
    for k, level in enumerate(LEVELS):
        axes = figure.add_subplot(grid[2, 4 * k : 4 * k + 4])
        for name, entrant in ENTRANTS.items():
            for place, problem in enumerate(PROBLEMS):
                seconds = time_to(of(records, problem, name), level)
                if math.isfinite(seconds):
                    marker = "D" if entrant.classical else "o"
                    axes.plot(max(seconds, FIRST), place, marker, color=COLOURS[name], markersize=8, alpha=0.85)
        axes.set(xscale="log", title=f"seconds of training to {level_name(level)}", xlim=(FIRST / 2, LAST))
        axes.set_yticks(range(len(PROBLEMS)), list(PROBLEMS) if k == 0 else [""] * len(PROBLEMS))
        axes.set_ylim(len(PROBLEMS) - 0.5, -0.5)
        axes.grid(alpha=0.3)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _curves(axes: Any, records: list[dict[str, Any]], name: str, classical: bool) -> None:
    """The smallest error so far of every run; dots where each was a computation of its own."""
    for record in records:
        seconds, errors, smallest = [], [], math.inf
        for time, error, _ in record.get("curve", []):
            smallest = error if classical or name == "anagram" else min(smallest, error)
            if math.isfinite(smallest):
                seconds.append(max(time, FIRST))
                errors.append(max(smallest, 1e-16))
        style = "o" if name == "anagram" else "o-" if classical else "-"
        axes.plot(seconds, errors, style, color=COLOURS[name], markersize=6 if name == "anagram" else 3, linewidth=1.5)
