import itertools

import jax
import numpy as np
import pytest

import anagram as ag
from anagram.tangent import TangentSpace
from tolerances import assert_close


@pytest.fixture(scope="module")
def laplace(square):
    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: ag.laplacian(u), equals=lambda x, y: x + 2 * y),
        walls=ag.Condition(lambda u: u, on=square.boundary(), weight=3.0),
    )


@pytest.fixture(scope="module")
def space(laplace):
    model = ag.ParametricModel(laplace.sought, ag.MLP(4), 0)
    return TangentSpace(laplace, model, points=ag.GaussLegendre(20), cutoff=1e-8)


def scaled_modes(space):
    return np.concatenate([space.modes(k, p.x) * np.asarray(p.scale).reshape(-1, 1) for k, p in space.batch.items()])


def test_modes_are_orthonormal_in_the_metric_of_the_loss(space):
    q = scaled_modes(space)
    assert_close(q.T @ q, np.eye(space.dimension), 1e-11)


def test_the_gram_matrix_is_that_of_the_features(space):
    _, features = jax.jit(space.compound.features)(space.theta, space.batch)
    features = np.asarray(features)
    assert_close(space.gram, features.T @ features, 1e-11)


def test_kernels_are_what_their_sums_say(space):
    x, y = np.random.default_rng(0).random((2, 5, 2))
    left, right = space.features("equation", x), space.features("equation", y)
    gradients = jax.vmap(jax.grad(lambda t, p: space.compound.operator_rows("equation", t, p, None)[0]), (None, 0))(
        space.theta, x
    )
    assert_close(left, gradients, 1e-12)
    assert_close(space.ntk("equation", x, "equation", y), left @ right.T, 1e-12)
    direct = left @ np.linalg.pinv(space.gram, rcond=1e-14) @ right.T
    assert_close(space.nntk("equation", x, "equation", y), direct, 1e-6)
    assert_close(space.nntk("equation", x), space.nntk("equation", x, "equation", x), 1e-14)


def test_the_nntk_reproduces_functions_of_the_tangent_space_inside_and_on_the_boundary(space):
    """f(x) = ⟨f, NNTK(·, x)⟩ for f in the space, through the partial kernels of both conditions."""
    direction = np.random.default_rng(1).normal(size=space.theta.size)
    inside, wall = np.array([[0.3, 0.6], [0.7, 0.2]]), np.array([[0.0, 0.4], [0.8, 1.0]])
    for key, x in (("equation", inside), ("walls", wall)):
        inner = sum(
            (np.ravel(p.scale) ** 2 * (space.features(k, p.x) @ direction)) @ space.nntk(k, p.x, key, x)
            for k, p in space.batch.items()
        )
        assert_close(inner, space.features(key, x) @ direction, 1e-9)


def test_projecting_a_function_of_the_space_loses_nothing(space):
    values = {key: space.modes(key, part.x)[:, 3] for key, part in space.batch.items()}
    assert_close(space.project(values), np.eye(space.dimension)[3], 1e-10)


def test_the_natural_gradient_through_greens_function_is_the_ordinary_one(space):
    """∫ g(x, y) r(y) dy, summed over both conditions, is the change of u along G† ⟨∂, r⟩."""
    x = np.random.default_rng(2).random((6, 2))
    change = np.zeros(6)
    for key, part in space.batch.items():
        at = space.compound.rows(space.theta, space.batch)[key]  # scaled once
        change += space.green(x, key, part.x) @ (np.asarray(part.scale) * np.asarray(at))[:, 0]
    assert_close(change, space.field_features(x) @ space.natural_gradient, 1e-9)
    residual, features = map(np.asarray, jax.jit(space.compound.features)(space.theta, space.batch))
    assert_close(space.natural_gradient, np.linalg.lstsq(features, residual, rcond=1e-12)[0], 1e-7)
    assert 0 < space.orthogonal_share < 1


@pytest.mark.parametrize(("dimension", "order", "nodes"), [(1, 8, 40), (2, 3, 24), (3, 1, 14)])
def test_greens_function_on_a_fourier_series_is_the_closed_sum(dimension, order, nodes):
    domain = ag.Box(**dict.fromkeys("xyz"[:dimension], (0, 1)))
    problem = ag.Problem(domain, equation=ag.Condition(lambda u: ag.laplacian(u)))
    model = ag.ParametricModel(problem.sought, ag.Fourier(order))
    space = TangentSpace(problem, model, points=ag.GaussLegendre(nodes))
    assert space.dimension == model.parameters - 1  # constants are not seen by the Laplacian
    x, y = np.random.default_rng(3).random((2, 5, dimension))
    waves = np.array([k for k in itertools.product(range(-order, order + 1), repeat=dimension) if any(k)])
    phase = 2 * np.pi * (x[:, None] - y[None]) @ waves.T
    closed = -np.sum(np.cos(phase) / np.sum(waves**2, axis=1), axis=-1) / (2 * np.pi) ** 2
    assert_close(space.green(x, "equation", y), closed, 1e-10)


def test_in_one_dimension_it_tends_to_the_periodic_greens_function_with_order_one():
    problem = ag.Problem(ag.Box(x=(0, 1)), equation=ag.Condition(lambda u: u.d("x", "x")))
    x, y = np.linspace(0, 1, 101)[:, None], np.array([[0.3]])
    distance = np.abs(x - y)[:, 0]
    errors = []
    for order in (8, 16, 32):
        model = ag.ParametricModel(problem.sought, ag.Fourier(order))
        space = TangentSpace(problem, model, points=ag.GaussLegendre(6 * order))
        exact = -1 / 12 + distance / 2 - distance**2 / 2
        errors.append(np.abs(space.green(x, "equation", y)[:, 0] - exact).max())
    # What is missing at x = y is Σ_{k>N} 1/(2π²k²), close to 1/(2π²N).
    assert_close(errors[-1], 1 / (2 * np.pi**2 * 32), 0.05)
    assert all(1.8 < a / b < 2.1 for a, b in itertools.pairwise(errors))


def true_green(x, y, terms=300):
    """Of the Laplacian on the unit square with u = 0 on its boundary, summed along one axis."""
    k = np.arange(1, terms + 1)
    low, high = np.minimum(x[:, 1], y[1])[:, None], np.maximum(x[:, 1], y[1])[:, None]
    decay = np.exp(k * np.pi * (low - high)) * -np.expm1(-2 * k * np.pi * low) * -np.expm1(-2 * k * np.pi * (1 - high))
    waves = np.sin(np.pi * np.outer(x[:, 0], k)) * np.sin(np.pi * k * y[0])
    return -np.sum(waves * decay / (k * np.pi * -np.expm1(-2 * k * np.pi)), axis=1)


@pytest.mark.long
def test_on_the_square_it_tends_to_the_true_greens_function_as_the_model_grows(square):
    x, y = np.random.default_rng(4).random((500, 2)), np.array([0.4, 0.55])
    problem = ag.Problem(
        square,
        equation=ag.Condition(lambda u: ag.laplacian(u)),
        walls=ag.Condition(lambda u: u, on=square.boundary(), weight=1e4),
    )
    exact = true_green(x, y)
    errors = []
    for degree in (6, 10, 14):
        model = ag.ParametricModel(problem.sought, ag.Polynomial(degree))
        space = TangentSpace(problem, model, points=ag.GaussLegendre(degree + 8), cutoff=1e-13)
        green = space.green(x, "equation", y[None])[:, 0]
        errors.append(np.linalg.norm(green - exact) / np.linalg.norm(exact))
    assert errors[0] < 0.3
    assert errors[2] < 0.7 * errors[1] < 0.5 * errors[0]


def test_the_tangent_space_of_the_fields_themselves(laplace):
    model = ag.ParametricModel(laplace.sought, ag.Polynomial(3, "legendre"))
    space = TangentSpace.of_fields(laplace, model, points=ag.GaussLegendre(8))
    x, y = np.random.default_rng(5).random((2, 4, 2))
    # The projection on polynomials: a product of the kernels Σ (2k+1) P_k(x) P_k(y) of each axis.
    legendre = [np.polynomial.legendre.legvander(2 * z - 1, 3) * np.sqrt(2 * np.arange(4) + 1) for z in (x, y)]
    kernel = np.prod([legendre[0][:, a] @ legendre[1][:, a].T for a in range(2)], axis=0)
    assert_close(space.nntk("fields", x, "fields", y), kernel, 1e-10)


def test_what_is_wrong_is_said(laplace, space):
    model = space.model
    with pytest.raises(ag.ProblemError, match="there is no condition 'wall'"):
        space.nntk("wall", np.zeros((1, 2)))
    with pytest.raises(ag.ProblemError, match=r"points are an array \(n, 2\)"):
        space.ntk("equation", np.zeros(2))
    for arguments in (("walls",), ("walls", None), (None, np.zeros((1, 2)))):
        with pytest.raises(ag.ProblemError, match="other again a name"):
            space.nntk("equation", np.zeros((1, 2)), *arguments)
    with pytest.raises(ag.ProblemError, match="points are expected before"):
        space.green("equation", np.zeros((1, 2)), np.zeros((1, 2)))
    with pytest.raises(ag.ProblemError, match="values for the condition"):
        space.project({"equation": np.zeros(3)})
    with pytest.raises(ag.SettingError, match="below 1"):
        TangentSpace(laplace, model, cutoff=2)
    with pytest.raises(ag.SettingError, match="17 parameters"):
        TangentSpace(laplace, model, np.zeros(3))
    with pytest.raises(ag.ProblemError, match="not finite"):
        TangentSpace(laplace, model, np.full(17, np.nan))
    with pytest.warns(ag.PointsWarning, match="quadrature rows for 17 parameters"):
        TangentSpace(laplace, model, points=ag.GaussLegendre(2))
