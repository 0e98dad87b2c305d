"""The history of a run: what every step and every block reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class History:
    """`steps` has one value a step (loss, rank, …); `blocks` one record a block (losses, errors, seconds)."""

    steps: dict[str, np.ndarray] = field(default_factory=dict)
    blocks: list[dict[str, Any]] = field(default_factory=list)

    def extend(self, log: dict[str, np.ndarray], seconds: np.ndarray) -> None:
        """Append the log of a block of steps and the training seconds at their ends."""
        for key, values in {**log, "seconds": seconds}.items():
            before = self.steps.get(key)
            self.steps[key] = np.asarray(values) if before is None else np.concatenate([before, np.asarray(values)])

    def column(self, key: str) -> np.ndarray:
        """One quantity of the block records, NaN where it is unknown."""
        return np.array([np.nan if b.get(key) is None else b[key] for b in self.blocks], dtype=float)

    @property
    def count(self) -> int:
        """Steps taken so far."""
        return len(self.steps["loss"]) if "loss" in self.steps else 0
