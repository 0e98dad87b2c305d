"""−Δu = f inside of a smooth closed curve with five tips."""

import jax.numpy as jnp

import anagram as ag


def tips(s):
    """The curve, s from 0 to 2π."""
    radius = 1 + 0.2 * jnp.cos(5 * s)
    return radius * jnp.cos(s), radius * jnp.sin(s)


domain = ag.Interior(tips, name="star")


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
