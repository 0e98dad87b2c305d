import itertools
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import ProcessError
from anagram.methods import Method, State
from anagram.training.budget import Budget
from anagram.training.trainer import Trainer
from problems import LINE, parabola
from tolerances import assert_close


def run(problem, model=None, **options):
    return ag.solve(
        problem,
        model or ag.MLP(6),
        progress=False,
        **{"points": ag.Grid(12), "steps": 20, "method": "anagram", **options},
    )


# -- the kinds of problems the core must know ---------------------------------------------------------------
def test_a_system_of_two_fields():
    """u' = v, v' = −u: the sine and the cosine, from values at 0."""
    box = ag.Box(x=(0, 2))
    problem = ag.Problem(
        box,
        circle=ag.Condition(lambda u, v: (u.d("x") - v, v.d("x") + u)),
        start=ag.Condition(lambda u, v: (u, v), on=box.face(x=0), equals=(0.0, 1.0)),
        unknowns=("u", "v"),
        solution={"u": lambda x: jnp.sin(x), "v": lambda x: jnp.cos(x)},
    )
    solution = ag.solve(
        problem, ag.MLP(10), points=ag.GaussLegendre(60), steps=400, options={"sketch": 0}, progress=False
    )
    assert solution.l2_error < 1e-6
    values = solution(x=np.array([0.5, 1.5]))
    assert_close(values["v"], np.cos([0.5, 1.5]), 1e-5)
    assert_close(solution["u"](1.0), np.sin(1.0), 1e-5)


@pytest.mark.long
def test_the_schroedinger_equation():
    """i ψ_t = −½ ψ_xx with the exact wave e^{i(2x − 2t)}."""
    box = ag.Box(t=(0, 1), x=(0, 3))
    exact = lambda t, x: jnp.exp(1j * (2 * x - 2 * t))
    problem = ag.Problem(
        box,
        schroedinger=ag.Condition(lambda psi: 1j * psi.d("t") + 0.5 * psi.d("x", "x")),
        start=ag.Condition(lambda psi: psi, on=box.face(t=0), equals=lambda x: jnp.exp(2j * x)),
        walls=ag.Condition(lambda psi: psi, on=box.faces("x"), equals=exact),
        unknowns={"psi": complex},
        solution=exact,
    )
    solution = ag.solve(
        problem,
        ag.Polynomial(14),
        points=ag.GaussLegendre(20),
        steps=1,
        progress=False,
        method="anagram",
        options={"cutoff": 1e-12},
    )
    assert np.iscomplexobj(solution(0.5, 1.0))
    assert_close(solution(0.5, 1.0), np.exp(1j * (2 - 1)), 1e-7)
    assert solution.l2_error < 1e-7


@pytest.mark.long
def test_an_unknown_diffusivity_is_found_from_data_to_six_digits():
    """u_t = κ u_xx with κ = 0.37, from the initial value and 40 measurements inside."""
    box = ag.Box(t=(0, 1), x=(0, 1))
    kappa = 0.37
    exact = lambda t, x: jnp.exp(-kappa * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)
    rng = np.random.default_rng(0)
    places = rng.uniform(0.1, 0.9, size=(2, 40))
    problem = ag.Problem(
        box,
        heat=ag.Condition(lambda u, kappa: u.d("t") - kappa * u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
        walls=ag.Condition(lambda u: u, on=box.faces("x")),
        data=ag.Condition(lambda u: u, on=box.points(t=places[0], x=places[1]), equals=np.asarray(exact(*places))),
        coefficients={"kappa": 1.0},
        solution=exact,
    )
    solution = ag.solve(
        problem, ag.MLP(12, 12), points=ag.GaussLegendre(20), steps=250, options={"sketch": 0}, progress=False
    )
    assert_close(solution.coefficients["kappa"], kappa, 1e-6)
    assert solution.l2_error < 1e-5


def test_a_neumann_condition():
    """u'' = 2, u(0) = 0, outward derivative 2 at the right: the parabola x²."""
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=2.0),
        left=ag.Condition(lambda u: u, on=LINE.face(x=0)),
        right=ag.Condition(lambda u: u.normal_derivative(), on=LINE.face(x=1), equals=2.0),
        solution=lambda x: x**2,
    )
    solution = run(problem, ag.Polynomial(4), options={"cutoff": 1e-12})
    assert solution.l2_error < 1e-12


# -- running ------------------------------------------------------------------------------------------------
class Counting(Method):
    """A method that counts how often its step is traced, not how often it runs."""

    traces = 0

    def init(self, compound, theta, batch):
        return State(theta, compound.loss(theta, batch))

    def step(self, compound, state, batch):
        Counting.traces += 1
        info = {"loss": state.loss * 0.9, "failed": jnp.asarray(False), "stuck": jnp.asarray(False)}
        return State(state.theta, state.loss * 0.9), info


def test_nothing_is_traced_after_the_first_block():
    trainer = Trainer(parabola(), ag.Setting(model=ag.MLP(4), method=Counting(), points=ag.Grid(9)), 0)
    traced = Counting.traces
    with jax.log_compiles(False):
        solution = trainer.train(Budget(steps=300))
    assert solution.summary["steps"] == 300
    assert len(solution.history.blocks) > 3
    assert Counting.traces == traced
    assert traced <= 2  # once for the shape of the info, once for the loop


def test_runs_repeat_exactly_and_seeds_differ():
    first, again, other = run(parabola()), run(parabola()), run(parabola(), seed=1)
    assert_close(first.theta, again.theta, 0.0)
    assert np.abs(first.theta - other.theta).max() > 1e-3


def test_blocks_do_not_change_the_numbers(monkeypatch):
    long = run(parabola())
    monkeypatch.setattr("anagram.training.budget.BLOCK_SECONDS", 1e-9)
    short = run(parabola())
    assert len(short.history.blocks) == 21
    assert_close(long.theta, short.theta, 0.0)
    assert_close(long.history.steps["loss"], short.history.steps["loss"], 0.0)


def test_reasons_to_stop():
    assert run(parabola(), steps=3).stopped_because == "steps used up"
    assert run(parabola(), steps=0).summary["steps"] == 0
    assert run(parabola(), steps=500, tol=1e-2).stopped_because == "tolerance reached"
    assert run(parabola(), steps=100_000, seconds=1e-6).stopped_because == "time used up"
    linear = run(parabola(), ag.Polynomial(4), steps=500)
    assert linear.stopped_because.startswith("converged")
    slow = Trainer(parabola(), ag.Setting(model=ag.MLP(4), method=Standing(), points=ag.Grid(9)), 0)
    assert slow.train(Budget(steps=5000, patience=30)).stopped_because == "stagnant: no progress in 30 steps"


class Standing(Counting):
    def step(self, compound, state, batch):
        return state, {"loss": state.loss, "failed": jnp.asarray(False), "stuck": jnp.asarray(False)}


class Breaking(Counting):
    def step(self, compound, state, batch):
        bad = state.loss < 1e-3
        info = {"loss": state.loss * 0.5, "failed": bad, "stuck": jnp.asarray(False)}
        return State(state.theta, jnp.where(bad, state.loss, state.loss * 0.5)), info


def test_a_numerical_failure_keeps_the_last_good_state():
    trainer = Trainer(parabola(), ag.Setting(model=ag.MLP(4), method=Breaking(), points=ag.Grid(9)), 0)
    solution = trainer.train(Budget(steps=1000))
    assert solution.failed
    assert np.isfinite(solution.loss)
    assert np.isfinite(solution.theta).all()


def test_a_process_that_goes_leaves_state_and_history_of_the_same_step(monkeypatch):
    asked = itertools.count()

    def of_first(value):
        if next(asked) == 5:
            raise ProcessError("a process of this run has gone")
        return value

    monkeypatch.setattr("anagram.compound.processes.of_first", of_first)
    trainer = Trainer(parabola(), ag.Setting(model=ag.MLP(4), method="adam", points=ag.Grid(9)), 0)
    with pytest.raises(ProcessError):
        trainer.train(Budget(steps=100))
    assert trainer.record["step"] == trainer.history.count > 0
    assert_close(float(trainer.state.loss), trainer.record["loss"], 0.0)


def test_interrupts_return_what_was_reached():
    before = signal.getsignal(signal.SIGINT)

    def interrupt(record):
        if record["step"] >= 5:
            os.kill(os.getpid(), signal.SIGINT)

    solution = run(parabola(), steps=5000, monitors=[interrupt])
    assert solution.stopped_because == "interrupted"
    assert solution.summary["steps"] >= 5
    assert_close(solution.loss, solution.history.steps["loss"][-1], 0.0)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_interrupt_stops_at_once():
    before = signal.getsignal(signal.SIGINT)

    def impatient(record):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(parabola(), monitors=[impatient])
    assert signal.getsignal(signal.SIGINT) is before


def test_a_monitor_that_fails_does_not_cost_the_run():
    calls = []

    def fragile(record):
        calls.append(record)
        raise OSError("disk full")

    with pytest.warns(UserWarning, match="a monitor failed.*disk full"):
        solution = run(parabola(), monitors=[fragile])
    assert len(calls) == 1
    assert solution.summary["steps"] == 20


def test_a_run_goes_on_from_a_solution():
    half = run(parabola(), steps=10)
    whole = ag.solve(parabola(), method="anagram", points=ag.Grid(12), steps=10, start=half, progress=False)
    assert_close(whole.theta, run(parabola()).theta, 0.0)
    with pytest.raises(ag.SettingError, match="13 parameters, the ones to start from are 19"):
        Trainer(parabola(), ag.Setting(model=ag.MLP(4)), 0, start=half)
    with pytest.raises(ag.SettingError, match="either model= or start="):
        ag.solve(parabola(), ag.MLP(6), start=half, progress=False)
    other = ag.Problem(ag.Box(y=(0, 1)), c=ag.Condition(lambda u: u))
    with pytest.raises(ag.SettingError, match="other unknowns or axes"):
        ag.solve(other, start=half, progress=False)


def test_monitors_see_every_block():
    records = []
    solution = run(parabola(), monitors=[records.append])
    assert records == solution.history.blocks
    assert records[0]["step"] == 0
    assert records[-1]["step"] == 20
    assert {"loss", "validation_loss", "l2_error", "relative_l2_error", "rank", "step_length"} <= set(records[-1])


def test_errors_are_those_of_fresh_points():
    solution = run(parabola(), steps=5)
    x = np.random.default_rng(5).uniform(size=20_000)
    difference = solution(x) - x * (x - 1)
    assert_close(solution.l2_error, np.sqrt(np.mean(difference**2)), 0.05)
    assert_close(solution.relative_l2_error, np.sqrt(np.mean(difference**2) / np.mean((x * (x - 1)) ** 2)), 0.05)


def test_without_a_solution_the_error_is_unknown():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u, equals=1.0))
    assert run(problem).l2_error is None


def test_few_points_are_warned_about():
    with pytest.warns(ag.PointsWarning, match="14 rows for 25 parameters"):
        run(parabola(), ag.MLP(8), steps=1)


def test_overfitting_the_points_is_said():
    with pytest.warns(ag.PointsWarning, match="far above the loss"):
        run(parabola(), ag.Polynomial(14), points={"equation": ag.Grid(4)}, steps=30)


def test_a_model_that_does_not_fit_into_memory_is_refused():
    with pytest.raises(ag.SettingError, match="400080001 parameters needs matrices"):
        run(parabola(), ag.MLP(20_000, 20_000))


def test_the_loss_of_every_condition_is_told():
    solution = run(parabola())
    parts = solution.summary["condition_losses"]
    assert list(parts) == ["equation", "ends"]
    assert_close(sum(parts.values()), solution.validation_loss, 1e-9)


def test_nan_of_the_first_model_names_condition_and_point():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: np.sqrt(u - 3.5)))
    with pytest.raises(ag.ProblemError, match=r"condition 'c' for the initial model is nan at \(x="):
        run(problem)


def test_settings_of_the_problem_are_used_unless_told_otherwise():
    setting = ag.Setting(
        model=ag.Polynomial(4), method="anagram", options={"cutoff": 1e-11}, points=ag.Grid(15), steps=1
    )
    problem = parabola(setting=setting)
    solution = ag.solve(problem, progress=False)
    assert (solution.summary["parameters"], solution.summary["points"], solution.summary["steps"]) == (5, 17, 1)
    solution = ag.solve(problem, model=ag.MLP(3), steps=2, progress=False)
    assert (solution.summary["parameters"], solution.summary["points"], solution.summary["steps"]) == (10, 17, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": -1}, "steps must be"),
        ({"steps": 2.5}, "steps must be"),
        ({"seconds": 0}, "seconds must be"),
        ({"seconds": float("inf")}, "seconds must be"),
        ({"tol": -1e-3}, "tol is a relative error"),
        ({"tol": 1.0}, "tol is a relative error"),
        ({"seed": -1}, "seed must be"),
        ({"patience": 0}, "patience"),
        ({"method": "simplex"}, "no method 'simplex'"),
        ({"model": 3}, "recipe such as MLP"),
        ({"points": -4}, "positive number of points"),
    ],
)
def test_mistakes_are_named_before_anything_runs(options, message):
    with pytest.raises(ag.SettingError, match=message):
        run(parabola(), **options)
    with pytest.raises(ag.SettingError, match="solve needs a Problem"):
        ag.solve("heat")
