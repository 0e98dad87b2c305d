"""The whole state of a run as arrays and a record, and a run put back into it.

A run that is restored goes on to the same numbers, bit for bit, as one that was never interrupted: nothing is left out
that a step depends on. Points that never move, and those drawn by seed and step, follow from the configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from anagram.errors import FileError
from anagram.keeping.records import checked_blocks, is_number, is_whole
from anagram.statement.domains.cells import Mesh

if TYPE_CHECKING:
    from anagram.training.trainer import Trainer

_STATE, _BATCH, _STEPS, _MESH, _BEST = "state", "batch", "steps.", "mesh", "best.theta"
START = "start.theta"
_SAME_LOSS = 1e-6  # relative; other machines round differently


class Snapshot(NamedTuple):
    """Arrays by name, and what fits into JSON."""

    arrays: dict[str, np.ndarray]
    record: dict[str, Any]


def fingerprint(trainer: Trainer) -> dict[str, Any]:
    """What tells a run that has not begun from others: its points with their sources, and the first loss."""
    digest = hashlib.sha256()
    for name, leaf in _named_leaves(_BATCH, trainer.batch).items():
        digest.update(f"{name} {leaf.shape}".encode())
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return {"points": digest.hexdigest(), "loss": float(trainer.state.loss)}


def take(trainer: Trainer) -> Snapshot:
    """The state of a run between two blocks."""
    arrays = _named_leaves(_STATE, trainer.state)
    if _points_move(trainer):
        arrays |= _named_leaves(_BATCH, trainer.batch)
    for key, meshes in trainer.adaptive.meshes.items():
        for index, mesh in enumerate(meshes):
            arrays |= {f"{_MESH}[{key!r}][{index}].{part}": getattr(mesh, part) for part in _MESH_PARTS}
    arrays |= {_STEPS + name: np.asarray(values) for name, values in trainer.history.steps.items()}
    if trainer.start is not None:
        arrays[START] = trainer.start
    best = trainer.best
    if best is not None:
        arrays[_BEST] = best.theta
    record = {
        "step": trainer.history.count,
        "seconds": trainer.seconds,
        "moved_at": trainer.history.moved_at,
        "blocks": trainer.history.blocks,
        "best": None if best is None else {"step": best.step, "validation_loss": best.validation_loss},
    }
    return Snapshot(arrays, record)


def restore(trainer: Trainer, snapshot: Snapshot) -> None:
    """Put a run that has not begun into a state; an error if the two do not belong together."""
    arrays, record = snapshot
    try:
        _restore(trainer, dict(arrays), record)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise FileError(f"the checkpoint does not belong to this run ({type(error).__name__}: {error})") from error


def _restore(trainer: Trainer, arrays: dict[str, np.ndarray], record: dict[str, Any]) -> None:
    from anagram.training.trainer import Best

    state = _filled(_STATE, trainer.state, arrays)
    batch = _filled(_BATCH, trainer.batch, arrays) if _points_move(trainer) else trainer.batch
    meshes = {
        key: [_mesh(trainer.adaptive.meshes[key][i], f"{_MESH}[{key!r}][{i}]", arrays) for i in range(len(old))]
        for key, old in trainer.adaptive.meshes.items()
    }
    steps = {k.removeprefix(_STEPS): v for k, v in arrays.items() if k.startswith(_STEPS)}
    count, seconds, moved_at = record["step"], record["seconds"], record["moved_at"]
    wanted = trainer.logged if count else {}
    if {k: (v.dtype, v.shape) for k, v in steps.items()} != {k: (kind, (count,)) for k, kind in wanted.items()}:
        raise ValueError(f"its columns are not those of {count} steps")
    blocks = _blocks(record["blocks"], steps, count)
    if not is_number(seconds) or not 0 <= seconds < np.inf or not is_whole(moved_at) or moved_at > count:
        raise ValueError("its times or the step at which points moved make no sense")
    best = record["best"]
    if best is not None:
        theta = arrays[_BEST]
        if theta.shape != trainer.model.theta.shape or theta.dtype != np.float64:
            raise ValueError("its best parameters have another shape")
        if not is_whole(best["step"]) or best["step"] > count or not is_number(best["validation_loss"]):
            raise ValueError("its best step makes no sense")
        best = Best(best["step"], float(best["validation_loss"]), theta)
    trainer.seconds = float(seconds)
    trainer.history.steps, trainer.history.blocks, trainer.history.moved_at = steps, blocks, moved_at
    trainer.state, trainer.batch, trainer.best = state, batch, best
    trainer.adaptive.meshes = meshes


def _blocks(data: Any, columns: Iterable[str], count: Any) -> list[dict[str, Any]]:
    """The records of the blocks; losses that were not finite are null in JSON."""
    blocks = checked_blocks(data, columns)
    if not blocks or not all(key in block for block in blocks for key in _NEEDED) or blocks[-1]["step"] != count:
        raise ValueError("its records of blocks are not those of its steps")
    return [{**b, **{key: np.nan for key in ("loss", "validation_loss") if b[key] is None}} for b in blocks]


_NEEDED = ("step", "seconds", "loss", "validation_loss", "l2_error", "relative_l2_error")
_MESH_PARTS = ("low", "high", "parent", "leaves")


def check_fingerprint(now: dict[str, Any], then: Any) -> str | None:
    """Why a run is not the one that was begun, or None."""
    if not isinstance(then, dict) or "points" not in then or not is_number(then.get("loss")):
        return "its record has no fingerprint"
    if now["points"] != then["points"]:
        return "the points or their sources are others than at its start"
    if not np.isclose(now["loss"], then["loss"], rtol=_SAME_LOSS, atol=0):
        return f"the first loss is {now['loss']:.6g} and was {then['loss']:.6g} at its start"
    return None


def _points_move(trainer: Trainer) -> bool:
    return trainer.adaptive.any or trainer.redrawn.any or trainer.chosen.any


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


def _mesh(old: Mesh, name: str, arrays: dict[str, np.ndarray]) -> Mesh:
    """A mesh with the cells that were stored; numbers of cells in use never change."""
    parts = {part: arrays[f"{name}.{part}"] for part in _MESH_PARTS}
    cells = len(parts["low"])
    fits = (
        parts["low"].shape == parts["high"].shape == (cells, old.dimension)
        and parts["low"].dtype == parts["high"].dtype == np.float64
        and parts["parent"].shape == (cells,)
        and parts["leaves"].shape == old.leaves.shape
        and parts["leaves"].dtype.kind == parts["parent"].dtype.kind == "i"
        and np.all((parts["leaves"] >= 0) & (parts["leaves"] < cells))
        and len(np.unique(parts["leaves"])) == len(parts["leaves"])
        and np.all((parts["parent"] >= -1) & (parts["parent"] < cells))
        and np.all((parts["low"] >= 0) & (parts["low"] < parts["high"]) & (parts["high"] <= 1))
    )
    if not fits:
        raise ValueError(f"{name} does not describe cells")
    new = object.__new__(Mesh)
    new.largest = old.largest
    for part, value in parts.items():
        setattr(new, part, value)
    return new
