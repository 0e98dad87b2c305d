"""What `paper_open.py` runs: settings that differ in one thing from the paper's text, or from its authors' public code.

A trial is one row of a table: a problem, a method, points, first parameters and steps, for some seeds. `stated` points
are those of the paper's text; `public` points, and losses that count each wall apart, are those of the public code.
`authors` are the first parameters that the public code draws for its own list of seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from anagram import catalogue
from anagram.catalogue import heat, laplace_2d
from anagram.catalogue.burgers import paper_grid
from anagram.compound.batch import Batch, sample
from anagram.methods import Anagram, Engd, Lbfgs, Method
from anagram.models import MLP
from anagram.programs.reproduce.evaluation import Evaluation
from anagram.statement.condition import Condition
from anagram.statement.domains import Grid, Uniform
from anagram.statement.problem import Problem
from anagram.training.setting import Setting

# The seeds of the public code; E-NGD on Allen–Cahn has the first three. Burgers has one, which is not in the list.
SEEDS_OF_AUTHORS = (6865, 8369, 4785, 6705, 5729, 4353, 3409, 3601, 5681, 1857, 42)
TEN = tuple(range(10))
SIDES = {"bottom": ("y", 0), "right": ("x", 1), "top": ("y", 1), "left": ("x", 0)}


class PublicEngd(Engd):
    """E-NGD with what the public code does otherwise, each by itself.

    Args:
        solver: ``eigh`` of the Gram matrix as in `anagram.methods.Engd`, or ``svd``, as in a least squares solver.
        doubled: the gradient is that of 2ℓ, so the longest length is 2 and not 1.
        measures: by what the Gram matrix multiplies the part of each condition: the length or area of where it holds.
            The loss has means.
    """

    solver: str = eqx.field(static=True)
    doubled: bool = eqx.field(static=True)
    measures: tuple[tuple[str, float], ...] = eqx.field(static=True)

    def __init__(self, solver: str = "svd", doubled: bool = False, measures: Any = ()) -> None:
        super().__init__()
        self.solver, self.doubled, self.measures = solver, doubled, tuple(measures)

    def step(self, compound: Any, state: Any, batch: Batch) -> tuple[Any, dict[str, Any]]:
        theta = state.theta
        factors = dict(self.measures)
        measured = {k: p._replace(scale=p.scale * np.sqrt(factors.get(k, 1.0))) for k, p in batch.items()}
        matrix = compound.gram(theta, measured).matrix + self._second(compound, theta, measured)
        gradient = compound.gradient(theta, batch)
        rcond = theta.size * jnp.finfo(theta.dtype).eps
        if self.solver == "svd":
            left, sizes, right = jnp.linalg.svd(matrix)
        else:
            sizes, left = jnp.linalg.eigh(matrix)
            right = left.T
        keep = jnp.abs(sizes) > rcond * jnp.max(jnp.abs(sizes))
        direction = -right.T @ jnp.where(keep, (left.T @ gradient) / jnp.where(keep, sizes, 1.0), 0.0)
        return self.along(compound, state, batch, (2.0 if self.doubled else 1.0) * direction)


class ScriptEngd(Engd):
    """E-NGD on Allen–Cahn as the public script has it; not what it should be, but what the paper's numbers come from.

    The second part of its Gram matrix is that of √(30u) ∂_θ u, with itself: the residual is missing, and where u < 0
    there is no root. Its solver then gives numbers that are none, which the script replaces by a step of length zero.
    """

    def __init__(self) -> None:
        super().__init__()

    def step(self, compound: Any, state: Any, batch: Batch) -> tuple[Any, dict[str, Any]]:
        theta, inside = state.theta, batch["equation"].x
        factors = {"equation": 2.0, "initial": 2.0}
        measured = {k: p._replace(scale=p.scale * np.sqrt(factors.get(k, 1.0))) for k, p in batch.items()}

        def u(theta: Any, x: Any) -> Any:
            return compound.model.quantities(theta, compound.problem.domain.frame)["u"].at(x)

        values = jax.vmap(u, (None, 0))(theta, inside)
        slopes = jax.vmap(jax.grad(u), (None, 0))(theta, inside)
        second = 2.0 * (slopes.T * (30.0 * values)) @ slopes / len(inside)
        left, sizes, right = jnp.linalg.svd(compound.gram(theta, measured).matrix + second)
        keep = sizes > theta.size * jnp.finfo(theta.dtype).eps * sizes[0]
        gradient = 2.0 * compound.gradient(theta, batch)
        direction = -right.T @ jnp.where(keep, (left.T @ gradient) / jnp.where(keep, sizes, 1.0), 0.0)
        return self.along(compound, state, batch, jnp.where(jnp.all(values >= 0), direction, 0.0))


class PublicLbfgs(Lbfgs):
    """L-BFGS whose line search begins where the last one ended (``keep``) or at 1 (``one``)."""

    begins: str = eqx.field(static=True)

    def __init__(self, begins: str = "keep", trials: int = 15) -> None:
        super().__init__(trials=trials)
        self.begins = begins

    def transformation(self) -> Any:
        import optax

        search = optax.scale_by_zoom_linesearch(max_linesearch_steps=self.trials, initial_guess_strategy=self.begins)
        return optax.lbfgs(memory_size=self.remembered, linesearch=search)


@dataclass(frozen=True)
class Trial:
    """One row: what is trained, and how it is measured."""

    part: str
    name: str
    problem: str
    method: Callable[[], Method]
    points: str = "stated"
    draws: str = "small"
    steps: int = 1000
    seeds: tuple[int, ...] = TEN

    @property
    def factorises(self) -> bool:
        """Whether its seeds are run one after the other on a CPU."""
        return not isinstance(self.method(), Lbfgs)

    @cached_property
    def stated(self) -> Problem:
        """The problem; its walls are conditions of their own where the public code has them so."""
        return public_problem(self.problem) if self.points == "public" else _catalogued(self.problem)

    @property
    def setting(self) -> Setting:
        """Network, method and points."""
        paper = _catalogued(self.problem).setting
        assert paper is not None
        init = "glorot" if self.draws == "glorot" else "small"
        model = MLP(*paper.model.widths, init=init, scale=0)
        points = public_points(self.problem) if self.points == "public" else paper.points
        return replace(paper, model=model, method=self.method(), options={}, points=points, steps=self.steps)

    def theta(self, seed: int, default: Any) -> Any:
        """The first parameters of a seed."""
        return (
            default if self.draws != "authors" else drawn_as_public(SEEDS_OF_AUTHORS[seed], self.setting.model.widths)
        )

    def evaluation(self) -> tuple[Any, Any, Batch]:
        """Points and values for the error, and the batch of the test loss."""
        if self.problem == "burgers":
            x = self.stated.domain.draw(Uniform(20_000), np.random.default_rng(2_000_003)).x
            exact = self.stated.exact(x)
            assert exact is not None
            finer = dict.fromkeys(self.stated.conditions, paper_grid(4 * round(240 * 5**0.5 / 4)))
            return jnp.asarray(x), jnp.asarray(exact["u"]), sample(self.stated, finer)
        x, exact, test = Evaluation(self.stated, sample(self.stated, self.setting.points)).data
        if self.points == "public" and self.problem != "laplace-5d":
            test = sample(self.stated, public_points(self.problem, 5))
        return x, exact, test


def _catalogued(name: str) -> Problem:
    return catalogue.problem(name, paper=True, **({"nu": 1e-3} if name == "burgers" else {}))


def public_problem(name: str) -> Problem:
    """The conditions of the public code, whose loss is the sum of their means.

    Each wall of an evolution is a condition by itself. The boundary of the square is one condition; it is four here,
    each with a quarter of the weight, since its sides have points of their own.
    """
    problem = _catalogued(name)
    if name == "laplace-5d":
        return problem
    box: Any = problem.domain
    conditions: dict[str, Any] = {k: c for k, c in problem.conditions.items() if k != "walls"}
    value = -1.0 if name == "allen-cahn" else 0.0
    sides = SIDES if name == "laplace-2d" else {"left": ("x", 0), "right": ("x", 1)}
    for side, (axis, end) in sides.items():
        face = box.face(**{axis: box.intervals[axis][end]})
        conditions[side] = Condition(lambda u: u, on=face, equals=value)
    exact = {"laplace-2d": laplace_2d.solution, "heat": heat.solution}.get(name)
    known: dict[str, Any] = {"reference": problem.reference} if exact is None else {"solution": exact}
    stated = Problem(box, name=problem.name, **conditions, **known)
    return stated.restated(weights=dict.fromkeys(SIDES, 0.25)) if name == "laplace-2d" else stated


def public_points(name: str, times: int = 1) -> Any:
    """The grid of the public code: 30 · times points for each unit of length, ends counted.

    Inside, the ends are left out; sides are walked around once, each without its last point.
    """
    if name == "laplace-5d":
        return _catalogued(name).setting.points
    if name == "burgers":
        return dict.fromkeys(("equation", "initial", "left", "right"), paper_grid())
    n = 30 * times
    unit = np.linspace(0.0, 1.0, n)
    there, back, inside = unit[:-1], unit[1:], unit[1:-1]
    if name == "laplace-2d":
        sides = {"bottom": Grid(x=there), "right": Grid(y=there), "top": Grid(x=back), "left": Grid(y=back)}
        return {"equation": Grid(x=inside, y=inside), **sides}
    sides = {"left": Grid(t=there), "right": Grid(t=back)}
    if name == "heat":
        return {"equation": Grid(t=inside, x=inside), "initial": Grid(x=back), **sides}
    across = np.linspace(-1.0, 1.0, 2 * n)
    initial = Grid(x=np.linspace(-1.0, 1.0, 41 * times))
    return {"equation": Grid(t=inside, x=across[1:-1]), "initial": initial, **sides}


def drawn_as_public(seed: int, widths: tuple[int, ...], inputs: int = 2) -> np.ndarray:
    """Weights and biases 0.1·N(0, 1) with the random numbers that the public code draws for a seed.

    JAX draws other numbers by default since version 0.5; the old ones can still be had. Weights of all layers come
    first, then biases, as models here keep them.
    """
    with jax.threefry_partitionable(False):
        sizes = (inputs, *widths, 1)
        keys = jax.random.split(jax.random.split(jax.random.PRNGKey(seed), 3)[1], len(sizes))
        weights, biases = [], []
        for key, fan_in, fan_out in zip(keys, sizes[:-1], sizes[1:], strict=False):
            of_weights, of_biases = jax.random.split(key)
            weights.append(0.1 * np.asarray(jax.random.normal(of_weights, (fan_out, fan_in))))
            biases.append(0.1 * np.asarray(jax.random.normal(of_biases, (fan_out,))))
    return np.concatenate([np.ravel(a) for a in (*weights, *biases)])


def _anagram(cutoff: float, relative: bool, factorisation: str = "auto") -> Callable[[], Method]:
    return lambda: Anagram(cutoff, relative, rows="paper", search="paper", factorisation=factorisation)


def _engd(**options: Any) -> Callable[[], Method]:
    return lambda: PublicEngd(**options)


def _lbfgs(**options: Any) -> Callable[[], Method]:
    return lambda: PublicLbfgs(**options)


# The boundary of the square has length 4.
MEASURES = [(side, 4.0) for side in ("walls", *SIDES)]
# With no cutoff given the public code takes √(P·2.2e-16) of the largest singular value: 4.5e-7 for Allen–Cahn (the
# paper: 5e-7), 7.1e-7 for Burgers.
IN_PUBLIC = {"allen-cahn": 4.5e-7, "burgers": 7.1e-7}


def trials() -> list[Trial]:
    """All of them; the names say what differs."""
    laplace, allen = "laplace-2d", "allen-cahn"
    public: dict[str, Any] = {"points": "public", "draws": "authors"}
    rows = [
        Trial("a", "a-lbfgs-public", allen, _lbfgs(), steps=4000, **public),
        Trial("a", "a-engd-public", allen, Engd, steps=1000, **public),
        Trial("a", "a-engd-script", allen, ScriptEngd, steps=40, seeds=(0, 1, 2), **public),
        Trial("a", "a-anagram-public", allen, _anagram(IN_PUBLIC[allen], True), steps=4000, **public),
        Trial("a", "a-anagram-small", allen, _anagram(5e-7, True), points="public", steps=4000),
        Trial("a", "a-anagram-svd", allen, _anagram(IN_PUBLIC[allen], True, "svd"), steps=100, seeds=(0, 1), **public),
        Trial("b", "b-small", laplace, _anagram(1e-6, False), steps=2000),
        Trial("b", "b-glorot", laplace, _anagram(1e-6, False), draws="glorot", steps=2000),
        Trial("b", "b-public", laplace, _anagram(1e-6, False), steps=2000, **public),
        Trial("b", "b-public-svd", laplace, _anagram(1e-6, False, "svd"), steps=2000, **public),
        Trial("c", "c-public", "burgers", _anagram(IN_PUBLIC["burgers"], True, "eigh"), seeds=(10, 0, 1), **public),
        Trial("c", "c-small", "burgers", _anagram(5e-7, True, "eigh"), seeds=(1, 2)),
    ]
    together: dict[str, Any] = {"solver": "svd", "doubled": True, "measures": MEASURES}
    engd: list[tuple[str, Any, Any]] = [
        ("ours", {"solver": "eigh"}, {}),
        ("svd", {"solver": "svd"}, {}),
        ("doubled", {"solver": "eigh", "doubled": True}, {}),
        ("measures", {"solver": "eigh", "measures": MEASURES}, {}),
        ("grid", {"solver": "eigh"}, {"points": "public"}),
        ("draws", {"solver": "eigh"}, {"draws": "authors"}),
        ("public", together, public),
    ]
    for name, options, more in engd:
        rows.append(Trial("d", f"d-engd-{name}", laplace, _engd(**options), steps=1000, **more))
    lbfgs: list[tuple[str, Any, Any]] = [
        ("ours", {"begins": "one", "trials": 20}, {}),
        ("trials", {"begins": "one", "trials": 15}, {}),
        ("keep", {"begins": "keep", "trials": 20}, {}),
        ("grid", {"begins": "one", "trials": 20}, {"points": "public"}),
        ("draws", {"begins": "one", "trials": 20}, {"draws": "authors"}),
        ("public", {}, public),
    ]
    for name, options, more in lbfgs:
        rows.append(Trial("d", f"d-lbfgs-{name}", laplace, _lbfgs(**options), steps=2000, **more))
    rows.append(Trial("d", "d-heat-lbfgs-ours", "heat", _lbfgs(begins="one", trials=20), steps=3000))
    rows.append(Trial("d", "d-heat-lbfgs-public", "heat", _lbfgs(), steps=3000, **public))
    rows.append(Trial("d", "d-5d-lbfgs-keep", "laplace-5d", _lbfgs(), steps=1000))
    return rows
