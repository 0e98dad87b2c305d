"""DeepXDE with PyTorch: Adam and then L-BFGS in 64 bits, as its documentation recommends for small errors."""

import os
import time

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch
from common_problems import PROBLEMS, RATE_START, RATE_U, RATE_X
from deepxde.optimizers.config import LBFGS_options
from watch import STATES, main, states, user_code

dde.config.set_default_float("float64")
pi = np.pi
ADAM_SHARE = 0.25  # of the seconds; L-BFGS has the rest


@user_code
def network(name, outputs=1):
    sizes = [len(PROBLEMS[name].lower), *PROBLEMS[name].hidden, outputs]
    return dde.nn.FNN(sizes, "tanh", "Glorot normal")


@states("laplace-2d")
def laplace_2d():
    def equation(x, u):
        lap = dde.grad.hessian(u, x, i=0, j=0) + dde.grad.hessian(u, x, i=1, j=1)
        return lap + 2 * pi**2 * torch.sin(pi * x[:, 0:1]) * torch.sin(pi * x[:, 1:2])

    square = dde.geometry.Rectangle([0, 0], [1, 1])
    walls = dde.icbc.DirichletBC(square, lambda x: 0, lambda x, on: on)
    return dde.data.PDE(square, equation, walls, num_domain=900, num_boundary=200), network("laplace-2d"), {}


@states("heat")
def heat():
    def equation(x, u):  # columns are x and t
        return dde.grad.jacobian(u, x, j=1) - 0.25 * dde.grad.hessian(u, x, i=0, j=0)

    rod = dde.geometry.GeometryXTime(dde.geometry.Interval(0, 1), dde.geometry.TimeDomain(0, 1))
    walls = dde.icbc.DirichletBC(rod, lambda x: 0, lambda x, on: on)
    start = dde.icbc.IC(rod, lambda x: np.sin(pi * x[:, 0:1]), lambda x, on: on)
    data = dde.data.TimePDE(rod, equation, [walls, start], num_domain=900, num_boundary=200, num_initial=100)
    return data, network("heat"), {}


@states("laplace-5d")
def laplace_5d():
    def equation(x, u):
        lap = sum(dde.grad.hessian(u, x, i=k, j=k) for k in range(5))
        return lap + pi**2 * torch.sin(pi * x).sum(dim=1, keepdim=True)

    cube = dde.geometry.Hypercube([0] * 5, [1] * 5)
    walls = dde.icbc.DirichletBC(cube, lambda x: np.sin(pi * x).sum(axis=1, keepdims=True), lambda x, on: on)
    return dde.data.PDE(cube, equation, walls, num_domain=4000, num_boundary=500), network("laplace-5d"), {}


@states("allen-cahn")
def allen_cahn():
    def equation(x, u):
        return dde.grad.jacobian(u, x, j=1) - 1e-3 * dde.grad.hessian(u, x, i=0, j=0) - 5 * (u - u**3)

    rod = dde.geometry.GeometryXTime(dde.geometry.Interval(-1, 1), dde.geometry.TimeDomain(0, 1))
    walls = dde.icbc.DirichletBC(rod, lambda x: -1, lambda x, on: on)
    start = dde.icbc.IC(rod, lambda x: x[:, 0:1] ** 2 * np.cos(pi * x[:, 0:1]), lambda x, on: on)
    data = dde.data.TimePDE(rod, equation, [walls, start], num_domain=3600, num_boundary=400, num_initial=200)
    return data, network("allen-cahn"), {}


@states("hunt")
def hunt():
    def equations(t, u):
        hares, lynxes = u[:, 0:1], u[:, 1:2]
        return [
            dde.grad.jacobian(u, t, i=0) - hares * (1 - lynxes / 2),
            dde.grad.jacobian(u, t, i=1) + lynxes * (1 - hares / 2),
        ]

    years = dde.geometry.TimeDomain(0, 6)
    starts = [dde.icbc.IC(years, lambda t: 1, lambda t, on: on, component=k) for k in range(2)]
    return dde.data.PDE(years, equations, starts, num_domain=200, num_boundary=2), network("hunt", outputs=2), {}


@states("rate")
def rate():
    k = dde.Variable(RATE_START)

    def equation(x, u):
        return dde.grad.hessian(u, x) - k * u**2

    line = dde.geometry.Interval(0, 1)
    ends = dde.icbc.DirichletBC(line, lambda x: np.where(x < 0.5, 4, 1), lambda x, on: on)
    measured = dde.icbc.PointSetBC(RATE_X[:, None], RATE_U[:, None])
    data = dde.data.PDE(line, equation, [ends, measured], num_domain=100, num_boundary=2, anchors=RATE_X[:, None])
    return data, network("rate"), {"k": k}


@states("disk")
def disk():
    def equation(p, u):
        x, y = p[:, 0:1], p[:, 1:2]
        lap = dde.grad.hessian(u, p, i=0, j=0) + dde.grad.hessian(u, p, i=1, j=1)
        return lap + (2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * torch.exp(x - y)

    shape = dde.geometry.Disk([0, 0], 1)
    rim = dde.icbc.DirichletBC(shape, lambda x: 0, lambda x, on: on)
    return dde.data.PDE(shape, equation, rim, num_domain=1600, num_boundary=200), network("disk"), {}


@user_code
def train(model, unknowns, adam, lbfgs):
    model.compile("adam", lr=1e-3, external_trainable_variables=unknowns)
    model.train(iterations=10_000_000, display_every=1_000_000, callbacks=[adam])
    model.compile("L-BFGS", external_trainable_variables=unknowns)
    model.train(display_every=1_000_000, callbacks=[lbfgs])


class Looks(dde.callbacks.Callback):
    """Not a user's: measures the error between two steps, and ends a stage when its time is up."""

    def __init__(self, watch, unknowns, until):
        super().__init__()
        self.watch, self.unknowns, self.until = watch, unknowns, until

    def on_train_begin(self):
        if self.watch.began is None:
            self.watch.begin()

    def on_epoch_end(self):
        found = {name: float(value.detach()) for name, value in self.unknowns.items()}
        points = self.points()
        if not self.watch.look(lambda: self.model.predict(points), found) or self.watch.seconds > self.until:
            self.model.stop_training = True

    def points(self):
        timed = isinstance(self.model.data, dde.data.TimePDE)  # time is the last column here, and the first in ours
        return self.watch.points[:, ::-1].copy() if timed else self.watch.points


def run(problem, seed, watch):
    dde.config.set_random_seed(seed)
    # Steps of L-BFGS between two callbacks; its memory stays, so that the walk is the same as with the 1000 that are
    # the default here. It ends by itself after 15 000 steps, or where the gradient is small.
    LBFGS_options["iter_per_step"], LBFGS_options["fun_per_step"] = 20, 25
    dde.optimizers.set_LBFGS_options(maxiter=1_000_000, gtol=0)
    started = time.perf_counter()
    data, net, unknowns = STATES[problem]()
    model = dde.Model(data, net)
    stages = [Looks(watch, unknowns, until) for until in (ADAM_SHARE * watch.limit, watch.limit)]
    train(model, list(unknowns.values()), *stages)
    watch.look(
        lambda: model.predict(stages[1].points()), {k: float(v.detach()) for k, v in unknowns.items()}, always=True
    )
    return {"set_up_seconds": round(time.perf_counter() - started - watch.seconds, 3)}


if __name__ == "__main__":
    main(run, "deepxde", "torch")
