"""First guesses: models that begin near a function that is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.sizes import natural_sizes
from anagram.training.setting import Setting
from anagram.training.trainer import Trainer
from tolerances import assert_close

BOX = ag.Box(t=(0, 1), x=(-1, 1))


def guess(t, x):
    return 3 * jnp.sin(2 * x) * jnp.exp(-t)


def problem(**more):
    return ag.Problem(
        BOX,
        c=ag.Condition(lambda u: u.d("t") + u * u.d("x")),
        start=ag.Condition(lambda u: u, on=BOX.face(t=0), equals=lambda x: 3 * jnp.sin(2 * x), **more),
        guess=guess,
    )


@pytest.mark.parametrize(
    ("recipe", "method", "exact", "tolerance"),
    [
        (ag.MLP(8, 8), "auto", False, 0.1),
        (ag.MLP(8, 8), "auto", True, 0.1),
        (ag.Features(160, steepness=3), "newton", False, 1e-3),
        (ag.Polynomial(7), "auto", False, 1e-3),
    ],
)
def test_models_begin_near_the_guess(recipe, method, exact, tolerance):
    trainer = Trainer(problem(exact=exact), Setting(recipe, method, steps=1), 0, compile_now=False)
    x = BOX.draw(ag.Sobol(256), np.random.default_rng(1)).x
    values = jax.jit(jax.vmap(trainer.model.values, (None, 0)))(trainer.model.theta, x)[:, 0]
    assert_close(values, guess(x[:, 0], x[:, 1]), tolerance)


def test_sizes_are_those_of_the_guess():
    plain, large = problem(), problem().restated(guess=lambda t, x: 100 * guess(t, x))
    assert_close(natural_sizes(large).size[0], 100 * natural_sizes(plain).size[0], 1e-9)


def test_coefficients_keep_their_first_guesses():
    stated = ag.Problem(
        BOX, c=ag.Condition(lambda u, k: u.d("t") + k * u * u.d("x")), coefficients={"k": 2.5}, guess=guess
    )
    trainer = Trainer(stated, Setting(ag.MLP(6, 6), "auto", steps=1), 0, compile_now=False)
    assert trainer.model.coefficients(trainer.model.theta) == {"k": 2.5}


@pytest.mark.long
def test_a_solution_is_a_guess_too():
    """A run that begins with what another one found has little left to do."""
    plain = ag.Problem(
        BOX,
        c=ag.Condition(lambda u: u.d("t") - u.d("x", "x") + u**3),
        start=ag.Condition(lambda u: u, on=BOX.face(t=0), equals=lambda x: jnp.cos(x)),
    )
    first = ag.solve(plain, ag.MLP(8, 8), steps=40, progress=False)
    again = ag.solve(plain.restated(guess=first), ag.MLP(8, 8), steps=2, progress=False)
    assert again.history.blocks[0]["loss"] < 1e-2 * first.history.blocks[0]["loss"]
