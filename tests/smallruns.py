"""Two tiny runs to be damaged, each made once by every process that tests."""

import functools
import tempfile
import warnings
from pathlib import Path

import anagram as ag
from problems import parabola

PROBLEM = parabola()  # one object, for which functions are compiled once
_KEPT = tempfile.TemporaryDirectory(prefix="anagram-small-runs-")


@functools.cache
def own_run() -> Path:
    """A run of a problem of one's own."""
    return _run("own", PROBLEM, ag.MLP(3), "anagram", ag.Grid(9), 4)


@functools.cache
def heat_run() -> Path:
    """A run of a problem of the catalogue, which is found by its name."""
    return _run("heat", ag.catalogue.problem("heat"), ag.MLP(2), "gd", ag.Grid(3), 1)


def _run(name, problem, model, method, points, steps) -> Path:
    folder = Path(_KEPT.name) / name
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ag.PointsWarning)
        ag.solve(
            problem, model, method, points=points, steps=steps, folder=folder, progress=False, checkpoint_every=0.0
        )
    return folder
