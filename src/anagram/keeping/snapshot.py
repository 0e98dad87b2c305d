"""The whole state of a run as arrays and a record, and a run put back into it.

A run that is restored goes on to the same numbers, bit for bit, as one that was never interrupted: nothing is left out
that a step depends on. Points that never move, and those drawn by seed and step, follow from the configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from anagram.compound.batch import sample
from anagram.errors import FileError
from anagram.keeping.records import checked_blocks, is_number, is_whole
from anagram.statement.domains import Kronecker
from anagram.statement.problem import Problem
from anagram.training.history import History
from anagram.training.runstate import Best, RunState

_STATE, _BATCH, _STEPS, _BEST = "state", "batch", "steps.", "best.theta"
START = "start.theta"
_SAME_LOSS = 1e-6  # relative; other machines round differently
PLACES = 32  # points of each region at which problems are told apart
OTHER_POINTS = "the points or their sources are others than at its start"


class Snapshot(NamedTuple):
    """Arrays by name, and what fits into JSON."""

    arrays: dict[str, np.ndarray]
    record: dict[str, Any]


class Resumable(Protocol):
    """A run as it is kept: its state can be asked for and given back."""

    def run_state(self) -> RunState:
        """All that it goes on from."""
        ...

    def restore(self, state: RunState) -> None:
        """Go on from another state."""
        ...

    @property
    def logged(self) -> dict[str, np.dtype]:
        """The columns that steps are logged in, with the type of their values."""
        ...


def fingerprint(run: Resumable) -> dict[str, Any]:
    """What tells a run that has not begun from others: its points with their sources, and the first loss.

    The loss is None as long as the run is not compiled.
    """
    state = run.run_state()
    return {"points": _digest(state.batch), "loss": None if state.method is None else float(state.method.loss)}


def data_of(problem: Problem) -> str:
    """What tells a problem from others whatever it is solved with: its sources and weights at points of its regions."""
    return _digest(sample(problem, Kronecker(PLACES)))


def take(run: Resumable) -> Snapshot:
    """The state of a run between two blocks."""
    state = run.run_state()
    arrays = _named_leaves(_STATE, state.method)
    if state.points_move:
        arrays |= _named_leaves(_BATCH, state.batch) | state.points
    arrays |= {_STEPS + name: np.asarray(values) for name, values in state.history.steps.items()}
    if state.start is not None:
        arrays[START] = state.start
    best = state.best
    if best is not None:
        arrays[_BEST] = best.theta
    record = {
        "step": state.history.count,
        "seconds": state.seconds,
        "moved_at": state.history.moved_at,
        "blocks": state.history.blocks,
        "best": None if best is None else {"step": best.step, "validation_loss": best.validation_loss},
    }
    return Snapshot(arrays, record)


def restore(run: Resumable, snapshot: Snapshot) -> None:
    """Put a run that has not begun into a state; an error if the two do not belong together."""
    try:
        run.restore(_read(snapshot, run.run_state(), run.logged))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"the checkpoint does not belong to this run ({type(error).__name__}: {error})") from error


def _read(snapshot: Snapshot, now: RunState, logged: dict[str, np.dtype]) -> RunState:
    """The state that a snapshot holds, if it can be one of the run whose state is given."""
    arrays, record = snapshot
    steps = {k.removeprefix(_STEPS): v for k, v in arrays.items() if k.startswith(_STEPS)}
    count, seconds, moved_at = record["step"], record["seconds"], record["moved_at"]
    wanted = logged if count else {}
    if {k: (v.dtype, v.shape) for k, v in steps.items()} != {k: (kind, (count,)) for k, kind in wanted.items()}:
        raise ValueError(f"its columns are not those of {count} steps")
    blocks = _blocks(record["blocks"], steps, count)
    if not is_number(seconds) or not 0 <= seconds < np.inf or not is_whole(moved_at) or moved_at > count:
        raise ValueError("its times or the step at which points moved make no sense")
    return RunState(
        method=_filled(_STATE, now.method, arrays),
        batch=_filled(_BATCH, now.batch, arrays) if now.points_move else now.batch,
        points_move=now.points_move,
        points={name: arrays[name] for name in now.points},
        history=History(steps, blocks, moved_at),
        seconds=float(seconds),
        best=_best(record["best"], arrays, count, now.method.theta),
        start=now.start,
    )


def _best(data: Any, arrays: dict[str, np.ndarray], count: int, theta: Any) -> Best | None:
    if data is None:
        return None
    stored = arrays[_BEST]
    if stored.shape != theta.shape or stored.dtype != np.float64:
        raise ValueError("its best parameters have another shape")
    if not is_whole(data["step"]) or data["step"] > count or not is_number(data["validation_loss"]):
        raise ValueError("its best step makes no sense")
    return Best(data["step"], float(data["validation_loss"]), stored)


def _blocks(data: Any, columns: Iterable[str], count: Any) -> list[dict[str, Any]]:
    """The records of the blocks; losses that were not finite are null in JSON."""
    blocks = checked_blocks(data, columns)
    if not blocks or not all(key in block for block in blocks for key in _NEEDED) or blocks[-1]["step"] != count:
        raise ValueError("its records of blocks are not those of its steps")
    return [{**b, **{key: np.nan for key in ("loss", "validation_loss") if b[key] is None}} for b in blocks]


_NEEDED = ("step", "seconds", "loss", "validation_loss", "l2_error", "relative_l2_error")


def check_fingerprint(now: dict[str, Any], then: Any) -> str | None:
    """Why a run is not the one that was begun, or None."""
    if not isinstance(then, dict) or "points" not in then or not is_number(then.get("loss", 0.0) or 0.0):
        return "its record has no fingerprint"
    if now["points"] != then["points"]:
        return OTHER_POINTS
    if then.get("loss") is None:  # it was stopped while it compiled
        return None
    if not np.isclose(now["loss"], then["loss"], rtol=_SAME_LOSS, atol=0):
        return f"the first loss is {now['loss']:.6g} and was {then['loss']:.6g} at its start"
    return None


def refuse_another(path: Path, now: dict[str, Any], then: Any) -> None:
    """A run goes on with the problem it was begun with, or not at all."""
    different = check_fingerprint(now, then)
    if different:
        raise FileError(f"the run in '{path}' cannot go on with this problem: {different}")


def _digest(batch: Any) -> str:
    digest = hashlib.sha256()
    for name, leaf in _named_leaves(_BATCH, batch).items():
        digest.update(f"{name} {leaf.shape}".encode())
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()


def _named_leaves(name: str, tree: Any) -> dict[str, np.ndarray]:
    paths, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {name + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in paths}


def _filled(name: str, template: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A tree like the template with leaves from the arrays, each of its shape and kind."""
    paths, structure = jax.tree_util.tree_flatten_with_path(template)
    leaves = []
    for path, leaf in paths:
        key = name + jax.tree_util.keystr(path)
        stored, wanted = arrays[key], np.asarray(leaf)
        if stored.shape != wanted.shape or stored.dtype != wanted.dtype:
            raise ValueError(f"{key} is {stored.dtype} {stored.shape}, not {wanted.dtype} {wanted.shape}")
        leaves.append(jnp.asarray(stored))
    return jax.tree_util.tree_unflatten(structure, leaves)
