"""The picture of docs/shapes.md: heat in an ellipse, with cold walls.

python bench/shape_figures.py
"""

from pathlib import Path

import anagram as ag

TARGET = Path(__file__).parent.parent / "docs" / "figures" / "shapes.png"


def main() -> None:
    """Solve and draw."""
    space = ag.Ellipse(center=(0, 0), radii=(2, 1))
    domain = ag.Box(t=(0, 0.5)) * space
    problem = ag.Problem(
        domain,
        equation=ag.Condition(lambda u: u.d("t") - u.laplacian("x", "y")),
        start=ag.Condition(lambda u: u, on=domain.face(t=0), equals=lambda x, y: 1 - x**2 / 4 - y**2),
        wall=ag.Condition(lambda u: u, on=domain.boundary()),
        name="heat in an ellipse",
    )
    ag.solve(problem, tol=1e-2).plot(TARGET)


if __name__ == "__main__":
    main()
