"""Which combinations of coefficients data do not determine: the long axes of their covariance.

Coefficients are compared in units of their own values. Where two of them enter as a product only, data that say nothing
of their ratio leave the direction (+1 %, −1 %) open, and the covariance is as long along it as rounding allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

OPEN = 0.5  # relative standard errors above say that a coefficient, or a combination of some, is not determined
NAMED = 0.1  # of the largest part of a combination: smaller parts are left out


def undetermined(names: Sequence[str], values: Mapping[str, float], covariance: np.ndarray) -> list[str]:
    """A sentence for every combination of coefficients that is left open; nothing if there is none."""
    if not names:
        return []
    sizes = np.array([abs(values[name]) or 1.0 for name in names])
    lengths, axes = np.linalg.eigh(covariance / np.outer(sizes, sizes))
    found = []
    for square, axis in zip(lengths[::-1], axes.T[::-1], strict=True):
        error = float(np.sqrt(max(square, 0.0)))
        if error <= OPEN:
            break
        found.append(_sentence(names, axis, error))
    return found


def _sentence(names: Sequence[str], axis: np.ndarray, error: float) -> str:
    parts = axis / axis[np.argmax(np.abs(axis))]
    seen = {name: part for name, part in zip(names, parts, strict=True) if abs(part) >= NAMED}
    much = f"a standard error of {error:.1g} times its size"
    if len(seen) == 1:
        return f"the data do not determine '{next(iter(seen))}': it has {much}"
    together = " and ".join(f"{part:+.2g} % in '{name}'" for name, part in seen.items())
    apart = ", ".join(f"'{name}'" for name in list(seen)[:-1]) + f" and '{list(seen)[-1]}'"
    return f"the data do not tell {apart} apart: changes of {together} together go unnoticed ({much})"
