"""Where the time of a command goes, from its start to its end."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path


class Clock:
    """Notes how long each part of a command took; what is not noted is called other."""

    def __init__(self) -> None:
        self.parts = {"start": process_age()}
        self._begun = time.perf_counter() - self.parts["start"]

    def note(self, part: str, seconds: float | None) -> None:
        """A part that took so long; None if that is not known."""
        if seconds is not None:
            self.parts[part] = float(seconds)

    @contextlib.contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """A part that takes as long as what is done inside."""
        begun = time.perf_counter()
        yield
        self.note(part, time.perf_counter() - begun)

    def read(self) -> dict[str, float]:
        """All parts, which add up to the total."""
        total = time.perf_counter() - self._begun
        return {**self.parts, "other": max(0.0, total - sum(self.parts.values())), "total": total}


def process_age() -> float:
    """Seconds since this program was started; since now, where the system does not tell."""
    try:
        ticks = int(
            Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
        )
        uptime = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        age = uptime - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0.0
    return max(0.0, age)


def time_in_words(parts: dict[str, float]) -> str:
    """``8.1 s in all: 1.0 start, 3.2 compile, …``."""
    each = ", ".join(f"{seconds:.1f} {name}" for name, seconds in parts.items() if name != "total" and seconds >= 0.05)
    return f"{parts['total']:.1f} s in all: {each}"
