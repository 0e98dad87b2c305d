"""What is unknown: the fields and coefficients that a model must provide, and the domain they live on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from anagram.statement.domains import Box, Region


@dataclass(frozen=True)
class Unknown:
    """An unknown field; a complex one is carried by two real components.

    It may live on a part of the domain only, on one side of an interface: it is looked at nowhere else.
    """

    name: str
    is_complex: bool = False
    on: Region | None = None

    def box(self, domain: Box) -> Box:
        """The box in which a model sees it."""
        return self.on if isinstance(self.on, Box) else domain

    @property
    def components(self) -> int:
        """How many real numbers it has at each point."""
        return 2 if self.is_complex else 1


@dataclass(frozen=True)
class Unknowns:
    """What a model must provide: which fields and coefficients are unknown, and on which domain."""

    domain: Box
    unknowns: tuple[Unknown, ...]
    coefficients: Mapping[str, float]

    @property
    def by_region(self) -> list[tuple[Region, list[Unknown]]]:
        """The unknowns that live on the same set, set by set."""
        found: dict[int, tuple[Region, list[Unknown]]] = {}
        for unknown in self.unknowns:
            region = unknown.on or self.domain
            found.setdefault(id(region), (region, []))[1].append(unknown)
        return list(found.values())

    def only_own(self, name: str, x: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values of an unknown at points (n, d), NaN at those where it does not live."""
        region = next((u.on for u in self.unknowns if u.name == name), None)
        return values if region is None else np.where(region.contains(x), values, np.nan)

    @property
    def outputs(self) -> int:
        """How many real numbers the unknown fields have at a point."""
        return sum(u.components for u in self.unknowns)
