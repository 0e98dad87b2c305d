"""What a run takes of the memory of each device: known before its first step, and what to say when there is not enough.

Matrices of a method follow from the numbers of parameters and rows, before anything is compiled. What compiled programs
hold is read off them: buffers are laid out by the compiler, so that a run which begins does not run out later.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from anagram.environment import device_memory, gigabytes
from anagram.errors import SettingError
from anagram.methods import Method


def refuse_too_large(method: Method, parameters: int | None, rows: int) -> None:
    """The matrices of a step must fit into memory; say so before any of them is allocated."""
    there = device_memory()
    if parameters is None or there is None or method.memory(parameters, rows) <= there:
        return
    needed = method.memory(parameters, rows)
    fewer = " or fewer points" if method.memory(parameters, 0) <= there else ""
    raise SettingError(
        f"a model with {parameters} parameters needs matrices of about {gigabytes(needed)} GB, each device has "
        f"{gigabytes(there)}: take a smaller model{fewer}"
    )


def program_bytes(program: Any) -> int:
    """What a compiled program holds on each device: its arguments, its results and all in between."""
    analysis = getattr(program, "memory_analysis", lambda: None)()
    if analysis is None:  # a kind of device that does not say
        return 0
    told = (getattr(analysis, f"{part}_size_in_bytes", 0) for part in ("argument", "output", "temp"))
    return max(0, sum(told) - getattr(analysis, "alias_size_in_bytes", 0))


def run_bytes(programs: Iterable[Any], method: Method, parameters: int, rows: int) -> int:
    """What a run takes on each device: the largest of its programs, and what factorisations take beside it."""
    # LAPACK allocates for itself: two matrices at most, for eigenvectors.
    beside = min(method.memory(parameters, rows), 8 * 2 * parameters**2)
    return max(map(program_bytes, programs)) + beside


def refuse_what_does_not_fit(needed: int, method: Method, parameters: int) -> None:
    """A run that does not fit is not begun."""
    there = device_memory()
    if there is None or needed <= there:
        return
    points = method.memory(parameters, 0) <= there / 2
    cure = "take fewer points, more devices or a smaller model" if points else "take a smaller model, or method='large'"
    raise SettingError(
        f"this run takes about {gigabytes(needed)} GB on each device, and there are {gigabytes(there)}: {cure}"
    )


def is_for_memory(error: Exception) -> bool:
    """Whether it says that memory ran out."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else ""
    return isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text or "emory" in text


def out_of_memory(error: Exception, parameters: int, rows: int) -> str:
    """What to say when the machine could not do it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if is_for_memory(error):
        size = 8 * parameters * rows / 2**30
        return (
            f"out of memory; J alone, {rows} rows by {parameters} parameters, takes {size:.2g} GB: use fewer points or "
            "a smaller model"
        )
    return f"the machine gave up: {text}"
