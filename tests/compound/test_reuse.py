import contextlib
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import reuse
from anagram.methods import Engd, GradientDescent
from compiling import compilations
from tolerances import assert_close

LINE = ag.Box(x=(0, 1))
POINTS = ag.GaussLegendre(20)


def bent(operator, source=2.0, **more):
    """A problem on a line with one operator and zeros at the ends."""
    return ag.Problem(
        LINE,
        equation=ag.Condition(operator, equals=source),
        ends=ag.Condition(lambda u: u, on=LINE.faces("x")),
        **more,
    )


def diffusion(number):
    """κu'' = 2: u = (x² − x)/κ."""
    return bent(lambda u: number * u.d("x", "x"), solution=lambda x: x * (x - 1) / number)


def solve(problem, method="anagram", model=ag.MLP(4), steps=6, **more):
    return ag.solve(problem, model, method, points=POINTS, steps=steps, progress=False, **more)


def fresh(problem, *args, **more):
    """What a process gives that has solved nothing before."""
    kept = reuse._KEPT.copy()
    reuse.forget()
    try:
        return solve(problem, *args, **more)
    finally:
        reuse._KEPT.update(kept)


@contextlib.contextmanager
def nothing_compiled():
    with compilations() as programs:
        yield
    assert programs == []


def fingerprint(problem, model=ag.MLP(3)):
    return ag.Compound(problem, ag.ParametricModel(problem.sought, model, 0)).fingerprint


def assert_same_run(one, other):
    assert_close(one.theta, other.theta, 0.0)
    assert_close(one.history.steps["loss"], other.history.steps["loss"], 0.0)


# -- what is the same program ---------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["anagram", "auto"])
def test_another_run_of_the_same_equations_compiles_nothing(method):
    problem, stated_again, stated_otherwise = diffusion(1.0), diffusion(1.0), diffusion(0.25)
    first = solve(problem, method)
    with nothing_compiled():
        again = solve(stated_again, method)
        other_seed = solve(problem, method, seed=1)
        other_number = solve(stated_otherwise, method)
    assert_same_run(first, again)
    assert not np.allclose(other_seed.theta, first.theta)
    assert_same_run(other_number, fresh(stated_otherwise, method))
    source = bent(lambda u: 1.0 * u.d("x", "x"), lambda x: jnp.cos(3 * x), solution=lambda x: 0 * x)
    fresh(source, method, steps=1)  # the source itself is compiled when it is first evaluated
    with nothing_compiled():
        other_source = solve(source, method)
    assert_same_run(other_source, fresh(source, method))


def test_answers_with_another_number_are_right():
    problem, other = diffusion(1.0), diffusion(-0.2)
    solve(problem, "auto", steps=60)
    with nothing_compiled():
        solution = solve(other, "auto", steps=60)
    assert solution.relative_l2_error < 1e-2
    x = np.linspace(0, 1, 7)
    assert_close(solution(x), x * (x - 1) / -0.2, 1e-2)
    # Afterwards too: residuals are those of this operator.
    assert np.max(solution.residual("equation", x[:, None])) < 2e-2
    first = solve(problem, "auto", steps=60)
    with nothing_compiled():
        residual = first.residual("equation", x[:, None])
    assert np.max(residual) < 2e-2


def test_numbers_enter_steps_with_second_variations_too():
    """ENGD reads the operator apart from the residual: u'' + a u² with several a, of which one is zero."""
    problem = lambda a: bent(lambda u: u.d("x", "x") + a * u * u)
    first = solve(problem(0.5), Engd())
    with nothing_compiled():
        other = solve(problem(30.0), Engd())
    assert_same_run(other, fresh(problem(30.0), Engd()))
    assert not np.allclose(first.theta, other.theta)
    # Whether an operator is linear is read off as it is written: a number that is zero is one like others.
    assert fingerprint(problem(0.0)) == fingerprint(problem(0.5))
    with nothing_compiled():
        none = solve(problem(0.0), Engd())
    assert_same_run(none, fresh(problem(0.0), Engd()))
    assert fingerprint(bent(lambda u: u.d("x", "x"))) != fingerprint(problem(0.0))


def test_weights_are_data():
    problem = diffusion(1.0)
    solve(problem)
    with nothing_compiled():
        other = solve(problem.restated(weights={"ends": 100.0}))
    assert_same_run(other, fresh(problem.restated(weights={"ends": 100.0})))


# -- what is not ----------------------------------------------------------------------------------------------
def ruled(a):
    """A function whose derivative is what its rule says."""

    @jax.custom_jvp
    def square(v):
        return v * v

    square.defjvp(lambda primals, tangents: (primals[0] ** 2, a * primals[0] * tangents[0]))
    return square


class Scaled(eqx.Module):
    """A function with an array inside it, and without a hash."""

    factor: jax.Array

    def __call__(self, v):
        return jnp.tanh(self.factor * v)


FUNCTIONS = {
    "a number": lambda a: lambda v: a * v,
    "an array": lambda a: lambda v: jnp.sum(jnp.asarray([1.0, a]) * v),
    "an array of NumPy": lambda a: lambda v: jnp.sum(np.array([1.0, a]) * v),
    "a long array": lambda a: lambda v: jnp.sum(np.where(np.arange(3000) == 1500, a, 0.0) * v),
    "a compiled function": lambda a: jax.jit(lambda v, table=jnp.asarray([1.0, a]): jnp.sum(table * v)),
    "a compiled closure": lambda a: _compiled_closure(jnp.asarray([1.0, a])),
    "a branch": lambda a: lambda v: jax.lax.cond(v > 0, lambda: a * v, lambda: v),
    "a loop": lambda a: lambda v: jax.lax.fori_loop(0, 2, lambda k, s: s + jnp.asarray([1.0, a])[k] * v, 0.0),
    "a partial": lambda a: functools.partial(jnp.multiply, a),
    "a module": lambda a: Scaled(jnp.asarray(a)),
    "a rule": ruled,
}


def _compiled_closure(table):
    return jax.jit(lambda v: jnp.sum(table * v))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_fields_that_do_something_else_are_other_programs(name):
    make = FUNCTIONS[name]
    operator = lambda a: lambda u: u.d("x", "x") + u.map(make(a))
    assert fingerprint(bent(operator(2.0))) == fingerprint(bent(operator(2.0)))
    assert fingerprint(bent(operator(2.0))) != fingerprint(bent(operator(2.0 + 4e-16)))


@pytest.mark.parametrize("name", ["a number", "a compiled closure", "a rule", "a module"])
def test_no_stale_results(name):
    make = FUNCTIONS[name]
    problem = lambda a: bent(lambda u: u.d("x", "x") + u.map(make(a)))
    solve(problem(2.0), "gd", steps=3)
    assert_same_run(solve(problem(5.0), "gd", steps=3), fresh(problem(5.0), "gd", steps=3))


@pytest.mark.parametrize(
    "operator",
    [
        lambda a: lambda u: u.d("x", "x") + u ** int(a),
        lambda a: lambda u: u.d("x", "x") + abs(u) ** a,
        lambda a: lambda u: u.d("x", "x") + u(x=a / 10),
        lambda a: lambda u: u.d("x", "x") + (a * u)(x=0.5),
        lambda a: lambda u: u.d("x", "x") + (complex(0, a) * u).imag,
        lambda a: lambda u: u.d("x", "x") + LINE.field(lambda x: a * x) * u,
        lambda a: lambda u: u.d("x", "x") + LINE.coordinate("x") ** int(a) * u,
        lambda a: lambda u: u.d("x", "x") + np.exp(u) if a == 2 else u.d("x", "x") + np.sin(u),
    ],
    ids=["power", "real power", "elsewhere", "inside elsewhere", "complex", "known field", "coordinate", "branch"],
)
def test_operators_that_do_something_else_are_other_programs(operator):
    assert fingerprint(bent(operator(2.0))) == fingerprint(bent(operator(2.0)))
    assert fingerprint(bent(operator(2.0))) != fingerprint(bent(operator(3.0)))


FACTOR = 1.0


def test_globals_count_when_a_problem_is_stated(monkeypatch):
    """An operator is applied once: what it reads from elsewhere is what was there then."""
    operator = lambda u: u.d("x", "x") + u.map(lambda v: FACTOR * v)
    scaled = lambda u: FACTOR * u.d("x", "x")
    before, number = bent(operator), bent(scaled)
    solve(before, "gd", steps=3)
    one = solve(number, "gd", steps=3)
    monkeypatch.setitem(globals(), "FACTOR", 7.0)
    assert_same_run(solve(number, "gd", steps=3), one)
    assert_same_run(solve(bent(scaled), "gd", steps=3), fresh(bent(scaled), "gd", steps=3))
    assert not np.allclose(solve(bent(scaled), "gd", steps=3).theta, one.theta)
    assert_same_run(solve(bent(operator), "gd", steps=3), fresh(bent(operator), "gd", steps=3))


class Bumps(eqx.Module):
    """A model of one's own: what is static in it, or whole numbers, is part of the program."""

    height: jax.Array
    places: jax.Array
    width: float = eqx.field(static=True)

    def __call__(self, x):
        return jnp.sum(self.height * jnp.exp(-(((x[0] - self.places / 4) / self.width) ** 2)))


def test_modules_of_ones_own():
    bumps = lambda width=0.5, shift=0: Bumps(jnp.ones(4), jnp.arange(4) + shift, width)
    problem = diffusion(1.0)
    solve(problem, "gd", bumps(), steps=3)
    with nothing_compiled():
        again = solve(problem, "gd", bumps(), steps=3)
    for other in (bumps(width=0.4), bumps(shift=1)):
        found = solve(problem, "gd", other, steps=3)
        assert not np.allclose(found.theta, again.theta)
        assert_same_run(found, fresh(problem, "gd", other, steps=3))


def on_box(box, order=2):
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: 1.0 * u.d(*["x"] * order), equals=1.0),
        ends=ag.Condition(lambda u: u, on=box.faces("x")),
    )


def test_activations_and_models_are_told_apart():
    problem, wide = diffusion(1.0), ag.Box(x=(0, 2))
    assert fingerprint(problem, ag.MLP(3)) != fingerprint(problem, ag.MLP(3, activation="sin"))
    assert fingerprint(problem, ag.MLP(3)) != fingerprint(problem, ag.MLP(4))
    assert fingerprint(on_box(LINE)) != fingerprint(on_box(LINE, order=1))
    for series in (ag.Polynomial(3), ag.Fourier(2)):  # they know their domain by themselves
        assert fingerprint(on_box(wide), series) != fingerprint(on_box(LINE), series)


def test_domains_and_units_of_networks_are_data():
    wide, narrow = on_box(ag.Box(x=(-1, 4))), on_box(LINE)
    assert fingerprint(wide) == fingerprint(narrow)
    assert fingerprint(narrow, ag.MLP(3, offset=2.0, size=5.0)) == fingerprint(narrow, ag.MLP(3))
    first = solve(narrow)
    with nothing_compiled():
        other = solve(wide)
    assert_same_run(other, fresh(wide))
    assert not np.allclose(first.theta, other.theta)


class Drift(GradientDescent):
    """A method that carries an array."""

    drift: jax.Array

    def __init__(self, drift):
        super().__init__()
        self.drift = jnp.asarray(drift)

    def step(self, compound, state, batch):
        return super().step(compound, state._replace(theta=state.theta + self.drift), batch)


class Along(GradientDescent):
    """A method that carries a function."""

    length: object = eqx.field(static=True)

    def __init__(self, length):
        super().__init__()
        self.length = length

    def step(self, compound, state, batch):
        theta = state.theta - self.length(state.loss) * compound.gradient(state.theta, batch)
        loss = compound.loss(theta, batch)
        no = jnp.asarray(False)
        return state._replace(theta=theta, loss=loss), {"loss": loss, "failed": no, "stuck": no}


@pytest.mark.parametrize("make", [Drift, lambda a: Along(lambda loss: a * 0.01)], ids=["an array", "a function"])
def test_methods_with_something_inside_are_like_no_other(make):
    problem = diffusion(1.0)
    one, other = (solve(problem, make(a), steps=2) for a in (0.01, 0.02))
    assert not np.allclose(one.theta, other.theta)


def test_methods_of_the_same_name_are_told_apart():
    """As in a notebook, where a class is written again."""

    def make(sign):
        class Mine(GradientDescent):
            def step(self, compound, state, batch):
                new, info = super().step(compound, state, batch)
                return new, info | {"ratio": jnp.asarray(sign)}

        return Mine()

    for sign in (1.0, -1.0):
        assert np.all(solve(diffusion(1.0), make(sign), steps=2).history.steps["ratio"] == sign)


# -- keeping ----------------------------------------------------------------------------------------------------
def test_what_was_not_used_for_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(reuse, "_KEPT", type(reuse._KEPT)())
    monkeypatch.setattr(reuse, "MOST", 2)
    made = []

    def make(key):
        return reuse.reuse(key, lambda: made.append(key) or key)

    assert [make(key) for key in ("a", "b", "a", "c", "a", "b")] == ["a", "b", "a", "c", "a", "b"]
    assert made == ["a", "b", "c", "b"]
    reuse.forget()
    make("a")
    assert make(None) is make(None) is None
    assert made == ["a", "b", "c", "b", "a", None, None]


def test_shapes_tell_arrays_apart():
    texts = [
        reuse.shapes_text(tree)
        for tree in (jnp.zeros(3), jnp.zeros(4), jnp.zeros(3, int), {"a": jnp.zeros(3)}, {"b": jnp.zeros(3)}, 1.0)
    ]
    assert len(set(texts)) == len(texts)
    assert reuse.shapes_text(jnp.asarray(1.0)) == reuse.shapes_text(np.float64(2.0))
