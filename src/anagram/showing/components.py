"""Complex fields as two real ones, where only real ones can be drawn or written."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

SPOKEN = ("Re {}", "Im {}")  # in pictures
WRITTEN = ("{}_re", "{}_im")  # in files


def part_names(name: str, is_complex: bool, forms: tuple[str, str] = SPOKEN) -> tuple[str, ...]:
    """The names of the real parts of a field: its own if it is real."""
    return tuple(form.format(name) for form in forms) if is_complex else (name,)


def real_parts(values: Mapping[str, np.ndarray], forms: tuple[str, str] = SPOKEN) -> dict[str, np.ndarray]:
    """Real arrays only: a complex one becomes its real and its imaginary part."""
    parts: dict[str, np.ndarray] = {}
    for name, array in values.items():
        is_complex = np.iscomplexobj(array)
        halves = (np.real(array), np.imag(array)) if is_complex else (array,)
        parts |= dict(zip(part_names(name, is_complex, forms), halves, strict=True))
    return parts
