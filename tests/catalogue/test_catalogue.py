import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anagram as ag
from anagram.catalogue.burgers import paper_grid
from tolerances import assert_close

PAPER = {  # parameters, points inside, rows, steps
    "laplace-2d": (129, 900, 1020, 2000),
    "heat": (257, 900, 990, 2000),
    "laplace-5d": (449, 4000, 4500, 1000),
    "allen-cahn": (921, 900, 990, 4000),
    "burgers": (2241, 240 * 241, 240 * 241 + 2 * 240 + 241, 1000),
}


@pytest.mark.parametrize("name", ag.catalogue.names(paper=True))
def test_the_papers_settings(name):
    problem = ag.catalogue.problem(name, paper=True)
    model = ag.ParametricModel(problem.sought, problem.setting.model, 0)
    batch = ag.sample(problem, problem.setting.points)
    rows = sum(len(b.x) for b in batch.values())
    assert (model.parameters, len(batch["equation"].x), rows, problem.setting.steps) == PAPER[name]
    method = problem.setting.make_method()
    assert method.rows == "paper"
    assert method.search == "paper"


def test_the_papers_burgers_grid():
    x = paper_grid().by_axis["x"]
    assert len(x) == 241
    assert_close(x, -x[::-1])
    assert np.all(np.diff(x) > 0)
    assert_close(np.min(x[x > 0]), 2.0**-32)
    assert np.sum(x > 0.25) == 60
    assert np.sum((x > 0) & (x <= 0.25)) == 60


def derivatives(reference, points, h):
    """u, u_t, u_x, u_xx by sixth-order differences of a reference."""
    c1 = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    c2 = np.array([2, -27, 270, -490, 270, -27, 2]) / 180
    offsets = np.arange(-3, 4)
    along = [np.stack([reference(points + k * h * e) for k in offsets]) for e in np.eye(2)]
    return reference(points), c1 @ along[0] / h, c1 @ along[1] / h, c2 @ along[1] / h**2


def interior(count=200):
    rng = np.random.default_rng(0)
    return np.stack([rng.uniform(0.1, 0.9, count), rng.uniform(-0.95, 0.95, count)], axis=1)


@pytest.mark.parametrize("nu", [1.0, 0.1, 0.01, 0.01 / np.pi, 1e-3])
def test_burgers_reference_converges_and_solves_the_equation(nu):
    from anagram.catalogue.references.burgers import BurgersReference

    points = interior()
    reference = BurgersReference(nu)
    values = reference(points)
    assert_close(BurgersReference(nu, spacing=0.02)(points), values, 1e-12)
    assert_close(BurgersReference(nu, spacing=0.07)(points), values, 1e-12)
    u, u_t, u_x, u_xx = derivatives(reference, points, 1e-3 * min(1, 30 * nu))
    scale = np.max(np.abs(u * u_x)) + np.max(np.abs(u_t))
    assert np.max(np.abs(u_t + u * u_x - nu * u_xx)) < 1e-5 * scale
    x = np.linspace(-1, 1, 41)
    assert_close(reference(np.stack([0 * x, x], axis=1)), -np.sin(np.pi * x))
    ends = np.stack([np.repeat(np.linspace(0, 1, 20), 2), np.tile([-1.0, 1.0], 20)], axis=1)
    assert_close(reference(ends), np.zeros(40), scale=1.0)


def test_allen_cahn_reference_converges_and_solves_the_equation():
    from anagram.catalogue.references.allen_cahn import AllenCahnReference

    points = interior(300)
    reference = AllenCahnReference()
    values = reference(points)
    coarser = AllenCahnReference(modes=300, stages=7, first_slab=4e-7)
    assert np.max(np.abs(coarser(points) - values)) < 1e-9
    u, u_t, _, u_xx = derivatives(reference, points, 1e-3)
    assert np.max(np.abs(u_t - 1e-3 * u_xx - 5 * (u - u**3))) < 1e-7
    x = np.linspace(-1, 1, 41)
    assert_close(reference(np.stack([0 * x, x], axis=1)), x**2 * np.cos(np.pi * x), 1e-9)
    ends = np.stack([np.linspace(0, 1, 20), np.tile([-1.0, 1.0], 10)], axis=1)
    assert_close(reference(ends), -np.ones(20))


def test_references_are_cached_and_a_damaged_cache_is_replaced(tmp_path, monkeypatch):
    from anagram.catalogue.references.allen_cahn import AllenCahnReference

    monkeypatch.setenv("ANAGRAM_CACHE", str(tmp_path))
    small = AllenCahnReference(modes=20, stages=3, slab=0.2, first_slab=0.1)
    points = interior(5)
    first = small(points)
    (stored,) = tmp_path.glob("*.npz")
    monkeypatch.setattr(AllenCahnReference, "compute", lambda self: pytest.fail("the cache was not used"))
    assert_close(small(points), first, 0.0)
    monkeypatch.undo()
    monkeypatch.setenv("ANAGRAM_CACHE", str(tmp_path))
    for content in (b"", b"PK\x03\x04 broken", stored.read_bytes()[:-40]):
        stored.write_bytes(content)
        assert_close(small(points), first, 0.0)
    monkeypatch.setenv("ANAGRAM_CACHE", "/proc/no-such-place")
    assert_close(small(points), first, 0.0)


def test_mistakes_are_named():
    with pytest.raises(ag.SettingError, match="no problem 'poisson' in the catalogue; there are laplace-2d"):
        ag.catalogue.problem("poisson")
    with pytest.raises(ag.SettingError, match="no parameter 'mu'; its parameters: nu"):
        ag.catalogue.problem("burgers", mu=1)
    with pytest.raises(ag.ProblemError, match="the viscosity nu must be a number from 1e-05 to 1e\\+06, not -1"):
        ag.catalogue.problem("burgers", nu=-1)
    with pytest.raises(ag.ProblemError, match="the dimension must be a whole number from 3 to 100, not 2.5"):
        ag.catalogue.problem("poisson-10d", dimension=2.5)
    with pytest.raises(ag.ProblemError, match="low must be below the parameter tall; they are 2 and 1.6"):
        ag.catalogue.problem("kdv", low=2.0)
    with pytest.raises(ag.SettingError, match="'kdv' is not one of the paper: it has no setting of the paper"):
        ag.catalogue.problem("kdv", paper=True)


def test_every_file_is_an_entry_and_kinds_stay_together():
    folder = Path(ag.catalogue.__file__).parent
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--", "entry"}
    assert files == set(ag.catalogue.names())
    for name, entry in ag.catalogue.ENTRIES.items():
        assert entry.name == name
        assert entry.title
        assert entry.equation
    kinds = [kind for kind, _ in itertools.groupby(ag.catalogue.ENTRIES.values(), lambda entry: entry.kind)]
    assert len(kinds) == len(set(kinds))
    assert kinds[0] == "the paper"
    assert ag.catalogue.names(paper=True) == list(PAPER)


def test_importing_the_package_reads_no_entry():
    loaded = "[m for m in sys.modules if m.startswith('anagram.catalogue.')]"
    command = [sys.executable, "-c", f"import sys, anagram; print({loaded})"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "['anagram.catalogue.entry']"


def test_every_entry_has_a_row_on_its_page():
    page = (Path(__file__).parents[2] / "docs" / "catalogue.md").read_text()
    assert [name for name in ag.catalogue.names() if f"\n| `{name}` |" not in page] == []


def test_a_default_run_of_laplace_2d_is_accurate():
    problem = ag.catalogue.problem("laplace-2d")
    solution = ag.solve(problem, progress=False)
    assert solution.reached
    assert solution.relative_l2_error < 1e-6
    further = ag.solve(problem, tol=1e-8, progress=False)
    assert further.l2_error < 1e-8
    assert further.validation_loss < 1e-12
