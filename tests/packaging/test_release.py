"""What is released: its version in all places, and what is in the package. `make test-long` builds and installs it."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from anagram.version import __version__

ROOT = Path(__file__).parents[2]
PYTHONS = ("python3.11", "python3.12", "python3.13")
SOLVE = """
import anagram as ag
line = ag.Box(x=(0, 1))
equation = ag.Condition(lambda u: u.d("x", "x"), equals=-2.0)
ends = ag.Condition(lambda u: u, on=line.boundary())
solution = ag.solve(ag.Problem(line, equation=equation, ends=ends), tol=1e-6, progress=False)
assert solution.reached
assert abs(solution(x=0.5) - 0.25) < 1e-6
print(ag.__version__, ag.__file__)
"""


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    assert re.search(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE)[1] == __version__
    assert re.search(r"^## (\S+)", text("CHANGELOG.md"), re.MULTILINE)[1] == __version__


def test_extras_are_documented_and_pinned():
    import tomllib

    project = tomllib.loads(text("pyproject.toml"))["project"]
    page, pinned = text("docs/index.md"), {line.split("==")[0].lower() for line in text("constraints.txt").splitlines()}
    for extra, packages in project["optional-dependencies"].items():
        assert f"`{extra}`" in page, f"docs/index.md does not say what the extra {extra} is for"
        names = {re.split(r"[>=\[]", package)[0].lower() for package in packages}
        assert names <= pinned, f"constraints.txt does not pin {names - pinned}"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.mark.long
def test_everything_is_in_the_package(built):
    wheel, source = built
    inside = set(zipfile.ZipFile(wheel).namelist())
    ours = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "anagram").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert ours <= inside
    assert "anagram/py.typed" in inside
    assert not any(name.startswith(("tests", "docs", "bench")) for name in inside)
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "CITATION.cff", "LICENSE", "constraints.txt", "src/anagram/py.typed"} <= names


@pytest.mark.long
@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_solves_in_an_empty_environment(built, python, tmp_path):
    found = shutil.which(python)
    if found is None or subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode:
        pytest.skip(f"there is no {python}")
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XLA_FLAGS")}
    subprocess.run([found, "-m", "venv", tmp_path / "venv"], check=True)
    programs = tmp_path / "venv" / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", built[0]]
    subprocess.run(install, check=True, env=clean, cwd=tmp_path)
    done = subprocess.run(
        [programs / "python", "-W", "error", "-c", SOLVE], check=True, env=clean, cwd=tmp_path, capture_output=True
    )
    version, file = done.stdout.decode().split()
    assert version == __version__
    assert Path(file).is_relative_to(tmp_path)
    command = [programs / "anagram", "solve", "laplace-2d", "--tol", "1e-3", "--out", "run", "--quiet"]
    subprocess.run(command, check=True, env=clean, cwd=tmp_path)
    subprocess.run([programs / "anagram", "report", "run", "--quiet"], check=True, env=clean, cwd=tmp_path)
    assert (tmp_path / "run" / "report.html").is_file()
