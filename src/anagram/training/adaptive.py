"""Adaptive points: cells of points move to where the residual on fresh points is largest, between blocks of steps.

The numbers of points never change, so nothing is compiled again. Every cell is looked at on points of its own
that the model was not trained on (one more Gauss–Legendre point per axis). Its indicator is the part of the loss
there; it is halved along the axis on which the residual varies most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from anagram.compound import Compound
from anagram.compound.batch import Batch, condition_batch
from anagram.statement.domains import Cells, Cloud, PointRule, Region
from anagram.statement.domains.cells import Fixed, Mesh
from anagram.training.moving import Iterate, MovingPoints

SHARE = 0.15  # of the cells may be halved at a time
GAIN = 30.0  # a cell is halved if it is so many times worse than the pair joined for it
ADAPT_EVERY = 10  # steps between two looks at the cells
ROUNDS = 3  # times at most that the cells are looked at and halved at one move
WORSE = 2.0  # nothing moves while the loss on fresh points is below so many times the loss


class AdaptivePoints(MovingPoints):
    """The cells of all conditions that have them."""

    noisy = False

    def __init__(self, compound: Compound, rules: Mapping[str, PointRule]) -> None:
        self.compound = compound
        problem = compound.problem
        self.order = {key: rule.order for key, rule in rules.items() if isinstance(rule, Cells)}
        self.meshes: dict[str, list[Mesh]] = {}
        for key in list(self.order):
            region, rule = problem.region(key), rules[key]
            if region.dimension == 0:
                del self.order[key]
                continue
            fractions = region.fractions
            shares = [rule.share(f) if len(fractions) > 1 else rule for f in fractions]
            self.meshes[key] = [s.mesh(region.dimension) for s in shares if isinstance(s, Cells)]

    @property
    def has_view(self) -> bool:
        return True

    def view(self, compound: Compound, theta: jax.Array, probes: Batch) -> dict[str, jax.Array]:
        """The rows of every probe."""
        return {key: compound.rows_at(key, theta, part) for key, part in probes.items()}

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(self.meshes)

    def steps_left(self, step: int) -> int | None:
        return ADAPT_EVERY - step % ADAPT_EVERY

    def after(self, step: int, at: Iterate, batch: Batch) -> Batch | None:
        if step % ADAPT_EVERY or not at.fresh_loss() > WORSE * at.loss:
            return None
        new, halved = self.improve(at.theta, batch)
        return new if halved else None

    @property
    def signature(self) -> tuple[Any, ...]:
        return tuple(self.order.items())

    def arrays(self) -> dict[str, np.ndarray]:
        return {
            f"{name}.{part}": getattr(mesh, part)
            for key, meshes in self.meshes.items()
            for name, mesh in zip(_mesh_names(key, meshes), meshes, strict=True)
            for part in _MESH_PARTS
        }

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.meshes = {
            key: [_restored(mesh, name, arrays) for name, mesh in zip(_mesh_names(key, meshes), meshes, strict=True)]
            for key, meshes in self.meshes.items()
        }

    def _cloud(self, key: str, extra: int) -> Cloud:
        region = self.compound.problem.region(key)
        return _draw(region, self.meshes[key], self.order[key] + extra)

    def probes(self, batch: Batch) -> Batch:
        """Points of every cell that the model is not trained on."""
        return self.others(1)

    def others(self, extra: int) -> Batch:
        """Other points in the same cells, with so many more on every axis of a cell."""
        return {key: condition_batch(self.compound.problem, key, self._cloud(key, extra)) for key in self.meshes}

    def improve(self, theta: jax.Array, batch: Batch) -> tuple[Batch, int]:
        """The batch with its cells moved, and how many cells were halved; the same batch if nothing moved."""
        moved = dict.fromkeys(self.meshes, 0)
        for _ in range(ROUNDS):
            halved = self._improve_once(theta)
            if not any(halved.values()):
                break
            moved = {key: moved[key] + halved[key] for key in moved}
        problem = self.compound.problem
        new = {key: condition_batch(problem, key, self._cloud(key, 0)) for key, count in moved.items() if count}
        return {**batch, **new}, sum(moved.values())

    def _improve_once(self, theta: jax.Array) -> dict[str, int]:
        assert self.look is not None
        probes = self.probes({})
        rows = {key: np.asarray(values) for key, values in self.look(theta, probes).items()}
        halved = dict.fromkeys(self.meshes, 0)
        for key, meshes in self.meshes.items():
            scale = np.asarray(probes[key].scale)
            k, d = self.order[key] + 1, meshes[0].dimension
            start = 0
            for mesh in meshes:
                part = slice(start, start + len(mesh.leaves) * k**d)
                start = part.stop
                shape = (len(mesh.leaves), *[k] * d, rows[key].shape[1])
                indicator = np.sum(rows[key][part] ** 2, axis=1).reshape(len(mesh.leaves), -1).sum(axis=1)
                axis = _roughest_axis((rows[key][part] / scale[part]).reshape(shape))
                halved[key] += mesh.improve(indicator, axis, share=SHARE, gain=GAIN)
        return halved


def _draw(region: Region, meshes: list[Mesh], order: int) -> Cloud:
    """The points of the meshes of all parts of a region."""
    rng = np.random.default_rng(0)
    clouds = [p.scatter(Fixed(m.points(order)), rng) for p, m in zip(region.parts, meshes, strict=True)]
    fractions = region.fractions
    normals = [c.normal for c in clouds if c.normal is not None]
    return Cloud(
        np.concatenate([c.x for c in clouds]),
        np.concatenate([f * c.weight for f, c in zip(fractions, clouds, strict=True)]),
        np.concatenate(normals) if normals else None,
    )


def _roughest_axis(values: np.ndarray) -> np.ndarray:
    """For values (cells, points on each axis…, rows): the axis along which each cell varies most."""
    inner = tuple(range(1, values.ndim))
    variation = [np.sum(np.diff(values, n=2, axis=a) ** 2, axis=inner) for a in inner[:-1]]
    return np.argmax(np.stack(variation, axis=1), axis=1)


_MESH_PARTS = ("low", "high", "parent", "leaves")


def _mesh_names(key: str, meshes: list[Mesh]) -> list[str]:
    return [f"mesh[{key!r}][{index}]" for index in range(len(meshes))]


def _restored(old: Mesh, name: str, arrays: Mapping[str, np.ndarray]) -> Mesh:
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
