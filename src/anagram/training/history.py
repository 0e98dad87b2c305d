"""The history of a run: what every step and every block reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class History:
    """`steps` has one value a step (loss, rank, …); `blocks` one record a block (losses, errors, seconds).

    `moved_at` is the step at which points last moved or the method began a new stage.
    """

    steps: dict[str, np.ndarray] = field(default_factory=dict)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    moved_at: int = 0

    def extend(self, log: dict[str, np.ndarray], seconds: np.ndarray) -> None:
        """Append the log of a block of steps and the training seconds at their ends."""
        for key, values in {**log, "seconds": seconds}.items():
            before = self.steps.get(key)
            self.steps[key] = np.asarray(values) if before is None else np.concatenate([before, np.asarray(values)])

    def note_stages(self) -> None:
        """A method may say that after a step it starts anew: then losses before and after it cannot be compared."""
        anew = np.flatnonzero(self.steps.get("anew", np.zeros(0)))
        if len(anew):
            self.moved_at = max(self.moved_at, int(anew[-1]) + 1)

    @property
    def sketching(self) -> bool:
        """Whether the method says that the last step belongs to a sketch, which is thrown away."""
        sketches = self.steps.get("sketch")
        return sketches is not None and bool(sketches[-1])

    def column(self, key: str) -> np.ndarray:
        """One quantity of the block records, NaN where it is unknown."""
        return np.array([np.nan if b.get(key) is None else b[key] for b in self.blocks], dtype=float)

    def waited_in_vain(self, patience: int, least_progress: float, *, noisy: bool, best_at: int) -> int | None:
        """For how many steps there was no progress, or None while there is some.

        The loss on the same points is compared with itself `patience` steps ago. Where the loss may rise, because
        points change or the method lets it (`noisy`), the median of the last steps is compared with that of as many
        before, and the least loss on fresh points, seen at the step `best_at`, must be older than them; their number
        grows with the run, so that slow progress is told from none.
        """
        losses = self.steps.get("loss", np.zeros(0))
        if not noisy:
            # Losses on points that have moved since cannot be compared.
            stands = (
                len(losses) - self.moved_at > patience and losses[-1] > (1 - least_progress) * losses[-1 - patience]
            )
            return patience if stands else None
        window = max(patience, len(losses) // 4)
        if len(losses) < 2 * window:
            return None
        last, before = np.median(losses[-window:]), np.median(losses[-2 * window : -window])
        return window if last > (1 - least_progress) * before and best_at <= len(losses) - window else None

    @property
    def count(self) -> int:
        """Steps taken so far."""
        return len(self.steps["loss"]) if "loss" in self.steps else 0
