"""Two ways through time: parameters of a network in space that evolve, and networks in space and time.

    python bench/evolving.py                  # both problems, both ways
    python bench/evolving.py kdv --ways evolving --parameters 150 --steps 400

*Evolving*: u_θ(x) at one moment. Every step is implicit, u⁺ = known + γ Δt N(u⁺) (BDF of the fourth order, from four
exact values), and θ⁺ is found by natural gradient: Gauss and Newton's steps in the tangent space of the network at the
points of a grid, from θ on, with singular values cut off. This is what time evolving natural gradient does; it is
implicit here, because an explicit method needs steps of the size of the third power of the shortest wave.

*Slabs*: the same equation in space and time, `ag.solve(problem, tol=...)` with nothing else set, and with stretches.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import anagram as ag
from anagram.catalogue.references.ring import Equation, RingReference

# u⁺ = Σ known_k u_{n−k} + lead Δt N(u⁺)
BDF4 = (np.array([48.0, -36.0, 16.0, -3.0]) / 25, 12.0 / 25)
CUTOFFS = (1e-13, 1e-11, 1e-9, 1e-7, 1e-5)  # of the largest singular value of the features; the best one counts
LENGTHS = (1.0, 0.3)
ITERATIONS = 8  # Gauss and Newton's steps for one step of time, at most
FITTED = 60  # of them for the values at the beginning


@dataclass(frozen=True)
class Evolution:
    """u_t = N(u) on a ring."""

    period: float
    end: float
    start: Callable[[Any], Any]
    rate: Callable[[list[Any]], Any]  # N from u, u_x, u_xx, u_xxx
    operator: Callable[[Any], Any]  # N of a field of ours
    multipliers: Callable[[Any], Any]  # its linear part in Fourier space
    rest: Callable[[Any, Any], Any]  # what is not linear in it, there
    highest: int

    def reference(self, name: str) -> RingReference:
        start = lambda x: np.asarray(self.start(x))[None]  # noqa: E731
        equation = Equation(f"evolving-{name}", self.period, self.end, self.multipliers, self.rest, start)
        return RingReference(equation, points=256, snapshots=200, steps=40)

    def problem(self, name: str) -> ag.Problem:
        ring = ag.Box(t=(0, self.end), x=ag.periodic(0, self.period))
        return ag.Problem(
            ring,
            equation=ag.Condition(lambda u: u.d("t") - self.operator(u)),
            start=ag.Condition(lambda u: u, on=ring.face(t=0), equals=self.start),
            reference=self.reference(name),
            name=name,
        )


PROBLEMS = {
    # A front between −1 and 1 that becomes sharp, on both sides of a ring.
    "allen-cahn": Evolution(
        period=2.0,
        end=1.0,
        start=lambda x: jnp.sin(jnp.pi * x),
        rate=lambda u: 5e-3 * u[2] + 5 * (u[0] - u[0] ** 3),
        operator=lambda u: 5e-3 * u.d("x", "x") + 5 * (u - u**3),
        multipliers=lambda k: (5 - 5e-3 * k**2)[None],
        rest=lambda u, _: np.fft.rfft(-5 * u**3),
        highest=2,
    ),
    # A soliton once around a ring.
    "kdv": Evolution(
        period=20.0,
        end=5.0,
        start=lambda x: 2 / jnp.cosh(x - 10) ** 2,
        rate=lambda u: -6 * u[0] * u[1] - u[3],
        operator=lambda u: -6 * u * u.d("x") - u.d("x", "x", "x"),
        multipliers=lambda k: (1j * k**3)[None],
        rest=lambda u, k: -3j * k * np.fft.rfft(u**2),
        highest=3,
    ),
}


# -- parameters that evolve ---------------------------------------------------------------------------------
def evolve(name: str, widths: list[int], steps: int, points: int) -> dict[str, Any]:
    """Steps of time with a network in space; the error at eight moments."""
    problem, reference = PROBLEMS[name], PROBLEMS[name].reference(name)
    ring = ag.Box(x=ag.periodic(0, problem.period))
    module = ag.MLP(*widths).build(ring, 1, jax.random.PRNGKey(0))
    kept = ("weights", "biases")
    theta, unravel = ravel_pytree({key: getattr(module, key) for key in kept})
    x = jnp.asarray(problem.period * (np.arange(points) + 0.5) / points)

    def field(theta: Any) -> Callable[[Any], Any]:
        learned = unravel(theta)
        whole = eqx.tree_at(lambda m: tuple(getattr(m, key) for key in kept), module, tuple(learned[k] for k in kept))
        return lambda at: whole(at[None])[0]

    def values(theta: Any) -> list[Any]:
        """u and its derivatives at the points."""
        functions = [field(theta)]
        for _ in range(problem.highest):
            functions.append(lambda at, f=functions[-1]: jax.jvp(f, (at,), (jnp.ones(()),))[1])
        return [jax.vmap(f)(x) for f in functions]

    def residual(theta: Any, known: Any, lead: Any) -> Any:
        u = values(theta)
        return u[0] - lead * problem.rate(u) - known

    @jax.jit
    def step(theta: Any, known: Any, lead: Any) -> tuple[Any, Any]:
        """One step of Gauss and Newton's: of several cutoffs and lengths what leaves least."""
        r, features = residual(theta, known, lead), jax.jacfwd(residual)(theta, known, lead)
        u, sigma, v = jnp.linalg.svd(features, full_matrices=False)
        kept = sigma[None] > jnp.asarray(CUTOFFS)[:, None] * sigma[0]
        directions = -jnp.where(kept, (u.T @ r) / sigma, 0.0) @ v
        tried = theta + (jnp.asarray(LENGTHS)[:, None, None] * directions).reshape(-1, theta.size)
        left = jax.vmap(lambda other: jnp.sum(residual(other, known, lead) ** 2))(tried)
        best = jnp.argmin(jnp.where(jnp.isfinite(left), left, jnp.inf))
        better = left[best] < jnp.sum(r**2)
        return jnp.where(better, tried[best], theta), jnp.where(better, left[best], jnp.sum(r**2))

    def solved(theta: Any, known: Any, lead: float, most: int) -> Any:
        before = np.inf
        for _ in range(most):
            theta, left = step(theta, known, lead)
            if not float(left) < 0.7 * before:
                break
            before = float(left)
        return theta

    dt, (weights, gamma) = problem.end / steps, BDF4
    exact = lambda t: jnp.asarray(reference(np.stack([np.full(points, t), np.asarray(x)], axis=1))).ravel()  # noqa: E731
    exact(0.0)  # the reference is not counted
    step(theta, exact(0.0), 0.0)  # compiled
    began = time.perf_counter()
    history = [exact(k * dt) for k in (3, 2, 1, 0)]
    theta = solved(theta, history[0], 0.0, FITTED)
    start_error = distance(values(theta)[0], history[0])
    errors, unfitted = [], 0.0
    for n in range(4, steps + 1):
        known = sum(w * u for w, u in zip(weights, history, strict=True))
        theta = solved(theta, known, gamma * dt, ITERATIONS)
        unfitted = max(unfitted, float(jnp.sqrt(jnp.mean(residual(theta, known, gamma * dt) ** 2))))
        history = [values(theta)[0], *history[:3]]
        if n % max(1, steps // 8) == 0:
            errors.append(distance(history[0], exact(n * dt)))
    return {
        "way": "evolving",
        "parameters": int(theta.size),
        "points": points,
        "steps": steps,
        "seconds": time.perf_counter() - began,
        "error": float(np.sqrt(np.mean(np.square(errors)))),
        "at_the_end": errors[-1],
        "at_the_beginning": start_error,
        "unfitted": unfitted,
    }


def distance(u: Any, exact: Any) -> float:
    return float(jnp.linalg.norm(u - exact) / jnp.linalg.norm(exact))


# -- networks in space and time -----------------------------------------------------------------------------
def slabs(name: str, tol: float, seconds: float, **options: Any) -> dict[str, Any]:
    """The whole of time, and its stretches."""
    problem = PROBLEMS[name].problem(name)
    solution = ag.solve(problem, tol=tol, seconds=seconds, progress=False, **options)
    x = problem.domain.draw(ag.Sobol(4096), np.random.default_rng(0)).x
    exact = (problem.exact(x) or {})["u"]
    return {
        "way": f"space and time, tol={tol:g}" + "".join(f", {k}={v}" for k, v in options.items()),
        "parameters": solution.summary["parameters"],
        "seconds": solution.summary["seconds"],
        "error": float(np.linalg.norm(solution(x) - exact) / np.linalg.norm(exact)),
        "at_the_end": None,
        "stopped_because": solution.stopped_because,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--ways", nargs="+", default=["evolving", "slabs"], choices=["evolving", "slabs"])
    parser.add_argument("--widths", type=int, nargs="+", default=[12, 12])
    parser.add_argument("--steps", type=int, nargs="+", default=[200, 400, 800])
    parser.add_argument("--points", type=int, default=512)
    parser.add_argument("--stretches", type=int, default=4, help="0: the whole of time alone")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--seconds", type=float, default=60.0)
    args = parser.parse_args()
    for name in args.problems or PROBLEMS:
        if "evolving" in args.ways:
            for steps in args.steps:
                print(json.dumps({"problem": name, **evolve(name, args.widths, steps, args.points)}), flush=True)
        if "slabs" in args.ways:
            print(json.dumps({"problem": name, **slabs(name, args.tol, args.seconds)}), flush=True)
            if args.stretches:
                cut = slabs(name, args.tol, args.seconds, stretches=args.stretches)
                print(json.dumps({"problem": name, **cut}), flush=True)


if __name__ == "__main__":
    main()
