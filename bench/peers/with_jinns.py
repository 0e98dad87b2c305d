"""jinns: natural gradient (`vanilla_ngd` with its defaults), which its documentation recommends trying first."""

import time
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax
from common_problems import PROBLEMS, RATE_START, RATE_U, RATE_X
from jinns.validation._validation import AbstractValidationModule
from watch import STATES, main, states, user_code

jax.config.update("jax_enable_x64", True)
pi = jnp.pi


@user_code
def network(name, key, kind, outputs=1):
    sizes = (len(PROBLEMS[name].lower), *PROBLEMS[name].hidden)
    layers = []
    for before, after in pairwise(sizes):
        layers += [(eqx.nn.Linear, before, after), (jnp.tanh,)]
    layers.append((eqx.nn.Linear, sizes[-1], outputs))
    return jinns.nn.PINN_MLP.create(key=key, eqx_list=tuple(layers), eq_type=kind)


class Constant(jinns.loss.BoundaryConditionAbstract):
    """u has a value on all facets."""

    value: float = 0.0

    def equation_u(self, inputs, u, params):
        return tuple(u(inputs[..., k], params) for k in range(inputs.shape[-1]))

    def equation_f(self, inputs, params, gridify=False):
        return tuple(jnp.array([self.value]) for _ in range(inputs.shape[-1]))


@states("laplace-2d")
def laplace_2d(key):
    class Laplace(jinns.loss.PDEStatio):
        def equation(self, x, u, params):
            lap = jinns.loss.laplacian_rev(x, u, params, eq_type="PDEStatio")
            return jnp.array([lap + 2 * pi**2 * jnp.sin(pi * x[0]) * jnp.sin(pi * x[1])])

    u, weights = network("laplace-2d", key, "PDEStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    data = jinns.data.CubicMeshPDEStatio(key=key, n=900, nb=200, dim=2, min_pts=(0.0, 0.0), max_pts=(1.0, 1.0))
    loss = jinns.loss.LossPDEStatio(
        u=u,
        dynamic_loss=Laplace(),
        boundary_condition=jinns.loss.Dirichlet(),
        loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, boundary_loss=1.0),
        params=params,
    )
    return u, params, data, loss, {}


@states("heat")
def heat(key):
    class Heat(jinns.loss.PDENonStatio):
        def equation(self, t_x, u, params):
            u_t = jax.grad(lambda p: u(p, params).squeeze())(t_x)[0:1]
            return u_t - 0.25 * jinns.loss.laplacian_rev(t_x, u, params, eq_type="PDENonStatio")

    u, weights = network("heat", key, "PDENonStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    data = jinns.data.CubicMeshPDENonStatio(
        key=key, n=900, nb=200, ni=100, dim=1, min_pts=(0.0,), max_pts=(1.0,), tmin=0, tmax=1
    )
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=Heat(),
        boundary_condition=jinns.loss.Dirichlet(),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(dyn_loss=1.0, initial_condition=1.0, boundary_loss=1.0),
        initial_condition_fun=lambda x: jnp.sin(pi * x),
        params=params,
    )
    return u, params, data, loss, {}


@states("laplace-5d")
def laplace_5d(key):
    class Laplace(jinns.loss.PDEStatio):
        def equation(self, x, u, params):
            lap = jinns.loss.laplacian_rev(x, u, params, eq_type="PDEStatio")
            return jnp.array([lap + pi**2 * jnp.sum(jnp.sin(pi * x))])

    u, weights = network("laplace-5d", key, "PDEStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    data = jinns.data.CubicMeshPDEStatio(key=key, n=4000, dim=5, min_pts=(0.0,) * 5, max_pts=(1.0,) * 5)
    # Points on the boundary of a cube are drawn in one and two dimensions only: they are given as observations.
    rng = np.random.default_rng(int(key[-1]))
    walls = rng.uniform(size=(500, 5))
    walls[np.arange(500), np.arange(500) % 5] = np.arange(500) // 5 % 2
    observations = jinns.data.DataGeneratorObservations(
        key=key, observed_pinn_in=jnp.array(walls), observed_values=jnp.array(np.sin(np.pi * walls).sum(1)[:, None])
    )
    loss = jinns.loss.LossPDEStatio(
        u=u,
        dynamic_loss=Laplace(),
        boundary_condition=None,
        loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, observations=1.0),
        params=params,
    )
    return u, params, data, loss, {"obs_data": observations}


@states("allen-cahn")
def allen_cahn(key):
    class AllenCahn(jinns.loss.PDENonStatio):
        def equation(self, t_x, u, params):
            value = u(t_x, params)
            u_t = jax.grad(lambda p: u(p, params).squeeze())(t_x)[0:1]
            lap = jinns.loss.laplacian_rev(t_x, u, params, eq_type="PDENonStatio")
            return u_t - 1e-3 * lap - 5 * (value - value**3)

    u, weights = network("allen-cahn", key, "PDENonStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    data = jinns.data.CubicMeshPDENonStatio(
        key=key, n=3600, nb=400, ni=200, dim=1, min_pts=(-1.0,), max_pts=(1.0,), tmin=0, tmax=1
    )
    loss = jinns.loss.LossPDENonStatio(
        u=u,
        dynamic_loss=AllenCahn(),
        boundary_condition=Constant(-1.0),
        loss_weights=jinns.loss.LossWeightsPDENonStatio(dyn_loss=1.0, initial_condition=1.0, boundary_loss=1.0),
        initial_condition_fun=lambda x: x**2 * jnp.cos(pi * x),
        params=params,
    )
    return u, params, data, loss, {}


@states("hunt")
def hunt(key):
    class Hunt(jinns.loss.ODE):
        def equation(self, t, u, params):
            (hares, lynxes), (hares_t, lynxes_t) = u(t, params), jax.jacfwd(lambda s: u(s, params))(t)[:, 0]
            return jnp.array([hares_t - hares * (1 - lynxes / 2), lynxes_t + lynxes * (1 - hares / 2)])

    u, weights = network("hunt", key, "ODE", outputs=2)
    params = jinns.parameters.Params(nn_params=weights, eq_params={})
    data = jinns.data.DataGeneratorODE(key=key, nt=200, tmin=0, tmax=6)
    loss = jinns.loss.LossODE(
        u=u,
        dynamic_loss=Hunt(),
        initial_condition=(0.0, jnp.ones(2)),
        loss_weights=jinns.loss.LossWeightsODE(dyn_loss=1.0, initial_condition=1.0),
        params=params,
    )
    return u, params, data, loss, {}


@states("rate")
def rate(key):
    class Reaction(jinns.loss.PDEStatio):
        def equation(self, x, u, params):
            lap = jinns.loss.laplacian_rev(x, u, params, eq_type="PDEStatio")
            return lap - params.eq_params.k * u(x, params) ** 2  # shape (1,), as u has

    class Ends(jinns.loss.BoundaryConditionAbstract):
        def equation_u(self, inputs, u, params):
            return u(inputs[..., 0], params), u(inputs[..., 1], params)

        def equation_f(self, inputs, params, gridify=False):
            return jnp.array([4.0]), jnp.array([1.0])

    u, weights = network("rate", key, "PDEStatio")
    params = jinns.parameters.Params(nn_params=weights, eq_params={"k": jnp.array([RATE_START])})
    data = jinns.data.CubicMeshPDEStatio(key=key, n=100, nb=2, dim=1, min_pts=(0.0,), max_pts=(1.0,))
    measured = jinns.data.DataGeneratorObservations(
        key=key, observed_pinn_in=jnp.array(RATE_X[:, None]), observed_values=jnp.array(RATE_U[:, None])
    )
    keys = jinns.parameters.DerivativeKeysPDEStatio.from_str(
        dyn_loss="both", boundary_loss="nn_params", observations="nn_params", params=params
    )
    loss = jinns.loss.LossPDEStatio(
        u=u,
        dynamic_loss=Reaction(),
        boundary_condition=Ends(),
        loss_weights=jinns.loss.LossWeightsPDEStatio(dyn_loss=1.0, boundary_loss=1.0, observations=1.0),
        derivative_keys=keys,
    )
    return u, params, data, loss, {"obs_data": measured, "eq_params_tx": {"k": optax.adam(1e-2)}}


@states("disk")
def disk(key):
    """not possible: points are drawn in intervals, rectangles and cubes only"""


@user_code
def train(params, data, loss, validation, eq_params_tx=None, obs_data=None):
    return jinns.solve(
        init_params=params,
        data=data,
        loss=loss,
        optimizer=jinns.optimizers.vanilla_ngd(eq_params_tx=eq_params_tx),
        n_iter=100_000,
        obs_data=obs_data,
        validation=validation,
        verbose=False,
    )[0]


class Looks(AbstractValidationModule):
    """Not a user's: measures the error between two steps, in the way that jinns offers for validation."""

    call_every: int = eqx.field(static=True, default=1)
    ask: object = eqx.field(static=True, default=None)

    def __call__(self, params):
        stop = jax.experimental.io_callback(self.ask, jax.ShapeDtypeStruct((), bool), params)
        return self, stop, jnp.array(0.0), False


def values(points, weights):
    """The network in NumPy: JAX is busy with the steps."""
    leaves, hidden = [np.asarray(leaf) for leaf in jax.tree.leaves(weights)], points
    for k in range(0, len(leaves), 2):
        hidden = hidden @ leaves[k].T + leaves[k + 1]
        hidden = np.tanh(hidden) if k + 2 < len(leaves) else hidden
    return hidden


def run(problem, seed, watch):
    u, params, data, loss, extras = STATES[problem](jax.random.PRNGKey(seed))
    there = jnp.array(watch.points[0])
    assert np.allclose(values(watch.points[:1], params.nn_params)[0], u(there, params), atol=1e-12)
    started = time.perf_counter()

    def ask(theta):
        if watch.began is None:
            watch.begin(time.perf_counter() - started)
        found = {"k": float(np.squeeze(theta.eq_params.k))} if problem == "rate" else {}
        return np.array(not watch.look(lambda: values(watch.points, theta.nn_params), found))

    train(params, data, loss, Looks(ask=ask), **extras)


if __name__ == "__main__":
    main(run, "jinns", "jax")
