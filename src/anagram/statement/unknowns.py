"""What is unknown: the fields and coefficients that a model must provide, and the domain they live on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anagram.statement.domains import Domain


@dataclass(frozen=True)
class Unknown:
    """An unknown field; a complex one is carried by two real components."""

    name: str
    is_complex: bool = False

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
    def outputs(self) -> int:
        """How many real numbers the unknown fields have at a point."""
        return sum(u.components for u in self.unknowns)
