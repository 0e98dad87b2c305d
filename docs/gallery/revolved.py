"""Heat conducted through a ring: a torus, made by revolving a disk, held warm on top and cooled from below.

−Δu = f inside; u is given on the upper half of the surface, its normal derivative on the lower half. All of them are
made so that the solution is known. `python docs/gallery/revolved.py`
"""

import jax.numpy as jnp

import anagram as ag
from anagram.statement.domains import Disk

ring = ag.revolve(Disk(center=(1, 0), radius=0.4, name="skin"), axis="z")


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


problem = ag.Problem(
    ring,
    equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y: -2 * x * y),
    warm=ag.Condition(lambda u: u, on=ring.boundary(lambda z: z > 0), equals=exact),
    cooled=ag.Condition(lambda u: u.normal_derivative(), on=ring.boundary(lambda z: z < 0), equals=flux),
    solution=exact,
    name="heated-ring",
)

if __name__ == "__main__":
    solution = ag.solve(problem, tol=1e-5)
    print(solution)
