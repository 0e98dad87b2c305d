"""Small inverse problems with closed forms, for tests."""

import numpy as np

import anagram as ag

RATE = 1.3
SIGMA = 0.02


def places(count, seed=0):
    return np.sort(np.random.default_rng([7, seed]).uniform(0, 2, count))


def decay(y, t, noise=SIGMA, robust=None, **more):
    """u' = −k u with u(0) = 1: a rate from values of exp(−k t)."""
    box = ag.Box(t=(0, 2))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u, k: u.d("t") + k * u),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=1.0),
        data=ag.Condition(lambda u: u, on=box.points(t=t), equals=y, noise=noise, robust=robust),
        coefficients={"k": 1.0},
        name="decay",
        **more,
    )


def noisy(t, seed, sigma=SIGMA):
    return np.exp(-RATE * t) + sigma * np.random.default_rng(seed).standard_normal(len(t))


def rate_and_error(t, y, sigma=SIGMA):
    """The closed form: Gauss and Newton's method for one number, and its standard error."""
    k = 1.0
    for _ in range(50):
        slope = -t * np.exp(-k * t)
        k -= slope @ (np.exp(-k * t) - y) / (slope @ slope)
    slope = -t * np.exp(-k * t)
    return k, np.sqrt(np.sum((sigma / (slope @ slope) * slope) ** 2))
