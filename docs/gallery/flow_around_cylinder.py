"""Flow around a cylinder in a channel at Re = 20, the benchmark 2D-1 of Schäfer and Turek: drag, lift, pressure drop.

Lengths are in diameters of the cylinder, velocities in mean velocities of the inflow, pressures in ρU².
The benchmark has a channel of 2.2 m × 0.41 m, D = 0.1 m, U = 0.2 m/s and ν = 0.001 m²/s.
"""

import itertools
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import anagram as ag

REYNOLDS = 20.0
LENGTH, HEIGHT = 22.0, 4.1
CENTRE, RADIUS = (2.0, 2.0), 0.5
PUBLISHED = {"drag": 5.57953523384, "lift": 0.010618948146, "pressure drop": 0.11752016697}
PRESSURE_UNIT = 0.2**2  # ρU² of the benchmark

channel = ag.Box(x=(0, LENGTH), y=(0, HEIGHT)) - ag.Disk(center=CENTRE, radius=RADIUS, name="cylinder")


def inflow(y):
    """The parabola that comes in, with mean one."""
    return 6 * y * (HEIGHT - y) / HEIGHT**2


def points_inside(count):
    """Points spread evenly by the density 1/r² + 1/40 around the cylinder: most of them are near it."""
    above = ag.Box(x=(0, LENGTH), y=(0, HEIGHT), height=(0, 1 / RADIUS**2))
    x, y, height = above.draw(ag.Sobol(2**17), np.random.default_rng(0)).x.T
    density = 1 / ((x - CENTRE[0]) ** 2 + (y - CENTRE[1]) ** 2) + 1 / 40
    below = (height < density) & channel.contains(np.stack([x, y], axis=1))
    return ag.Chosen(x=x[below][:count], y=y[below][:count])


def momentum(u, v, p):
    """(u·∇)u + ∇p − Δu/Re, by component."""
    return (
        u * u.d("x") + v * u.d("y") + p.d("x") - u.laplacian() / REYNOLDS,
        u * v.d("x") + v * v.d("y") + p.d("y") - v.laplacian() / REYNOLDS,
    )


def outflow(u, v, p):
    """∂u/∂n/Re − p n: nothing pushes at the end of the channel."""
    return u.normal_derivative() / REYNOLDS - p * p.normal("x"), v.normal_derivative() / REYNOLDS


def problem():
    """Velocity and pressure. What comes in and what sticks to walls is built into the model, see `Flow`."""
    return ag.Problem(
        channel,
        momentum=ag.Condition(momentum),
        mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
        inlet=ag.Condition(lambda u, v: (u, v), on=channel.boundary("x=0"), equals=(inflow, 0.0)),
        walls=ag.Condition(lambda u, v: (u, v), on=channel.boundary("y=0", "y=4.1", "cylinder")),
        outlet=ag.Condition(outflow, on=channel.boundary("x=22")),
        unknowns=("u", "v", "p"),
        name="flow around a cylinder",
    )


class Flow(eqx.Module):
    """A network that sees what matters near the cylinder, and has the given velocities whatever its parameters are.

    Its inputs are x, drawn together far from the cylinder, y, and the point reflected in the cylinder, which moves
    fast where the flow changes fast. Its velocities are (inflow·c, 0) + Φ·(N_1, N_2), where c vanishes on the cylinder
    and Φ on cylinder, walls and inlet; both tend to a constant away from them.
    """

    weights: list
    biases: list

    def __init__(self, *widths, seed=0):
        rng, sizes = np.random.default_rng(seed), (4, *widths, 3)
        pairs = list(itertools.pairwise(sizes))
        self.weights = [jnp.asarray(rng.standard_normal((n, m)) / np.sqrt(m)) for m, n in pairs]
        self.biases = [jnp.asarray(rng.uniform(-1, 1, n) if k == 0 else np.zeros(n)) for k, (_, n) in enumerate(pairs)]

    def __call__(self, point):
        x, y = point
        from_x, from_y = x - CENTRE[0], y - CENTRE[1]
        squared = from_x**2 + from_y**2
        a = jnp.stack([jnp.arcsinh(from_x), from_y / 2, RADIUS * from_x / squared, RADIUS * from_y / squared])
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            a = jnp.tanh(weight @ a + bias)
        first, second, pressure = self.weights[-1] @ a + self.biases[-1]
        cylinder = away(squared - RADIUS**2)
        factor = cylinder * away(x) * 4 * y * (HEIGHT - y) / HEIGHT**2
        at_inlet = away(CENTRE[0] ** 2 + from_y**2 - RADIUS**2)
        return jnp.stack([inflow(y) * cylinder / at_inlet + factor * first, factor * second, pressure])


def away(distance):
    """From zero to one, with half of the way at one."""
    return distance / (1 + distance)


def forces(solution):
    """Drag and lift coefficients by the stress on the cylinder, and the pressure drop across it in N/m²."""

    def pull(u, v, p):
        shear = (u.d("y") + v.d("x")) / REYNOLDS
        along, across = p.normal("x"), p.normal("y")
        return (
            p * along - 2 * u.d("x") / REYNOLDS * along - shear * across,
            p * across - 2 * v.d("y") / REYNOLDS * across - shear * along,
        )

    # The normal points out of the fluid, into the cylinder.
    drag, lift = solution.integral(pull, over=channel.boundary("cylinder"), nodes=400)
    front, back = (solution(x=CENTRE[0] + side * RADIUS, y=CENTRE[1])["p"] for side in (-1, 1))
    return {"drag": 2 * drag, "lift": 2 * lift, "pressure drop": PRESSURE_UNIT * float(front - back)}


def solve(*widths, points=2000, seconds=None, steps=200, seed=0, progress=False, monitors=()):
    """Train a network of these widths."""
    inside, few = points_inside(points), ag.GaussLegendre(20)
    rules = {"momentum": inside, "mass": inside, "outlet": ag.GaussLegendre(60), "inlet": few, "walls": few}
    return ag.solve(
        problem(),
        Flow(*widths, seed=seed),
        points=rules,
        steps=steps,
        seconds=seconds,
        seed=seed,
        options={"ratio": 0.1, "sketch": 0},
        progress=progress,
        monitors=monitors,
    )


def picture(solution, path):
    """Speed with streamlines, and pressure, with the cylinder left out."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    x, y = np.linspace(0, 12, 601), np.linspace(0, HEIGHT, 411)
    values = solution(x=x[None, :], y=y[:, None], outside="nan")
    speed = np.hypot(values["u"], values["v"])
    figure, panels = plt.subplots(2, 1, figsize=(10, 6.6), layout="constrained", sharex=True)
    for axes, shown, label, colours in zip(
        panels, (speed, values["p"]), ("speed / U", "pressure / ρU²"), ("viridis", "RdBu_r"), strict=True
    ):
        drawn = axes.pcolormesh(x, y, shown, cmap=colours, shading="gouraud", rasterized=True)
        figure.colorbar(drawn, ax=axes, label=label, shrink=0.85)
        for name, line in channel.outline():
            if name == "cylinder":
                axes.fill(*line.T, facecolor="0.85", edgecolor="black", linewidth=1.2, zorder=3)
        axes.set(xlim=(0, 12), ylim=(0, HEIGHT), aspect="equal", ylabel="y / D")
    # Streamlines are level lines of ψ = ∫ u dy; two eddies stand behind the cylinder, where ψ hardly differs from its
    # value on it.
    u = np.nan_to_num(values["u"])
    stream = np.concatenate([np.zeros((1, len(x))), np.cumsum((u[1:] + u[:-1]) / 2 * np.diff(y)[:, None], axis=0)])
    on_cylinder = stream[np.searchsorted(y, CENTRE[1]), np.searchsorted(x, CENTRE[0])]
    eddies = on_cylinder + np.array([-0.015, -0.005, 0.005, 0.015])
    levels = np.sort(np.concatenate([np.arange(0.2, HEIGHT, 0.3), eddies]))
    panels[0].contour(x, y, stream, levels=levels, colors="white", linewidths=0.7)
    panels[1].set_xlabel("x / D")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    """Solve it, say how far the benchmark is, and draw."""
    print(problem())
    solution = solve(20, 20, 20)
    print(solution)
    for name, value in forces(solution).items():
        print(f"{name:14} {value:.5f}, published {PUBLISHED[name]:.5f}, off by {abs(value - PUBLISHED[name]):.1e}")
    picture(solution, Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
