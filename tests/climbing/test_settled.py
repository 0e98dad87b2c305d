"""Runs with noisy data from beginning to end: what their solutions say."""

import json

import matplotlib as mpl
import numpy as np
import pytest

import anagram as ag
from anagram.climbing.noisy import good_enough, is_noise
from inverse import RATE, SIGMA, decay, noisy, places, rate_and_error
from tolerances import assert_close

T = places(60)
Y = noisy(T, 1)


@pytest.fixture(scope="module")
def solved():
    return ag.solve(decay(Y, T), ag.Polynomial(9), "newton", points=40, steps=10, tol=0.05, progress=False)


def test_coefficients_are_numbers_with_standard_errors(solved):
    rate, error = rate_and_error(T, Y)
    found = solved.coefficients["k"]
    assert isinstance(found, float)
    assert abs(found - rate) < 0.02 * error
    assert found.std == pytest.approx(error, rel=0.02)
    assert found * 2 == 2 * float(found)
    assert json.loads(json.dumps(solved.coefficients)) == {"k": float(found)}
    assert repr(found).startswith("1.30")
    assert "±" in repr(found)


def test_summary_says_how_well_the_data_determine_it(solved):
    assert solved.reached is True  # 5 % were asked for, and the rate is known to 1 %
    assert solved.relative_error_estimate == pytest.approx(solved.coefficients["k"].std / solved.coefficients["k"])
    assert solved.summary["error_estimate"]["reliable"]
    assert solved.summary["uncertainty"]["findings"] == []
    low, high = solved.uncertainty().interval("k", 0.95)
    assert low < RATE < high
    assert "k = 1.3" in str(solved.uncertainty())


def test_bands_follow_the_rate(solved):
    t = np.array([0.5, 1.0])
    rate, error = rate_and_error(T, Y)
    assert_close(solved.std(t=t), t * np.exp(-rate * t) * error, 0.05)
    low, high = solved.band(t=t)
    assert_close(high - low, 2 * 1.96 * solved.std(t=t), 1e-3)
    # Twice the field has twice the error; k·u has that of its derivative.
    assert_close(solved.std_of(lambda u: 2 * u, t=t), 2 * solved.std(t=t))
    assert_close(solved.std_of(lambda u: u, t=t), solved.std(t=t))


def test_a_level_is_a_probability(solved):
    with pytest.raises(ag.SettingError, match="between 0 and 1"):
        solved.band(t=0.5, level=95)
    with pytest.raises(ag.SettingError, match="no coefficient 'z'"):
        solved.uncertainty().interval("z")


def test_all_of_it_is_kept_in_files(solved, tmp_path):
    solved.save(tmp_path / "run")
    alone = ag.load(tmp_path / "run")
    assert alone.coefficients["k"].std == solved.coefficients["k"].std
    assert_close(alone.uncertainty().covariance, solved.uncertainty().covariance)
    with pytest.raises(ag.ProblemError, match="without its problem"):
        alone.std(t=0.5)
    again = ag.load(tmp_path / "run", decay(Y, T))
    assert_close(again.std(t=[0.5, 1.0]), solved.std(t=[0.5, 1.0]), 1e-6)


def test_damaged_uncertainties_are_refused(solved, tmp_path):
    solved.save(tmp_path / "run")
    record = tmp_path / "run" / "run.json"
    for wrong in ({"coefficients": {"k": "x"}}, {**solved.summary["uncertainty"], "correlation": [[1, 2]]}, [1]):
        data = json.loads(record.read_text())
        data["summary"]["uncertainty"] = wrong
        record.write_text(json.dumps(data))
        with pytest.raises(ag.FileError, match="uncertainty"):
            ag.load(tmp_path / "run")


def test_pictures_are_drawn(solved, tmp_path):
    with mpl.rc_context({"backend": "agg"}):
        figure = solved.plot_uncertainty(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    assert figure.axes


def test_a_run_without_noise_has_no_standard_errors():
    plain = ag.solve(decay(Y, T, noise=None), ag.Polynomial(9), "newton", points=40, steps=10, progress=False)
    assert plain.coefficients["k"].std is None
    assert repr(plain.coefficients["k"]) == repr(float(plain.coefficients["k"]))
    with pytest.raises(ag.ProblemError, match="give the conditions with measured values noise="):
        plain.uncertainty()


def test_what_the_data_do_not_determine_is_warned_of():
    box = ag.Box(t=(0, 2))
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u, a, b: u.d("t") + (a + b) * u),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=1.0),
        data=ag.Condition(lambda u: u, on=box.points(t=T), equals=Y, noise=SIGMA),
        coefficients={"a": 0.6, "b": 0.6},
    )
    with pytest.warns(ag.DataWarning, match="do not tell 'a' and 'b' apart"):
        found = ag.solve(problem, ag.Polynomial(9), "newton", points=40, steps=10, tol=0.05, progress=False)
    assert found.reached is False
    assert "apart" in found.summary["missing"]
    assert sum(found.coefficients.values()) == pytest.approx(rate_and_error(T, Y)[0], abs=1e-3)


def test_climbs_end_at_the_noise():
    known, unknown = decay(Y, T), decay(Y, T, noise="estimate")
    expected = 0.5 * SIGMA**2  # rows in units of one: κ = 1
    at_noise = {"equation": 0.01 * expected, "start": 0.0, "data": expected}
    assert is_noise(known, [at_noise])
    assert not is_noise(known, [{**at_noise, "data": 2 * expected}])
    assert not is_noise(known, [{**at_noise, "equation": expected}])
    assert not is_noise(unknown, [at_noise])
    assert is_noise(unknown, [at_noise, {**at_noise, "data": 1.05 * expected}])
    assert good_enough(known, [at_noise, at_noise], [100, 50]) == 1
    assert good_enough(known, [{**at_noise, "equation": expected}], [100]) is None


@pytest.mark.long
def test_a_field_of_one_axis_is_found_with_its_prior():
    """u_t = s(x): the source of a growing field, from its noisy values; its standard errors hold what they say."""
    box = ag.Box(t=(0, 1), x=(0, 1))
    rng = np.random.default_rng(0)
    t, x = rng.uniform(0, 1, 200), rng.uniform(0, 1, 200)
    true = np.sin(3 * x)
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u, s: u.d("t") - s),
        start=ag.Condition(lambda u: u, on=box.face(t=0)),
        data=ag.Condition(
            lambda u: u, on=box.points(t=t, x=x), equals=t * true + 0.02 * rng.standard_normal(200), noise=0.02
        ),
        rough=ag.smooth("s"),
        unknowns={"u": float, "s": "x"},
    )
    found = ag.solve(problem, ag.Polynomial(5), "newton", points=100, steps=5, progress=False)
    line = np.linspace(0, 1, 41)
    value, error = found(t=0.5, x=line)["s"], found.std(t=0.5, x=line)["s"]
    off = (value - np.sin(3 * line)) / error
    assert np.sqrt(np.mean((value - np.sin(3 * line)) ** 2)) < 0.02
    assert np.sqrt(np.mean(off**2)) < 2
    assert found.summary["uncertainty"]["determined"] < 8  # of the 36 numbers of the model that data could move
    assert_close(found.std(t=0.1, x=line)["s"], error)
