import jax
import jax.numpy as jnp
import numpy as np
import pytest

from anagram.methods.cutoffs import cutoff_keeping, elbow, unexplained
from tolerances import ACCUMULATED, assert_close

pytestmark = pytest.mark.rounding

EPS = np.finfo(float).eps
elbow_of = jax.jit(elbow)
cutoff_of = jax.jit(cutoff_keeping)


def bent(before, after, decades, then):
    """`before` modes over so many decades, then `after` modes over so many more: a corner at mode `before`."""
    logs = np.concatenate([np.linspace(0, -decades, before), -decades + np.linspace(0, -then, after + 1)[1:]])
    return 10.0**logs


def elbow_oracle(sigma, floor, start=1):
    """The point farthest from the line through two points of the plane, by the textbook formula."""
    sigma = np.sort(sigma)[::-1]
    points = [np.array([k, np.log(s)]) for k, s in enumerate(sigma, 1) if s > floor and k >= start]
    if not points:
        return int(np.sum(sigma > floor))
    along = points[-1] - points[0]
    gaps = [abs(along[0] * (p - points[0])[1] - along[1] * (p - points[0])[0]) for p in points]
    length = np.hypot(*along)
    if length == 0 or max(gaps) / length < 1e-10:
        return int(points[-1][0])
    return int(points[int(np.argmax(gaps))][0])


@pytest.mark.parametrize(
    ("sigma", "corner"),
    [
        (bent(12, 30, 6, 2), 12),  # steep, then slow
        (bent(12, 30, 0.5, 9), 12),  # a plateau, then a cliff
        (bent(3, 60, 1, 10), 3),
        (np.array([5.0, 4.9, 4.8, 1e-7]), 3),
    ],
)
def test_a_known_elbow_is_found(sigma, corner):
    assert int(elbow_of(sigma, EPS)) == corner
    assert int(elbow_of(1e9 * sigma, 1e9 * EPS)) == corner, "units do not matter"
    assert int(elbow_of(sigma[::-1], EPS)) == corner, "nor does the order"


@pytest.mark.parametrize("zeros", [1, 7])
def test_modes_that_are_not_resolved_do_not_move_the_elbow(zeros):
    sigma = np.concatenate([bent(10, 20, 5, 1), np.zeros(zeros), np.full(zeros, 1e-17)])
    assert int(elbow_of(sigma, 1e-15)) == 10


@pytest.mark.parametrize(
    ("sigma", "rank"),
    [
        (np.full(9, 0.3), 9),
        (np.geomspace(1, 1e-11, 40), 40),
        (np.array([2.0]), 1),
        (np.array([2.0, 1e-5]), 2),
        (np.array([2.0, 0.0, 0.0]), 1),
        (np.array([2.0, 2.0, 0.0]), 2),
        (np.zeros(4), 0),
    ],
    ids=["flat", "geometric", "one mode", "two modes", "rank one", "flat and zero", "zeros"],
)
def test_a_straight_spectrum_keeps_all_that_is_resolved(sigma, rank):
    assert int(elbow_of(sigma, 1e-15 * sigma.max())) == rank


@pytest.mark.parametrize("start", [1, 4, 11, 25, 26, 40])
def test_the_elbow_beyond_a_mode_agrees_with_plane_geometry(start):
    rng = np.random.default_rng(start)
    for _ in range(20):
        sigma = np.exp(-np.cumsum(rng.exponential(size=26)))
        floor = sigma[-1] * rng.choice([0.5, 1.0])
        expected = elbow_oracle(sigma, floor, start)
        assert int(elbow_of(sigma, floor, start)) == expected


@pytest.mark.parametrize("rank", [1, 2, 5, 8])
def test_a_cutoff_keeps_so_many_modes_and_equal_ones_together(rank):
    sigma = np.array([4.0, 3.0, 3.0, 2.0, 1e-3, 1e-9, 0.0, 0.0])
    kept = int(np.sum(sigma > float(cutoff_of(sigma, rank))))
    assert kept == {1: 1, 2: 3, 5: 5, 8: 6}[rank]
    assert int(np.sum(sigma >= float(cutoff_of(sigma[::-1], rank)))) >= rank


def test_what_modes_cannot_explain_is_seen_far_below_the_residual():
    """Terms from 1 down to 1e-15, by explicit projection in the full space."""
    rng = np.random.default_rng(0)
    q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    coefficients = 10.0 ** -np.arange(16.0)
    outside = 1e-14
    u = q[:, :16]
    got = np.asarray(unexplained(jnp.asarray(coefficients), jnp.asarray(outside)))
    for k in range(1, 17):
        rest = u[:, k:] @ coefficients[k:] + outside * q[:, 20]
        assert_close(got[k - 1], np.linalg.norm(rest), ACCUMULATED)
    assert np.all(np.diff(got) <= 0)
