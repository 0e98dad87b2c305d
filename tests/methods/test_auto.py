import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram import spectrum
from anagram.methods import Auto
from anagram.methods.acceleration import accelerated
from oracles import damped_step, predicted_reduction
from tolerances import assert_close


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


def test_acceleration_is_the_second_order_term():
    compound, batch, before, after, info = one_step(Auto(acceleration=1e9, sketch=0))
    damping = float(info["damping"])
    residual, features = (np.asarray(a) for a in jax.jit(compound.features)(before.theta, batch))
    p = damped_step(features, residual, damping)
    bend = damped_step(features, np.asarray(jax.jit(compound.second)(before.theta, batch, jnp.asarray(p))), damping)
    assert_close(after.theta - before.theta, p + bend / 2, 1e-6)
    assert_close(info["acceleration"], 2 * np.linalg.norm(bend) / np.linalg.norm(p), 1e-6)


@pytest.mark.parametrize("most", [0.0, 1e-9, 1e9])
def test_acceleration_is_used_where_it_is_small(most):
    problem = ag.catalogue.problem("heat")
    model = ag.ParametricModel(problem.sought, ag.MLP(8), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(10))
    residual, features = compound.features(model.theta, batch)
    damped = spectrum.svd(residual, features).at(0.1)
    move, bend = accelerated(compound, model.theta, batch, damped, most)
    straight = np.asarray(damped.step.direction)
    assert (float(bend) == 0.0) == (most == 0.0)
    assert np.allclose(move, straight) == (most < 1)


def test_the_loss_never_rises_and_rounding_is_reached():
    """A quick form of what the benchmark shows: the paper's problem and network, to 1e-10."""
    problem = ag.catalogue.problem("laplace-2d", paper=True)
    solution = ag.solve(problem, ag.MLP(32, scale=0), "auto", steps=400, progress=False)
    steps = solution.history.steps
    for sketching in (True, False):
        assert np.all(np.diff(steps["loss"][(steps["stage"] == 0) == sketching]) <= 0)
    assert sorted(set(steps["stage"])) == [0, 1, 2]
    assert np.all(np.diff(solution.history.column("loss")) <= 0)
    assert solution.l2_error < 1e-10


def test_the_sketch_stands_until_it_is_surpassed():
    problem = ag.catalogue.problem("laplace-2d")
    sketch = ag.solve(problem, ag.MLP(16), steps=20, progress=False, options={"sketch": 20})
    longer = ag.solve(problem, ag.MLP(16), steps=30, progress=False, options={"sketch": 20})
    plain = ag.solve(problem, ag.MLP(16), steps=10, progress=False, options={"sketch": 0})
    # Ten steps from the origin are worse than twenty greedy ones: the sketch is still the answer.
    assert_close(longer.theta, sketch.theta)
    assert longer.loss == sketch.loss < plain.loss
    # The iterate behind it has walked as if there had been no sketch.
    assert_close(longer.history.steps["loss"][20:], plain.history.steps["loss"])
    assert sketch.history.sketching
    assert not longer.history.sketching
    assert longer.history.moved_at == 20


def parabola():
    """A problem that polynomials solve exactly."""
    line = ag.Box(x=(0, 1))
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.0),
        ends=ag.Condition(lambda u: u, on=line.faces("x")),
        solution=lambda x: x * (x - 1),
    )


def test_a_sketch_that_is_done_does_not_start_again():
    """A model that is linear in its parameters is solved by the first steps."""
    solution = ag.solve(parabola(), ag.Polynomial(6), points=ag.Grid(20), steps=60, progress=False)
    steps, first = solution.history.steps, solution.history.blocks[0]["loss"]
    assert steps["stage"][0] == 0 < steps["stage"][-1]
    assert np.all(steps["loss"][steps["stage"] > 0] < 1e-13 * first)
    assert solution.stopped_because.startswith("converged")
    assert solution.l2_error < 1e-12


def test_the_sketch_looks_at_few_points_and_is_judged_on_all():
    """It lowers the loss on a thinned batch; the answer is the best iterate on the whole one."""
    problem = ag.catalogue.problem("heat")
    model = ag.ParametricModel(problem.sought, ag.MLP(8), 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(20))
    thin = compound.thinned(batch, round(SKETCH_ROWS * model.parameters))
    assert count_rows(thin) < count_rows(batch) / 2
    method = Auto(sketch=5)
    state = method.init(compound, model.theta, batch)
    assert_close(state.iterate, compound.rough(model.theta))
    assert not np.allclose(state.iterate, model.theta)
    step = jax.jit(lambda s: method.step(compound, s, batch))
    best = [float(state.loss)]
    for _ in range(4):
        state, info = step(state)
        assert_close(info["loss"], compound.loss(state.iterate, thin))
        best.append(float(compound.loss(state.iterate, batch)))
        assert_close(state.loss, min(best))
        assert_close(compound.loss(state.theta, batch), state.loss)
    state, _ = step(state)
    assert_close(state.iterate, model.theta)


def test_an_end_that_leads_nowhere_goes_back_to_its_camp(monkeypatch):
    """An end begun far too early crawls; the walk goes on from where it began as if nothing had happened."""
    problem = ag.catalogue.problem("laplace-2d", paper=True)

    def run(**options):
        options = {"sketch": 0, "restarts": 0, **options}
        return ag.solve(problem, ag.MLP(16), "auto", steps=100, progress=False, options=options)

    monkeypatch.setattr(auto, "TREND", 3)
    monkeypatch.setattr(auto, "SOLVED_ROUGHLY", 0.0)
    plain = run().history.steps
    monkeypatch.setattr(auto, "SOLVED_ROUGHLY", 1e-2)
    COMPILED.pop(problem)
    tried = run()
    steps = tried.history.steps
    assert 2 in steps["stage"]
    assert 2 not in plain["stage"]
    begins = int(np.argmax(steps["stage"] == 2))
    ends = begins + int(np.argmax(steps["stage"][begins:] == 1))
    assert begins < ends
    assert_close(steps["loss"][:begins], plain["loss"][:begins])
    # Afterwards the losses are those that would have followed without it.
    follow = min(10, len(steps["loss"]) - ends)
    assert_close(steps["loss"][ends : ends + follow], plain["loss"][begins : begins + follow], 1e-6)
    # The answer is the best of all.
    assert tried.loss <= steps["loss"].min() * (1 + 1e-12)
    # With a restart in hand the walk begins anew instead; from zeros it could not.
    anew = run(restarts=1)
    assert anew.history.moved_at == ends
    assert anew.loss <= anew.history.steps["loss"].min() * (1 + 1e-12)
    again = anew.history.steps["loss"][ends]
    model = ag.ParametricModel(problem.sought, ag.MLP(16), 0)
    batch = ag.sample(problem, problem.setting.points)
    larger = ag.Compound(problem, model).loss(auto.STRETCH * model.theta, batch)
    assert again < larger < 10 * again


def test_a_sketch_that_is_not_finite_is_given_up():
    """The rough form of a model may leave the domain of an operator in which the model itself is."""
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x") - u.map(lambda v: jnp.where(jnp.abs(v) < 0.9, v, jnp.nan))),
        start=ag.Condition(lambda u: u, on=line.face(x=0), equals=0.05),
    )
    network = ag.MLP(40)
    model = ag.ParametricModel(problem.sought, network, 0)
    compound, batch = ag.Compound(problem, model), ag.sample(problem, ag.Grid(30))
    assert np.isfinite(compound.loss(model.theta, batch))
    assert not np.isfinite(compound.loss(compound.rough(model.theta), batch))
    solution = ag.solve(problem, network, points=ag.Grid(30), steps=40, progress=False)
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
