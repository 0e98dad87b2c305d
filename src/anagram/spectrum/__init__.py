"""Spectra: factorisations of J, hidden behind "give me the step for this cutoff or this damping"."""

from anagram.spectrum.damped import Balanced, Damped, Dampings, DualNormal, Normal, Step, balanced, balanced_rows
from anagram.spectrum.modes import Modes, dual_eigh, eigh, from_triangle, lq, svd
from anagram.spectrum.policy import (
    FACTORISATIONS,
    choose,
    factorise,
    factorise_for_cutoff,
    factorise_into_modes,
    for_dampings,
)

__all__ = [
    "FACTORISATIONS",
    "Balanced",
    "Damped",
    "Dampings",
    "DualNormal",
    "Modes",
    "Normal",
    "Step",
    "balanced",
    "balanced_rows",
    "choose",
    "dual_eigh",
    "eigh",
    "factorise",
    "factorise_for_cutoff",
    "factorise_into_modes",
    "for_dampings",
    "from_triangle",
    "lq",
    "svd",
]
