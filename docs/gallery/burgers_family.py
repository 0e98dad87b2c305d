"""Burgers' equation for all viscosities from 0.01 to 1 by one run: u_t + u u_x = ν u_xx, u(0, x) = −sin πx.

The solution is a function of ν, t and x, in pieces along ν with a network for each. It is compared with
solutions for single viscosities, one after the other.
"""

import itertools
import time
from pathlib import Path

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import qmc

import anagram as ag
from anagram.catalogue.references.burgers import BurgersReference

WANTED, HIGH = 0.01, 1.0
LOW = 0.008  # a family is worst where it ends: this one is a little larger than what is wanted
PIECES = 4
STEPS = 170  # and points, for each piece
POINTS = 6144
MEMBERS = (0.01, 0.0316, 0.1, 0.316, 1.0)
AGAIN = (0.01, 0.1, 1.0)  # viscosities that are solved one by one
box = ag.Box(nu=ag.parameter(LOW, HIGH, log=True), t=(0, 1), x=(-1, 1))


def reference(points: np.ndarray) -> np.ndarray:
    """Cole and Hopf's solution at points (n, 3), viscosity by viscosity."""
    values = np.empty(len(points))
    for nu in np.unique(points[:, 0]):
        here = points[:, 0] == nu
        values[here] = BurgersReference(float(nu))(points[here, 1:])
    return values


def problem() -> ag.Problem:
    """The whole family: the operator names its parameter."""
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u, nu: u.d("t") + u * u.d("x") - nu * u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: -jnp.sin(jnp.pi * x), exact=True),
        walls=ag.Condition(lambda u: u, on=box.faces("x"), exact=True),
        name="Burgers for all viscosities",
    )


def points_inside(count: int) -> ag.Chosen:
    """Points for every piece: dense at both of its ends, and every other one in the front of its viscosity."""
    edges = np.geomspace(LOW, HIGH, PIECES + 1)
    pieces = [points_of_piece(count, *ends) for ends in itertools.pairwise(edges)]
    nu, t, x = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    return ag.Chosen(nu=nu, t=t, x=x)


def points_of_piece(count: int, low: float, high: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ν, t and x."""
    unit = qmc.Sobol(3, rng=np.random.default_rng(0)).random_base2(int(np.ceil(np.log2(count))))[:count]
    nu = low * (high / low) ** ((1 - np.cos(np.pi * unit[:, 0])) / 2)
    x, width = 2 * unit[:, 2] - 1, 3 * nu[::2]
    x[::2] = np.clip(width * np.sinh(x[::2] * np.arcsinh(1 / width)), -1, 1)
    return nu, unit[:, 1], x


def relative_error(member: ag.Solution, nu: float) -> float:
    """On a fine grid of one member."""
    t, x = np.meshgrid(np.linspace(0, 1, 41), np.linspace(-1, 1, 401), indexing="ij")
    exact = BurgersReference(nu)(np.stack([t.ravel(), x.ravel()], axis=1)).reshape(t.shape)
    return float(np.sqrt(np.mean((member(t=t, x=x) - exact) ** 2) / np.mean(exact**2)))


def draw(solution: ag.Solution, errors: list[float], nus: np.ndarray) -> None:
    """Members at one instant, one member as a map, and the errors of all of them."""
    x = np.linspace(-1, 1, 401)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    for nu, colour in zip(MEMBERS, plt.colormaps["viridis"](np.linspace(0, 0.9, len(MEMBERS))), strict=True):
        left.plot(x, solution.at(nu=nu)(t=0.5, x=x), color=colour, label=f"ν = {nu:g}")
        exact = BurgersReference(nu)(np.stack([np.full(41, 0.5), x[::10]], axis=1))
        left.plot(x[::10], exact, ".", color=colour, ms=4)
    left.set(title="members at t = 0.5 (dots: Cole and Hopf)", xlabel="x", ylabel="u")
    left.legend(fontsize=8)
    values = solution.to_numpy({"nu": 161, "x": 241}, at={"t": 1.0})
    image = middle.pcolormesh(values["x"], values["nu"], values["u"], cmap="RdBu_r", rasterized=True)
    figure.colorbar(image, ax=middle)
    middle.set(title="u at t = 1", xlabel="x", ylabel="ν", yscale="log")
    along = solution.errors_along("nu")
    right.loglog(nus, errors, "o-", color="#1f77b4", ms=4, label="true")
    right.loglog(along.places, along.estimated, "--", color="#ff7f0e", label="estimated")
    right.set(title="relative error of members", xlabel="ν")
    right.grid(visible=True, which="major", color="0.9")
    right.legend()
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=110)


def main() -> None:
    """Solve all of them, say how well, and how long it takes one by one."""
    begin = time.perf_counter()
    points, options = {"equation": points_inside(POINTS)}, {"sketch": 0}  # one long walk, and no rough one before it
    model = ag.MLP(16, 16, 16, 16)
    pieces = {"nu": PIECES}
    solution = ag.solve(problem(), model, points=points, steps=STEPS, options=options, stretches=pieces)
    print(f"the family: {time.perf_counter() - begin:.0f} s, {solution.summary['seconds']:.0f} s of them training")
    nus = np.geomspace(WANTED, HIGH, 9)
    errors = [relative_error(solution.at(nu=float(nu)), float(nu)) for nu in nus]
    print("relative errors", ", ".join(f"{nu:.3g}: {e:.1e}" for nu, e in zip(nus, errors, strict=True)))
    print(solution.errors_along("nu"))
    print(
        f"a query: {1e6 * solution.seconds(1):.0f} µs alone, {1e2 * solution.seconds(10_000):.2f} µs a point of 10000"
    )
    draw(solution, errors, nus)
    for nu in AGAIN:
        begin = time.perf_counter()
        single = ag.solve(ag.catalogue.problem("burgers", nu=nu), tol=1e-5, seconds=60)
        took = time.perf_counter() - begin
        print(f"ν = {nu:g} alone, to 1e-5: relative error {relative_error(single, nu):.1e}, {took:.0f} s")


if __name__ == "__main__":
    main()
