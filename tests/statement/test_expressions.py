import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.evaluation import evaluate, evaluate_many
from anagram.statement.expressions import Apply, Leaf, Number, bound, free_numbers, postorder
from anagram.statement.fields import Field, Frame, coordinate, named_number, symbol
from tolerances import assert_close

AXES = ("t", "x")
FRAME = Frame(AXES)
POINT = jnp.array([0.3, -0.7])


def plain_u(p):
    return 1.5 + jnp.exp(0.4 * p[0]) * jnp.sin(2 * p[1])


def plain_v(p):
    return 2.0 + jnp.cos(p[0] * p[1] + 0.5)


def plain_psi(p):
    return jnp.exp(1j * (p[0] + 2 * p[1])) * (1 + p[0])


PLAIN = {"u": plain_u, "v": plain_v, "psi": plain_psi}


def of(function, *values):
    """A function of fields, or of numbers."""
    return values[0].map(function, *values[1:]) if isinstance(values[0], Field) else function(*values)


def numpys(name, value):
    """NumPy's function of a field, or of a number."""
    return getattr(np, name)(value) if isinstance(value, Field) else getattr(jnp, name)(value)


class Steep(eqx.Module):
    """A function without a hash."""

    factor: jax.Array

    def __call__(self, v):
        return jnp.tanh(self.factor * v)


EXPRESSIONS = {
    "sum": lambda u, v, x: u + v - 3.0,
    "difference": lambda u, v, x: 1 - u - (v - u),
    "product": lambda u, v, x: u * v * x,
    "multiple": lambda u, v, x: 2 * (-u) / 3 + np.float64(0.3) * v,
    "quotient": lambda u, v, x: u / v,
    "quotient of a number": lambda u, v, x: 1 / (u * v),
    "square": lambda u, v, x: (u + x) ** 2,
    "powers": lambda u, v, x: u**3 - v**-2 + u**1 + v**0,
    "real power": lambda u, v, x: u**1.5,
    "power of a field": lambda u, v, x: u**v,
    "power of a number": lambda u, v, x: 2**u,
    "map": lambda u, v, x: of(jnp.tanh, u),
    "map of two": lambda u, v, x: of(jnp.arctan2, u, v),
    "map with a number": lambda u, v, x: of(jnp.hypot, u, 0.7),
    "numpy": lambda u, v, x: numpys("exp", u) * numpys("sin", x * v),
    "nested": lambda u, v, x: numpys("log", u * u + of(jnp.cosh, v / (1 + u**2))) / numpys("sqrt", v),
    "shared": lambda u, v, x: (u * v) * (u * v) + (u * v),
    "module": lambda u, v, x: of(Steep(jnp.asarray(1.3)), u * v),
    "coordinates": lambda u, v, x: x**2 * u + numpys("sin", x),
    "absolute value": lambda u, v, x: abs(u - 5) * v,
}
ORDERS = [("t",), ("x",), ("x", "x"), ("t", "x"), ("t", "t", "x"), ("x",) * 3]


def nested_jvp(function, axes):
    for axis in axes:
        direction = jnp.eye(len(AXES))[AXES.index(axis)]
        function = lambda p, function=function, direction=direction: jax.jvp(function, (p,), (direction,))[1]
    return function


def symbols(*names):
    return [symbol(name, FRAME) for name in names]


def with_functions(*fields, named=None, numbers=None):
    """Expressions in names, with the functions of these names in their places."""
    leaves = {name: Field(function, FRAME).node for name, function in PLAIN.items()}
    return bound([field.node for field in fields], leaves, named, numbers)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_derivatives_are_those_of_a_plain_function(name):
    expression = EXPRESSIONS[name]
    field = expression(*symbols("u", "v"), coordinate("x", FRAME))
    plain = lambda p: expression(plain_u(p), plain_v(p), p[1])
    nodes = with_functions(field, *(field.d(*axes) for axes in ORDERS))

    @jax.jit
    def both(p):
        return jnp.stack(evaluate(nodes, p)), jnp.stack([plain(p), *(nested_jvp(plain, axes)(p) for axes in ORDERS)])

    found, expected = both(POINT)
    for value, wanted, axes in zip(found, expected, ["value", *ORDERS], strict=True):
        assert_close(value, wanted, 1e-11, f"{name} {axes}", scale=max(1.0, float(jnp.max(jnp.abs(expected)))))
    # At many points at once, and without compiling.
    points = np.stack([POINT, POINT + 0.2])
    assert_close(np.stack(evaluate_many(nodes, points))[:, 0], expected, 1e-11)


def test_products_are_differentiated_however_they_are_written():
    """∇·(k∇u) with k = v + x², against Σ ∂(k ∂u)."""
    u, v = symbols("u", "v")
    k = v + coordinate("x", FRAME) ** 2
    written = sum((k * u.d(axis)).d(axis) for axis in AXES)
    expanded = sum(k.d(axis) * u.d(axis) + k * u.d(axis, axis) for axis in AXES)
    found, expected = jax.jit(lambda p: tuple(evaluate(with_functions(written, expanded), p)))(POINT)
    assert_close(found, expected)


def test_the_end_is_derivatives_of_leaves_alone():
    """Nothing is left of a derivative of a product or of a function but derivatives of the unknowns."""
    u, v = symbols("u", "v")
    (root,) = with_functions(((u * v).d("x") / (1 + np.exp(u))).d("t", "x"))
    kinds = {type(node) for node in postorder([root])}
    assert kinds == {Apply, Leaf, Number}
    orders = {leaf.index for leaf in postorder([root]) if isinstance(leaf, Leaf)}
    assert max(sum(index) for index in orders) == 3


def test_what_does_not_vary_has_no_derivative():
    u, _ = symbols("u", "v")
    for constant in (0 * u.d("x") + named_number("k", FRAME), named_number("k", FRAME) ** 2, u(t=0.0, x=0.0)):
        nodes = with_functions(constant.d("x"), named={"k": 3.0})
        assert_close(evaluate(nodes, POINT)[0], 0.0)


def test_the_same_derivative_is_the_same_node():
    u, _ = symbols("u", "v")
    assert u.d("t", "x").node is u.d("x", "t").node
    assert u.d("x").d("x").node is u.d("x", "x").node


def test_values_elsewhere():
    """Inside an operator u(t=0, x=0) is a number: that of the unknown there."""
    u, v = symbols("u", "v")
    there = jnp.array([0.1, 0.2])
    operator = u * u(t=0.1, x=0.2) + (u.d("x") * v)(0.1, 0.2) * v
    nodes = with_functions(operator, operator.d("x"))

    def plain(p):
        fixed = nested_jvp(plain_u, ("x",))(there) * plain_v(there)
        return plain_u(p) * plain_u(there) + fixed * plain_v(p)

    found, expected = jax.jit(lambda p: (evaluate(nodes, p), [plain(p), nested_jvp(plain, ("x",))(p)]))(POINT)
    assert_close(jnp.stack(found), jnp.stack(expected))
    many = evaluate_many(nodes, np.stack([POINT, POINT]))
    assert_close(np.stack(many)[:, 1], jnp.stack(expected))


def test_a_nonlocal_condition_is_solved():
    """u' = u(1) − 1 with u(0) = 0: u = cx with c = c − 1 has no solution; u' = u(1)/2 + 1 has u = 2x."""
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x") - 0.5 * u(x=1.0), equals=1.0),
        start=ag.Condition(lambda u: u, on=line.face(x=0)),
        solution=lambda x: 2 * x,
    )
    solution = ag.solve(problem, ag.Polynomial(2), "anagram", points=ag.Grid(9), steps=3, progress=False)
    assert solution.l2_error < 1e-12


def test_complex_fields():
    psi, u = symbols("psi", "u")
    expressions = [
        lambda psi, u: 1j * psi * u,
        lambda psi, u: abs(psi) ** 2 * psi if isinstance(psi, Field) else jnp.abs(psi) ** 2 * psi,
        lambda psi, u: (psi.conj() * psi).real + psi.imag * u,
        lambda psi, u: of(jnp.exp, psi / (2 + 1j)),
        lambda psi, u: psi**2 / u,
    ]
    orders = [("x",), ("t", "x"), ("x", "x")]
    for expression in expressions:
        field = expression(psi, u)
        plain = lambda p, expression=expression: expression(plain_psi(p), plain_u(p))
        nodes = with_functions(field, *(field.d(*axes) for axes in orders))
        found, expected = jax.jit(
            lambda p, nodes=nodes, plain=plain: (
                evaluate(nodes, p),
                [plain(p), *(nested_jvp(plain, o)(p) for o in orders)],
            )
        )(POINT)
        assert_close(jnp.stack(found), jnp.stack(expected), 1e-11)


# -- how often operators are called --------------------------------------------------------------------------------
def test_an_operator_is_applied_once_and_its_functions_are_traced_a_few_times():
    calls, traces = [], []

    def squared(v):
        traces.append(1)
        return v * v

    def operator(u):
        calls.append(1)
        return u.d("x", "x") + u.map(squared)

    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line, equation=ag.Condition(operator, equals=2.0), ends=ag.Condition(lambda u: u, on=line.faces("x"))
    )
    assert len(calls) == 1
    traces.clear()
    for seed in range(3):
        ag.solve(problem, ag.MLP(3), points=ag.Grid(20), steps=20, seed=seed, progress=False)
        # A few programs are traced, and once more for each run to tell that they are the same.
        assert len(traces) <= 12 + 4 * seed
    assert len(calls) == 1


# -- numbers that become arguments -----------------------------------------------------------------------------------
def heat_like(u, a, b, c):
    return a * u.d("t") - (u.d("x") * b).d("x") + u / c + (u - a) * u


def test_free_numbers_are_those_of_arithmetic_in_order():
    (u,) = symbols("u")
    operator = 0.5 * u.d("t") - u.d("x", "x") / 7 + u**3 + u.map(jnp.hypot, 0.7) + (2.0 * u)(t=0, x=0) + 1j * u
    assert [number.value for number in free_numbers([operator.node])] == [0.5, 7]


@pytest.mark.parametrize("numbers", [(0.5, 2.0, 3.0), (-1.5, 0.25, 4.0)])
def test_other_numbers_give_the_operator_with_these_numbers(numbers):
    (u,) = symbols("u")
    stated, wanted = heat_like(u, 1.25, 1.5, 1.75), heat_like(u, *numbers)
    there = {1.25: numbers[0], 1.5: numbers[1], 1.75: numbers[2]}
    order = [there[number.value] for number in free_numbers([stated.node])]
    found, expected = jax.jit(
        lambda p, order: (evaluate(with_functions(stated, numbers=order), p), evaluate(with_functions(wanted), p))
    )(POINT, order)
    assert_close(found[0], expected[0])


def test_a_number_that_is_used_twice_is_one_argument():
    (u,) = symbols("u")
    scaled = 3.0 * u
    assert len(free_numbers([(scaled + scaled.d("x")).node])) == 1
    (root,) = with_functions(scaled + scaled.d("x"), numbers=[5.0])
    value = lambda p: 5 * (plain_u(p) + nested_jvp(plain_u, ("x",))(p))
    assert_close(evaluate([root], POINT)[0], value(POINT))


def test_numbers_of_a_whole_problem():
    """In operators with several components, and beside coefficients to be learned and normals."""
    box = ag.Box(t=(0, 1), x=(0, 1))

    def problem(a, b):
        return ag.Problem(
            box,
            equation=ag.Condition(lambda u, k: (u.d("t") - a * k * u.d("x", "x"), u.d("x") * b + u)),
            flux=ag.Condition(lambda u: b * u.normal_derivative() + u / a, on=box.faces("x")),
            coefficients={"k": 0.3},
        )

    one, other = problem(2.0, 3.0), problem(-0.5, 0.125)
    model = ag.ParametricModel(one.sought, ag.MLP(3), 0)
    numbers = ag.Compound(other, model).numbers
    batch = ag.sample(one, ag.Grid(3))
    found, expected = jax.jit(
        lambda t: (
            ag.Compound(one, model).with_numbers(numbers).residual(t, batch),
            ag.Compound(other, model).residual(t, batch),
        )
    )(model.theta)
    assert_close(found, expected)
    assert not np.allclose(found, jax.jit(ag.Compound(one, model).residual)(model.theta, batch))
