"""What the records of a run look like: its summary, its blocks, its columns of steps. Anything else is refused.

Whoever reads a solution, draws or prints it relies on this; a record may come from someone else.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

SUMMARY_KEYS = ("problem", "method", "seed", "steps", "loss", "validation_loss", "l2_error", "stopped_because")


def is_number(value: Any) -> bool:
    """Whether a value is a number that fits into a float; NaN is one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) <= sys.float_info.max


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def checked_summary(data: Any) -> dict[str, Any]:
    """The summary of a run; a ValueError if it is none."""
    if not isinstance(data, dict):
        raise ValueError("its summary is no record")  # noqa: TRY004  (the type of something in a file)
    missing = [key for key in SUMMARY_KEYS if key not in data]
    if missing:
        raise ValueError(f"its summary lacks {', '.join(missing)}")
    for key, fits in _SUMMARY.items():
        if key in data and not fits(data[key]):
            raise ValueError(f"its summary has {reprlib.repr(data[key])} as '{key}'")
    return {"relative_l2_error": None, **data}


def checked_blocks(blocks: Any, columns: Iterable[str]) -> list[dict[str, Any]]:
    """The records of the blocks of a run; a ValueError if they are none. What monitors add may be anything."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ValueError("its lines are not records")
    fits = {**dict.fromkeys(columns, _is_logged), **_BLOCK}
    for number, block in enumerate(blocks):
        for key, value in block.items():
            if key in fits and not fits[key](value):
                raise ValueError(f"record {number + 1} has {reprlib.repr(value)} as '{key}'")
    return blocks


def checked_columns(columns: Mapping[str, np.ndarray]) -> int:
    """How many steps the columns of a run have, one value a step in each; a ValueError if they differ."""
    lengths = {column.shape for column in columns.values()}
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths) or (columns and "loss" not in columns):
        raise ValueError("its columns of steps do not fit together")
    if any(column.dtype.kind not in "fiub" for column in columns.values()):
        raise ValueError("its columns of steps are no real numbers")
    return lengths.pop()[0] if lengths else 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_known(value: Any) -> bool:
    return value is None or is_number(value)


def _is_logged(value: Any) -> bool:
    return isinstance(value, bool) or _is_known(value)


def _by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_known(entry) for entry in value.values())


def _is_best(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict) and is_whole(value.get("step")) and _is_known(value.get("validation_loss"))
    )


def _is_estimate(value: Any) -> bool:
    if value is None:
        return True
    return (
        isinstance(value, dict)
        and all(_is_known(value.get(key)) for key in ("value", "relative"))
        and isinstance(value.get("reliable", False), bool)
        and isinstance(value.get("reasons"), list)
        and all(isinstance(reason, str) for reason in value["reasons"])
        and (value.get("coefficients") is None or _by_name(value["coefficients"]))
    )


def _is_uncertainty(value: Any) -> bool:
    if value is None:
        return True
    if not isinstance(value, dict) or not all(_by_name(value.get(key)) for key in ("coefficients", "noise", "priors")):
        return False
    matrix, findings = value.get("correlation"), value.get("findings")
    numbers = [entry for key in ("coefficients", "noise", "priors") for entry in value[key].values()]
    if not isinstance(matrix, list) or len(matrix) != len(value["coefficients"]) or not isinstance(findings, list):
        return False
    return (
        all(isinstance(row, list) and len(row) == len(matrix) and all(map(is_number, row)) for row in matrix)
        and all(map(is_number, numbers))
        and all(isinstance(finding, str) for finding in findings)
        and is_number(value.get("kappa"))
        and _is_known(value.get("freedom"))
    )


def _are_members(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(found, dict) and is_number(found.get("at")) and is_number(found.get("relative"))
        for found in value.values()
    )


def _is_spectrum(value: Any) -> bool:
    return isinstance(value, list) and all(_is_known(entry) for entry in value)


_SUMMARY: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("problem", "method", "model", "stopped_because"), _is_text),
    **dict.fromkeys(("seed", "steps", "parameters", "points", "rows"), is_whole),
    **dict.fromkeys(("loss", "validation_loss", "l2_error", "relative_l2_error"), _is_known),
    **dict.fromkeys(("seconds", "compile_seconds"), is_number),
    **dict.fromkeys(("condition_losses", "coefficients"), _by_name),
    "best": _is_best,
    "error_estimate": _is_estimate,
    "uncertainty": _is_uncertainty,
    "worst_members": _are_members,
}
_BLOCK: dict[str, Callable[[Any], bool]] = {
    "step": is_whole,
    **dict.fromkeys(("seconds", "seconds_per_step"), is_number),
    **dict.fromkeys(("loss", "validation_loss", "l2_error", "relative_l2_error"), _is_known),
    "spectrum": _is_spectrum,
}
