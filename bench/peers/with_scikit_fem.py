"""scikit-fem: finite elements of degree 4 on finer and finer meshes; in time the implicit midpoint rule.

`seconds` is what each mesh took.
"""

import time

import numpy as np
import skfem
from scipy.sparse.linalg import splu
from scipy.spatial import KDTree
from skfem.helpers import dot, grad
from skfem.mapping import MappingIsoparametric
from watch import STATES, main, states, user_code

pi = np.pi


@skfem.BilinearForm
def stiffness(u, v, _):
    return dot(grad(u), grad(v))


@skfem.BilinearForm
def mass(u, v, _):
    return u * v


@user_code
def poisson(mesh, source):
    """−Δu = source with u = 0 on the boundary."""
    basis = skfem.Basis(mesh, skfem.ElementTriP4(), intorder=8)
    right = skfem.LinearForm(lambda v, w: source(*w.x) * v).assemble(basis)
    u = skfem.solve(*skfem.condense(stiffness.assemble(basis), right, D=basis.get_dofs()))
    return basis, u


@states("laplace-2d")
def laplace_2d(level):
    mesh = skfem.MeshTri().refined(level)
    return poisson(mesh, lambda x, y: 2 * pi**2 * np.sin(pi * x) * np.sin(pi * y))


@states("disk")
def disk(level):
    mesh = skfem.MeshTri2.init_circle(level)  # curved sides of degree 2
    return poisson(mesh, lambda x, y: (2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * np.exp(x - y))


@states("heat")
def heat(level):
    steps = 4 * 4**level
    basis = skfem.Basis(skfem.MeshLine().refined(level + 1), skfem.ElementLinePp(4))
    inside = basis.complement_dofs(basis.get_dofs())
    m, a = (form.assemble(basis)[inside][:, inside].tocsc() for form in (mass, stiffness))
    start = skfem.LinearForm(lambda v, w: np.sin(pi * w.x[0]) * v).assemble(basis)[inside]
    u = [splu(m).solve(start)]
    solver, ahead = splu(m + 0.125 / steps * a), m - 0.125 / steps * a
    for _ in range(steps):
        u.append(solver.solve(ahead @ u[-1]))
    history = np.zeros((steps + 1, basis.N))
    history[:, inside] = u
    return basis, history


@states("laplace-5d")
def laplace_5d():
    """not possible: meshes have one to three dimensions"""


@states("allen-cahn")
def allen_cahn():
    """not possible: evolutions are the user's own to step; the one of heat is as far as we went"""


@states("hunt")
def hunt():
    """not possible: it is for equations in space"""


@states("rate")
def rate():
    """not possible: unknown coefficients are the user's own to fit"""


def finder(mesh, mapping=None):
    """Not a user's: the cells that points of the disk lie in, those between an edge and its arc as well."""
    straight = skfem.MeshTri(mesh.p[:, : mesh.t.max() + 1], mesh.t)
    rim = straight.boundary_facets()
    middles, inner = straight.p[:, straight.facets[:, rim]].mean(axis=1), straight.element_finder()
    nearest = KDTree(middles.T)

    def cells(x, y):
        beyond = straight.f2t[0, rim][nearest.query(np.stack([x, y], axis=1))[1]]
        found = np.empty(len(x), dtype=int)
        for k in range(len(x)):
            try:
                found[k] = inner(x[k : k + 1], y[k : k + 1])[0]
            except ValueError:
                found[k] = beyond[k]
        return found

    return cells


def inverse(mapping, x, tind=None):
    """Not a user's: Newton's method also for points that lie a little outside of the last cell."""
    there = np.full(x.shape, 1 / 3)
    for _ in range(20):
        there = there + np.einsum("ijkl,jkl->ikl", mapping.invDF(there, tind), x - mapping.F(there, tind))
    return there


skfem.MeshTri2.element_finder = finder  # it has none for curved cells
MappingIsoparametric.invF = inverse

LEVELS = {"laplace-2d": (1, 2, 3, 4, 5), "disk": (1, 2, 3, 4, 5), "heat": (0, 1, 2, 3, 4, 5)}


def values(problem, basis, u, points):
    if problem != "heat":
        return basis.probes(points.T) @ u
    found = basis.probes(points[:, 1:].T)
    steps = len(u) - 1
    k = np.minimum((points[:, 0] * steps).astype(int), steps - 1)
    s = points[:, 0] * steps - k
    before, after = (np.asarray(found.multiply(u[k + more]).sum(axis=1)).ravel() for more in (0, 1))
    return (1 - s) * before + s * after


def run(problem, seed, watch):
    STATES[problem](LEVELS[problem][0])  # the libraries wake up
    for level in LEVELS[problem]:
        started = time.perf_counter()
        basis, u = STATES[problem](level)
        seconds = time.perf_counter() - started
        wall, looked = time.time() - watch.began_process - watch.away, time.perf_counter()
        watch.report(seconds, wall, values(problem, basis, u, watch.points))
        watch.away += time.perf_counter() - looked


if __name__ == "__main__":
    main(run, "scikit-fem", "scipy")
