import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.spectrum.metric import Metric, corrected_inverse
from anagram.tangent import TangentSpace, corrections, spanning_points
from tolerances import assert_close


@pytest.fixture(scope="module")
def space(square):
    problem = ag.Problem(
        square,
        equation=ag.Condition(lambda u: ag.laplacian(u), equals=lambda x, y: x * y),
        walls=ag.Condition(lambda u: u, on=square.boundary(), weight=2.0),
    )
    model = ag.ParametricModel(problem.sought, ag.MLP(4), 0)
    return TangentSpace(problem, model, points=ag.GaussLegendre(20), cutoff=1e-8)


def modes_of(space, batch, scaled):
    return np.concatenate(
        [space.modes(k, p.x) * (np.asarray(p.scale).reshape(-1, 1) if scaled else 1.0) for k, p in batch.items()]
    )


@pytest.mark.parametrize("points", [{"equation": ag.Uniform(6), "walls": ag.Uniform(5)}, ag.GaussLegendre(6)])
def test_theorem_1_holds_against_projecting_functions(space, points):
    """Fewer points than dimensions, and more: the projection on span NNTK(·, x_i) is found by least squares."""
    batch = ag.sample(space.problem, points, seed=3)
    found = corrections(space, batch)
    on_quadrature = modes_of(space, space.batch, scaled=True)
    kernels = on_quadrature @ modes_of(space, batch, scaled=False).T
    residual = np.asarray(jax.jit(space.compound.residual)(space.theta, space.batch))
    projected = kernels @ np.linalg.lstsq(kernels, residual, rcond=1e-12)[0]
    direct = space.basis @ (on_quadrature.T @ projected)
    assert_close(found.corrected, direct, 1e-8)
    assert np.linalg.norm(found.uncorrected - direct) > 0.01 * np.linalg.norm(direct)
    inverse = corrected_inverse(
        Metric(jnp.asarray(space.basis), jnp.asarray(space.coefficients)), _features(space, batch), 1e-12
    )
    assert_close(inverse, found.pseudo_inverse + found.metric, 1e-7)


def _features(space, batch):
    return jnp.concatenate([jnp.asarray(space.features(k, p.x)) for k, p in batch.items()])


def test_points_that_span_the_space_need_no_metric(space):
    batch = spanning_points(space)
    assert sum(len(p.x) for p in batch.values()) == space.dimension
    found = corrections(space, batch)
    assert np.abs(found.metric).max() < 1e-9 * np.abs(found.pseudo_inverse).max()
    assert_close(found.corrected, space.natural_gradient, 1e-8)
    few = corrections(space, spanning_points(space, count=space.dimension - 5))
    assert np.abs(few.metric).max() > 1e-3 * np.abs(few.pseudo_inverse).max()
    with pytest.raises(ag.SettingError, match="give more candidates"):
        spanning_points(space, count=10_000)


def test_nothing_is_orthogonal_for_a_linear_operator_without_source(square):
    """u_θ is linear in its last layer, so D u_θ lies in the tangent space: E_⊥ = 0 for f = 0, and only then."""
    orthogonal = {}
    for source in (0.0, 1.0):
        problem = ag.Problem(
            square,
            equation=ag.Condition(lambda u: ag.laplacian(u), equals=source),
            walls=ag.Condition(lambda u: u, on=square.boundary(), equals=source),
        )
        model = ag.ParametricModel(problem.sought, ag.MLP(3), 1)
        space = TangentSpace(problem, model, points=ag.GaussLegendre(16), cutoff=1e-12)
        found = corrections(space, ag.sample(problem, ag.Uniform(20)))
        orthogonal[source] = np.linalg.norm(found.orthogonal) / np.linalg.norm(found.gradient)
    assert orthogonal[0.0] < 1e-8
    assert orthogonal[1.0] > 1e-3


def test_the_corrected_method_on_few_points_steps_along_the_projected_gradient(space):
    """With both corrections and enough points the direction is the natural gradient on the whole quadrature."""
    batch, theta = space.batch, space.theta
    method = ag.Anagram(1e-8, corrections="both", empirical=120)
    one_step = jax.jit(lambda t, b: method.step(space.compound, method.init(space.compound, t, b), b))
    state, info = one_step(theta, batch)
    step = np.asarray(theta - state.theta)
    cosine = step @ space.natural_gradient / np.linalg.norm(step) / np.linalg.norm(space.natural_gradient)
    assert_close(cosine, 1.0, 1e-6)
    assert info["rank"] == space.dimension


@pytest.mark.parametrize(
    "options", [{"corrections": "all"}, {"empirical": 0}, {"corrections": "both", "relative": False}]
)
def test_wrong_options_are_refused(options):
    with pytest.raises(ag.SettingError):
        ag.Anagram(**options)
