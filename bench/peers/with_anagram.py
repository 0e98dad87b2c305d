"""anagram: `ag.solve(problem, tol=...)` with nothing else set but the limit of time; the tolerance is --option."""

import time
import warnings

import numpy as np
from common_problems import PROBLEMS, RATE_START, RATE_U, RATE_X
from watch import STATES, main, states, user_code

import anagram as ag

pi = np.pi


@states("laplace-2d")
def laplace_2d():
    square = ag.Box(x=(0, 1), y=(0, 1))
    return ag.Problem(
        square,
        equation=ag.Condition(
            lambda u: u.laplacian(), equals=lambda x, y: -2 * pi**2 * np.sin(pi * x) * np.sin(pi * y)
        ),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
    )


@states("heat")
def heat():
    rod = ag.Box(t=(0, 1), x=(0, 1))
    return ag.Problem(
        rod,
        equation=ag.Condition(lambda u: u.d("t") - 0.25 * u.d("x", "x")),
        start=ag.Condition(lambda u: u, on=rod.face(t=0), equals=lambda x: np.sin(pi * x)),
        walls=ag.Condition(lambda u: u, on=rod.faces("x")),
    )


@states("laplace-5d")
def laplace_5d():
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(5)})
    return ag.Problem(
        cube,
        equation=ag.Condition(
            lambda u: u.laplacian(), equals=lambda **x: -(pi**2) * sum(np.sin(pi * v) for v in x.values())
        ),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=lambda **x: sum(np.sin(pi * v) for v in x.values())),
    )


@states("allen-cahn")
def allen_cahn():
    rod = ag.Box(t=(0, 1), x=(-1, 1))
    return ag.Problem(
        rod,
        equation=ag.Condition(lambda u: u.d("t") - 1e-3 * u.d("x", "x") - 5 * (u - u**3)),
        start=ag.Condition(lambda u: u, on=rod.face(t=0), equals=lambda x: x**2 * np.cos(pi * x)),
        walls=ag.Condition(lambda u: u, on=rod.faces("x"), equals=-1.0),
    )


@states("hunt")
def hunt():
    years = ag.Box(t=(0, 6))
    return ag.Problem(
        years,
        rates=ag.Condition(
            lambda hares, lynxes: (
                hares.d("t") - hares * (1 - lynxes / 2),
                lynxes.d("t") + lynxes * (1 - hares / 2),
            )
        ),
        start=ag.Condition(lambda hares, lynxes: (hares, lynxes), on=years.face(t=0), equals=(1.0, 1.0)),
        unknowns=("hares", "lynxes"),
    )


@states("rate")
def rate():
    line = ag.Box(x=(0, 1))
    return ag.Problem(
        line,
        reaction=ag.Condition(lambda u, k: u.d("x", "x") - k * u**2),
        left=ag.Condition(lambda u: u, on=line.face(x=0), equals=4.0),
        right=ag.Condition(lambda u: u, on=line.face(x=1), equals=1.0),
        measured=ag.Condition(lambda u: u, on=line.points(x=RATE_X), equals=RATE_U),
        coefficients={"k": RATE_START},
    )


@states("disk")
def disk():
    shape = ag.Disk()
    return ag.Problem(
        shape,
        equation=ag.Condition(
            lambda u: u.laplacian(),
            equals=lambda x, y: -(2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * np.exp(x - y),
        ),
        rim=ag.Condition(lambda u: u, on=shape.boundary()),
    )


@user_code
def train(problem, tol, seconds, seed):
    return ag.solve(problem, tol=tol, seconds=seconds, seed=seed)


def run(problem, seed, watch, option="1e-3"):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = train(STATES[problem](), float(option), watch.limit, seed)
        wall = time.time() - watch.began_process
        found = solution(watch.points)
    values = np.stack(list(found.values()), axis=1) if isinstance(found, dict) else np.asarray(found)[:, None]
    coefficients = {name: float(solution.coefficients[name]) for name in PROBLEMS[problem].coefficients}
    watch.report(solution.summary["seconds"], wall, values, coefficients)
    return {
        "option": option,
        "seconds": round(solution.summary["seconds"], 4),
        "wall": round(wall, 3),
        "compile_seconds": round(solution.summary["compile_seconds"], 3),
        "reached": bool(solution.reached),
        "estimate": solution.relative_error_estimate,
    }


if __name__ == "__main__":
    main(run, "anagram-pinn", "jax")
