"""Coordinates that are bent along an axis."""

import json

import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.statement.domains.bends import PLAIN, Bend, bends_as_lists, checked_bends
from anagram.statement.domains.codec import points_from_json, points_to_json
from anagram.statement.domains.rules import Fejer
from tolerances import ACCUMULATED, assert_close

STEEP = Bend((0.05, 1.04, -0.05, -0.04))  # s = 0.05 T_0 + 1.04 T_1 − 0.05 T_2 − 0.04 T_3, from −1 to 1
BOX = ag.Box(t=(0, 1), x=(2, 5))


def test_places_come_back():
    z = np.linspace(-1, 1, 101)
    assert_close(STEEP.back(STEEP(z)), z)
    assert_close(STEEP(STEEP.back(z)), z)
    assert_close(PLAIN(z), z)
    step = 1e-6
    assert_close(STEEP.slope(z[1:-1]), (STEEP(z[1:-1] + step) - STEEP(z[1:-1] - step)) / (2 * step), 1e-8)


@pytest.mark.parametrize("rule", [ag.GaussLegendre(40), Fejer(40)])
def test_bent_rules_integrate_over_the_plain_axis(rule):
    draw = BOX.draw(rule.bent({"x": STEEP}), np.random.default_rng(0))
    x, weight = draw.x[:, 1], draw.weight
    assert_close(weight.sum(), 1.0)
    assert_close(weight @ np.exp(x), (np.exp(5) - np.exp(2)) / 3, ACCUMULATED)
    assert x.min() > 2
    assert x.max() < 5
    plain = BOX.draw(rule, np.random.default_rng(0))
    np.testing.assert_array_equal(draw.x[:, 0], plain.x[:, 0], "the other axis is as it was")
    np.testing.assert_array_equal(rule.bends, {}, "the rule itself is as it was")


def test_bends_are_kept_in_files():
    bent = ag.GaussLegendre(8).bent({"x": STEEP})
    again = points_from_json(json.loads(json.dumps(points_to_json(bent))))
    assert again.bends == bent.bends
    for rule in (bent, again):
        assert_close(BOX.draw(rule, np.random.default_rng(0)).x, BOX.draw(bent, np.random.default_rng(0)).x)
    assert "bends" not in points_to_json(ag.GaussLegendre(8))
    assert checked_bends(bends_as_lists({"x": STEEP}), "a rule") == {"x": STEEP}


@pytest.mark.parametrize(
    ("bends", "message"),
    [
        (3, "coefficients by axis"),
        ({"x": "steep"}, "2 to 64 coefficients"),
        ({"x": [0.0]}, "2 to 64 coefficients"),
        ({"x": [0.0] * 65}, "2 to 64 coefficients"),
        ({"x": [0.0, float("nan")]}, "2 to 64 coefficients"),
        ({"x": [0.0, True]}, "2 to 64 coefficients"),
        ({"x": [0.0, 2.0]}, "must grow from −1 to 1"),
        ({"x": [0.0, -1.0]}, "must grow from −1 to 1"),
        ({"x": [0.0, 0.0, 0.0, 1.0]}, "must grow from −1 to 1"),
    ],
)
def test_what_is_no_bend_is_refused(bends, message):
    with pytest.raises(SettingError, match=message):
        checked_bends(bends, "Chebyshev")


def test_nothing_is_no_bend():
    assert checked_bends(None, "Chebyshev") == {}
