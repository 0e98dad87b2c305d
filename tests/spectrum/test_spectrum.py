import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram import spectrum
from anagram.compound import Gram, Linearisation, ResidualMap, triangle_of
from oracles import damped_step, predicted_reduction, truncated_step
from tolerances import ACCUMULATED, assert_close

pytestmark = pytest.mark.rounding

RNG = np.random.default_rng(0)


def matrix(rows, columns, condition=1e3):
    """A matrix with singular values spread evenly from 1 to 1/condition."""
    k = min(rows, columns)
    u = np.linalg.qr(RNG.normal(size=(rows, k)))[0]
    v = np.linalg.qr(RNG.normal(size=(columns, k)))[0]
    return u @ np.diag(np.logspace(0, -np.log10(condition), k)) @ v.T


def gram_of(residual, features):
    return Gram(features.T @ features, features.T @ residual, residual @ residual)


@jax.jit
def every_spectrum(residual, features):
    return {
        "svd": spectrum.svd(residual, features),
        "qr": spectrum.from_triangle(triangle_of(residual, features), len(residual)),
        "eigh": spectrum.eigh(gram_of(residual, features)),
        "lq": spectrum.lq(residual, features),
        "dual-eigh": spectrum.dual_eigh(residual, features),
        "cholesky": spectrum.Normal(gram_of(residual, features)),
        "dual-cholesky": spectrum.DualNormal(features @ features.T, features, residual),
        "balanced cholesky": balanced(residual, features),
        "dual balanced cholesky": dual_balanced(residual, features),
    }


@jax.jit
def damped(spectra, damping):
    """The steps of all of them."""
    return {name: modes.damped(damping) for name, modes in spectra.items()}


@jax.jit
def truncated(spectra, cutoff):
    """The steps of those that have modes."""
    return {name: modes.truncated(cutoff) for name, modes in spectra.items() if isinstance(modes, spectrum.Modes)}


@jax.jit
def step_and_solution(spectra, damping, vector):
    fixed = {name: modes.at(damping) for name, modes in spectra.items()}
    return {name: (at.step, at.solve(vector)) for name, at in fixed.items()}


def balanced(residual, features):
    basis = jnp.linalg.eigh(features.T @ features)[1]
    return spectrum.balanced(gram_of(residual, features @ basis), basis)


def dual_balanced(residual, features):
    basis = jnp.linalg.eigh(features @ features.T)[1]
    return spectrum.balanced_rows(basis.T @ residual, basis.T @ features, basis)


SHAPES = [(30, 12), (12, 30), (15, 15)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_all_factorisations_give_the_same_steps(shape):
    """Primal and dual, squared or not: one step, to rounding times the condition number squared."""
    features, residual = matrix(*shape), RNG.normal(size=shape[0])
    spectra = every_spectrum(residual, features)
    for damping in (1e-4, 1e-1, 10.0):
        expected = damped_step(features, residual, damping)
        for name, step in damped(spectra, damping).items():
            assert_close(step.direction, expected, 1e-8, f"{name} damped")
            assert_close(step.predicted, predicted_reduction(features, residual, expected, damping), 1e-8, name)
    cutoff = 0.9e-2
    expected, rank = truncated_step(features, residual, cutoff)
    steps = truncated(spectra, cutoff)
    assert len(steps) == 5
    for name, step in steps.items():
        assert_close(step.direction, expected, 1e-8, f"{name} truncated")
        assert int(step.rank) == rank
        assert_close(step.predicted, residual @ residual - np.sum((residual + features @ expected) ** 2), 1e-8, name)


@pytest.mark.parametrize("name", ["svd", "qr", "lq"])
def test_accurate_factorisations_see_small_singular_values(name):
    """With a condition number of 1e12 a cutoff of 1e-10 means something to SVD and QR, and not to JᵀJ."""
    features, residual = matrix(25, 10, condition=1e12), RNG.normal(size=25)
    cutoff = 1e-10
    expected, rank = truncated_step(features, residual, cutoff)
    step = truncated(every_spectrum(residual, features), cutoff)[name]
    assert int(step.rank) == rank
    assert_close(step.direction, expected, 1e-4)


@pytest.mark.parametrize("damping", [1e-14, 1e-17, 1e-20])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40)], ids=str)
def test_balanced_equations_are_as_accurate_as_the_svd(shape, damping):
    """With singular values down to 1e-12 and λ far below eps·σ_max², where plain normal equations know nothing."""
    features, residual = matrix(*shape, condition=1e12), RNG.normal(size=shape[0])
    expected = damped_step(features, residual, damping)
    steps = damped(every_spectrum(residual, features), damping)
    name = "balanced cholesky" if shape[0] > shape[1] else "dual balanced cholesky"
    assert_close(steps[name].direction, expected, 1e-3)
    plain = steps["cholesky" if shape[0] > shape[1] else "dual-cholesky"].direction
    if damping < 1e-15:
        assert not np.linalg.norm(plain - expected) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_damping_is_factorised_once_for_step_and_solve(shape):
    features, residual = matrix(*shape), RNG.normal(size=shape[0])
    vector = features.T @ RNG.normal(size=shape[0])
    expected = np.linalg.solve(features.T @ features + 0.01 * np.eye(shape[1]), vector)
    for name, (step, solved) in step_and_solution(every_spectrum(residual, features), 0.01, vector).items():
        assert_close(step.direction, damped_step(features, residual, 0.01), 1e-8, name)
        assert_close(solved, expected, 1e-8, name)


@pytest.mark.parametrize("points", [ag.Grid(2), ag.Grid(9)], ids=["dual", "primal"])
@pytest.mark.parametrize("squared", [True, False])
def test_the_choice_by_damping_gives_the_damped_step(compound_case, points, squared):
    compound, theta, problem = compound_case
    batch = ag.sample(problem, points)
    residual, features = jax.jit(compound.features)(theta, batch)

    @jax.jit
    def step(theta, squared):
        linear = Linearisation(compound, theta, batch)
        return linear.trace, spectrum.for_dampings(linear, squared).damped(1e-3)

    trace, found = step(theta, jnp.asarray(squared))
    assert_close(trace, np.sum(np.asarray(features) ** 2))
    assert_close(found.direction, damped_step(np.asarray(features), np.asarray(residual), 1e-3), 1e-7)
    # What is known beforehand leaves nothing of the other kind to compile, and gives the same.
    known = jax.jit(lambda t: spectrum.for_dampings(Linearisation(compound, t, batch), squared).damped(1e-3))(theta)
    assert_close(known.direction, found.direction, ACCUMULATED)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rank_deficiency_gives_the_shortest_step(shape):
    features = matrix(*shape)
    features[:, 1] = features[:, 0]
    features[2] = features[3]
    residual = RNG.normal(size=shape[0])
    expected = -np.linalg.pinv(features, rcond=1e-10) @ residual
    rank = np.linalg.matrix_rank(features)
    spectra = every_spectrum(residual, features)
    whole, undamped = truncated(spectra, 0.0), damped(spectra, 0.0)
    for name in whole:
        for step in (whole[name], undamped[name]):
            assert_close(step.direction, expected, 1e-6, name)
            assert int(step.rank) == rank, name


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_residual_is_split_into_its_modes_and_the_rest(shape):
    features, residual = matrix(*shape), RNG.normal(size=shape[0])
    u = np.linalg.svd(features, full_matrices=False)[0]
    expected = np.abs(u.T @ residual)
    rest = np.linalg.norm(residual - u @ (u.T @ residual))
    for name, modes in every_spectrum(residual, features).items():
        if isinstance(modes, spectrum.Modes):
            parts = np.abs(modes.projected)[np.argsort(-np.asarray(modes.sigma))]
            # Squaring loses digits of the small modes.
            assert_close(parts[: min(shape)], expected, 1e-3 if "eigh" in name else 1e-8, name)
            left = np.hypot(np.linalg.norm(parts[min(shape) :]), modes.outside)
            assert_close(left, rest, 1e-3 if "eigh" in name else 1e-8, name, scale=np.linalg.norm(residual))


def test_a_matrix_of_zeros_has_no_step():
    spectra = every_spectrum(np.ones(6), np.zeros((6, 4)))
    whole, undamped = truncated(spectra, 0.0), damped(spectra, 0.0)
    for step in [*damped(spectra, 1.0).values(), *whole.values(), *(undamped[name] for name in whole)]:
        assert_close(step.direction, np.zeros(4))
        assert_close(step.predicted, 0.0)
    assert [int(step.rank) for step in whole.values()] == [0] * 5


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_visible(bad):
    features, residual = matrix(9, 5), np.ones(9)
    features[3, 2] = bad
    for name, step in truncated(every_spectrum(residual, features), 1e-3).items():
        assert not np.isfinite(step.direction).any(), name
    residual[0] = bad
    for name, step in truncated(every_spectrum(residual, matrix(9, 5)), 1e-3).items():
        assert not np.isfinite(step.direction).any(), name


def test_cholesky_says_that_it_cannot_cut(compound_case):
    compound, theta, problem = compound_case
    batch = ag.sample(problem, ag.Grid(3))
    for name in ("cholesky", "dual-cholesky"):
        assert not hasattr(
            jax.eval_shape(lambda t, n=name: spectrum.factorise(n, compound, t, batch), theta), "truncated"
        )
        with pytest.raises(ag.SettingError, match="no singular values"):
            jax.eval_shape(lambda t, n=name: spectrum.factorise_into_modes(n, compound, t, batch), theta)


@pytest.fixture(scope="module")
def compound_case():
    problem = ag.catalogue.problem("heat")
    model = ag.ParametricModel(problem.sought, ag.MLP(9), 0)
    return ag.Compound(problem, model, chunk_bytes=20 * 8 * model.parameters), model.theta, problem


class Given(ResidualMap):
    """A residual map whose features are known: only their factorisation is left to compile."""

    def __init__(self, compound, residual, features):
        self.compound, self.given = compound, (residual, features)

    def residual(self, theta, batch):
        return self.given[0]

    def features(self, theta, batch):
        return self.given

    def count_rows(self, batch):
        return self.compound.count_rows(batch)


@pytest.mark.parametrize("points", [8, 3], ids=["more rows", "more parameters"])
def test_factorise_names_every_form(compound_case, points):
    compound, theta, problem = compound_case
    batch = ag.sample(problem, ag.Grid(points))
    residual, features = jax.jit(compound.features)(theta, batch)
    expected = damped_step(features, residual, 1e-3)
    names = ("auto", *spectrum.FACTORISATIONS)
    given = Given(compound, residual, features)
    steps = jax.jit(lambda t: {how: spectrum.factorise(how, given, t, batch).damped(1e-3) for how in names})(theta)
    # As it is when points come in chunks.
    steps["chunks"] = jax.jit(lambda t: spectrum.factorise("auto", compound, t, batch).damped(1e-3))(theta)
    for how, step in steps.items():
        assert_close(step.direction, expected, ACCUMULATED, how)
    with pytest.raises(ag.SettingError, match="no factorisation 'lu'"):
        spectrum.factorise("lu", compound, theta, batch)


@pytest.mark.parametrize(("cutoff", "relative"), [(1e-3, True), (1e-9, True), (1e-2, False), (1e-10, False)])
def test_the_choice_for_a_cutoff_does_not_change_the_step(compound_case, cutoff, relative):
    """auto may square the matrix, but only where this cannot be seen."""
    compound, theta, problem = compound_case
    for points in (8, 3):
        batch = ag.sample(problem, ag.Grid(points))
        residual, features = jax.jit(compound.features)(theta, batch)
        absolute = cutoff * np.linalg.norm(features, 2) if relative else cutoff
        modes = jax.jit(
            lambda t, batch=batch: spectrum.factorise_for_cutoff("auto", compound, t, batch, cutoff, relative)
        )(theta)
        expected, rank = truncated_step(np.asarray(features), np.asarray(residual), absolute)
        step = modes.truncated(absolute)
        assert int(step.rank) == rank
        assert_close(step.direction, expected, 1e-4)
