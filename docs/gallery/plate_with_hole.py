"""−Δu = f on a square plate with a round hole: u is given on its sides, the flux through the hole."""

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


problem = ag.Problem(
    plate,
    equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: 3 * exact(x, y)),
    sides=ag.Condition(lambda u: u, on=plate.boundary("box"), equals=exact),
    hole=ag.Condition(lambda u: u.normal_derivative(), on=plate.boundary("hole"), equals=flux),
    solution=exact,
)

if __name__ == "__main__":
    solution = ag.solve(problem, tol=1e-7)
    print(solution)
    print("estimated relative error", solution.relative_error_estimate)
