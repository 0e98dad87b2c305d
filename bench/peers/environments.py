"""An environment for every program, with pinned versions, made on first use in bench/.peers/NAME.

Where the package index that pip is set to use offers builds of torch for processors alone, they are taken; otherwise
torch brings its libraries for accelerators, which are several gigabytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".peers"
SOURCE = HERE.parent.parent / "src"


@dataclass(frozen=True)
class Entrant:
    """A program with settings: its script, what it needs, and what the page calls it."""

    title: str
    script: str
    needs: tuple[str, ...] = ()  # nothing: the project's own environment
    option: str = ""
    how: str = ""
    classical: bool = False

    @property
    def environment(self) -> str:
        return self.script.removeprefix("with_").removesuffix(".py").replace("_", "-")


TORCH = "torch==2.13.0"
SCIMBA = ("scimba==1.4.1", TORCH, "jax==0.10.2")
ENTRANTS: dict[str, Entrant] = {
    "anagram": Entrant("anagram", "with_anagram.py", how="`ag.solve(problem, tol=...)`, nothing else set"),
    "jinns": Entrant(
        "jinns", "with_jinns.py", ("jinns==1.10.2", "jax==0.10.2"), how="`vanilla_ngd()` with its defaults"
    ),
    "scimba": Entrant("Scimba", "with_scimba.py", SCIMBA, "ENG", "energy natural gradient, its default, on JAX"),
    "scimba-dsgnar": Entrant("Scimba, DSGNAR", "with_scimba.py", SCIMBA, "DSGNAR", "its DSGNAR with defaults, on JAX"),
    "deepxde": Entrant("DeepXDE", "with_deepxde.py", ("deepxde==1.15.0", TORCH), how="Adam, then L-BFGS, on PyTorch"),
    "pina": Entrant(
        "PINA", "with_pina.py", ("pina-mathlab==0.3.2", TORCH), how="Adam, then L-BFGS by `SwitchOptimizer`"
    ),
    "chebyshev": Entrant(
        "Chebyshev", "with_chebyshev.py", how="collocation in NumPy, our own, more and more points", classical=True
    ),
    "scipy": Entrant(
        "SciPy", "with_scipy.py", how="`solve_ivp`, `solve_bvp`, smaller and smaller tolerances", classical=True
    ),
    "scikit-fem": Entrant(
        "scikit-fem",
        "with_scikit_fem.py",
        ("scikit-fem==12.0.2", "scipy==1.17.1"),
        how="degree 4, finer and finer meshes",
        classical=True,
    ),
}


def python_of(entrant: Entrant) -> Path:
    """The interpreter of an entrant's environment, which is made if it is not there."""
    if not entrant.needs:
        return Path(sys.executable)
    folder = FOLDER / entrant.environment
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    done = folder / "installed.txt"
    wanted = "\n".join(entrant.needs)
    if not (done.exists() and done.read_text(encoding="utf-8") == wanted):
        print(f"installing {', '.join(entrant.needs)} into {folder}", flush=True)
        venv.create(folder, with_pip=True, symlinks=os.name != "nt")
        subprocess.run([python, "-m", "pip", "install", "--quiet", *entrant.needs], check=True)
        done.write_text(wanted, encoding="utf-8")
    return python


def surroundings(entrant: Entrant, cache: Path | None) -> dict[str, str]:
    """The variables of a run: processors alone, and nothing of the project in the environments of others."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "JAX_COMPILATION_CACHE_DIR")}
    env |= {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "agg"}
    if not entrant.needs:
        env["PYTHONPATH"] = str(SOURCE)
    if cache is not None:
        env["ANAGRAM_CACHE"] = str(cache)
    return env
