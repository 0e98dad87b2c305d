"""Ctrl-C and requests to terminate."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

STOPPED_AT_ONCE = 130  # the exit status of programs that Ctrl-C has stopped


class Interrupts:
    """Ctrl-C, or a request to terminate, asks for a stop after the current block; a second one stops at once.

    One inside another is the same one: what is asked for while a program is compiled, which cannot be interrupted, is
    seen as soon as there is something to stop. Outside the main thread, where signals cannot be caught, nothing
    changes.
    """

    active: ClassVar[Interrupts | None] = None
    # What a program of its own, which may end at once, does at a second request; a library may not, it raises.
    last_words: ClassVar[list[Callable[[], None]]] = []

    def __enter__(self) -> Interrupts:
        self._seen = False
        self._before: dict[Any, Any] = {}
        self._outer = Interrupts.active
        if self._outer is None and threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM)}
            Interrupts.active = self
        return self

    @property
    def seen(self) -> bool:
        """Whether a stop was asked for."""
        return self._seen if self._outer is None else self._outer.seen

    @seen.setter
    def seen(self, value: bool) -> None:
        if self._outer is None:
            self._seen = value
        else:
            self._outer.seen = value

    def _note(self, *_: Any) -> None:
        if not self._seen:
            self._seen = True
            print("\nStopping as soon as this block is done; once more stops at once.", file=sys.stderr, flush=True)
            return
        if not Interrupts.last_words:
            raise KeyboardInterrupt
        for speak in Interrupts.last_words:
            speak()
        os._exit(STOPPED_AT_ONCE)

    def __exit__(self, *_: object) -> None:
        if Interrupts.active is self:
            Interrupts.active = None
        for number, handler in self._before.items():
            signal.signal(number, handler)
