"""Heat in a plate of two materials, one a hundred times as conductive: value and flux go on across x = 0.5."""

import time
from pathlib import Path

import jax.numpy as jnp

import anagram as ag

LEFT, RIGHT = 1.0, 100.0  # conductivities
plate = ag.Box(x=(0, 1), y=(0, 1))
left, right = ag.Box(x=(0, 0.5), y=(0, 1)), ag.Box(x=(0.5, 1), y=(0, 1))
interface = plate.slice(x=0.5)
lifted = 1 / LEFT - 1 / RIGHT


def exact_left(x, y):
    """The temperature on the left."""
    return jnp.sin(jnp.pi * x) / LEFT * jnp.cos(jnp.pi * y)


def exact_right(x, y):
    """The temperature on the right."""
    return (jnp.sin(jnp.pi * x) / RIGHT + lifted) * jnp.cos(jnp.pi * y)


def heating_left(x, y):
    """The source on the left."""
    return 2 * jnp.pi**2 * jnp.sin(jnp.pi * x) * jnp.cos(jnp.pi * y)


def heating_right(x, y):
    """The source on the right."""
    return jnp.pi**2 * (2 * jnp.sin(jnp.pi * x) + RIGHT * lifted) * jnp.cos(jnp.pi * y)


def problem() -> ag.Problem:
    """The equation and its conditions."""
    return ag.Problem(
        plate,
        inside_left=ag.Condition(lambda u: -LEFT * u.laplacian(), equals=heating_left),
        inside_right=ag.Condition(lambda v: -RIGHT * v.laplacian(), equals=heating_right),
        value=ag.Condition(lambda u, v: u - v, on=interface),
        flux=ag.Condition(lambda u, v: LEFT * u.normal_derivative() - RIGHT * v.normal_derivative(), on=interface),
        walls_left=ag.Condition(lambda u: u, on=left.face(x=0) | left.faces("y"), equals=exact_left),
        walls_right=ag.Condition(lambda v: v, on=right.face(x=1) | right.faces("y"), equals=exact_right),
        unknowns={"u": left, "v": right},
        solution={"u": exact_left, "v": exact_right},
        name="two materials",
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
