"""The pictures of docs/how-it-converges.md, computed afresh (a few minutes on two cores).

python bench/convergence_figures.py [--out docs/figures] [phases edge factorisations acceleration cells]
"""

import argparse
import warnings
from pathlib import Path

import jax.numpy as jnp
import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import anagram as ag
from anagram import spectrum
from anagram.compound import gram_of
from anagram.showing.report.style import BLUE, GREEN, GREY, ORANGE, STYLE
from anagram.training import budget
from anagram.training.adaptive import AdaptivePoints
from anagram.training.trainer import Trainer

GRID = {"visible": True, "which": "major", "color": "0.9", "lw": 0.6}


def canvas(width, height, *shape, **options):
    drawing = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(drawing)
    return drawing, drawing.subplots(*shape, **options)


def solved(name, model=None, points=None, steps=None, seed=0, options=None, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ag.solve(
            ag.catalogue.problem(name, **parameters),
            model,
            points=points,
            steps=steps,
            seed=seed,
            options=options,
            progress=False,
        )


def phases(out):
    """Loss and error of one run; damping, step length and ratio below."""
    solution = solved("laplace-2d", ag.MLP(32), ag.GaussLegendre(30))
    steps, history = solution.history.steps, solution.history
    count = np.arange(1, history.count + 1)
    drawing, axes = canvas(7.2, 6.4, 3, 1, sharex=True, height_ratios=(2, 1, 1))
    axes[0].semilogy(count, steps["loss"], color=BLUE, lw=1.6, label="loss of the iterate")
    axes[0].semilogy(
        history.column("step"), history.column("l2_error"), color=GREEN, lw=1.6, label="RMS error of the best by loss"
    )
    axes[1].semilogy(count, steps["damping"], color=ORANGE, lw=1.4, label="damping λ")
    axes[1].semilogy(
        count, np.where(steps["step_norm"] > 0, steps["step_norm"], np.nan), color=GREY, lw=1.2, label="‖p‖"
    )
    axes[2].plot(count, steps["ratio"], ".", color=BLUE, ms=3, label="ratio ρ of the step taken")
    axes[2].axhline(0.075, color="0.5", lw=0.8, ls="--")
    axes[2].axhline(0.5, color="0.5", lw=0.8, ls=":")
    axes[2].set_ylim(0, 1.3)
    begins = int(np.sum(steps["stage"] == 0))
    end = int(np.flatnonzero(steps["stage"] == 1)[-1]) + 1
    for ax in axes:
        for step in np.flatnonzero(steps["stage"] != 1):
            ax.axvspan(step + 0.5, step + 1.5, color="0.95", lw=0)
        ax.grid(**GRID)
        ax.legend(loc="best")
    for x, text in ((begins / 2, "sketch"), ((begins + end) / 2, "at the edge"), ((end + count[-1]) / 2, "end")):
        axes[0].text(x, 1.02, text, ha="center", transform=axes[0].get_xaxis_transform())
    axes[-1].set_xlabel("step")
    drawing.savefig(out / "phases.png")


def edge(out):
    """The error reached, over seeds, for edges found more or less closely and other rules of length."""
    variants = {
        "edge to 5 %": {},
        "edge to 50 %": {"precision": 0.5},
        "ρ* = 0.5": {"ratio": 0.5},
        "growth 1.25": {"growth": 1.25},
        "growth 10": {"growth": 10.0},
    }
    drawing, ax = canvas(7.2, 3.4)
    problem = ag.catalogue.problem("laplace-2d")
    for k, options in enumerate(variants.values()):
        errors = [
            ag.solve(
                problem,
                ag.MLP(32),
                points=ag.GaussLegendre(30),
                steps=400,
                seed=s,
                options={"restarts": 0, **options},
                progress=False,
            ).l2_error
            for s in range(4)
        ]
        ax.semilogy(np.full(4, k) + np.linspace(-0.15, 0.15, 4), errors, "o", color=BLUE, ms=5, alpha=0.8)
        ax.semilogy([k - 0.25, k + 0.25], [np.median(errors)] * 2, color=ORANGE, lw=2)
    ax.set_xticks(range(len(variants)), variants)
    ax.set_ylabel("RMS error, seeds 0 to 3")
    ax.grid(**GRID)
    drawing.savefig(out / "edge.png")


def least_squares_longdouble(features, residual, damping):
    """The damped step by modified Gram–Schmidt in extended precision."""
    columns = features.shape[1]
    a = np.concatenate([features, np.sqrt(np.longdouble(damping)) * np.eye(columns)]).astype(np.longdouble)
    b = np.concatenate([-residual, np.zeros(columns)]).astype(np.longdouble)
    r, c = np.zeros((columns, columns), np.longdouble), np.zeros(columns, np.longdouble)
    for i in range(columns):
        r[i, i] = np.sqrt(a[:, i] @ a[:, i])
        a[:, i] /= r[i, i]
        r[i, i + 1 :] = a[:, i] @ a[:, i + 1 :]
        a[:, i + 1 :] -= np.outer(a[:, i], r[i, i + 1 :])
        c[i] = a[:, i] @ b
        b = b - c[i] * a[:, i]
    p = np.zeros(columns, np.longdouble)
    for i in reversed(range(columns)):
        p[i] = (c[i] - r[i, i + 1 :] @ p[i + 1 :]) / r[i, i]
    return p


def factorisations(out):
    """Relative error of the damped step against λ/σ_max² for three ways to compute it."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.normal(size=(n, 50)))[0] for n in (150, 50))
    features, residual = (u * np.logspace(0, -14, 50)) @ v.T, rng.normal(size=150)
    j, r = jnp.asarray(features), jnp.asarray(residual)
    basis = jnp.linalg.eigh(j.T @ j)[1]
    ways = {
        "plain normal equations": spectrum.balanced(gram_of(r, j), jnp.eye(50)),
        "in the eigenbasis": spectrum.balanced(gram_of(r, j @ basis), basis),
        "SVD": spectrum.svd(r, j),
    }
    dampings = np.logspace(-26, -4, 45)
    drawing, ax = canvas(5.6, 3.6)
    exact = [least_squares_longdouble(features, residual, d) for d in dampings]
    for (name, way), colour in zip(ways.items(), (ORANGE, BLUE, GREY), strict=True):
        errors = [
            float(np.linalg.norm(np.asarray(way.damped(d).direction) - p) / np.linalg.norm(p))
            for d, p in zip(dampings, exact, strict=True)
        ]
        ax.loglog(dampings, np.where(np.isfinite(errors), errors, 1.0), color=colour, lw=1.8, label=name)
    ax.axvline(1e-15, color="0.5", lw=0.8, ls="--")
    ax.set_xlabel(r"$\lambda / \sigma_{\max}^2$")
    ax.set_ylabel("relative error of the step")
    ax.grid(**GRID)
    ax.legend()
    drawing.savefig(out / "factorisations.png")


def acceleration(out):
    """Loss against steps with and without acceleration: a linear and a nonlinear problem."""
    cases = {
        "laplace-2d": {"model": ag.MLP(32), "points": ag.GaussLegendre(30), "steps": 300},
        "burgers": {"model": ag.MLP(14, 14, scale=2), "points": 1600, "steps": 250, "nu": 0.02},
    }
    drawing, axes = canvas(8.0, 3.4, 1, 2)
    for ax, (name, case) in zip(axes, cases.items(), strict=True):
        for most, colour, label in ((0.75, BLUE, "with acceleration"), (0.0, ORANGE, "without")):
            for seed in range(2):
                solution = solved(name, seed=seed, options={"acceleration": most, "sketch": 0}, **case)
                ax.semilogy(solution.history.steps["loss"], color=colour, lw=1, label=label if seed == 0 else None)
        ax.set_title(name if name != "burgers" else "burgers, ν = 0.02", loc="left")
        ax.set_xlabel("step")
        ax.grid(**GRID)
    axes[0].set_ylabel("loss, seeds 0 and 1")
    axes[0].legend()
    drawing.savefig(out / "acceleration.png")


def cells(out):
    """Where the points of Burgers' equation have gone by the end of a run."""
    problem = ag.catalogue.problem("burgers", nu=0.005)
    setting = ag.Setting(model=ag.MLP(16, 16, scale=2), points=2400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = Trainer(problem, setting, 0)
        solution = trainer.train(budget.Budget(220))
    cells = next(points for points in trainer.moving if isinstance(points, AdaptivePoints))
    mesh = cells.meshes["equation"][0]
    low, high = mesh.low[mesh.leaves], mesh.high[mesh.leaves]
    place = lambda corner: np.stack([corner[:, 0], 2 * corner[:, 1] - 1], axis=1)  # noqa: E731
    low, high = place(low), place(high)
    corners = np.stack(
        [low, np.stack([high[:, 0], low[:, 1]], 1), high, np.stack([low[:, 0], high[:, 1]], 1), low], axis=1
    )
    drawing, axes = canvas(8.6, 3.6, 1, 2, sharey=True)
    t, x = np.meshgrid(np.linspace(0, 1, 181), np.linspace(-1, 1, 241), indexing="ij")
    image = axes[0].pcolormesh(t, x, solution(t, x), cmap="RdBu_r", shading="gouraud", rasterized=True)
    drawing.colorbar(image, ax=axes[0], label="u")
    axes[1].add_collection(LineCollection(list(corners), colors=BLUE, linewidths=0.5))
    axes[1].set_xlim(0, 1)
    for ax, title in zip(axes, ("solution", f"cells after {solution.history.count} steps"), strict=True):
        ax.set_title(title, loc="left")
        ax.set_xlabel("t")
    axes[0].set_ylabel("x")
    drawing.savefig(out / "cells.png")


FIGURES = {f.__name__: f for f in (phases, edge, factorisations, acceleration, cells)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(FIGURES))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "docs" / "figures")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    budget.BLOCK_SECONDS = 0.02
    with mpl.rc_context(STYLE):
        for name in args.names:
            FIGURES[name](args.out)
            print(f"{args.out / name}.png", flush=True)


if __name__ == "__main__":
    main()
