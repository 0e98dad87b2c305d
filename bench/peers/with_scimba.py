"""Scimba (on JAX): energy natural gradient, the default of its projector, or another of its optimisers by --option."""

import contextlib
import time

import jax
import jax.numpy as jnp
import numpy as np
from common_problems import PROBLEMS, RATE_START, RATE_U, RATE_X
from scimba_jax.domains.meshless_domains.domains_1d import Segment1D
from scimba_jax.domains.meshless_domains.domains_2d import Disk2D, Square2D
from scimba_jax.domains.meshless_domains.domains_nd import HypercubeND
from scimba_jax.nonlinear_approximation.approximation_spaces.approximation_spaces import ApproximationSpace
from scimba_jax.nonlinear_approximation.integration.monte_carlo import DomainSampler, TensorizedSampler
from scimba_jax.nonlinear_approximation.integration.monte_carlo_time import UniformTimeSampler
from scimba_jax.nonlinear_approximation.model_class.funcparam_vectorial import ParamVecFunction
from scimba_jax.nonlinear_approximation.networks.mlp import MLP
from scimba_jax.nonlinear_approximation.networks.scalar_param import ScalarParam
from scimba_jax.nonlinear_approximation.numerical_solvers import projectors
from scimba_jax.physical_models.abstract_physical_model import AbstractPhysicalModel
from scimba_jax.physical_models.abstract_residuals import InteriorResidual
from scimba_jax.physical_models.boundary_residuals import DirichletResidual
from scimba_jax.physical_models.data_residuals import CollocDataResidual
from scimba_jax.physical_models.elliptic_pde.laplacians import LaplacianDirichletND
from scimba_jax.physical_models.initial_residuals import ProjectionResidual
from scimba_jax.physical_models.temporal_pde.allen_cahn import AllenCahnND
from watch import STATES, TimeIsUp, main, states, user_code

pi = jnp.pi


@user_code
def network(name, key, outputs=1):
    return MLP(len(PROBLEMS[name].lower), outputs, hidden_sizes=list(PROBLEMS[name].hidden), activation="tanh", key=key)


@states("laplace-2d")
def laplace_2d(key):
    square = Square2D([(0.0, 1.0), (0.0, 1.0)], is_main_domain=True)
    model = LaplacianDirichletND(square, f_rhs=lambda x: 2 * pi**2 * jnp.prod(jnp.sin(pi * x), keepdims=True))
    space = ApproximationSpace({"x": 2}, [(network("laplace-2d", key), "scalar", None)], model_type="x")
    return model, space, TensorizedSampler([DomainSampler(square)], model_type="x")


@states("heat")
def heat(key):
    class Diffusion(InteriorResidual):
        def construct_residual(self, *variables):
            u = variables[0]
            return u.d_t() - 0.25 * u.laplacian("x")

    rod, times = Segment1D((0.0, 1.0), is_main_domain=True), (0.0, 1.0)
    model = AbstractPhysicalModel(main_domain=rod, time_domain=times)
    model.physical_residuals[rod.get_label()] = Diffusion(domain=rod, time_domain=times, model_type="t_x")
    model.add_on_every_boundary(DirichletResidual, time_domain=times, model_type="t_x")
    model.add_initial_condition(ProjectionResidual, model_type="t_x", f_rhs=lambda x: jnp.sin(pi * x))
    space = ApproximationSpace({"t": 1, "x": 1}, [(network("heat", key), "scalar", None)], model_type="t_x")
    return model, space, TensorizedSampler([UniformTimeSampler(times), DomainSampler(rod)], model_type="t_x")


@states("laplace-5d")
def laplace_5d(key):
    cube = HypercubeND([(0.0, 1.0)] * 5, is_main_domain=True)
    model = LaplacianDirichletND(
        cube,
        f_rhs=lambda x: pi**2 * jnp.sum(jnp.sin(pi * x), keepdims=True),
        f_bc_rhs=lambda x, n: jnp.sum(jnp.sin(pi * x), keepdims=True),
    )
    space = ApproximationSpace({"x": 5}, [(network("laplace-5d", key), "scalar", None)], model_type="x")
    return model, space, TensorizedSampler([DomainSampler(cube)], model_type="x")


@states("allen-cahn")
def allen_cahn(key):
    line, times = Segment1D((-1.0, 1.0), is_main_domain=True), (0.0, 1.0)
    model = AllenCahnND(
        line,
        times,
        epsilon_sq=1e-3,
        alpha=5.0,
        bc="dirichlet",
        f_bc_rhs=lambda t, x, n: -jnp.ones(1),
        f_ic_rhs=lambda x: x**2 * jnp.cos(pi * x),
    )
    space = ApproximationSpace({"t": 1, "x": 1}, [(network("allen-cahn", key), "scalar", None)], model_type="t_x")
    return model, space, TensorizedSampler([UniformTimeSampler(times), DomainSampler(line)], model_type="t_x")


@states("hunt")
def hunt(key):
    class Hunt(InteriorResidual):
        def construct_residual(self, *variables):
            hares, lynxes = variables
            return ParamVecFunction.cat(
                [
                    hares.d_t() - hares * (1 - 0.5 * lynxes),
                    lynxes.d_t() + lynxes * (1 - 0.5 * hares),
                ]
            )

    class Start(ProjectionResidual):
        def construct_residual(self, *variables):
            return ParamVecFunction.cat([variable.set_t_0(0.0) for variable in variables])

    times = (0.0, 6.0)
    model = AbstractPhysicalModel(time_domain=times)
    model.physical_residuals["interior"] = Hunt(size=2, time_domain=times, model_type="t")
    model.physical_residuals["ic interior"] = Start(size=2, model_type="t", f_rhs=lambda: jnp.ones(2))
    networks = [(network("hunt", k), "scalar", None) for k in jax.random.split(key)]
    space = ApproximationSpace({"t": 1}, networks, model_type="t")
    return model, space, TensorizedSampler([UniformTimeSampler(times)], model_type="t")


@states("rate")
def rate(key):
    class Reaction(InteriorResidual):
        def construct_residual(self, *variables):
            u, k = variables
            return u.laplacian("x") - k * u**2

    line = Segment1D((0.0, 1.0), is_main_domain=True)
    model = AbstractPhysicalModel(main_domain=line)
    model.physical_residuals[line.get_label()] = Reaction(domain=line, model_type="x")
    model.add_on_every_boundary(DirichletResidual, model_type="x", f_rhs=lambda x, n: jnp.where(x < 0.5, 4.0, 1.0))
    measured = CollocDataResidual(1, "x", data=(jnp.array(RATE_X[:, None]), jnp.array(RATE_U[:, None])))
    model.add_data_residual("measured", measured)
    networks = [(network("rate", key), "scalar", None), (ScalarParam(RATE_START), "scalar", None)]
    space = ApproximationSpace({"x": 1}, networks, model_type="x")
    return model, space, TensorizedSampler([DomainSampler(line)], model_type="x", data_samplers={"measured": measured})


@states("disk")
def disk(key):
    def source(p):
        x, y = p
        return jnp.array([(2 + 4 * x - 4 * y + 2 * (x**2 + y**2)) * jnp.exp(x - y)])

    shape = Disk2D([0.0, 0.0], 1.0, is_main_domain=True)
    model = LaplacianDirichletND(shape, f_rhs=source)
    space = ApproximationSpace({"x": 2}, [(network("disk", key), "scalar", None)], model_type="x")
    return model, space, TensorizedSampler([DomainSampler(shape)], model_type="x")


@user_code
def train(model, space, sampler, key, optimizer, counts):
    projector = projectors.Projector(model, space, sampler, optimizer=optimizer)
    return projector.project(key, space, 1_000_000, **counts, scan_chunk=CHUNK)


CHUNK = 10  # steps between two looks; 20 is the default, and the walk is the same


def observed(watch, names):
    """Not a user's: measures the error after every chunk of steps. The first is run twice, to know its compilation."""
    original = projectors._scan_train

    def step(*arguments, **keywords):
        if watch.began is None:
            started = time.perf_counter()
            jax.block_until_ready(original(*arguments, **keywords)[3])
            first = time.perf_counter()
            jax.block_until_ready(original(*arguments, **keywords)[3])
            again = time.perf_counter() - first
            watch.away += again
            watch.begin(first - started - again)
        result = original(*arguments, **keywords)
        jax.block_until_ready(result[3])
        space = result[5]
        found = {name: float(space.models[1].value[0]) for name in names}
        if not watch.look(lambda: values(space, watch.points), found):
            raise TimeIsUp
        return result

    projectors._scan_train = step


def values(space, points):
    """The networks in NumPy, the last of which may be a number."""
    outputs = []
    for model in space.models:
        if isinstance(model, ScalarParam):
            continue
        hidden = points
        for layer in model.layers:
            hidden = hidden @ np.asarray(layer.weight).T + np.asarray(layer.bias)
            hidden = np.tanh(hidden) if layer is not model.layers[-1] else hidden
        outputs.append(hidden)
    return np.concatenate(outputs, axis=1)


def run(problem, seed, watch, option="ENG"):
    key, weights = jax.random.split(jax.random.PRNGKey(seed))
    model, space, sampler = STATES[problem](weights)
    given = PROBLEMS[problem]
    inside = given.points
    if option == "DSGNAR" and inside > 1024:  # it takes them in parts of 1024
        inside = 1024 * -(-inside // 1024)
    counts = {"n_colloc": inside, "n_bc_colloc": given.boundary, "n_ic_colloc": max(1, given.boundary // 2)}
    if problem == "rate":
        counts["n_dl_colloc"] = len(RATE_X)
    observed(watch, given.coefficients)
    with contextlib.suppress(TimeIsUp):
        train(model, space, sampler, key, option, counts)
    return {"option": option}


if __name__ == "__main__":
    main(run, "scimba", "jax")
