"""Numbers and texts in the form in which a page carries them."""

from __future__ import annotations

import base64
import json
import math
from html import escape
from typing import Any

import numpy as np

PLAIN = (1e-3, 1e5)  # numbers between these are written without a power of ten


def array(values: Any, kind: str = "f4") -> dict[str, str]:
    """An array as text: little-endian floats of 4 or 8 bytes in base 64."""
    with np.errstate(over="ignore"):  # what is too large for a picture is infinite there
        raw = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"type": kind, "data": base64.b64encode(raw).decode("ascii")}


def script_json(data: Any) -> str:
    """JSON for a script element: no character of it can end the element or begin another."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def number(value: Any) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def number_html(value: Any, digits: int = 3) -> str:
    """A number as it is printed in a journal."""
    x = number(value)
    if x is None:
        return "–"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}".replace(",", "\u2009")
    if x == 0 or PLAIN[0] <= abs(x) < PLAIN[1]:
        return f"{x:.{digits}g}".replace("-", "−") if abs(x) < 10**digits else f"{x:.0f}".replace("-", "−")
    mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
    return f"{mantissa} × 10<sup>{int(exponent)}</sup>".replace("-", "−")


def json_html(value: Any, depth: int = 0) -> str:
    """JSON, indented and marked up, every text escaped; what it shows is JSON again when copied."""
    pad, end = "  " * (depth + 1), "  " * depth
    if isinstance(value, dict) and value:
        inner = (f"{pad}<b>{_quoted(key)}</b>: {json_html(v, depth + 1)}" for key, v in value.items())
        return "{\n" + ",\n".join(inner) + f"\n{end}}}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        inner = (pad + json_html(v, depth + 1) for v in value)
        return "[\n" + ",\n".join(inner) + f"\n{end}]"
    if isinstance(value, list):
        return "[" + ", ".join(json_html(v, depth + 1) for v in value) + "]"
    if isinstance(value, str):
        return f"<i>{_quoted(value)}</i>"
    return _quoted(value)


def _quoted(value: Any) -> str:
    return escape(json.dumps(value, ensure_ascii=False))
