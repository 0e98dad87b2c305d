"""What a step needs of the machine's memory, and what to say when there is not enough."""

from __future__ import annotations

from anagram.environment import gigabytes, physical_memory
from anagram.errors import SettingError
from anagram.methods import Method


def refuse_too_large(method: Method, parameters: int | None, rows: int) -> None:
    """The matrices of a step must fit into memory; say so before any of them is allocated."""
    there = physical_memory()
    if parameters is None or there is None or method.memory(parameters, rows) <= there:
        return
    needed = method.memory(parameters, rows)
    fewer = " or fewer points" if method.memory(parameters, 0) <= there else ""
    raise SettingError(
        f"a model with {parameters} parameters needs matrices of about {gigabytes(needed)} GB, this machine has "
        f"{gigabytes(there)}: take a smaller model{fewer}"
    )


def out_of_memory(error: Exception, parameters: int, rows: int) -> str:
    """What to say when the machine could not do it."""
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in text or "emory" in text:
        size = 8 * parameters * rows / 2**30
        return (
            f"out of memory; J alone, {rows} rows by {parameters} parameters, takes {size:.2g} GB: use fewer points or "
            "a smaller model"
        )
    return f"the machine gave up: {text}"
