"""The stages of a run, where its curves jump: sketches, beginnings anew, and stretches of time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from anagram.training.history import History


def sketches(history: History) -> list[tuple[int, int]]:
    """The steps that belong to sketches, as pairs of counts: after the first number of steps, up to the second."""
    stage = column(history, "stage")
    edges = np.flatnonzero(np.diff(np.concatenate([[0], stage == 0, [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def beginnings(history: History) -> list[int]:
    """The numbers of steps after which the iterate goes on from somewhere else; ends of sketches are not among them."""
    anew, ends = column(history, "anew"), {end for _, end in sketches(history)}
    return [int(k) + 1 for k in np.flatnonzero(anew) if k + 1 < len(anew) and k + 1 not in ends]


def stretch_ends(history: History, summary: Mapping[str, Any]) -> list[int]:
    """The numbers of steps after which the next stretch of time begins: a look before and a look after it."""
    stretches = summary.get("stretches")
    if not isinstance(stretches, list) or len(stretches) <= 2:
        return []
    steps = [block.get("step") for block in history.blocks]
    return [b for a, b in itertools.pairwise(steps) if isinstance(b, int) and a == b]


def column(history: History, key: str) -> np.ndarray:
    """A column of numbers, one for each step; empty if there is none."""
    values = np.asarray(history.steps.get(key, np.zeros(0)))
    return values.astype(float) if values.ndim == 1 and values.dtype.kind in "fiub" else np.zeros(0)
