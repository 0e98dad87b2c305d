import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.fields import Field, Frame
from tolerances import assert_close

FRAME = Frame(("t", "x"))
SPACE = Frame(("x", "y"))
POINT = jnp.array([0.3, -0.7])


def wave(frame=FRAME):
    """e^{2t} sin 3x, in the first and second coordinate."""
    return Field(lambda p: jnp.exp(2 * p[0]) * jnp.sin(3 * p[1]), frame)


def value(a, b):
    return np.exp(2 * a) * np.sin(3 * b)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda u: u + 1, lambda v: v + 1),
        (lambda u: 1 - u, lambda v: 1 - v),
        (lambda u: 2 * u * u, lambda v: 2 * v * v),
        (lambda u: u - u**3, lambda v: v - v**3),
        (lambda u: 1 / (2 + u), lambda v: 1 / (2 + v)),
        (lambda u: 2**u, lambda v: 2**v),
        (lambda u: -u / 3, lambda v: -v / 3),
        (abs, abs),
        (lambda u: +u, lambda v: v),
        (lambda u: np.exp(u), np.exp),
        (lambda u: np.float64(2) * u, lambda v: 2 * v),
        (lambda u: jnp.asarray(2.0) * u + jnp.asarray(1.0), lambda v: 2 * v + 1),
        (lambda u: u.map(jnp.tanh), np.tanh),
        (lambda u: u.map(jnp.arctan2, 2.0), lambda v: np.arctan2(v, 2.0)),
    ],
)
def test_algebra_agrees_with_numbers(expression, expected):
    assert_close(expression(wave()).at(POINT), expected(value(0.3, -0.7)))


def test_derivatives_of_every_order():
    u, (t, x) = wave(), (0.3, -0.7)
    e, s, c = np.exp(2 * t), np.sin(3 * x), np.cos(3 * x)
    cases = {
        ("t",): 2 * e * s,
        ("x",): 3 * e * c,
        ("x", "x"): -9 * e * s,
        ("t", "x"): 6 * e * c,
        ("x", "t", "x"): -18 * e * s,
        ("x",) * 3: -27 * e * c,
        ("x",) * 4: 81 * e * s,
        ("x",) * 7: -(3**7) * e * c,
        ("t",) * 3 + ("x",) * 3: 8 * -27 * e * c,
        ("t", "x", "x", "x", "t"): 4 * -27 * e * c,
    }
    found = jax.jit(lambda point: [u.d(*axes).at(point) for axes in cases])(POINT)
    for axes, value in zip(cases, found, strict=True):
        assert_close(value, cases[axes], what=str(axes))


def test_high_orders_through_a_network():
    model = ag.ParametricModel(
        ag.Problem(ag.Box(x=(0, 1)), c=ag.Condition(lambda u: u)).sought, ag.MLP(6, 6, activation="gelu"), 1
    )
    u = model.quantities(model.theta, Frame(("x",)))["u"]
    nested = u
    for _ in range(4):
        nested = nested.d("x")
    point = jnp.array([0.4])
    one, other = jax.jit(lambda p: (u.d("x", "x", "x", "x").at(p), nested.at(p)))(point)
    assert_close(one, other, 1e-10)
    third = jax.jit(lambda t: model.quantities(t, Frame(("x",)))["u"].d("x", "x", "x").at(point))
    h = 1e-6 * jnp.ones_like(model.theta)
    pulled = jax.jit(jax.grad(third))(model.theta)
    assert_close((third(model.theta + h) - third(model.theta - h)) / 2, pulled @ h, 1e-6)


def test_taylor_mode_does_not_grow_exponentially():
    def size(order):
        u = Field(lambda p: jnp.tanh(jnp.sin(p[0])), Frame(("x",)))
        return str(jax.make_jaxpr(u.d(*["x"] * order).at)(jnp.array([0.3]))).count("\n")

    assert size(8) < 4.5 * size(4)  # quadratic; nested forward mode would give a factor of 16


def test_primitives_without_a_taylor_rule_fall_back():
    u = Field(lambda p: jax.lax.lgamma(p[0]), Frame(("x",)))
    assert_close(u.d("x", "x", "x").at(jnp.array([2.0])), jax.scipy.special.polygamma(2, 2.0), 1e-10)


@pytest.mark.parametrize("activation", ["softplus", "silu", "sigmoid", "gaussian", "sin"])
def test_every_activation_has_high_derivatives(activation):
    from anagram.models.mlp import ACTIVATIONS

    u = Field(lambda p: ACTIVATIONS[activation](p[0]), Frame(("x",)))
    nested = u.d("x").d("x").d("x")
    assert_close(u.d("x", "x", "x").at(jnp.array([0.4])), nested.at(jnp.array([0.4])), 1e-10)


def test_vector_calculus():
    u = wave(SPACE)
    x, y = 0.3, -0.7
    assert_close(u.laplacian().at(POINT), (4 - 9) * value(x, y))
    assert_close(ag.laplacian(u, "x").at(POINT), 4 * value(x, y))
    gradient = ag.gradient(u)
    assert_close(jnp.stack([g.at(POINT) for g in gradient]), [2 * value(x, y), 3 * np.exp(0.6) * np.cos(-2.1)])
    assert_close(ag.divergence(gradient).at(POINT), u.laplacian().at(POINT))


def test_normal_derivative():
    normal = jnp.array([0.0, -1.0])
    u = wave(Frame(("x", "y"), normal))
    assert_close((2 * u).normal_derivative().at(POINT), -2 * 3 * np.exp(0.6) * np.cos(-2.1))


def test_complex_fields():
    psi = Field(lambda p: jnp.exp(1j * (p[0] + 2 * p[1])), FRAME)
    v = np.exp(1j * (0.3 - 1.4))
    assert_close((1j * psi.d("t") + psi.d("x", "x")).at(POINT), -v - 4 * v)
    assert_close(psi.real.at(POINT), v.real)
    assert_close(psi.imag.d("x").at(POINT), 2 * v.real)
    assert_close((psi * psi.conj()).at(POINT), 1 + 0j)
    assert_close(abs(psi).at(POINT), 1.0)
    assert_close(psi.d("x", "x", "x").at(POINT), (2j) ** 3 * v)


def test_calling_by_position_and_by_name():
    u = wave()
    assert_close(u(0.3, -0.7), value(0.3, -0.7))
    assert_close(u(x=-0.7, t=0.3), value(0.3, -0.7))
    with pytest.raises(ag.ProblemError, match="exactly the coordinates t, x"):
        u(0.3)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda u: u.d("z"), "no axis 'z'; the axes are t, x|no axis 'z' here"),
        (lambda u: u.d(), "name the axis"),
        (lambda u: u.d(0), "by axis name"),
        (lambda u: u.laplacian(), "include the time 't'"),
        (lambda u: u.normal_derivative(), "only on a face"),
        (lambda u: u + (lambda t, x: t), "domain.field"),
        (lambda u: u + wave(SPACE), "cannot be combined"),
        (lambda u: ag.divergence((u, u), "x"), "needs 1 fields, 2 were given"),
        (lambda u: ag.divergence(()), "none was given"),
        (lambda u: 1 if u else 0, "no truth value"),
        (lambda u: u > 0, "no truth value"),
        (lambda u: list(u), "cannot be unpacked"),
    ],
)
def test_mistakes_are_named(mistake, message):
    with pytest.raises(ag.ProblemError, match=message):
        mistake(wave())
