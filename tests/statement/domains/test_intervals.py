import numpy as np
import pytest

import anagram as ag
from anagram.statement.domains import Periodic
from anagram.statement.domains.rules import Fejer
from tolerances import assert_close

RING = ag.Box(t=(0, 1), x=ag.periodic(1, 1 + 2 * np.pi))


def test_a_periodic_interval_is_a_pair_and_no_interval_with_ends():
    low, high = RING.intervals["x"]
    assert (low, high) == (1, 1 + 2 * np.pi)
    assert RING.intervals["x"] != (low, high)
    assert RING.intervals["x"] == ag.periodic(low, high)
    assert RING.periodic_axes == ("x",)
    assert isinstance((RING * ag.Box(y=(0, 1))).intervals["x"], Periodic)
    assert repr(RING) == "Box(t=(0, 1), x=periodic(1, 7.28319))"


@pytest.mark.parametrize("rule", [ag.Grid, ag.GaussLegendre, Fejer])
@pytest.mark.parametrize("closed", [False, True])
def test_points_on_a_ring_integrate_harmonics(rule, closed):
    n = 7
    x, weight = rule(n).draw({"phi": Periodic(-2.0, 3.0)}, np.random.default_rng(0), closed=closed)
    assert len(x) == n
    assert x.min() >= -2
    assert x.max() < 3
    assert_close(weight, np.full(n, 1 / n))
    for harmonic in range(1, n):
        assert abs(weight @ np.exp(2j * np.pi * harmonic * x[:, 0] / 5)) < 1e-13


def test_rules_have_different_points_on_a_ring_whatever_their_numbers():
    draw = lambda rule: rule.draw({"phi": Periodic(0, 1)}, np.random.default_rng(0), closed=False)[0][:, 0]
    for fresh in range(1, 30):
        for other in range(1, 60):
            for rule in (ag.Grid(other), ag.GaussLegendre(other)):
                assert np.abs(draw(Fejer(fresh))[:, None] - draw(rule)[None]).min() > 1e-6


def test_tensor_rules_and_cells_mix_axes():
    cloud = RING.draw(ag.GaussLegendre(t=3, x=8), np.random.default_rng(0))
    assert_close(cloud.weight @ (cloud.x[:, 0] ** 5 * np.cos(cloud.x[:, 1]) ** 2), 1 / 12)
    cloud = RING.draw(ag.Cells(400), np.random.default_rng(0))
    assert_close(cloud.weight @ np.cos(cloud.x[:, 1]) ** 2, 0.5, 1e-6)


def test_coordinates_given_on_a_ring_are_taken_as_they_are():
    x = RING.draw(ag.Grid(t=2, x=np.array([1.5, 2.0])), np.random.default_rng(0)).x
    assert set(x[:, 1]) == {1.5, 2.0}


def test_a_ring_has_no_faces():
    assert [face.axis for face in RING.boundary().parts] == ["t", "t"]
    assert RING.face(t=0).draw(ag.Grid(5), np.random.default_rng(0)).x[:, 1].max() < RING.high[1]
    for wrong in (lambda: RING.face(x=1), lambda: RING.faces("t", "x")):
        with pytest.raises(ag.ProblemError, match="'x' is periodic"):
            wrong()
    with pytest.raises(ag.ProblemError, match="no boundary"):
        ag.Box(x=ag.periodic(0, 1)).boundary()


def test_parts_of_a_ring_have_ends():
    assert ag.Box(t=(0, 1), x=(2, 3)).lies_in(RING)
    assert not ag.Box(t=(0, 1), x=ag.periodic(2, 3)).lies_in(RING)
    assert not RING.lies_in(ag.Box(t=(0, 1), x=(0, 9)))
    assert ag.Box(t=(0, 1), x=(1, 1 + 2 * np.pi)).face(t=0).lies_in(RING)


@pytest.mark.parametrize("ends", [(1, 0), (0, np.inf), ("a", 1), (0, 0), (None, 1)])
def test_ends_of_a_ring_are_checked(ends):
    with pytest.raises(ag.ProblemError, match="a periodic axis needs"):
        ag.periodic(*ends)
