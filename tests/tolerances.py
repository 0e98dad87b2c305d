"""The one helper that compares numbers."""

import numpy as np

ROUNDING = 1e-12  # a handful of operations in float64
ACCUMULATED = 1e-9  # long sums, solves with a moderate condition number


def assert_close(actual, expected, tolerance=ROUNDING, what="", scale=None):
    """Compare relative to a scale: unless given, the largest expected value."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what} shapes {actual.shape} and {expected.shape}"
    scale = float(np.max(np.abs(expected), initial=0.0)) if scale is None else float(scale)
    gap = float(np.max(np.abs(actual - expected), initial=0.0))
    assert gap <= max(tolerance * scale, 1e-300), f"{what} differ by {gap:.2e} at a size of {scale:.2e}"
