"""−Δu = f on a square plate with a round hole: u is given on its sides, the flux through the hole."""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

RADIUS = 0.4
plate = ag.Box(x=(-1, 1), y=(-1, 1)) - ag.Disk(radius=RADIUS, name="hole")


def exact(x, y):
    """The solution that everything else is made from."""
    return jnp.exp(x) * jnp.sin(2 * y)


def flux(x, y):
    """∂u/∂n on the hole; the normal points out of the plate, to the middle of the hole."""
    return -(x * exact(x, y) + y * 2 * jnp.exp(x) * jnp.cos(2 * y)) / RADIUS


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        plate,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: 3 * exact(x, y)),
        sides=ag.Condition(lambda u: u, on=plate.boundary("box"), equals=exact),
        hole=ag.Condition(lambda u: u.normal_derivative(), on=plate.boundary("hole"), equals=flux),
        solution=exact,
        name="Poisson on a plate with a hole",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-7)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
