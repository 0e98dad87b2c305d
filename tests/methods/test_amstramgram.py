import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram import spectrum
from anagram.methods import Amstramgram, make_method
from anagram.methods.amstramgram import LENGTHS, AmstramgramState
from anagram.methods.cutoffs import elbow
from anagram.methods.search import full_grid, refined_grid
from tolerances import assert_close

SQUARE = ag.Box(x=(0, 1), y=(0, 1))
EPS = np.finfo(float).eps


def poisson():
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: jnp.exp(x) * y),
        walls=ag.Condition(lambda u: u, on=SQUARE.boundary(), equals=lambda x, y: x * y, weight=5.0),
    )


def prepared(problem, spec, method, points, seed=0):
    model = ag.ParametricModel(problem.sought, spec, seed)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, points)
    state = jax.jit(lambda t: method.init(compound, t, batch))(model.theta)
    return compound, batch, state, jax.jit(lambda s: method.step(compound, s, batch))


class Oracle:
    """One iteration from the definition: the full SVD, every projection written out, every length tried."""

    def __init__(self, compound, batch, reach, rows):
        self.loss = jax.jit(lambda t: compound.loss(t, batch))
        self.residual = jax.jit(lambda t: compound.residual(t, batch))
        self.features = jax.jit(jax.jacfwd(lambda t: compound.residual(t, batch)))
        scale = np.concatenate([np.ravel(b.scale) for b in batch.values()])
        self.scale = scale if rows == "paper" else np.ones_like(scale)
        self.reach = np.sqrt(scale.size) if reach == "rms" else reach

    def svd(self, theta):
        r = np.asarray(self.residual(theta)) / self.scale
        features = np.asarray(self.features(theta)) / self.scale[:, None]
        return r, *np.linalg.svd(features, full_matrices=True)

    def iterate(self, state):
        r, u, sigma, vt = self.svd(state.theta)
        left = np.array([np.linalg.norm(r - u[:, :k] @ (u[:, :k].T @ r)) for k in range(1, len(sigma) + 1)])
        resolved = sigma > EPS * max(len(r), vt.shape[0]) * sigma[0]
        r1 = sum(resolved & (left < self.reach * sigma))
        r2 = sum(left >= 1e-13 * np.linalg.norm(r))
        low = max(1, min(r1, r2))
        if state.rank_high == 0:
            high = max(r1, int(elbow(sigma, sigma[resolved][-1] * 0.999, low)))
        else:
            grows = low == state.rank_low and not state.lifted_off and state.rank_high < sum(resolved)
            high = max(r1, int(state.rank_high) + grows)
        lifted_off = bool(state.lifted_off) or low >= high
        theta, loss, _ = self.update(state.theta, state.loss, r, u, sigma, vt, min(high, sum(resolved)))
        theta, loss, _ = self.update(theta, loss, *self.svd(theta), low)
        return AmstramgramState(theta, loss, low, high, lifted_off)

    def update(self, theta, loss, r, u, sigma, vt, rank):
        direction = -sum((u[:, k] @ r) / sigma[k] * vt[k] for k in range(rank))
        lengths = np.concatenate([[0.0], 0.5 ** (60 * (np.arange(101) / 100) ** 2)])
        losses = [loss, *(self.loss(theta + eta * direction) for eta in lengths[1:])]
        best = int(np.nanargmin(losses))
        return theta + lengths[best] * direction, losses[best], lengths[best]


@pytest.mark.parametrize(
    ("reach", "rows", "points", "factorisation"),
    [
        (1.0, "weighted", ag.Grid(9), "auto"),
        (1.0, "paper", ag.Grid(9), "svd"),
        ("rms", "weighted", ag.Grid(3), "auto"),
        ("rms", "paper", ag.Grid(9), "auto"),
    ],
    ids=["qr", "svd", "more parameters than rows", "as published"],
)
def test_iterations_agree_with_the_definition(reach, rows, points, factorisation):
    method = Amstramgram(reach, rows=rows, factorisation=factorisation, search="full")
    compound, batch, state, step = prepared(poisson(), ag.MLP(6), method, points)
    oracle = Oracle(compound, batch, reach, rows)
    for _ in range(4):
        expected = oracle.iterate(state)
        state, info = step(state)
        assert (int(info["rank_low"]), int(info["rank_high"])) == (expected.rank_low, expected.rank_high)
        assert bool(info["lifted_off"]) == expected.lifted_off
        assert_close(state.theta, expected.theta, 1e-6)
        assert_close(info["loss"], expected.loss, 1e-5)
        assert not bool(info["failed"])


def test_the_lengths_are_the_published_ones_and_the_short_search_finds_the_same():
    assert_close(LENGTHS, [0.5 ** (60 * (k / 100) ** 2) for k in range(101)])
    for best in (0, 3, 41, 88, 100):
        valley = lambda eta: (jnp.log2(eta) - np.log2(LENGTHS[best])) ** 2
        for search in (full_grid, refined_grid):
            length, loss = search(valley, jnp.asarray(1e6), LENGTHS)
            assert_close(length, LENGTHS[best])
            assert float(loss) < 1e-20


def ranks_of(method, state, sigma, projected, outside=0.0):
    """r_min and r_max from a spectrum made by hand."""
    sigma, projected = jnp.asarray(sigma), jnp.asarray(projected)
    along = sigma * projected
    modes = spectrum.Modes(sigma, along, jnp.eye(sigma.size), along, projected, jnp.asarray(outside), 1e-14 * sigma[0])
    low, high = method._ranks(modes, 100, state)
    return int(low), int(high)


def at(low, high, lifted_off=False):
    return AmstramgramState(jnp.zeros(3), jnp.asarray(1.0), *map(jnp.asarray, (low, high, lifted_off)))


def test_how_ranks_grow():
    """Four decades, σ_k = 10⁻ᵏ for k = 1 … 20 in steps of a fifth; the residual leaves 3e-3 outside the range of J."""
    sigma = 10.0 ** -(np.arange(1, 21) / 5)
    projected = np.full(20, 1e-9)
    method, given = Amstramgram(1.0), (sigma, projected, 3e-3)
    trusted = int(np.sum(sigma > 3e-3))
    assert ranks_of(method, at(0, 0), *given) == (trusted, 20), "a straight spectrum has no elbow"
    assert ranks_of(method, at(trusted, 15), *given) == (trusted, 16), "r_min stood still"
    assert ranks_of(method, at(trusted - 1, 15), *given) == (trusted, 15), "r_min moved"
    assert ranks_of(method, at(trusted, 20), *given) == (trusted, 20), "there is no mode left"
    assert ranks_of(method, at(3, 5), *given) == (trusted, trusted), "as many as are trusted"
    assert ranks_of(method, at(trusted, 15, lifted_off=True), *given) == (trusted, 15)
    assert ranks_of(Amstramgram(10.0), at(0, 0), *given) == (trusted + 5, 20), "a decade further"
    assert ranks_of(Amstramgram("rms"), at(0, 0), *given) == (trusted + 5, 20), "a hundred rows: √S = 10"


def test_modes_past_the_last_that_explains_anything_are_not_needed():
    sigma = 10.0 ** -(np.arange(1, 21) / 5)
    projected = np.where(np.arange(20) < 7, 1e-5, 0.0)
    low, high = ranks_of(Amstramgram(1.0), at(0, 0), sigma, projected)
    assert low == 6, "E_7 is zero: six modes leave something, the seventh leaves nothing"
    assert high == 20
    assert ranks_of(Amstramgram(1.0), at(0, 0), sigma, np.zeros(20))[0] == 20, (
        "no residual: there is nothing to choose by"
    )


def test_the_loss_never_rises():
    problem = ag.catalogue.problem("allen-cahn")
    method = Amstramgram()
    compound, batch, state, _ = prepared(problem, ag.MLP(8, 8), method, ag.Grid(12))
    scan = jax.jit(lambda s: jax.lax.scan(lambda s, _: method.step(compound, s, batch), s, None, length=40))
    after, info = scan(state)
    losses = np.concatenate([[state.loss], info["loss"]])
    assert np.all(np.diff(losses) <= 0)
    assert losses[-1] < 0.1 * losses[0]
    assert_close(jax.jit(compound.loss)(after.theta, batch), losses[-1])
    assert np.all(info["rank_low"] <= info["rank_high"])
    assert np.all(np.diff(info["rank_high"]) >= 0)
    assert np.all(np.diff(info["lifted_off"].astype(int)) >= 0), "lift-off happens once"


@pytest.mark.long
def test_it_goes_on_where_a_fixed_cutoff_ends():
    """Seeds 0, 1, 2, 4 and 5 end between 5e-13 and 3e-12 after 74 to 116 steps, 3 is not there after 160.

    A cutoff of 1e-7 ends between 6e-8 and 2e-7.
    """
    problem = ag.catalogue.problem("heat")
    solution = ag.solve(
        problem, ag.MLP(16, 16), "amstramgram", points=ag.GaussLegendre(30), steps=160, seed=1, progress=False
    )
    assert solution.l2_error < 1e-9
    assert np.all(np.diff(solution.history.steps["loss"]) <= 0)
    assert solution.history.steps["lifted_off"][-1]


def test_a_linear_problem_is_solved_at_once_and_then_nothing_moves():
    """One truncated step with all modes is the least-squares solution; afterwards the state stays as it is."""
    method = Amstramgram(1e9)
    compound, batch, before, step = prepared(poisson(), ag.Polynomial(5), method, ag.Grid(12))
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    best = before.theta - np.linalg.lstsq(features, residual, rcond=1e-13)[0]
    state, info = step(before)
    assert_close(state.theta, best, 1e-9)
    assert not bool(info["stuck"])
    for _ in range(200):
        last, (state, info) = state, step(state)
        if bool(info["stuck"]):
            break
    assert bool(info["stuck"])
    assert not bool(info["failed"])
    assert float(info["step_length"]) == float(info["step_length_high"]) == 0.0
    assert all(np.array_equal(ours, theirs) for ours, theirs in zip(state, last, strict=True))


def test_nan_leaves_the_state_as_it_was():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(line, c=ag.Condition(lambda u: np.log(u)))
    method = Amstramgram()
    _, _, state, step = prepared(problem, ag.Polynomial(2), method, ag.Grid(9))  # log 0
    after, info = step(state)
    assert bool(info["failed"])
    assert not bool(info["stuck"])
    assert_close(after.theta, state.theta)
    assert (int(after.rank_low), int(after.rank_high), bool(after.lifted_off)) == (0, 0, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reach": 0}, "positive number or 'rms'"),
        ({"reach": "far"}, "positive number or 'rms'"),
        ({"reach": True}, "positive number or 'rms'"),
        ({"rows": "all"}, "weighted"),
        ({"search": "golden"}, "full, refined"),
        ({"factorisation": "eigh"}, "accurate to rounding: auto, svd, qr, lq"),
        ({"factorisation": "lu"}, "accurate to rounding: auto, svd, qr, lq"),
        ({"cutoff": 1e-3}, "cutoff"),
    ],
)
def test_mistakes_with_options(options, message):
    with pytest.raises(ag.SettingError, match=message):
        make_method("amstramgram", **options)
