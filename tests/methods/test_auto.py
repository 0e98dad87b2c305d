import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.methods import Auto, auto, walk
from oracles import damped_step, predicted_reduction
from problems import parabola
from tolerances import assert_close

pytestmark = pytest.mark.rounding


def one_step(method, points=ag.Grid(10)):
    problem = ag.catalogue.problem("heat")
    model = ag.ParametricModel(problem.sought, ag.MLP(8), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, points)
    before = jax.jit(lambda t: method.init(compound, t, batch))(model.theta)
    after, info = jax.jit(lambda s: method.step(compound, s, batch))(before)
    return compound, batch, before, after, info


@pytest.mark.parametrize("squared_until", [0.0, 1e9], ids=["plain", "balanced"])
def test_a_step_is_the_damped_step_of_its_damping(squared_until):
    compound, batch, before, after, info = one_step(Auto(squared_until=squared_until, acceleration=0, sketch=0))
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    expected = damped_step(features, residual, float(info["damping"]))
    assert_close(after.theta - before.theta, expected, 1e-6)
    promised = predicted_reduction(features, residual, expected, float(info["damping"]))
    assert_close(info["ratio"], 2 * (before.loss - after.loss) / promised, 1e-6)
    assert float(info["ratio"]) >= 0.075 or float(info["step_norm"]) > 2.8


def test_both_factorisations_walk_the_same_way():
    squared, plain = (
        one_step(Auto(squared_until=0.0, acceleration=0, sketch=0)),
        one_step(Auto(squared_until=1e9, acceleration=0, sketch=0)),
    )
    assert_close(squared[3].theta, plain[3].theta, 1e-6)


def test_steps_are_bent_by_their_acceleration():
    """It may be scaled from a neighbouring damping: see the tests of acceleration for the term itself."""
    compound, batch, before, after, info = one_step(Auto(acceleration=1e9, sketch=0))
    damping = float(info["damping"])
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    p = damped_step(features, residual, damping)
    bend = damped_step(features, np.asarray(jax.jit(compound.second)(before.theta, batch, jnp.asarray(p))), damping)
    assert_close(after.theta - before.theta, p + bend / 2, 0.1)
    assert np.linalg.norm(after.theta - before.theta - p) > 0.5 * np.linalg.norm(bend / 2)
    assert_close(info["acceleration"], 2 * np.linalg.norm(bend) / np.linalg.norm(p), 0.2)
    assert_close(info["step_norm"], np.linalg.norm(p), 1e-6)


@pytest.mark.long
def test_the_loss_never_rises_and_rounding_is_reached():
    """A quick form of what the benchmark shows: the paper's problem and network, to 1e-10."""
    problem = ag.catalogue.problem("laplace-2d", paper=True)
    solution = ag.solve(problem, ag.MLP(32, scale=0), "auto", steps=400, progress=False)
    steps = solution.history.steps
    # Where a sketch is over, or an end is given up, the walk goes on from somewhere else.
    stage = steps["stage"]
    moved = np.flatnonzero(((stage[:-1] == 0) & (stage[1:] != 0)) | ((stage[:-1] == 2) & (stage[1:] == 1))) + 1
    for stretch in np.split(steps["loss"], moved):
        assert np.all(np.diff(stretch) <= 0)
    assert len(moved) <= 4
    assert sorted(set(steps["stage"])) == [0, 1, 2]
    assert np.all(np.diff(solution.history.column("loss")) <= 0)
    assert solution.l2_error < 1e-10


def test_the_sketch_stands_until_it_is_surpassed():
    problem = ag.catalogue.problem("laplace-2d")
    sketch = ag.solve(problem, ag.MLP(16), steps=20, progress=False, options={"sketch": 20})
    longer = ag.solve(problem, ag.MLP(16), steps=30, progress=False, options={"sketch": 20})
    plain = ag.solve(problem, ag.MLP(16), steps=10, progress=False, options={"sketch": 0})
    steps = longer.history.steps
    sketched = int(np.sum(steps["stage"] == 0))
    assert 10 <= sketched <= 20
    # A few steps from the origin are worse than so many greedy ones: the sketch is still the answer.
    assert_close(longer.theta, sketch.theta, 0.0)
    assert longer.loss == sketch.loss == steps["loss"][:sketched].min() < plain.loss
    # The iterate behind it walks as if there had been no sketch; later steps of another program differ by rounding.
    walked = steps["loss"][sketched:]
    assert np.all(np.diff(walked) <= 0)
    assert_close(walked[0], plain.history.steps["loss"][0], 1e-6)
    assert sketch.history.sketching == (sketched == 20)
    assert not longer.history.sketching
    assert longer.history.moved_at == sketched


def test_a_sketch_that_is_done_does_not_start_again():
    """A model that is linear in its parameters is solved by the first steps."""
    solution = ag.solve(parabola(), ag.Polynomial(6), points=ag.Grid(20), steps=60, progress=False)
    steps, first = solution.history.steps, solution.history.blocks[0]["loss"]
    assert steps["stage"][0] == 0 < steps["stage"][-1]
    assert np.all(steps["loss"][steps["stage"] > 0] < 1e-13 * first)
    assert solution.stopped_because.startswith("converged")
    assert solution.l2_error < 1e-12


def stepping(method, points=ag.Grid(10), problem=None, model=ag.MLP(8)):
    """A compiled step of a method, and its first state."""
    problem = ag.catalogue.problem("heat") if problem is None else problem
    model = ag.ParametricModel(problem.sought, model, 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, points)
    before = jax.jit(lambda t: method.init(compound, t, batch))(model.theta)
    loss = jax.jit(lambda t: compound.loss(t, batch))
    return before, jax.jit(lambda s: method.step(compound, s, batch)), loss, compound.rough(model.theta)


def test_the_sketch_starts_from_a_rough_model_and_the_walk_from_the_first_one():
    """While it goes and afterwards the answer is the best of all iterates."""
    state, step, loss, rough = stepping(Auto(sketch=5), ag.Grid(20))
    first = state.theta
    assert_close(state.walk.front.theta, rough)
    assert not np.allclose(rough, first)
    best = [float(state.loss)]
    for k in range(5):
        assert int(state.sketched) == k
        state, info = step(state)
        assert int(info["stage"]) == 0
        best.append(float(info["loss"]))
        assert_close(state.loss, min(best))
        assert_close(loss(state.theta), state.loss)
    assert int(state.sketched) == -1
    assert_close(state.walk.front.theta, first, 0.0)
    assert_close(state.walk.front.loss, loss(first))
    after, info = step(state)
    assert int(info["stage"]) == 1
    assert_close(info["loss"], loss(after.walk.front.theta))
    assert info["loss"] < state.walk.front.loss


def test_a_sketch_that_crawls_is_over():
    """Ten steps at least; then as soon as the loss falls slowly on average."""
    state, step, _, _ = stepping(Auto(sketch=200))
    losses = []
    while int(state.sketched) >= 0:
        progress = float(state.walk.progress)
        state, info = step(state)
        losses.append(float(info["loss"]))
    assert auto.SKETCH_LEAST < len(losses) < 200
    assert np.all(np.diff(losses) <= 0)
    fell = np.log(losses[-2] / losses[-1])
    assert 0.7 * progress + 0.3 * fell < auto.SKETCH_CRAWL <= progress


@pytest.fixture
def early_ends(monkeypatch):
    """Ends are begun far too early."""
    monkeypatch.setattr(walk, "TREND", 3)
    monkeypatch.setattr(auto, "SOLVED_ROUGHLY", 1e-2)


def until_given_up(state, step):
    """All states up to the one in which an end was given up, and the number of the one in which it began."""
    states, begins = [state], None
    for k in range(1, 150):
        states.append(step(states[-1])[0])
        if begins is None and bool(states[-1].walk.ending):
            begins = k
        elif begins is not None and not bool(states[-1].walk.ending):
            return states, begins
    raise AssertionError("no end was given up")


def test_an_end_that_leads_nowhere_goes_back_to_its_camp(early_ends):
    """An end begun far too early crawls; the walk goes on from where it began as if nothing had happened."""
    problem = ag.catalogue.problem("laplace-2d", paper=True)
    first, step, loss, _ = stepping(Auto(sketch=0), problem.setting.points, problem, ag.MLP(16))
    states, begins = until_given_up(first, step)
    camp, back = states[begins], states[-1]
    assert begins < len(states) - 2
    jax.tree.map(np.testing.assert_array_equal, back.walk.front, camp.walk.front)
    jax.tree.map(np.testing.assert_array_equal, back.walk.front, camp.walk.camp)
    assert np.all(np.isnan(back.walk.dampings))
    assert_close(back.walk.end_below, walk.NEXT_END * camp.walk.front.loss)
    # The end kept more of its promises, and found what is the answer so far.
    ended = [float(s.walk.front.loss) for s in states[begins:-1]]
    assert np.all(np.diff(ended) <= 0)
    assert back.loss <= min(ended)
    assert_close(loss(back.theta), back.loss)
    # The walk takes the step that it would have taken.
    after, info = step(back)
    assert int(info["stage"]) == 1
    followed, _ = step(camp._replace(walk=camp.walk._replace(ending=jnp.asarray(False))))
    assert_close(after.walk.front.theta, followed.walk.front.theta, 0.0)


def test_with_a_restart_in_hand_the_walk_begins_anew(early_ends):
    problem = ag.catalogue.problem("laplace-2d", paper=True)
    first, step, loss, _ = stepping(Auto(sketch=0, restarts=1), problem.setting.points, problem, ag.MLP(16))
    states, _ = until_given_up(first, step)
    back = states[-1]
    assert int(back.walk.restarted) == 1
    assert_close(back.walk.front.theta, walk.STRETCH * first.theta)
    assert np.isnan(back.walk.front.loss)  # found by the first step
    assert_close(back.loss, min(float(s.loss) for s in states), 0.0)
    after, info = step(back)
    assert 0 < float(info["loss"]) < float(loss(walk.STRETCH * first.theta))
    # There was one restart.
    states, _ = until_given_up(after, step)
    assert int(states[-1].walk.restarted) == 1
    assert not np.isnan(states[-1].walk.front.loss)


def test_a_sketch_that_is_not_finite_is_given_up():
    """The rough form of a model may leave the domain of an operator in which the model itself is."""
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x") - u.map(lambda v: jnp.where(jnp.abs(v) < 0.9, v, jnp.nan))),
        start=ag.Condition(lambda u: u, on=line.face(x=0), equals=0.05),
    )
    network = ag.MLP(40)
    model = ag.ParametricModel(problem.sought, network, 2)  # reaches to 0.76, and in its rough form to 1.9
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(30))
    loss = jax.jit(lambda theta: compound.loss(theta, batch))
    assert np.isfinite(loss(model.theta))
    assert not np.isfinite(loss(compound.rough(model.theta)))
    solution = ag.solve(problem, network, points=ag.Grid(30), steps=40, seed=2, progress=False)
    assert not solution.stopped_because.startswith("failed")
    assert solution.history.steps["stage"].tolist()[:2] == [0, 1]
    assert solution.loss < 1e-6


def test_a_run_that_goes_on_has_no_sketch():
    problem = ag.catalogue.problem("heat")
    first = ag.solve(problem, ag.MLP(8), points=ag.Grid(12), steps=5, progress=False)
    second = ag.solve(problem, start=first, points=ag.Grid(12), steps=5, progress=False)
    assert np.all(second.history.steps["stage"] == 1)
    assert second.loss <= first.loss


@pytest.mark.parametrize("options", [{"ratio": 0}, {"end_ratio": 1.5}, {"growth": 0.5}, {"precision": "fine"}])
def test_mistakes_with_options(options):
    with pytest.raises(ag.SettingError, match=f"{next(iter(options))} must lie between"):
        Auto(**options)


def test_the_sketch_is_a_number_of_steps():
    with pytest.raises(ag.SettingError, match="sketch must be a whole number"):
        Auto(sketch=2.5)


def test_more_parameters_than_rows():
    """The dual form: the same step from a matrix of the size of the rows."""
    compound, batch, before, after, info = one_step(Auto(acceleration=0, sketch=0), ag.Grid(2))
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    assert features.shape[0] < features.shape[1]
    assert_close(after.theta - before.theta, damped_step(features, residual, float(info["damping"])), 1e-6)
