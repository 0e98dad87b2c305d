"""Heat conducted through a ring: a torus, made by revolving a disk, held warm on top and cooled from below.

−Δu = f inside; u is given on the upper half of the surface, its normal derivative on the lower half. All of them are
made so that the solution is known. `python docs/gallery/revolved.py`
"""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

ring = ag.revolve(ag.Disk(center=(1, 0), radius=0.4, name="skin"), axis="z")


def exact(x, y, z):
    """The solution."""
    return jnp.exp(z) * jnp.cos(x) + x * y * z**2


def slopes(x, y, z):
    """Its derivatives along x, y and z."""
    return -jnp.exp(z) * jnp.sin(x) + y * z**2, x * z**2, jnp.exp(z) * jnp.cos(x) + 2 * x * y * z


def flux(x, y, z):
    """The derivative of the solution along the normal of the torus."""
    reach = jnp.hypot(x, y)
    normal = (x * (1 - 1 / reach) / 0.4, y * (1 - 1 / reach) / 0.4, z / 0.4)
    return sum(n * s for n, s in zip(normal, slopes(x, y, z), strict=True))


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        ring,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: -2 * x * y),
        warm=ag.Condition(lambda u: u, on=ring.boundary(lambda z: z > 0), equals=exact),
        cooled=ag.Condition(lambda u: u.normal_derivative(), on=ring.boundary(lambda z: z < 0), equals=flux),
        solution=exact,
        name="a heated ring",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-5)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
