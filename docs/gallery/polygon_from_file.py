"""The heat equation on an island with 50 vertices, read from a file of GeoJSON."""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

island = ag.Polygon.from_geojson(Path(__file__).parent / "island.geojson", name="shore")
domain = ag.Box(t=(0, 0.1)) * island


def exact(t, x, y):
    """A wave that fades."""
    return jnp.exp(-13 * t) * jnp.sin(2 * x) * jnp.cos(3 * y)


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        domain,
        equation=ag.Condition(lambda u: u.d("t") - u.d("x", "x") - u.d("y", "y")),
        start=ag.Condition(lambda u: u, on=domain.face(t=0), equals=lambda x, y: exact(0.0, x, y)),
        shore=ag.Condition(lambda u: u, on=domain.boundary("shore"), equals=exact),
        solution=exact,
        name="heat on an island",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    # This solution is smooth at the corners: a model that is given is not enriched there, and sooner compiled.
    solution = ag.solve(problem(), ag.MLP(14, 14), tol=1e-5)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
