import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.methods import Method, Spring, State
from anagram.training.budget import BLOCK, Budget
from anagram.training.history import History
from anagram.training.pool import Pool, RedrawnPoints, batch_of, draw_repeatedly
from anagram.training.trainer import Trainer
from problems import parabola
from tolerances import assert_close

SQUARE = ag.Box(x=(0, 1), y=(0, 2))
RANDOM = [ag.Uniform(11), ag.Sobol(11), ag.LatinHypercube(11)]


def problem(**more):
    return ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda x, y: x * y),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=SQUARE.boundary(), equals=lambda x: x, weight=3.0),
        data=ag.Condition(lambda u: u, on=SQUARE.points(x=[0.2, 0.4], y=1.0), equals=np.array([1.0, 2.0])),
        **more,
    )


def pool_of(rules, seed=0, steps=5):
    return Pool(problem(), {"data": ag.Uniform(1), **rules}, seed, steps)


# -- drawing ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rule", RANDOM, ids=repr)
@pytest.mark.parametrize("region", [SQUARE, SQUARE.boundary(), SQUARE.face(x=1)], ids=repr)
def test_repeated_draws_are_like_single_ones(rule, region):
    one = region.draw(rule, np.random.default_rng(0))
    many = draw_repeatedly(region, rule, np.random.default_rng(0), 4)
    assert many.x.shape == (4, *one.x.shape)
    assert_close(many.weight, np.stack([one.weight] * 4))
    if one.normal is not None:
        assert_close(many.normal, np.stack([one.normal] * 4))
    assert len(np.unique(many.x.reshape(-1, 2), axis=0)) == 4 * len(one.x)
    assert np.all((many.x >= SQUARE.low) & (many.x <= SQUARE.high))


def test_every_set_of_a_hypercube_is_one():
    x = draw_repeatedly(ag.Box(x=(0, 1), y=(0, 1)), ag.LatinHypercube(10), np.random.default_rng(0), 3).x
    for one in x:
        assert_close(np.sort((one * 10).astype(int), axis=0), np.stack([np.arange(10)] * 2, axis=1))


def test_a_pool_has_the_batches_of_its_steps():
    rules = {"equation": ag.Uniform(7), "walls": ag.Sobol(12)}
    pool = pool_of(rules)
    fixed = ag.sample(problem(), {"data": ag.Uniform(1), **rules})
    drawn, place = pool.at(7)
    assert place == 2
    assert set(drawn) == {"equation", "walls"}  # data stay where they were measured
    batch = batch_of(fixed, drawn, place)
    assert jax.tree.map(jnp.shape, batch) == jax.tree.map(jnp.shape, fixed)
    assert_close(batch["equation"].source[:, 0], np.prod(batch["equation"].x, axis=1))
    assert_close(batch["walls"].source[:, 0], batch["walls"].x[:, 0])
    assert_close(np.sum(batch["walls"].scale ** 2), 3.0)
    assert_close(batch["data"].x, fixed["data"].x, 0.0)
    assert_close(batch["walls"].normal, fixed["walls"].normal, 0.0)


def test_points_depend_on_the_seed_and_the_step_alone():
    rules = {"equation": ag.Uniform(7), "walls": ag.Grid(3)}
    first, again, other = pool_of(rules), pool_of(rules), pool_of(rules, seed=1)
    again.at(23)
    at = lambda pool, step: np.asarray(batch_of({}, *pool.at(step))["equation"].x)
    for step in (0, 4, 5, 12):
        assert_close(at(again, step), at(first, step), 0.0)
        assert np.abs(at(other, step) - at(first, step)).max() > 0.1
    seen = np.concatenate([at(first, step) for step in range(15)])
    assert len(np.unique(seen, axis=0)) == 15 * 7


def test_sources_are_traced_once():
    traces = []

    def source(x, y):
        traces.append(None)
        return x + y

    traced = ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals=source))
    pool = Pool(traced, {"c": ag.Uniform(3)}, 0, 4)
    pool.at(0)
    before = len(traces)
    for step in range(4, 40):
        pool.at(step)
    assert len(traces) == before


def test_sources_that_cannot_be_traced_and_several_components():
    both = ag.Problem(
        SQUARE,
        c=ag.Condition(lambda u: (u, u.d("x")), equals=(lambda x: float(x) ** 2, lambda y: 3 * y)),
    )
    batch = batch_of({}, *Pool(both, {"c": ag.Uniform(3)}, 0, 2).at(1))["c"]
    assert_close(batch.source, np.stack([batch.x[:, 0] ** 2, 3 * batch.x[:, 1]], axis=1))


# -- in a run --------------------------------------------------------------------------------------------------
class Looking(Method):
    """Reports the points it was given, and how often it was traced."""

    traces = 0

    @property
    def fresh_points(self):
        return True

    def init(self, compound, theta, batch):
        return State(theta, compound.loss(theta, batch))

    def step(self, compound, state, batch):
        Looking.traces += 1
        no = jnp.asarray(False)
        info = {"loss": state.loss * 0.9, "first": batch["equation"].x[0], "failed": no, "stuck": no}
        return State(state.theta, state.loss * 0.9), info


def test_every_step_sees_its_own_points_and_nothing_is_traced_again(monkeypatch):
    points = {"equation": ag.Uniform(7), "walls": ag.Uniform(12)}
    monkeypatch.setattr("anagram.training.budget.BLOCK_SECONDS", 0.002)  # blocks of many lengths
    trainer = Trainer(problem(), ag.Setting(model=ag.MLP(4), method=Looking(), points=points), 3)
    traced = Looking.traces
    monkeypatch.setattr(Trainer, "_look", lambda self, info: None)
    while trainer.history.count < 2 * BLOCK + 10:
        trainer._advance(37)
    assert Looking.traces == traced
    pool = Pool(problem(), {**points, "data": ag.Uniform(1)}, 3, BLOCK)
    expected = [np.asarray(batch_of({}, *pool.at(k))["equation"].x[0]) for k in range(trainer.history.count)]
    assert_close(trainer.history.steps["first"], np.stack(expected), 0.0)


# -- every so many steps ---------------------------------------------------------------------------------------
class LookingOnly(Looking):
    """The same, without points of its own for every step."""

    @property
    def fresh_points(self):
        return False


def test_points_are_redrawn_when_due_whatever_the_blocks(monkeypatch):
    points = {"equation": ag.Redrawn(ag.Sobol(7), every=3), "walls": ag.Redrawn(ag.Uniform(12), every=5)}
    monkeypatch.setattr(Trainer, "_look", lambda self, info: None)
    seen = []
    for length in (37, 2):
        trainer = Trainer(problem(), ag.Setting(model=ag.MLP(4), method=LookingOnly(), points=points), 3)
        while trainer.history.count < 20:
            trainer._advance(length)
        seen.append(trainer.history.steps["first"][:20])
    assert_close(seen[0], seen[1], 0.0)
    changes = np.flatnonzero(np.any(np.diff(seen[0], axis=0) != 0, axis=1)) + 1
    assert changes.tolist() == [3, 6, 9, 12, 15, 18]


def test_only_what_is_due_is_redrawn_and_data_stay():
    rules = {
        "equation": ag.Redrawn(ag.Sobol(7), every=2),
        "walls": ag.Redrawn(ag.Sobol(12), every=3),
        "data": ag.Redrawn(ag.Uniform(1)),
    }
    redrawn, batch = RedrawnPoints(problem(), rules, seed=0), ag.sample(problem(), rules)
    assert [redrawn.steps_left(k) for k in range(5)] == [2, 1, 1, 1, 2]
    after = redrawn.draw(2, batch)
    assert [after[key] is batch[key] for key in ("equation", "walls", "data")] == [False, True, True]
    assert jax.tree.map(jnp.shape, after) == jax.tree.map(jnp.shape, batch)
    assert redrawn.draw(5, batch) is batch
    assert RedrawnPoints(problem(), {"equation": ag.Sobol(7)}, 0).steps_left(4) is None


@pytest.mark.long
def test_few_redrawn_points_are_not_overfitted():
    """A network with more parameters than points: fixed points are fitted, redrawn ones teach the equation.

    Single seeds gain by factors from 8 to 150.
    """
    line = ag.Box(x=(0, 1))
    wave = lambda x: jnp.exp(-x) * jnp.sin(9 * x)
    few = ag.Problem(line, data=ag.Condition(lambda u: u, equals=wave), solution=wave)
    options = {"steps": 120, "options": {"sketch": 0}, "progress": False}
    fixed, redrawn = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(4):
            again = ag.Redrawn(ag.Uniform(6), every=2)
            fixed.append(ag.solve(few, ag.MLP(12), points=ag.Uniform(6), seed=seed, **options).l2_error)
            redrawn.append(ag.solve(few, ag.MLP(12), points=again, seed=seed, **options).l2_error)
    assert np.mean(redrawn) < 0.1 * np.mean(fixed)


def test_what_cannot_be_redrawn_is_refused():
    with pytest.raises(ag.SettingError, match=r"always gives the same points"):
        ag.Redrawn(ag.Grid(30))
    with pytest.raises(ag.SettingError, match="at least 1"):
        ag.Redrawn(ag.Sobol(30), every=0)


SAME = problem()  # runs of one problem use the same compiled functions


def solve(**options):
    return ag.solve(
        SAME,
        ag.MLP(12, 12),
        "spring",
        progress=False,
        **{"points": {"equation": ag.Sobol(20), "walls": ag.Uniform(16)}, "steps": 150, **options},
    )


def test_runs_repeat_exactly_however_they_fall_into_blocks(monkeypatch):
    first, again, other = solve(), solve(), solve(seed=1)
    assert_close(again.theta, first.theta, 0.0)
    assert np.abs(other.theta - first.theta).max() > 1e-3
    monkeypatch.setattr("anagram.training.budget.BLOCK_SECONDS", 1e-9)
    short = solve(steps=70)
    assert len(short.history.blocks) == 71
    for key in ("loss", "fitted_loss", "step_length"):
        assert_close(short.history.steps[key], first.history.steps[key][:70], 0.0)


def test_few_points_are_no_reason_to_warn(recwarn):
    solution = solve(steps=3)
    assert solution.summary["rows"] < solution.summary["parameters"]
    assert not [w for w in recwarn if w.category is ag.PointsWarning]


def test_without_points_a_few_random_ones_are_taken():
    trainer = Trainer(problem(), ag.Setting(model=ag.MLP(40, 40), method="spring", points=None), 0)
    assert len(trainer.batch["equation"].x) == 256
    trainer = Trainer(problem(), ag.Setting(model=ag.MLP(4), method="spring", points=30), 0)
    assert len(trainer.batch["equation"].x) == 30


def test_rules_that_never_change_are_refused_unless_they_are_meant():
    with pytest.raises(ag.SettingError, match=r"Grid\(5\).*always give the same ones.*Uniform\(n\).*resample=False"):
        solve(points=ag.Grid(5), steps=1)
    solve(points={"equation": ag.Uniform(20), "walls": ag.Grid(5)}, steps=1)
    with pytest.warns(ag.PointsWarning):
        kept = solve(points=ag.Grid(5), steps=2, options={"resample": False})
    assert kept.summary["points"] == 25 + 20 + 2


# -- memory ----------------------------------------------------------------------------------------------------
def test_a_model_too_large_for_other_methods_is_not_too_large_for_this_one():
    wide = ag.MLP(600, 600)
    with pytest.raises(ag.SettingError, match=r"\d+ parameters needs matrices.*take a smaller model"):
        ag.solve(problem(), wide, "engd", progress=False)
    trainer = Trainer(problem(), ag.Setting(model=wide, method="spring", points=ag.Uniform(4)), 0)
    assert trainer.method.memory(362_401, 8) < 2**30
    with pytest.raises(ag.SettingError, match="smaller model or fewer points"):
        ag.solve(problem(), wide, "spring", points=ag.Uniform(300_000), progress=False)


def test_memory_grows_with_rows_times_parameters():
    method = Spring()
    assert method.memory(10**6, 100) < 4 * 8 * 10**8
    assert method.memory(10**6, 200) > 1.5 * method.memory(10**6, 100)


# -- stopping --------------------------------------------------------------------------------------------------
def noisy_history(trend, steps, seed=0):
    """Losses that follow a trend, with the noise of small batches; fresh points see the trend."""
    noise = np.exp(0.4 * np.random.default_rng(seed).normal(size=steps))
    history = History()
    history.extend({"loss": trend(np.arange(steps)) * noise}, np.arange(steps))
    for step in range(0, steps + 1, 16):
        jitter = np.exp(0.1 * np.random.default_rng([seed, step]).normal())
        history.blocks.append({"step": step, "validation_loss": trend(step) * jitter})
    return history


def waited(history, patience):
    best = min(history.blocks, key=lambda block: block["validation_loss"])
    return history.waited_in_vain(patience, 1e-9, noisy=True, best_at=best["step"])


@pytest.mark.parametrize("seed", range(5))
def test_slow_progress_under_noise_is_progress(seed):
    for steps in (200, 333, 800, 3000):
        for trend in (lambda k: 1 / (1 + k / 50), lambda k: np.exp(-k / 700)):
            assert waited(noisy_history(trend, steps, seed), 100) is None


def test_no_progress_under_noise_is_seen():
    flat = lambda k: 1e-3 + np.exp(-k / 20.0)
    waits = [waited(noisy_history(flat, steps, 1), 100) for steps in range(400, 2000, 16)]
    assert any(w is not None and w >= 100 for w in waits)
    rising = noisy_history(lambda k: 1 + k / 100, 300)
    assert waited(rising, 100) == 100
    assert waited(rising, 200) is None  # too early to say


def test_a_run_that_stands_still_stops():
    line = ag.Box(x=(0, 1))
    impossible = ag.Problem(line, c=ag.Condition(lambda u: u, equals=0.0), d=ag.Condition(lambda u: u, equals=1.0))
    solution = ag.solve(impossible, ag.Polynomial(1), "spring", points=8, steps=20_000, patience=40, progress=False)
    assert solution.stopped_because.startswith("stagnant: no progress in")
    assert solution.summary["steps"] < 20_000
    assert_close(solution(0.5), 0.5, 0.05)


def test_a_tolerance_ends_runs_whose_points_are_new_at_every_step():
    solution = ag.solve(parabola(), ag.MLP(8), "spring", points=ag.Sobol(40), steps=2000, tol=0.03, progress=False)
    assert solution.stopped_because == "tolerance reached"
    assert solution.reached
    assert solution.relative_error_estimate <= 0.03
    assert solution.relative_l2_error <= 0.1
    assert solution.summary["steps"] < 2000


def test_budget_needs_no_change():
    assert Budget(steps=3).patience == 100
