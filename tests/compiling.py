"""Counting what is compiled."""

import contextlib

from jax import monitoring

EVENT = "/jax/core/compile/backend_compile_duration"
_COUNTS: list[list[str]] = []


def _listen(event, duration, **more):
    if event == EVENT:
        for programs in _COUNTS:
            programs.append(str(more.get("fun_name", "?")))


monitoring.register_event_duration_secs_listener(_listen)


@contextlib.contextmanager
def compilations():
    """The names of the programs that are compiled, or read from the disk, inside the block."""
    programs: list[str] = []
    _COUNTS.append(programs)
    try:
        yield programs
    finally:
        _COUNTS.remove(programs)
