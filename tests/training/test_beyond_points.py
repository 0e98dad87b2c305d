"""Problems with integrals, values elsewhere and interfaces, solved to their known solutions."""

import jax
import numpy as np
import pytest

import anagram as ag
import problems_beyond
from anagram.compound import Compound
from anagram.compound.batch import sample
from anagram.models import ParametricModel
from tolerances import assert_close

SOLVED = {
    "neumann": (ag.Polynomial(10), 1e-6),
    "bitsadze": (ag.Polynomial(14), 1e-10),
    "fredholm": (ag.Polynomial(12), 1e-10),
    "mass": (ag.Polynomial(10), 1e-5),
    "rod": ({"u": ag.Polynomial(12), "v": ag.Polynomial(12)}, 1e-9),
}


def linearised(problem, model, points=14):
    """Residual and features at zero of a model that is linear in its parameters, and what tells its values."""
    parametric = ParametricModel(problem.sought, model)
    batch = sample(problem, ag.GaussLegendre(points))
    compound = Compound(problem, parametric)
    residual, features = jax.jit(compound.features)(parametric.theta, batch)
    return parametric, np.asarray(residual), np.asarray(features)


@pytest.mark.parametrize("name", SOLVED)
def test_known_solutions(name):
    """Polynomials are linear in their coefficients: least squares solve a linear problem."""
    model, within = SOLVED[name]
    problem = getattr(problems_beyond, name)()
    assert problem.is_linear
    parametric, residual, features = linearised(problem, model)
    theta = -np.linalg.lstsq(features, residual, rcond=1e-14)[0]
    x = problem.domain.draw(ag.Uniform(50), np.random.default_rng(0)).x
    values = np.asarray(jax.vmap(parametric.values, (None, 0))(theta, x))
    for (unknown, exact), found in zip(problem.exact(x).items(), values.T, strict=True):
        known = np.isfinite(exact)
        assert_close(found[known], exact[known], within, unknown)


def test_without_its_mean_a_neumann_problem_is_not_determined():
    whole = problems_beyond.neumann()
    rest = {key: condition for key, condition in whole.conditions.items() if key != "mean"}
    with_mean, without = (linearised(p, ag.Polynomial(4), 8)[2] for p in (whole, ag.Problem(whole.domain, rest)))
    assert (np.linalg.matrix_rank(with_mean), np.linalg.matrix_rank(without)) == (25, 24)
    assert len(with_mean) == len(without) + 1


@pytest.fixture(scope="module")
def rod():
    return ag.solve(problems_beyond.rod(), ag.MLP(6), steps=40, points=40, progress=False)


def test_the_estimate_looks_at_unknowns_where_they_live(rod):
    """Elsewhere they are free, and nobody minds."""
    estimate = rod.estimate_error()
    assert not any("do not determine" in reason for reason in estimate.reasons)
    assert 0.2 < float(estimate) / rod.l2_error < 5


def test_an_unknown_is_looked_at_where_it_lives(rod, tmp_path):
    values = rod(np.array([0.25, 0.5, 0.75]))
    assert np.isfinite(values["u"]).tolist() == [True, True, False]
    assert np.isfinite(values["v"]).tolist() == [False, True, True]
    assert np.isfinite(rod["v"](x=np.array([0.25, 0.75]))).tolist() == [False, True]
    assert np.isfinite(rod.to_numpy(5)["u"]).tolist() == [True, True, True, False, False]
    assert np.isfinite(rod.relative_l2_error)
    assert rod.residual_inside("left", np.array([[0.25], [0.75]]))[0] >= 0
    assert np.isnan(rod.residual_inside("left", np.array([[0.75]]))[0])
    rod.plot(tmp_path / "rod.png")
    assert (tmp_path / "rod.png").stat().st_size > 0


def test_files_know_where_unknowns_live(rod, tmp_path):
    folder = rod.save(tmp_path / "rod")
    for loaded in (ag.load(folder), ag.load(folder, problems_beyond.rod())):
        assert [repr(u.on) for u in loaded.model.sought.unknowns] == ["Box(x=(0, 0.5))", "Box(x=(0.5, 1))"]
        values = loaded(np.array([0.25, 0.75]))
        assert np.isnan(values["u"][1])
        assert_close(values["u"][0], rod(np.array([0.25]))["u"][0])
    with pytest.raises(ag.FileError, match="another one"):
        ag.load(folder, ag.Problem(problems_beyond.LINE, c=ag.Condition(lambda u, v: u + v), unknowns=("u", "v")))


def test_runs_with_integrals_go_on_where_they_stopped(tmp_path):
    problem, options = problems_beyond.fredholm(), {"model": ag.MLP(4), "points": 20, "progress": False}
    whole = ag.solve(problem, steps=12, **options)
    ag.solve(problem, steps=6, folder=tmp_path, checkpoint_every=0.0, **options)
    again = ag.resume(tmp_path, problem, steps=12, progress=False)
    np.testing.assert_array_equal(again.theta, whole.theta)
