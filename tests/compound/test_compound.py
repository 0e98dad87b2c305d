import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound import compound
from anagram.compound.batch import FEW, count_rows, in_round_numbers, thinned, unweighted
from oracles import dense_features
from tolerances import ACCUMULATED, assert_close

BOX = ag.Box(t=(0, 1), x=(-1, 1))
PROBLEM = ag.Problem(
    BOX,
    equation=ag.Condition(lambda u, v, k: (u.d("t") - k * u.d("x", "x") + u * v, v.d("x") + u**2), equals=(1.0, 0.0)),
    wave=ag.Condition(lambda psi: 1j * psi.d("t") + psi.d("x", "x") - psi, weight=3.0),
    flux=ag.Condition(lambda u: u.normal_derivative(), on=BOX.faces("x"), equals=lambda t: t),
    start=ag.Condition(lambda u: u, on=BOX.face(t=0), equals=lambda x: x, weight=10.0),
    unknowns={"u": float, "v": float, "psi": complex},
    coefficients={"k": 0.5},
)
MODEL = ag.ParametricModel(PROBLEM.sought, ag.MLP(7, 5), 1)
BATCH = ag.sample(
    PROBLEM, {"equation": ag.GaussLegendre(4), "wave": ag.Uniform(11), "flux": 9, "start": ag.Grid(6)}, seed=2
)
COMPOUND = ag.Compound(PROBLEM, MODEL)
TINY_CHUNKS = ag.Compound(PROBLEM, MODEL, chunk_bytes=8 * 4 * MODEL.parameters)
RNG = np.random.default_rng(0)


@functools.cache
def whole():
    """R and J of all rows at once."""
    return jax.jit(COMPOUND.features)(MODEL.theta, BATCH)


def test_the_loss_is_the_papers():
    """ℓ = Σ_c weight_c/2 · Σ_i w_i |D(u)(x_i) − f(x_i)|²."""
    total = 0.0
    for key in PROBLEM.conditions:
        cloud = BATCH[key]
        normals = cloud.normal if cloud.normal is not None else [None] * len(cloud.x)
        rows = jax.jit(lambda x, n, key=key: COMPOUND.operator_rows(key, MODEL.theta, x, n))
        squares = [np.sum((rows(x, n) - f) ** 2) for x, n, f in zip(cloud.x, normals, cloud.source, strict=True)]
        assert cloud.scale.shape == cloud.source.shape
        weights = np.asarray(cloud.scale)[:, 0] ** 2 / PROBLEM.weight(key)
        assert_close(weights.sum(), 1.0)
        assert_close(cloud.scale, np.broadcast_to(cloud.scale[:, :1], cloud.scale.shape), what="all rows of a point")
        total += 0.5 * PROBLEM.weight(key) * np.sum(weights * np.array(squares))
    assert_close(jax.jit(COMPOUND.loss)(MODEL.theta, BATCH), total)
    assert_close(sum(jax.jit(COMPOUND.squares)(MODEL.theta, BATCH).values()) / 2, total)


def test_equal_weights_give_the_mean_square():
    problem = ag.Problem(BOX, c=ag.Condition(lambda u: u, equals=2.0))
    model = ag.ParametricModel(problem.sought, ag.MLP(4), 0)
    batch = ag.sample(problem, ag.Grid(5))
    values = jax.vmap(lambda x: model.values(model.theta, x)[0])(batch["c"].x)
    assert_close(ag.Compound(problem, model).loss(model.theta, batch), np.mean((values - 2) ** 2) / 2)


@pytest.mark.parametrize("compound", [COMPOUND, TINY_CHUNKS], ids=["whole", "chunks"])
def test_features_agree_with_dense_differentiation(compound):
    residual, features = jax.jit(compound.features)(MODEL.theta, BATCH)
    assert features.shape == (count_rows(BATCH), MODEL.parameters)
    assert_close(residual, jax.jit(COMPOUND.residual)(MODEL.theta, BATCH))
    assert_close(features, dense_features(COMPOUND, MODEL.theta, BATCH), ACCUMULATED)


@pytest.mark.parametrize("compound", [COMPOUND, TINY_CHUNKS], ids=["whole", "chunks"])
def test_sums_over_chunks_agree_with_the_whole_matrix(compound):
    residual, features = whole()
    gram = jax.jit(compound.gram)(MODEL.theta, BATCH)
    assert_close(gram.matrix, features.T @ features, ACCUMULATED)
    assert_close(gram.gradient, features.T @ residual, ACCUMULATED)
    assert_close(gram.square, residual @ residual, ACCUMULATED)
    triangle = jax.jit(compound.triangle)(MODEL.theta, BATCH)
    stacked = np.concatenate([features, residual[:, None]], axis=1)
    assert_close(triangle, np.triu(triangle))
    assert_close(triangle.T @ triangle, stacked.T @ stacked, ACCUMULATED)


def test_chunks_that_are_factorised_have_as_many_rows_as_parameters(monkeypatch):
    """With chunks of four points, the triangle of those before would be factorised again and again."""
    factorised, usual = [], jnp.linalg.qr

    def qr(matrix, **options):
        factorised.append(matrix.shape)
        return usual(matrix, **options)

    monkeypatch.setattr(jnp.linalg, "qr", qr)
    jax.make_jaxpr(TINY_CHUNKS.triangle)(MODEL.theta, BATCH)
    size = MODEL.parameters + 1
    # No condition has as many rows as there are parameters: each of them is one chunk.
    assert factorised == [(size + part.source.size, size) for part in (BATCH[key] for key in PROBLEM.conditions)]


@pytest.mark.parametrize(
    ("memory", "expected"), [(None, 2**26), (2**30, 2**26), (64 * 2**30, 2**30), (2**40, 2 * 2**30)]
)
def test_chunks_are_larger_on_accelerators(monkeypatch, memory, expected):
    assert COMPOUND.chunk_bytes == 2**26
    monkeypatch.setattr(compound, "has_accelerator", lambda: True)
    monkeypatch.setattr(compound, "device_memory", lambda: memory)
    assert ag.Compound(PROBLEM, MODEL).chunk_bytes == expected


def test_products_with_the_features():
    residual, features = whole()
    v, w = jnp.asarray(RNG.normal(size=features.shape[1])), jnp.asarray(RNG.normal(size=features.shape[0]))
    assert_close(jax.jit(COMPOUND.times)(MODEL.theta, BATCH, v), features @ v, ACCUMULATED)
    assert_close(jax.jit(COMPOUND.transposed_times)(MODEL.theta, BATCH, w), features.T @ w, ACCUMULATED)
    assert_close(jax.jit(COMPOUND.gradient)(MODEL.theta, BATCH), features.T @ residual, ACCUMULATED)


def test_second_derivative_along_a_direction():
    v = jnp.asarray(RNG.normal(size=MODEL.parameters))
    hessian = jax.jit(jax.jacfwd(jax.jacfwd(lambda t: COMPOUND.residual(t, BATCH))))(MODEL.theta)
    assert_close(jax.jit(COMPOUND.second)(MODEL.theta, BATCH, v), jnp.einsum("spq,p,q->s", hessian, v, v), ACCUMULATED)


def test_unweighted_rows_differ_by_their_scale_alone():
    residual, features = whole()
    plain_residual, plain = jax.jit(COMPOUND.features)(MODEL.theta, unweighted(BATCH))
    scale = np.concatenate([np.ravel(b.scale) for b in BATCH.values()])
    assert_close(scale * plain_residual, residual)
    assert_close(scale[:, None] * plain, features)


def test_sampling_is_reproducible_and_mistakes_are_named():
    again = ag.sample(PROBLEM, {"wave": ag.Uniform(11)}, seed=2)
    assert_close(again["wave"].x, BATCH["wave"].x)
    with pytest.raises(ag.SettingError, match="'nothing', which is no condition"):
        ag.sample(PROBLEM, {"nothing": 3})
    with pytest.raises(ag.SettingError, match="positive number of points"):
        ag.sample(PROBLEM, 0)
    with pytest.raises(ag.SettingError, match="condition 'equation'.*axis 'x'"):
        ag.sample(PROBLEM, ag.Grid(t=3))


def test_a_thinned_batch_stands_for_the_whole():
    """Its rows are rows of the batch, spread over all of it, each with the weight of those it stands for."""
    problem = ag.catalogue.problem("laplace-2d")
    batch = ag.sample(problem, ag.GaussLegendre(30))
    thin = thinned(batch, 400)
    assert abs(count_rows(thin) - 400) <= 2
    for key, part in thin.items():
        whole = batch[key]
        places = [int(np.flatnonzero(np.all(whole.x == x, axis=1))[0]) for x in part.x]
        assert np.all(np.diff(places) > 0)
        assert np.diff(places).max() < 2.5 * len(whole.x) / len(part.x)
        assert_close(
            part.scale / whole.scale[np.array(places)], np.sqrt(len(whole.x) / len(part.x)) * np.ones((len(places), 1))
        )
    assert thinned(batch, 5000) is batch
    assert all(len(part.x) >= 1 for part in thinned(batch, 1).values())


def test_points_in_round_numbers_weigh_what_they_weighed():
    """Copies of a point fill them up, so that batches of almost the same size have the same shapes."""
    batches = [
        ag.sample(PROBLEM, {"equation": ag.Uniform(n), "wave": ag.Uniform(n), "flux": 20, "start": ag.Grid(2)})
        for n in (130, 150)
    ]
    filled = [in_round_numbers(batch) for batch in batches]
    shapes = [{key: part.x.shape for key, part in batch.items()} for batch in filled]
    assert shapes[0] == shapes[1]
    for before, after in zip(batches, filled, strict=True):
        assert count_rows(after) > count_rows(before)
        assert len(after["start"].x) == len(before["start"].x) <= FEW, "few points are left alone"
        gram, whole = (jax.jit(COMPOUND.gram)(MODEL.theta, batch) for batch in (after, before))
        for actual, expected in zip(gram, whole, strict=True):
            assert_close(actual, expected)
