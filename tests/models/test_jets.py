import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.models import parametric
from anagram.models.jets import HIGHEST_ORDER, activation_derivatives, partitions
from anagram.models.mlp import ACTIVATIONS
from anagram.models.parametric import ModelSource
from anagram.statement.evaluation import nested
from anagram.statement.expressions import LeafSum, Wanted, postorder
from anagram.statement.sums import with_sums
from tolerances import ACCUMULATED, assert_close

BOX = ag.Box(t=(0, 2), x=(-1, 1))
RING = ag.Box(t=(0, 2), x=ag.periodic(-1, 1.5))
CUBE = ag.Box(x=(0, 1), y=(-1, 1), z=(0, 2))
KEY = jax.random.key(3)
POINT = jnp.array([0.7, 0.2])


# -- activations ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_of_activations(name):
    """Against nested forward mode, at points near zero and far away."""
    z = jnp.linspace(-4.0, 4.0, 9)
    order = 6 if name not in ("gelu", "silu") else 5

    def both(z):
        function, expected = ACTIVATIONS[name], []
        for _ in range(order + 1):
            expected.append(function(z))
            function = lambda v, f=function: jax.jvp(f, (v,), (jnp.ones_like(v),))[1]
        return jnp.stack(activation_derivatives(name, z, order)), jnp.stack(expected)

    found, expected = jax.jit(both)(z)
    for k in range(order + 1):
        assert_close(found[k], expected[k], 1e-11, f"order {k}")


def test_partitions_are_counted():
    """As many as the Bell numbers; those of ∂x²∂y are written out."""
    for order, bell in enumerate((1, 1, 2, 5, 15, 52, 203, 877)):
        assert sum(count for count, _ in partitions((order,))) == bell
        assert sum(count for count, _ in partitions((order // 2, order - order // 2))) == bell
    found = {tuple(sorted(blocks)): count for count, blocks in partitions((2, 1))}
    assert found == {
        ((2, 1),): 1,
        ((0, 1), (2, 0)): 1,
        ((1, 0), (1, 1)): 2,
        ((0, 1), (1, 0), (1, 0)): 1,
    }


# -- single derivatives ----------------------------------------------------------------------------------------------
INDICES = [(0, 0), (1, 0), (0, 2), (1, 1), (2, 1), (0, 3), (2, 2), (0, 4)]


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_derivatives_of_networks(activation):
    network = _wavy(ag.MLP(5, 4, activation=activation).build(BOX, 2, KEY))
    _compare(network, INDICES)


@pytest.mark.parametrize("index", [(5,), (6,), (HIGHEST_ORDER,)])
def test_high_orders(index):
    line = ag.Box(x=(0, 2))
    _compare(_wavy(ag.MLP(4, 4).build(line, 1, KEY)), [index, (1,)], jnp.array([0.6]), 1e-10)


def test_mixed_orders_of_three_axes():
    network = _wavy(ag.MLP(4, 3).build(CUBE, 1, KEY))
    _compare(network, [(1, 1, 1), (2, 0, 2), (1, 2, 1), (0, 0, 1)], jnp.array([0.3, 0.4, 1.1]))


@pytest.mark.parametrize("widths", [(6,), (3, 4, 5, 2)])
def test_depths(widths):
    _compare(_wavy(ag.MLP(*widths).build(BOX, 1, KEY)), INDICES[:6])


def test_unscaled_networks():
    _compare(_wavy(ag.MLP(5, scale=0).build(BOX, 1, KEY)), INDICES[:6])


@pytest.mark.parametrize(("activation", "scale"), [("tanh", 1.0), ("gelu", 2.0), ("sin", 0.0)])
def test_periodic_axes(activation, scale):
    _compare(_wavy(ag.MLP(5, 4, activation=activation, scale=scale).build(RING, 2, KEY)), INDICES)


@pytest.mark.parametrize("widths", [(6,), (3, 4, 5)])
def test_periodic_axes_among_others(widths):
    torus = ag.Box(x=ag.periodic(0, 1), y=(-1, 1), z=ag.periodic(0, 2))
    indices = [(1, 1, 1), (2, 0, 2), (1, 2, 1), (0, 0, 3), (0, 1, 0), (3, 0, 1)]
    _compare(_wavy(ag.MLP(*widths).build(torus, 1, KEY)), indices, jnp.array([0.3, 0.4, 1.1]))


def test_high_orders_around_a_ring():
    ring = ag.Box(x=ag.periodic(0, 2))
    _compare(_wavy(ag.MLP(4, 4).build(ring, 1, KEY)), [(HIGHEST_ORDER,), (1,)], jnp.array([0.6]), 1e-10)


def test_networks_are_periodic_with_all_derivatives():
    network = _wavy(ag.MLP(5, 4).build(RING, 2, KEY))
    jets = jax.jit(lambda x: network.jets(x, INDICES, [])[0])
    here, there = (jets(jnp.array([0.7, x])) for x in (-0.8, -0.8 + 3 * 2.5))
    for index in INDICES:
        assert_close(there[index], here[index], 1e-11, str(index))


def _wavy(network):
    """With biases that are not zero."""
    rng = np.random.default_rng(1)
    biases = [jnp.asarray(rng.normal(size=bias.shape)) for bias in network.biases]
    return eqx.tree_at(lambda n: n.biases, network, biases)


def _compare(network, indices, point=POINT, tolerance=1e-11):
    def both(x):
        values, _ = network.jets(x, indices, [])
        return [values[i] for i in indices], [nested(network, i)(x) for i in indices]

    for found, expected, index in zip(*jax.jit(both)(point), indices, strict=True):
        assert_close(found, expected, tolerance, str(index))


# -- sums --------------------------------------------------------------------------------------------------------------
def test_sums_of_derivatives_of_the_highest_order():
    """With units, numbers, and numbers that are not known yet; the same sum twice; beside single derivatives."""
    network = _wavy(ag.MLP(5, 4).build(CUBE, 2, KEY))
    point = jnp.array([0.3, 0.4, 1.1])
    laplacian = lambda a, b, c: (((2, 0, 0), a), ((0, 2, 0), b), ((0, 0, 2), c))

    def both(x, number):
        sums = [
            laplacian(1, 1, 1),
            laplacian(1.0, -2.5, number),
            laplacian(1.0, 1.0, 1.0),
            laplacian(x[0], x[1], -1.0),
            (((1, 0, 0), 2.0), ((0, 1, 0), -1.0)),
        ]
        singles = [(1, 0, 0), (1, 1, 0)]
        values, totals = network.jets(x, singles, sums)
        expected = [sum(c * nested(network, i)(x) for i, c in terms) for terms in sums]
        return [*totals, *values.values()], [*expected, *(nested(network, i)(x) for i in singles)]

    for found, expected in zip(*jax.jit(both)(point, 0.3), strict=True):
        assert_close(found, expected, 1e-11)


@pytest.mark.parametrize("order", [3, 4])
def test_sums_of_higher_orders(order):
    network = _wavy(ag.MLP(4, 4).build(BOX, 1, KEY))
    terms = (((order, 0), 1.0), ((0, order), -0.5), ((1, order - 1), 2.0))
    found, expected = jax.jit(
        lambda x: (network.jets(x, [(0, 0)], [terms])[1][0], sum(c * nested(network, i)(x) for i, c in terms))
    )(POINT)
    assert_close(found, expected, 1e-11)


def test_sums_around_rings():
    torus = ag.Box(x=ag.periodic(0, 1), y=(-1, 1), z=ag.periodic(0, 2))
    network = _wavy(ag.MLP(5, 4).build(torus, 2, KEY))
    laplacian = (((2, 0, 0), 1), ((0, 2, 0), 1), ((0, 0, 2), 1))

    def both(x, number):
        sums = [laplacian, (((0, 2, 0), 1.0), ((0, 1, 1), number)), (((1, 0, 0), 2.0), ((0, 1, 0), number))]
        expected = [sum(c * nested(network, i)(x) for i, c in terms) for terms in sums]
        return network.jets(x, [(0, 0, 0)], sums)[1], expected

    for found, expected in zip(*jax.jit(both)(jnp.array([0.3, 0.4, 1.1]), 0.3), strict=True):
        assert_close(found, expected, 1e-11)


def sums_in(problem, key="equation"):
    model = ag.ParametricModel(problem.sought, ag.MLP(3), 0)
    compound = ag.Compound(problem, model)
    quantities = model.quantities(model.theta, problem.domain.frame)
    from anagram.statement.condition import with_fields

    normal = jnp.ones(problem.domain.dimension)
    nodes = with_fields(
        problem.expressions[key], quantities, problem.domain.axes, normal, list(compound.numbers.operators[key])
    )
    return [node.terms for node in postorder(with_sums(nodes)) if isinstance(node, LeafSum)]


def test_which_sums_are_made():
    """Those of the highest order alone, of derivatives that are read nowhere else."""
    one = lambda operator: ag.Problem(CUBE, equation=ag.Condition(operator))
    assert [len(terms) for terms in sums_in(one(lambda u: u.laplacian()))] == [3]
    assert [len(terms) for terms in sums_in(one(lambda u: u * u.d("x") - 0.1 * u.laplacian() + u))] == [3]
    assert [len(terms) for terms in sums_in(one(lambda u: u.d("x", "x") + 2 * u.d("y", "y") - u.d("x")))] == [2]
    # u_xx is read twice, and by itself: it stays.
    assert sums_in(one(lambda u: (u.d("x", "x") + u.d("y", "y"), u.d("x", "x")))) == []
    # u_x is part of u_xx; a sum of it with u_y would have to be carried beside it.
    terms = sums_in(one(lambda u: u.d("x") + u.d("y") + u.d("x", "x")))
    assert all(index != (1, 0, 0) for sum_ in terms for index, _ in sum_)


# -- unknowns ----------------------------------------------------------------------------------------------------------
SYSTEM = ag.Problem(
    BOX,
    c=ag.Condition(lambda u, psi, v: (u, psi, v)),
    unknowns={"u": float, "psi": complex, "v": float},
)


class Bumps(eqx.Module):
    """A model of one's own: its derivatives are taken one by one."""

    height: jax.Array
    outputs: int = eqx.field(static=True)

    def __call__(self, x):
        waves = jnp.sin(jnp.arange(1, self.height.size + 1) * (x[0] + 0.5 * x[1]))
        return jnp.stack([jnp.sum(self.height * waves) * (k + 1) + x[0] ** k for k in range(self.outputs)])


MODELS = {
    "one network": ag.MLP(5, 4),
    "a network for each": {"u": ag.MLP(3), "psi": ag.MLP(4, activation="sin"), "v": ag.MLP(2, 2)},
    "of one's own": Bumps(jnp.array([0.3, -0.2, 0.5]), 4),
    "some of one's own": {"u": ag.MLP(3), "psi": Bumps(jnp.ones(2), 2), "v": ag.Polynomial(4)},
    "series": ag.Fourier(2),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_unknown_gets_its_own_derivatives(kind):
    model = ag.ParametricModel(SYSTEM.sought, MODELS[kind], 2)
    theta = model.theta + 0.1 * jnp.cos(jnp.arange(model.parameters))
    lap = (((2, 0), 1.0), ((0, 2), -3.0))
    wanted = {
        "v": Wanted([(0, 0), (1, 1)], [lap]),
        "psi": Wanted([(1, 0), (0, 3)], [lap, (((1, 1), 2.0), ((2, 0), 1.0))]),
    }

    def component(name):
        places = {"u": lambda y: y[0], "psi": lambda y: y[1] + 1j * y[2], "v": lambda y: y[3]}
        return lambda x: places[name](model.values(theta, x))

    def both(x):
        found = model.source(theta).derivatives(x, wanted)
        values, expected = [], []
        for name, which in wanted.items():
            values += [*(found[name].values[i] for i in which.indices), *found[name].sums]
            expected += [nested(component(name), i)(x) for i in which.indices]
            expected += [sum(c * nested(component(name), i)(x) for i, c in terms) for terms in which.sums]
        return values, expected

    for found, expected in zip(*jax.jit(both)(POINT), strict=True):
        assert_close(found, expected, 1e-11)


# -- operators: residual, features and second derivatives -----------------------------------------------------
PLANE = ag.Box(x=(0, 1), y=(0, 1))
FIVE = ag.Box(**{f"x{k}": (0, 1) for k in range(5)})
FLOW = ag.Box(t=(0, 1), x=(0, 1), y=(0, 1))


def biharmonic(u):
    return u.d("x", "x", "x", "x") + 2 * u.d("x", "x", "y", "y") + u.d("y", "y", "y", "y")


def navier_stokes(u, v, p):
    advected = lambda w: w.d("t") + u * w.d("x") + v * w.d("y") - 0.01 * w.laplacian("x", "y")
    return advected(u) + p.d("x"), advected(v) + p.d("y"), u.d("x") + v.d("y")


PROBLEMS = {
    "korteweg-de vries on a ring": ag.Problem(
        RING, c=ag.Condition(lambda u: u.d("t") + u * u.d("x") + 0.1 * u.d("x", "x", "x"))
    ),
    "heat on a ring": ag.Problem(RING, c=ag.Condition(lambda u: u.d("t") - 0.25 * u.d("x", "x"))),
    "laplace": ag.Problem(PLANE, c=ag.Condition(lambda u: -u.laplacian())),
    "laplace in five dimensions": ag.Problem(FIVE, c=ag.Condition(lambda u: u.laplacian())),
    "variable coefficients": ag.Problem(
        PLANE,
        c=ag.Condition(lambda u: sum(((1 + PLANE.coordinate("x") * u.d(axis)).d(axis) for axis in "xy"), start=0 * u)),
    ),
    "heat": ag.Problem(BOX, c=ag.Condition(lambda u: u.d("t") - 0.25 * u.d("x", "x"))),
    "burgers": ag.Problem(BOX, c=ag.Condition(lambda u: u.d("t") + u * u.d("x") - 0.01 / np.pi * u.d("x", "x"))),
    "allen-cahn": ag.Problem(BOX, c=ag.Condition(lambda u: u.d("t") - 1e-4 * u.d("x", "x") + 5 * (u**3 - u))),
    "biharmonic": ag.Problem(PLANE, c=ag.Condition(biharmonic)),
    "laplacian of a laplacian": ag.Problem(PLANE, c=ag.Condition(lambda u: u.laplacian().laplacian())),
    "schroedinger": ag.Problem(
        BOX,
        c=ag.Condition(lambda psi: 1j * psi.d("t") + 0.5 * psi.d("x", "x") + abs(psi) ** 2 * psi),
        unknowns={"psi": complex},
    ),
    "navier-stokes": ag.Problem(FLOW, c=ag.Condition(navier_stokes), unknowns=("u", "v", "p")),
    "normal derivative": ag.Problem(PLANE, c=ag.Condition(lambda u: u.normal_derivative(), on=PLANE.boundary())),
    "normal derivative of a laplacian": ag.Problem(
        PLANE, c=ag.Condition(lambda u: u.laplacian().normal_derivative() + u, on=PLANE.boundary())
    ),
    "anisotropic, with a coefficient": ag.Problem(
        PLANE,
        c=ag.Condition(lambda u, k: k * u.d("x", "x") + 3 * u.d("y", "y") - u.d("x", "y") / 2),
        coefficients={"k": 0.7},
    ),
    "nonlinear in second derivatives": ag.Problem(
        PLANE, c=ag.Condition(lambda u: u.d("x", "x") * u.d("y", "y") - u.d("x", "y") ** 2 + np.exp(u))
    ),
}


class OneByOne(ModelSource):
    """All derivatives by nested forward mode, none of them summed."""

    adds_up = False

    def derivatives(self, x, wanted):
        assert not any(which.sums for which in wanted.values())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parametric, "HIGHEST_ORDER", -1)
            return super().derivatives(x, wanted)


class Slow(ag.ParametricModel):
    def source(self, theta):
        fast = super().source(theta)
        return OneByOne(fast.module, fast.sought)


@pytest.mark.parametrize("name", PROBLEMS)
def test_residual_features_and_second_derivatives_of_operators(name):
    problem = PROBLEMS[name]
    fast, slow = (ag.Compound(problem, kind(problem.sought, ag.MLP(4, 3), 1)) for kind in (ag.ParametricModel, Slow))
    batch = ag.sample(problem, ag.Uniform(3), seed=4)
    theta = fast.model.theta + 0.2 * jnp.cos(jnp.arange(fast.model.parameters))
    direction = jnp.sin(1.0 + jnp.arange(theta.size))

    def everything(compound):
        residual, features = compound.features(theta, batch)
        return residual, features, compound.second(theta, batch, direction)

    found, expected = jax.jit(lambda: (everything(fast), everything(slow)))()
    for one, other, what in zip(found, expected, ("residual", "features", "second"), strict=True):
        assert_close(one, other, ACCUMULATED, what)


def test_both_ways_of_writing_a_biharmonic_operator_are_the_same():
    model = ag.ParametricModel(PROBLEMS["biharmonic"].sought, ag.MLP(5), 1)
    batch = ag.sample(PROBLEMS["biharmonic"], ag.Uniform(4))
    one, other = (
        jax.jit(ag.Compound(PROBLEMS[name], model).residual)(model.theta, batch)
        for name in ("biharmonic", "laplacian of a laplacian")
    )
    assert_close(one, other, 1e-11)
    assert all(sum(index) == 4 for terms in sums_in(PROBLEMS["laplacian of a laplacian"], "c") for index, _ in terms)


def test_a_laplacian_carries_one_column():
    """In d dimensions the value, d first derivatives and one sum go through the layers: not d second derivatives."""
    problem = PROBLEMS["laplace in five dimensions"]
    model = ag.ParametricModel(problem.sought, ag.MLP(4, 3), 0)
    compound = ag.Compound(problem, model)
    text = str(jax.make_jaxpr(lambda t, x: compound.operator_rows("c", t, x, None))(model.theta, jnp.ones(5)))
    assert "f64[7,4]" in text
    assert "f64[11,4]" not in text
