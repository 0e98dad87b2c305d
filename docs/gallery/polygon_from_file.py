"""The heat equation on an island with 50 vertices, read from a file of GeoJSON."""

from pathlib import Path

import jax.numpy as jnp

import anagram as ag

island = ag.Polygon.from_geojson(Path(__file__).parent / "island.geojson", name="shore")
domain = ag.Box(t=(0, 0.1)) * island


def exact(t, x, y):
    """A wave that fades."""
    return jnp.exp(-13 * t) * jnp.sin(2 * x) * jnp.cos(3 * y)


problem = ag.Problem(
    domain,
    equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x") - u.d("y", "y")),
    start=ag.Condition(lambda u: u, on=domain.face(t=0), equals=lambda x, y: exact(0.0, x, y)),
    shore=ag.Condition(lambda u: u, on=domain.boundary("shore"), equals=exact),
    solution=exact,
)

if __name__ == "__main__":
    solution = ag.solve(problem, tol=1e-5)
    print(solution)
    print("estimated relative error", solution.relative_error_estimate)
