"""A part from a CAD program: Poisson's equation in a torus that is known by the triangles of an STL file alone.

The file is written first, as a CAD program would. `python docs/gallery/torus_stl.py`
"""

import tempfile
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import anagram as ag

AROUND, ALONG = 48, 24  # corners of the two circles


def write_torus(path):
    """A torus about the z axis with the radii 1 and 0.4, as triangles."""
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(AROUND), np.arange(ALONG), indexing="ij"))
    a, b = 2 * np.pi * i / AROUND, 2 * np.pi * j / ALONG
    reach = 1 + 0.4 * np.cos(b)
    vertices = np.stack([reach * np.cos(a), reach * np.sin(a), 0.4 * np.sin(b)], axis=1)
    here, right = i * ALONG + j, (i + 1) % AROUND * ALONG + j
    up, across = i * ALONG + (j + 1) % ALONG, (i + 1) % AROUND * ALONG + (j + 1) % ALONG
    faces = np.concatenate([np.stack([here, right, across], axis=1), np.stack([here, across, up], axis=1)])
    ag.Mesh(vertices, faces).to_file(path)


def exact(x, y, z):
    """The solution."""
    return jnp.sin(2 * x) * jnp.cos(y) * jnp.exp(z)


def problem() -> ag.Problem:
    """The equation and its conditions, in what a file says."""
    with tempfile.TemporaryDirectory() as folder:
        write_torus(Path(folder) / "torus.stl")
        torus = ag.Mesh.from_file(Path(folder) / "torus.stl")
    return ag.Problem(
        torus,
        equation=ag.Condition(lambda u: -ag.laplacian(u), equals=lambda x, y, z: 4 * exact(x, y, z)),
        surface=ag.Condition(lambda u: u, on=torus.boundary(), equals=exact),
        solution=exact,
        name="Poisson in a torus of triangles",
    )


def main() -> None:
    """Solve it, say how well, draw it."""
    begin = time.perf_counter()
    solution = ag.solve(problem(), tol=1e-4)
    print(
        f"relative error {solution.relative_l2_error:.1e}, estimated {solution.relative_error_estimate:.1e}, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    solution.plot(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
