"""Small problems and small ladders, for climbs that take a second."""

import json
import os
import signal

import jax.numpy as jnp
import numpy as np

import anagram as ag

QUIET = {"progress": False}
KEPT = {"progress": False, "checkpoint_every": 0.0}
TIME, LINE = ag.Box(t=(0, 1)), ag.Box(x=(0, 1))


def decay():
    """u' = −u."""
    return ag.Problem(
        TIME,
        equation=ag.Condition(lambda u: u.d("t") + u),
        start=ag.Condition(lambda u: u, on=TIME.face(t=0), equals=1.0),
        solution=lambda t: jnp.exp(-t),
        name="decay",
    )


def heat(T=1.0, X=1.0, U=1.0, C=1.0):
    """Heat in any units of time, length, temperature and of the conditions."""
    box = ag.Box(t=(0, T), x=(0, X))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: C * (u.d("t") - 0.1 * X**2 / T * u.d("x", "x"))),
        initial=ag.Condition(lambda u: C * u, on=box.face(t=0), equals=lambda x: C * U * jnp.sin(jnp.pi * x / X)),
        walls=ag.Condition(lambda u: u, on=box.faces("x")),
        solution=lambda t, x: U * jnp.exp(-0.1 * jnp.pi**2 * t / T) * jnp.sin(jnp.pi * x / X),
        name="heat",
    )


def waves():
    """u″ = u³ + f."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(
            lambda u: u.d("x", "x") - u**3, equals=lambda x: -81 * jnp.sin(9 * x) - jnp.sin(9 * x) ** 3
        ),
        ends=ag.Condition(lambda u: u, on=LINE.boundary(), equals=lambda x: jnp.sin(9 * x)),
        solution=lambda x: jnp.sin(9 * x),
        name="waves",
    )


def networks_only(monkeypatch):
    """No wide networks of which only the last layer is learned."""
    for name in ("next_spread", "next_above"):
        monkeypatch.setattr(f"anagram.training.ladder.{name}", lambda *_: None)


def two_rungs(monkeypatch):
    """A ladder of two networks, which are trained for a few steps (see `TINY`)."""
    networks_only(monkeypatch)
    monkeypatch.setattr("anagram.training.ladder.LEVELS", (65, 150))
    monkeypatch.setattr("anagram.training.ladder.DEPTHS", (2,))


TINY = {"steps": 12, "tol": 1e-4}


def rungs_of_all_kinds(monkeypatch):
    """Two wide networks that are far too narrow, a small network, and features on top of it (see `WAVES`)."""
    wide = {
        "SIZES": (6, 8, 130),
        "FIRST": {1: 6},
        "STEEPNESS": {1: 0.2},
        "RACE": (1.0,),
        "EDGE": {},
        "ASTRAY": 1.0,
        "PAYS": np.inf,
        "GOT_HOLD": 1.0,
        "ABOVE": 1.0,
    }
    for name, value in wide.items():
        monkeypatch.setattr(f"anagram.training.wide.{name}", value)
    monkeypatch.setattr("anagram.training.ladder.LEVELS", (65,))
    monkeypatch.setattr("anagram.training.ladder.DEPTHS", (2,))


WAVES = {"steps": 30, "tol": 1e-4}


class Killed(BaseException):
    """The end of the process, as far as a run can tell."""


class At:
    """A monitor that acts once, on a rung at a step."""

    def __init__(self, rung, step, act):
        self.rung, self.step, self.act = rung, step, act
        self.begun, self.done = -1, False

    def __call__(self, record):
        self.begun += record["step"] == 0
        if not self.done and (self.begun, record["step"]) == (self.rung, self.step):
            self.done = True
            return self.act()
        return None


def kill():
    raise Killed


def press():
    """Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


def without_clock(rungs):
    """Rungs as a file has them, without what differs from run to run."""
    return [{k: v for k, v in rung.items() if "seconds" not in k} for rung in json.loads(json.dumps(rungs))]


def assert_same_climb(a, b):
    np.testing.assert_array_equal(a.theta, b.theta)
    assert without_clock(a.rungs) == without_clock(b.rungs)
    np.testing.assert_array_equal(a.history.steps["loss"], b.history.steps["loss"])
    for key in ("steps", "total_steps", "loss", "validation_loss", "tol", "reached", "stopped_because", "model"):
        assert a.summary[key] == b.summary[key], key
    assert a.relative_error_estimate == b.relative_error_estimate
    assert a.summary["error_estimate"] == b.summary["error_estimate"]
