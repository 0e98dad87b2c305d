"""A rod in a plate that conducts a hundred times better, in a uniform field: value and flux go on across a circle.

What the rod does to the field has been known since Maxwell: inside it is uniform, outside a dipole is added.
"""

import time
from pathlib import Path

import anagram as ag

PLATE, ROD, RADIUS = 100.0, 1.0, 0.4  # conductivities, and the radius of the rod
CONTRAST = (ROD - PLATE) / (ROD + PLATE)

square = ag.Box(x=(-1, 1), y=(-1, 1))
rod = ag.Disk(radius=RADIUS, name="circle")
plate = square - rod


def exact_plate(x, y):
    """The potential in the plate: that of the field, and of a dipole in the middle of the rod."""
    return x - CONTRAST * RADIUS**2 * x / (x**2 + y**2)


def exact_rod(x, y):  # noqa: ARG001  (sources name the coordinates of their points)
    """The potential in the rod."""
    return 2 * PLATE / (PLATE + ROD) * x


def problem() -> ag.Problem:
    """Two unknowns, one on either side of the circle."""
    circle = rod.boundary()  # its normal points out of the rod
    return ag.Problem(
        square,
        in_plate=ag.Condition(lambda u: PLATE * u.laplacian()),
        in_rod=ag.Condition(lambda v: ROD * v.laplacian()),
        value=ag.Condition(lambda u, v: u - v, on=circle),
        flux=ag.Condition(lambda u, v: PLATE * u.normal_derivative() - ROD * v.normal_derivative(), on=circle),
        walls=ag.Condition(lambda u: u, on=square.boundary(), equals=exact_plate),
        unknowns={"u": plate, "v": rod},
        solution={"u": exact_plate, "v": exact_rod},
        name="a rod in a uniform field",
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
