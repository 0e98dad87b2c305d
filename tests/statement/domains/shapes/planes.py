"""Shapes in the plane for tests, and integrals over them by Green's theorem."""

import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.statement.domains.chart import draw_unit
from anagram.statement.domains.intervals import Periodic


def star(center=(0.0, 0.0), size=1.0, depth=0.2, tips=5, phase=0.0, name="star"):
    def curve(s):
        radius = size * (1 + depth * jnp.cos(tips * s + phase))
        return center[0] + radius * jnp.cos(s), center[1] + radius * jnp.sin(s)

    return ag.Interior(curve, name=name)


def gear(count=50):
    """The vertices of a polygon with teeth."""
    angle = 2 * np.pi * np.arange(count) / count
    radius = 1 + 0.3 * np.cos(3 * angle) + 0.15 * np.sin(7 * angle)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def square(low=0.0, high=1.0):
    return ag.Box(x=(low, high), y=(low, high))


def random_shape(rng):
    center = rng.uniform(-0.6, 0.6, 2)
    match rng.integers(0, 4):
        case 0:
            return ag.Disk(center, rng.uniform(0.2, 1.0), name="disk")
        case 1:
            return ag.Ellipse(center, rng.uniform(0.15, 1.0, 2), rng.uniform(0, 3), name="ellipse")
        case 2:
            count = int(rng.integers(3, 9))
            angle = 2 * np.pi * (np.arange(count) + rng.uniform(-0.3, 0.3, count)) / count
            radius = rng.uniform(0.3, 1.0, count)
            return ag.Polygon(center + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))
        case _:
            return star(center, 0.6, rng.uniform(0.05, 0.2), int(rng.integers(2, 6)), rng.uniform(0, 6))


def nodes(patches, count):
    """Points, normals and weights of patches, each with a rule of its own; the weights sum to their measure."""
    clouds = []
    for patch in patches:
        closed = any(isinstance(i, Periodic) for i in patch.chart.intervals)
        s, weight = draw_unit(ag.GaussLegendre(4 * count if closed else count), patch.chart.intervals)
        clouds.append((patch.chart(s), weight))
    normals = [c.normal for c, _ in clouds if c.normal is not None]
    return (
        np.concatenate([c.x for c, _ in clouds]),
        np.concatenate(normals) if normals else None,
        np.concatenate([weight * c.density for c, weight in clouds]),
    )


def around(shape, count=48):
    """Points, normals and weights of the whole boundary; the weights sum to its length."""
    return nodes([patch for patches in shape.boundaries.values() for patch in patches], count)


def inside(shape, count=20):
    """Points and weights of a shape; the weights sum to its area."""
    x, _, weight = nodes(shape.patches, count)
    return x, weight


def moment_by_green(shape, n, m):
    """∫ xⁿ yᵐ over a shape, from its boundary alone."""
    x, normal, weight = around(shape, 96)
    return weight @ (normal[:, 0] * x[:, 0] ** (n + 1) / (n + 1) * x[:, 1] ** m)


SHAPES = {
    "disk": lambda: ag.Disk((0.3, -0.2), 0.8),
    "ellipse": lambda: ag.Ellipse((1.0, 2.0), (1.5, 0.5), 0.4),
    "triangle": lambda: ag.Polygon([(0, 0), (1, 0), (0.2, 0.9)]),
    "clockwise": lambda: ag.Polygon([(0, 1), (2, 1.5), (2, 0), (0, 0)]),
    "with a hole": lambda: ag.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 1), (2, 1), (2, 2), (1, 2)]]),
    "comb": lambda: ag.Polygon([(0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3)]),
    "gear": lambda: ag.Polygon(gear()),
    "star": star,
    "banana": lambda: ag.Interior(lambda s: (jnp.cos(s), 0.4 * jnp.sin(s) + 1.2 * jnp.cos(s) ** 2)),
    "annulus": lambda: ag.Disk() - ag.Disk(radius=0.3),
    "off centre": lambda: ag.Disk() - ag.Disk((0.5, 0.2), 0.3),
    "thin": lambda: ag.Disk() - ag.Disk((0.04, 0.0), 0.95),
    "plate": lambda: square(-1, 1) - ag.Disk(radius=0.4),
    "L": lambda: square() | ag.Box(x=(1, 2), y=(0, 2)),
    "half": lambda: ag.Disk() - ag.Box(x=(-2, 2), y=(-2, 0)),
    "moon": lambda: ag.Disk() - ag.Disk((1.0, 0.0)),
    "pair": lambda: ag.Disk() | ag.Disk((1.0, 0.0)),
    "lens": lambda: ag.Disk() & ag.Disk((1.0, 0.0)),
    "frame of a star": lambda: star() - ag.Disk(radius=0.3),
    "round plate": lambda: ag.Disk(radius=2) - square(),
    "two holes": lambda: square() - ag.Disk((0.3, 0.3), 0.15) - ag.Disk((0.7, 0.6), 0.2),
    "four corners": lambda: square() - ag.Disk((0.5, 0.5), 0.6),
    "inscribed": lambda: square() - ag.Disk((0.5, 0.5), 0.5),
    "cusp": lambda: ag.Disk() - ag.Disk((0.5, 0.0), 0.5),
}
