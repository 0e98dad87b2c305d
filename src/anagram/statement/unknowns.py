"""What is unknown: the fields and coefficients that a model must provide, and the domain they live on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from anagram.statement.domains import Domain, Region


@dataclass(frozen=True)
class Unknown:
    """An unknown field; a complex one is carried by two real components.

    It may live on a part of the domain only, on one side of an interface: it is looked at nowhere else. Or it may
    depend on some of the axes alone, such as a conductivity k(x) in a problem on (t, x).
    """

    name: str
    is_complex: bool = False
    on: Region | None = None
    along: tuple[str, ...] | None = None

    def box(self, domain: Domain) -> Domain:
        """What it lives in, with the box around it that a model sees."""
        return self.on if isinstance(self.on, Domain) else domain

    def depends_on(self, axes: tuple[str, ...]) -> np.ndarray:
        """Which of the axes of its domain it depends on."""
        return np.array([self.along is None or axis in self.along for axis in axes])

    @property
    def components(self) -> int:
        """How many real numbers it has at each point."""
        return 2 if self.is_complex else 1


class Ansatz(NamedTuple):
    """u = G + Φ·N: what a field is made of whose conditions hold exactly, whatever N is.

    Both are functions of one point that JAX can differentiate.
    """

    known: Callable[[Any], Any]
    factor: Callable[[Any], Any]


@dataclass(frozen=True)
class Unknowns:
    """What a model must provide: which fields and coefficients are unknown, and on which domain."""

    domain: Domain
    unknowns: tuple[Unknown, ...]
    coefficients: Mapping[str, float]
    ansatz: Mapping[str, Ansatz] = field(default_factory=dict)

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
