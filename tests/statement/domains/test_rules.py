"""Rules of points by themselves; what they do on regions is tested beside these."""

import numpy as np
import pytest

from anagram.statement.domains import Kronecker
from anagram.statement.domains.rules import EVEN_AXES


@pytest.mark.parametrize("dimension", [3, EVEN_AXES, EVEN_AXES + 1, 100])
def test_no_two_axes_of_irrational_multiples_go_together(dimension):
    points = Kronecker(2000).unit(dimension, np.random.default_rng(0))
    assert points.shape == (2000, dimension)
    assert np.all((points >= 0) & (points < 1))
    assert np.max(np.abs(np.corrcoef(points.T) - np.eye(dimension))) < 0.12
    assert np.max(np.abs(points.mean(axis=0) - 0.5)) < 0.03
