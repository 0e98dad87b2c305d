"""Values elsewhere and integrals, as expressions: against functions that are known, and slow oracles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.errors import ProblemError
from anagram.models import ParametricModel
from anagram.statement.beyond import axes_read
from anagram.statement.condition import stated, with_fields
from anagram.statement.evaluation import evaluate, evaluate_many
from anagram.statement.expressions import degree
from anagram.statement.fields import Field, Frame
from oracles import dense_features
from tolerances import ACCUMULATED, assert_close

BOX = ag.Box(t=(0, 2), x=(-1, 1))
T, X = BOX.coordinate("t"), BOX.coordinate("x")
POINTS = np.array([[0.3, 0.4], [1.7, -0.9], [1.0, 0.0]])


def known(t, x):
    return jnp.exp(-t) * jnp.sin(2 * x + 0.3) + t * x**2


def known_slope(t, x):
    return 2 * jnp.exp(-t) * jnp.cos(2 * x + 0.3) + 2 * t * x


def along_x(function, count=60):
    """∫ f(s) ds over x from −1 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return sum(w * function(s) for s, w in zip(nodes, weights, strict=True))


def along_t(function, count=60):
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return sum(w * function(s + 1) for s, w in zip(nodes, weights, strict=True))


WHOLE = float(along_t(lambda t: along_x(lambda x: known(t, x))))

# Operators, and what they make of the known function at (t, x).
CASES = {
    "a place": (lambda u: u.at(x=0), lambda t, x: known(t, 0.0)),
    "another time": (lambda u: u - u.at(t=0), lambda t, x: known(t, x) - known(0.0, x)),
    "a derivative there": (lambda u: u.d("x").at(x=1), lambda t, x: known_slope(t, 1.0)),
    "the derivative of a value elsewhere": (lambda u: u.at(x=1).d("x"), lambda t, x: 0.0),
    "mirrored": (lambda u: u.at(x=lambda x: -x).d("x"), lambda t, x: -known_slope(t, -x)),
    "mirrored by a field": (lambda u: u.at(x=-X), lambda t, x: known(t, -x)),
    "twisted": (lambda u: u.at(x=T * X / 2).d("t"), lambda t, x: jax.grad(lambda s: known(s, s * x / 2))(t)),
    "twice": (lambda u: u.at(x=X / 2).at(x=0.5), lambda t, x: known(t, 0.25)),
    "depending on itself": (lambda u: u.at(x=0.1 * u), lambda t, x: known(t, 0.1 * known(t, x))),
    "a point": (lambda u: u * u(t=0.5, x=0.2), lambda t, x: known(t, x) * known(0.5, 0.2)),
    "the domain": (lambda u: ag.integral(u) * X, lambda t, x: WHOLE * x),
    "a face": (
        lambda u: ag.integral(u.normal_derivative(), over=BOX.faces("x")),
        lambda t, x: along_t(lambda s: known_slope(s, 1.0) - known_slope(s, -1.0)),
    ),
    "a part": (
        lambda u: ag.integral(u, over=ag.Box(t=(0, 1), x=(-1, 0))),
        lambda t, x: along_x(lambda a: along_x(lambda b: known(0.5 + a / 2, -0.5 + b / 2) / 4)),
    ),
    "along an axis": (
        lambda u: ag.integral(u * u.d("x") * X, over="x"),
        lambda t, x: along_x(lambda s: known(t, s) * known_slope(t, s) * s),
    ),
    "its derivative": (
        lambda u: ag.integral(u**2, over="x").d("t"),
        lambda t, x: jax.grad(lambda r: along_x(lambda s: known(r, s) ** 2))(t),
    ),
    "a kernel": (
        lambda u: u - ag.integral(lambda s: np.exp(X * s) * u.at(x=s), over="x"),
        lambda t, x: known(t, x) - along_x(lambda s: jnp.exp(x * s) * known(t, s)),
    ),
    "the derivative of a kernel": (
        lambda u: ag.integral(lambda s: np.exp(X * s) * u.at(x=s), over="x").d("x"),
        lambda t, x: along_x(lambda s: s * jnp.exp(x * s) * known(t, s)),
    ),
    "up to the point": (  # Volterra's, on a fixed interval
        lambda u: ag.integral(lambda s: T / 2 * u.at(t=T * s / 2), over="t"),
        lambda t, x: along_t(lambda s: t / 2 * known(t * s / 2, x)),
    ),
    "an integral of an integral": (
        lambda u: ag.integral(u * ag.integral(u, over="x"), over="t"),
        lambda t, x: along_t(lambda r: known(r, x) * along_x(lambda s: known(r, s))),
    ),
    "given points": (
        lambda u: ag.integral(u, over=BOX.points(t=[0, 1], x=0.5)),
        lambda t, x: known(0, 0.5) + known(1, 0.5),
    ),
}


def nodes_of(operator):
    return stated(ag.Condition(operator), BOX.frame, {"u": BOX}, [], "condition")


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case):
    """At one point, traced and mapped, and at many without JAX."""
    operator, expected = CASES[case]
    u = Field(lambda p: known(*p), Frame(BOX.axes))
    bound = with_fields(nodes_of(operator), {"u": u}, BOX.axes)
    wanted = np.array([float(expected(*point)) for point in POINTS])
    scale = max(1.0, float(np.abs(wanted).max()))
    assert_close(jax.vmap(lambda p: evaluate(bound, p)[0])(POINTS), wanted, ACCUMULATED, case, scale)
    assert_close(evaluate_many(bound, POINTS)[0], wanted, ACCUMULATED, case, scale)


def test_the_axes_that_are_read():
    def axes(operator):
        return {BOX.axes[k] for k in axes_read(nodes_of(operator), 2)}

    assert axes(lambda u: u.at(x=0)) == {"t"}
    assert axes(lambda u: u.at(x=T)) == {"t"}
    assert axes(lambda u: u.at(t=0, x=0) + ag.integral(u**2)) == set()
    assert axes(lambda u: ag.integral(u, over="t")) == {"x"}
    assert axes(lambda u: ag.integral(lambda s: X * u.at(x=s), over="x")) == {"t", "x"}
    assert axes(lambda u: ag.integral(u, over="t").at(x=0.5)) == set()
    assert axes(lambda u: ag.integral(u) * u) == {"t", "x"}


def test_degrees():
    for operator, expected in (
        (lambda u: ag.integral(u) - u.at(x=0), 1),
        (lambda u: ag.integral(u**2), 2),
        (lambda u: ag.integral(u) * u, 2),
        (lambda u: u.at(x=u), 2),
        (lambda u: ag.integral(X * u, over="x"), 1),
    ):
        assert degree(nodes_of(operator)[0]) == expected


def test_writing():
    problem = ag.Problem(
        BOX,
        equation=ag.Condition(lambda u: u.d("t") - ag.integral(u) * u),
        mass=ag.Condition(lambda u: ag.integral(u, over="x"), equals=1.0),
        flux=ag.Condition(lambda u: ag.integral(u.normal_derivative(), over=BOX.face(x=1)), equals=2.0),
        kernel=ag.Condition(lambda u: u - ag.integral(lambda s: (X + s) * u.at(x=s), over="x")),
        mirror=ag.Condition(lambda u: u.at(x=-X) - u.d("x").at(x=0.5)),
        middle=ag.Condition(lambda u: u(t=0, x=0)),
        interface=ag.Condition(lambda u: u.normal_derivative(), on=BOX.slice(x=0.5)),
    )
    assert str(problem).splitlines()[1:] == [
        "  equation: u_t − ∫_Ω u dΩ u = 0",
        "  mass: ∫ u dx = 1 for every t",
        "  flux: ∫_face(x=1) (n_t u_t + n_x u_x) dS = 2",
        "  kernel: u − ∫ (x + s) u(t, s) ds = 0",
        "  mirror: u(t, −x) − u_x(t, 0.5) = 0",
        "  middle: u(0, 0) = 0",
        "  interface: n_t u_t + n_x u_x = 0 on slice(x=0.5)",
    ]
    latex = problem._repr_latex_()
    assert r"\int u\,dx = 1" in latex
    assert r"\int_{\text{face(x=1)}}" in latex


SMALL = ag.MLP(5)
FEATURES = {
    "one row": lambda u: ag.integral(u**2),
    "inside an equation": lambda u: u.d("t") - ag.integral(u) * u + u.at(t=0, x=0) * X,
    "along an axis": lambda u: ag.integral(u * u.d("x"), over="x"),
    "a kernel": lambda u: u - ag.integral(lambda s: np.exp(X * s) * u.at(x=s), over="x"),
    "several": lambda u: (ag.integral(u) * u, u.at(t=0) - u.at(t=2)),
}


@pytest.mark.parametrize("case", FEATURES)
def test_features_are_the_derivatives_of_the_residual(case):
    """What is the same at all points is differentiated once; the oracle knows nothing of that."""
    problem = ag.Problem(BOX, condition=ag.Condition(FEATURES[case]), inner=ag.Condition(lambda u: u))
    model = ParametricModel(problem.sought, SMALL, seed=1)
    compound, batch = Compound(problem, model), sample(problem, ag.GaussLegendre(3))
    residual, features = jax.jit(compound.features)(model.theta, batch)
    assert_close(residual, compound.residual(model.theta, batch))
    assert_close(features, dense_features(compound, model.theta, batch))


def test_complex_integrals():
    problem = ag.Problem(
        BOX,
        equation=ag.Condition(lambda psi: 1j * psi.d("t") + ag.integral(abs(psi) ** 2) * psi + psi.at(t=0, x=0) * psi),
        unknowns={"psi": complex},
    )
    model = ParametricModel(problem.sought, SMALL, seed=1)
    compound, batch = Compound(problem, model), sample(problem, ag.GaussLegendre(2))
    features = jax.jit(compound.features)(model.theta, batch)[1]
    assert_close(features, dense_features(compound, model.theta, batch))


def test_nodes():
    u = Field(lambda p: p[1] ** 8, Frame(BOX.axes, None, BOX))
    exact = 2 * 2 / 9
    point = jnp.zeros(2)
    assert_close(ag.integral(u).at(point), exact)
    assert_close(ag.integral(u, nodes=5).at(point), exact)
    assert abs(ag.integral(u, nodes=2).at(point) - exact) > 1e-2
    assert_close(ag.integral(u, nodes=ag.GaussLegendre(t=1, x=5)).at(point), exact)
    cube = ag.Box(a=(0, 1), b=(0, 1), c=(0, 1), d=(0, 2))
    v = Field(lambda p: p[0] * p[3], Frame(cube.axes, None, cube))
    assert_close(ag.integral(v).at(jnp.zeros(4)), 1.0, 1e-2)


@pytest.mark.parametrize(
    ("operator", "kind", "message"),
    [
        (lambda u: ag.integral(1.0), ProblemError, "needs a field"),
        (lambda u: ag.integral(u, over="z"), ProblemError, "no axis 'z'"),
        (lambda u: ag.integral(u, over=3), ProblemError, "over= is a region"),
        (lambda u: ag.integral(u, nodes=0), ProblemError, "nodes="),
        (lambda u: ag.integral(X), ProblemError, "does not say over which set"),
        (lambda u: ag.integral(X, over="x"), ProblemError, "nobody knows where"),
        (lambda u: ag.integral(u.normal_derivative()), ProblemError, "only on a face"),
        (lambda u: ag.integral(lambda s, r: u.at(x=s) * r, over="x"), ProblemError, "one for each axis"),
        (lambda u: ag.integral(lambda s: 2.0, over="x"), ProblemError, "must return a field"),
        (lambda u: ag.integral(u, over=ag.Box(y=(0, 1))), ProblemError, "has the axes y"),
        (lambda u: u.normal_derivative(), ProblemError, "only on a face"),
        (lambda u: u.at(), ProblemError, "name the coordinates"),
        (lambda u: u.at(y=0), ProblemError, "no axis 'y'"),
        (lambda u: u.at(x="a"), ProblemError, "is a number, a field or a function"),
        (lambda u: u.at(x=lambda z: z), ProblemError, "takes 'z'"),
        (lambda u: u.at(x=1j * u), ProblemError, "real numbers"),
        (lambda u: u.at(x=2), ProblemError, "outside"),
        (lambda u: u.at(t=lambda t: t - 1), ProblemError, "outside"),
    ],
)
def test_mistakes(operator, kind, message):
    with pytest.raises(kind, match=message):
        ag.Problem(BOX, condition=ag.Condition(operator))
