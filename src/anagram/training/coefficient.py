"""Learned coefficients: numbers that know how sure they are."""

from __future__ import annotations


class Coefficient(float):
    """A learned coefficient: a float, with its standard error where data with noise say one.

    Attributes:
        std: the standard error; None if no condition has noise.
    """

    std: float | None

    def __new__(cls, value: float, std: float | None = None) -> Coefficient:
        made = super().__new__(cls, value)
        made.std = std
        return made

    def __repr__(self) -> str:
        return float.__repr__(self) if self.std is None else f"{float(self):.6g} ± {self.std:.2g}"

    def __str__(self) -> str:
        return float.__repr__(self)

    def __getnewargs__(self) -> tuple[float, float | None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return float(self), self.std
