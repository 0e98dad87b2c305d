"""−Δu = f in a square with no flux through its walls: u is determined up to a constant, which its mean says."""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

square = ag.Box(x=(0, 1), y=(0, 1))


def exact(x, y):
    """The solution whose mean is zero."""
    return jnp.cos(jnp.pi * x) * jnp.cos(2 * jnp.pi * y)


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        square,
        equation=ag.Condition(lambda u: -u.laplacian(), equals=lambda x, y: 5 * jnp.pi**2 * exact(x, y)),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=square.boundary()),
        mean=ag.Condition(lambda u: ag.integral(u)),  # noqa: PLW0108  (operators name their unknowns)
        solution=exact,
        name="no flux, mean zero",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-10)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
