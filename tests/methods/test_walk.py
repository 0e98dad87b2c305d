import jax.numpy as jnp
import numpy as np
import pytest

from anagram.methods import walk
from anagram.methods.advance import set_out
from tolerances import assert_close

THETA = jnp.array([1.0, -2.0])


def front(loss, rejected=0):
    return set_out(THETA, loss)._replace(rejected=jnp.asarray(rejected))


def walked(losses, dampings, tiny=0.0, end_below=np.inf):
    """A walk with steps to these losses at these dampings."""
    found = walk.begin(THETA, jnp.asarray(1.0), jnp.asarray(end_below))
    for loss, damping in zip(losses, dampings, strict=True):
        found = walk.advanced(found, front(loss), jnp.asarray(damping), jnp.asarray(tiny))
    return found


FALLING = np.geomspace(1e-1, 1e-4, walk.TREND)


def test_an_end_begins_where_the_damping_has_passed_its_minimum():
    losses = np.geomspace(0.9, 1e-3, walk.TREND)
    assert not walked(losses, FALLING).ending
    assert walked(losses, FALLING[::-1]).ending
    # Not before there is a trend, nor while the loss is large.
    assert not walked(losses[1:], FALLING[::-1][1:]).ending
    assert not walked(losses, FALLING[::-1], end_below=1e-4).ending
    # At once where the loss is tiny.
    assert walked([1e-8], [1.0], tiny=1e-7).ending


def test_an_end_counts_its_progress_and_keeps_its_camp():
    begun = walked([1e-8], [1.0], tiny=1e-7)
    assert_close(begun.camp.loss, 1e-8)
    assert_close(begun.progress, 1.0)
    on = walk.advanced(begun, front(1e-9), jnp.asarray(1.0), jnp.asarray(1e-7))
    assert_close(on.progress, 0.7 + 0.3 * np.log(10))
    assert_close(on.camp.loss, 1e-8)
    assert_close(on.front.loss, 1e-9)
    # Steps that are not taken are no progress.
    for _ in range(12):
        on = walk.advanced(on, front(1e-9), jnp.asarray(1.0), jnp.asarray(1e-7))
    assert float(on.progress) < walk.CRAWL


def test_giving_an_end_up():
    begun = walked([1e-8], [1.0], tiny=1e-7)
    on = walk.advanced(begun, front(1e-9, rejected=3), jnp.asarray(1.0), jnp.asarray(1e-7))
    back = walk.back_to_camp(on)
    assert_close(back.front.loss, 1e-8)
    assert int(back.front.rejected) == 0
    assert not back.ending
    assert_close(back.end_below, walk.NEXT_END * 1e-8)
    # No other end before the loss has fallen by as much.
    assert not walk.advanced(back, front(5e-10), jnp.asarray(1.0), jnp.asarray(1e-7)).ending
    assert walk.advanced(back, front(0.9e-10), jnp.asarray(1.0), jnp.asarray(1e-7)).ending


def test_a_walk_anew_has_larger_first_parameters():
    one = walk.anew(walked([1e-3], [1.0]), jnp.asarray(0.1))
    two = walk.anew(one, jnp.asarray(0.1))
    assert_close(one.front.theta, walk.STRETCH * THETA)
    assert_close(two.front.theta, walk.STRETCH**2 * THETA)
    assert int(two.restarted) == 2
    assert np.isnan(two.front.loss)
    # Its first step knows no loss to compare with: that is no crawl.
    assert_close(walk.progressed(two, front(0.5)).progress, two.progress)


@pytest.mark.parametrize("yes", [True, False])
def test_one_of_two(yes):
    one, other = walked([1e-3], [1.0]), walked([1e-8], [1.0], tiny=1e-7)
    chosen = walk.select(jnp.asarray(yes), one, other)
    assert_close(chosen.front.loss, 1e-3 if yes else 1e-8)
    assert bool(chosen.ending) != yes
