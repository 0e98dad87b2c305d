"""−Δu = f between two circles."""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

domain = ag.Disk(radius=1, name="outer") - ag.Disk(radius=0.4, name="inner")


def exact(x, y):
    """The solution that the source and the values on the boundary are made from."""
    return jnp.exp(x) * jnp.sin(2 * y)


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        domain,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: 3 * exact(x, y)),
        boundary=ag.Condition(lambda u: u, on=domain.boundary(), equals=exact),
        solution=exact,
        name="Poisson between two circles",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-9)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
