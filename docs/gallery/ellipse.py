"""−Δu = f on an ellipse, turned by half a radian."""

import jax.numpy as jnp

import anagram as ag

domain = ag.Ellipse(center=(0, 0), radii=(2, 1), angle=0.5)


def exact(x, y):
    """The solution that the source and the values on the boundary are made from."""
    return jnp.exp(x) * jnp.sin(2 * y)


problem = ag.Problem(
    domain,
    equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: 3 * exact(x, y)),
    boundary=ag.Condition(lambda u: u, on=domain.boundary(), equals=exact),
    solution=exact,
)

if __name__ == "__main__":
    solution = ag.solve(problem, tol=1e-9)
    print(solution)
    print("estimated relative error", solution.relative_error_estimate)
