"""The potential of a charge cloud in a grounded ball: −Δu = f, u = g on the sphere, in three dimensions.

The source is made so that the solution is known: sin 2x cos y e^z. `python docs/gallery/ball.py`
"""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

ball = ag.Ball(center=(0, 0, 0), radius=1)


def exact(x, y, z):
    """The solution."""
    return jnp.sin(2 * x) * jnp.cos(y) * jnp.exp(z)


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        ball,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y, z: 4 * exact(x, y, z)),
        sphere=ag.Condition(lambda u: u, on=ball.boundary("sphere"), equals=exact),
        solution=exact,
        name="Poisson in a ball",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-6)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
