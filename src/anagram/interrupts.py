"""Ctrl-C and requests to terminate."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Any


class Interrupts:
    """Ctrl-C, or a request to terminate, asks for a stop after the current block; a second one stops at once.

    Outside the main thread, where signals cannot be caught, nothing changes.
    """

    def __enter__(self) -> Interrupts:
        self.seen = False
        self._before: dict[Any, Any] = {}
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM)}
        return self

    def _note(self, *_: Any) -> None:
        if self.seen:
            raise KeyboardInterrupt
        self.seen = True
        print("\nStopping after this block; once more stops at once.", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
