"""PINA: Adam and then L-BFGS (`SwitchOptimizer`) in 64 bits, as in its tutorial on optimisers."""

import logging
import warnings

import lightning
import numpy as np
import torch
from common_problems import PROBLEMS, RATE_U, RATE_X
from pina import Condition, LabelTensor, Trainer
from pina.callback import SwitchOptimizer
from pina.domain import CartesianDomain, EllipsoidDomain
from pina.equation import Equation, FixedValue, SystemEquation
from pina.model import FeedForward
from pina.operator import grad, laplacian
from pina.optim import TorchOptimizer
from pina.problem import InverseProblem, SpatialProblem, TimeDependentProblem
from pina.solver import PINN
from watch import STATES, main, states, user_code

torch.set_default_dtype(torch.float64)
warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
pi = torch.pi
ADAM_STEPS = 500


@user_code
def network(name, outputs=1):
    return FeedForward(len(PROBLEMS[name].lower), outputs, layers=list(PROBLEMS[name].hidden), func=torch.nn.Tanh)


@states("laplace-2d")
def laplace_2d():
    def equation(p, u):
        source = 2 * pi**2 * torch.sin(pi * p.extract("x")) * torch.sin(pi * p.extract("y"))
        return laplacian(u, p, components=["u"], d=["x", "y"]) + source

    class Laplace(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1], "y": [0, 1]})
        domains = {"inside": spatial_domain, "walls": spatial_domain.partial()}
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(equation)),
            "walls": Condition(domain="walls", equation=FixedValue(0.0)),
        }

    problem = Laplace()
    problem.discretise_domain(900, "random", domains="inside")
    problem.discretise_domain(200, "random", domains="walls")
    return problem, network("laplace-2d"), ["x", "y"]


@states("heat")
def heat():
    def equation(p, u):
        return grad(u, p, d=["t"]) - 0.25 * laplacian(u, p, d=["x"])

    class Heat(TimeDependentProblem, SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1]})
        temporal_domain = CartesianDomain({"t": [0, 1]})
        domains = {
            "inside": CartesianDomain({"x": [0, 1], "t": [0, 1]}),
            "start": CartesianDomain({"x": [0, 1], "t": 0.0}),
            "left": CartesianDomain({"x": 0.0, "t": [0, 1]}),
            "right": CartesianDomain({"x": 1.0, "t": [0, 1]}),
        }
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(equation)),
            "start": Condition(domain="start", equation=Equation(lambda p, u: u - torch.sin(pi * p.extract("x")))),
            "left": Condition(domain="left", equation=FixedValue(0.0)),
            "right": Condition(domain="right", equation=FixedValue(0.0)),
        }

    problem = Heat()
    problem.discretise_domain(900, "random", domains="inside")
    problem.discretise_domain(100, "random", domains=["start", "left", "right"])
    return problem, network("heat"), ["t", "x"]


@states("laplace-5d")
def laplace_5d():
    names = [f"x{k}" for k in range(5)]

    def sines(p):
        return sum(torch.sin(pi * p.extract(name)) for name in names)

    class Laplace(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({name: [0, 1] for name in names})
        domains = {"inside": spatial_domain, "walls": spatial_domain.partial()}
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(lambda p, u: laplacian(u, p) + pi**2 * sines(p))),
            "walls": Condition(domain="walls", equation=Equation(lambda p, u: u - sines(p))),
        }

    problem = Laplace()
    problem.discretise_domain(4000, "random", domains="inside")
    problem.discretise_domain(500, "random", domains="walls")
    return problem, network("laplace-5d"), names


@states("allen-cahn")
def allen_cahn():
    def equation(p, u):
        return grad(u, p, d=["t"]) - 1e-3 * laplacian(u, p, d=["x"]) - 5 * (u - u**3)

    def start(p, u):
        x = p.extract("x")
        return u - x**2 * torch.cos(pi * x)

    class AllenCahn(TimeDependentProblem, SpatialProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [-1, 1]})
        temporal_domain = CartesianDomain({"t": [0, 1]})
        domains = {
            "inside": CartesianDomain({"x": [-1, 1], "t": [0, 1]}),
            "start": CartesianDomain({"x": [-1, 1], "t": 0.0}),
            "left": CartesianDomain({"x": -1.0, "t": [0, 1]}),
            "right": CartesianDomain({"x": 1.0, "t": [0, 1]}),
        }
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(equation)),
            "start": Condition(domain="start", equation=Equation(start)),
            "left": Condition(domain="left", equation=FixedValue(-1.0)),
            "right": Condition(domain="right", equation=FixedValue(-1.0)),
        }

    problem = AllenCahn()
    problem.discretise_domain(3600, "random", domains="inside")
    problem.discretise_domain(200, "random", domains=["start", "left", "right"])
    return problem, network("allen-cahn"), ["t", "x"]


@states("hunt")
def hunt():
    def hares(t, u):
        return grad(u, t, components=["h"], d=["t"]) - u.extract("h") * (1 - u.extract("l") / 2)

    def lynxes(t, u):
        return grad(u, t, components=["l"], d=["t"]) + u.extract("l") * (1 - u.extract("h") / 2)

    class Hunt(TimeDependentProblem):
        output_variables = ["h", "l"]
        temporal_domain = CartesianDomain({"t": [0, 6]})
        domains = {"years": temporal_domain, "start": CartesianDomain({"t": 0.0})}
        conditions = {
            "years": Condition(domain="years", equation=SystemEquation([hares, lynxes])),
            "start": Condition(domain="start", equation=FixedValue(1.0)),
        }

    problem = Hunt()
    problem.discretise_domain(200, "random", domains="years")
    problem.discretise_domain(1, "random", domains="start")
    return problem, network("hunt", outputs=2), ["t"]


@states("rate")
def rate():
    def equation(p, u, params):
        return laplacian(u, p) - params["k"] * u**2

    class Rate(SpatialProblem, InverseProblem):
        output_variables = ["u"]
        spatial_domain = CartesianDomain({"x": [0, 1]})
        unknown_parameter_domain = CartesianDomain({"k": [0.5, 3.0]})
        domains = {
            "inside": spatial_domain,
            "left": CartesianDomain({"x": 0.0}),
            "right": CartesianDomain({"x": 1.0}),
        }
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(equation)),
            "left": Condition(domain="left", equation=FixedValue(4.0)),
            "right": Condition(domain="right", equation=FixedValue(1.0)),
            "measured": Condition(
                input=LabelTensor(torch.tensor(RATE_X[:, None]), ["x"]),
                target=LabelTensor(torch.tensor(RATE_U[:, None]), ["u"]),
            ),
        }

    problem = Rate()
    problem.discretise_domain(100, "random", domains="inside")
    problem.discretise_domain(1, "random", domains=["left", "right"])
    return problem, network("rate"), ["x"]


@states("disk")
def disk():
    def equation(p, u):
        x, y = p.extract("x"), p.extract("y")
        source = (2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * torch.exp(x - y)
        return laplacian(u, p, components=["u"], d=["x", "y"]) + source

    class Disk(SpatialProblem):
        output_variables = ["u"]
        spatial_domain = EllipsoidDomain({"x": [-1, 1], "y": [-1, 1]})
        domains = {"inside": spatial_domain, "rim": spatial_domain.partial()}
        conditions = {
            "inside": Condition(domain="inside", equation=Equation(equation)),
            "rim": Condition(domain="rim", equation=FixedValue(0.0)),
        }

    problem = Disk()
    problem.discretise_domain(1600, "random", domains="inside")
    problem.discretise_domain(200, "random", domains="rim")
    return problem, network("disk"), ["x", "y"]


@user_code
def train(solver, looks):
    callbacks = [looks]
    if not hasattr(solver.problem, "unknown_parameters"):  # those are lost by a switch
        lbfgs = TorchOptimizer(torch.optim.LBFGS, line_search_fn="strong_wolfe")
        callbacks.append(SwitchOptimizer(lbfgs, epoch_switch=ADAM_STEPS))
    trainer = Trainer(
        solver,
        max_epochs=10_000_000,
        callbacks=callbacks,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_checkpointing=False,
        logger=False,
    )
    trainer.train()


class Looks(lightning.pytorch.callbacks.Callback):
    """Not a user's: measures the error between two steps."""

    def __init__(self, watch, labels):
        self.watch, self.points = watch, LabelTensor(torch.tensor(watch.points), labels)

    def on_train_start(self, trainer, solver):
        self.watch.begin()

    def on_train_epoch_end(self, trainer, solver):
        found = getattr(solver.problem, "unknown_parameters", {})
        found = {name: float(value.detach()) for name, value in found.items()}
        if not self.watch.look(lambda: self.values(solver), found):
            trainer.should_stop = True

    def values(self, solver):
        with torch.no_grad():
            return np.array(solver.model(self.points).tensor)


def run(problem, seed, watch):
    lightning.seed_everything(seed, verbose=False)
    stated, model, labels = STATES[problem]()
    solver = PINN(stated, model, optimizer=TorchOptimizer(torch.optim.Adam, lr=0.01))
    train(solver, Looks(watch, labels))


if __name__ == "__main__":
    main(run, "pina-mathlab", "torch")
