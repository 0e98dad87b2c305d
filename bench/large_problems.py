"""Two large problems with known solutions: Poisson in a hundred dimensions, and a flow in space and time. See bench/large.py.

Errors are measured at points of their own, relative to the solution in the mean square (`relative_error`), and relative
to how far the solution is from its mean (`of_variation`), which is harder.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag

POINTS = 20_000  # at which errors are measured
NOTED = 10.0  # seconds between lines


def cube(dimension):
    return ag.Box(**{f"x{k}": (0, 1) for k in range(1, dimension + 1)})


def poisson(dimension, exact, source):
    """Δu = f on the unit cube, u given on its boundary."""
    box = cube(dimension)
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.laplacian(), equals=lambda **x: source(stacked(x))),
        walls=ag.Condition(lambda u: u, on=box.boundary(), equals=lambda **x: exact(stacked(x))),
        solution=lambda **x: exact(stacked(x)),
    )


def stacked(x):
    return jnp.stack(list(x.values()), axis=-1)


def squares(x):
    return jnp.sum(x**2, axis=-1)


def rings(x):
    """Neighbours in a ring of coordinates are coupled."""
    sines = jnp.sin(jnp.pi / 2 * x)
    return jnp.mean(sines * jnp.roll(sines, 1, axis=-1), axis=-1)


def bell(x):
    """A function of all coordinates at once that is no sum of functions of a few."""
    return jnp.exp(-squares(x) / x.shape[-1])


def bell_source(x):
    d, q = x.shape[-1], squares(x)
    return (4 * q / d**2 - 2) * jnp.exp(-q / d)


FUNCTIONS = {
    "squares": (squares, lambda x: 2.0 * x.shape[-1] + 0 * x[..., 0]),
    "rings": (rings, lambda x: -(jnp.pi**2) / 2 * rings(x)),
    "bell": (bell, bell_source),
}


# name: function, width(s), method, points inside and on the walls, options, part of the time of those that are run
def settings(small):
    if small:
        return {
            "squares spring": ("squares", (48,), "spring", 150, 150, {}, 0.5),
            "rings spring": ("rings", (48,), "spring", 150, 150, {}, 0.5),
        }
    return {
        "squares spring": ("squares", (400,), "spring", 2000, 2000, {}, 0.5),
        "rings spring": ("rings", (400,), "spring", 2000, 2000, {}, 0.5),
        "bell spring": ("bell", (400,), "spring", 2000, 2000, {}, 0.5),
    }


def hundred(report, only):
    """Each function for its part of the time; the error as time goes on."""
    dimension = 16 if report.small else 100
    chosen = {name: s for name, s in settings(report.small).items() if not only or name in only}
    whole, budget = sum(s[-1] for s in chosen.values()), report.left
    for name, (function, widths, method, inside, walls, options, part) in chosen.items():
        exact, source = FUNCTIONS[function]
        began = time.perf_counter()
        problem = poisson(dimension, exact, source)
        points = {"equation": ag.Uniform(inside), "walls": ag.Uniform(walls)}
        # Compilation is part of the budget; what is left of it is known only when training begins.
        solve(report, name, problem, ag.MLP(*widths), method, points, options, began + budget * part / whole)
        del problem


def solve(report, name, problem, model, method, points, options, end):
    """Train until a time, with a line now and then."""
    began = time.perf_counter()
    noted = {"first": None, "last": 0.0}

    def monitor(record):
        now = time.perf_counter()
        noted["first"] = noted["first"] or now
        if now - noted["last"] > NOTED:
            noted["last"] = now
            wanted = ("step", "seconds", "loss", "validation_loss", "relative_l2_error")
            report(kind=f"{name}, on the way", wall=now - began, **{k: float(record[k]) for k in wanted if k in record})
        return now > end

    # With tol= the rows of all conditions are in natural sizes; it is not meant to be reached.
    solution = ag.solve(problem, model, method, points=points, tol=1e-9, steps=1_000_000, seconds=end - began,
                        options=options, progress=False, monitors=[monitor])  # fmt: skip
    found = errors(solution, problem)
    report(
        kind=name, P=solution.model.parameters, method=str(method), options=options, points=str(points),
        steps=solution.summary["steps"], training_seconds=solution.summary["seconds"],
        wall=time.perf_counter() - began, before_training=(noted["first"] or began) - began,
        ended=solution.stopped_because, loss=solution.loss, validation_loss=solution.validation_loss,
        device_gb=solution.summary["device_bytes"] / 2**30, **found,
    )  # fmt: skip
    return solution


def errors(solution, problem):
    """By unknown, at random points."""
    domain = problem.domain
    x = domain.low + domain.lengths * np.random.default_rng(7).random((POINTS, len(domain.axes)))
    there, exact = solution(x), problem.solution
    if not isinstance(there, dict):
        there = {problem.unknowns[0].name: there}
    relative, varied = {}, {}
    for name, value in there.items():
        true = np.asarray(jax.vmap(lambda p, f=exact[name]: f(p))(jnp.asarray(x))).ravel()
        off = np.linalg.norm(np.asarray(value).ravel() - true)
        relative[name] = float(off / np.linalg.norm(true))
        varied[name] = float(off / np.linalg.norm(true - true.mean()))
    return {"relative_error": max(relative.values()), "of_variation": max(varied.values()), "by_unknown": relative}


# -- a flow in space and time ---------------------------------------------------------------------------------
def beltrami_problem(a=1.0, d=1.0, viscosity=1.0):
    """Ethier and Steinman's flow on a cube, from t = 0 to 1: all of the momentum equation is in it."""
    box = ag.Box(t=(0, 1), x=(-1, 1), y=(-1, 1), z=(-1, 1))

    def velocity(t, p, q, r):  # the first component; the others follow by going around
        waves = jnp.exp(a * p) * jnp.sin(a * q + d * r) + jnp.exp(a * r) * jnp.cos(a * p + d * q)
        return -a * waves * jnp.exp(-viscosity * d**2 * t)

    def u(t, x, y, z):
        return velocity(t, x, y, z)

    def v(t, x, y, z):
        return velocity(t, y, z, x)

    def w(t, x, y, z):
        return velocity(t, z, x, y)

    def pressure(t, x, y, z):
        around = ((x, y, z), (y, z, x), (z, x, y))
        total = sum(
            jnp.exp(2 * a * p) + 2 * jnp.sin(a * p + d * q) * jnp.cos(a * r + d * p) * jnp.exp(a * (q + r))
            for p, q, r in around
        )
        return -0.5 * a**2 * total * jnp.exp(-2 * viscosity * d**2 * t)

    def carried(f, u, v, w):
        return f.d("t") + u * f.d("x") + v * f.d("y") + w * f.d("z") - viscosity * f.laplacian("x", "y", "z")

    walls = box.faces("x", "y", "z")
    return ag.Problem(
        box,
        momentum=ag.Condition(
            lambda u, v, w, p: (
                carried(u, u, v, w) + p.d("x"),
                carried(v, u, v, w) + p.d("y"),
                carried(w, u, v, w) + p.d("z"),
            )
        ),
        mass=ag.Condition(lambda u, v, w: u.d("x") + v.d("y") + w.d("z")),
        initial=ag.Condition(
            lambda u, v, w: (u, v, w),
            on=box.face(t=0),
            equals=tuple(lambda x, y, z, f=f: f(0.0, x, y, z) for f in (u, v, w)),
        ),
        walls=ag.Condition(lambda u, v, w: (u, v, w), on=walls, equals=(u, v, w)),
        # The pressure is known up to a constant at every time: it is given at one place.
        level=ag.Condition(lambda p: p.at(x=0.0, y=0.0, z=0.0), equals=lambda t: pressure(t, 0.0, 0.0, 0.0)),
        unknowns=("u", "v", "w", "p"),
        solution={"u": u, "v": v, "w": w, "p": pressure},
    )


def beltrami(report, only):
    """Wide networks of which the last layer is learned, and trained ones."""
    if report.small:
        ways = {"features": (ag.Features(120, steepness=2.0), "newton", 300, 1.0)}
    else:
        ways = {
            "features": (ag.Features(5200, steepness=2.0), "newton", 9000, 0.5),
            "network": (ag.MLP(100, 100, 100), ag.methods.Auto(sketch=0), 16_000, 0.5),
        }
    chosen = {name: way for name, way in ways.items() if not only or name in only}
    whole, budget = sum(way[-1] for way in chosen.values()), report.left
    for name, (model, method, inside, part) in chosen.items():
        began = time.perf_counter()
        problem = beltrami_problem()
        points = {
            "momentum": ag.Uniform(inside), "mass": ag.Uniform(inside), "initial": ag.Uniform(inside // 4),
            "walls": ag.Uniform(inside // 2), "level": ag.Uniform(64),
        }  # fmt: skip
        solve(report, f"beltrami, {name}", problem, model, method, points, {}, began + budget * part / whole)
