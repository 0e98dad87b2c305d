import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.training.adaptive import AdaptivePoints
from anagram.training.budget import Budget
from anagram.training.trainer import Trainer
from tolerances import assert_close


def front(width=0.02):
    """A function with a layer at x = 0.3, to be matched."""
    box = ag.Box(t=(0, 1), x=(-1, 1))
    return ag.Problem(
        box,
        match=ag.Condition(lambda u: u, equals=lambda t, x: jnp.tanh((x - 0.3) / width)),
        start=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: jnp.tanh((x - 0.3) / width)),
    )


def adaptive(problem, rules):
    model = ag.ParametricModel(problem.sought, ag.MLP(5), 0)
    compound = ag.Compound(problem, model)
    points = AdaptivePoints(compound, rules)
    batch = ag.sample(problem, rules)
    points.look = jax.jit(lambda theta, probes: points.view(compound, theta, probes))
    return points, model, batch


def test_the_first_batch_is_that_of_the_rule():
    problem = front()
    rules = {"match": ag.Cells(400), "start": ag.Cells(40)}
    points, _, batch = adaptive(problem, rules)
    for key, part in batch.items():
        cloud = points._cloud(key, 0)
        assert_close(cloud.x, part.x)
        assert_close(np.sqrt(cloud.weight)[:, None], part.scale)


def test_points_move_to_the_layer_and_shapes_stay():
    """The model is nearly constant: what is left of the residual varies fastest at the layer."""
    problem = front()
    points, model, batch = adaptive(problem, {"match": ag.Cells(800), "start": ag.GaussLegendre(9)})
    theta = jnp.zeros_like(model.theta)
    exact = lambda x: np.tanh((x - 0.3) / 0.02)
    # A residual that is large at the layer alone.
    points.look = lambda _, probes: {
        key: (1 - exact(np.asarray(p.x)[:, 1:]) ** 2) * np.asarray(p.scale) for key, p in probes.items()
    }
    moved_in_all = 0
    for _ in range(4):
        new, moved = points.improve(theta, batch)
        assert jax.tree.map(jnp.shape, new) == jax.tree.map(jnp.shape, batch)
        assert_close(np.sum(np.asarray(new["match"].scale) ** 2), 1.0)
        assert_close(new["start"].x, batch["start"].x)
        batch, moved_in_all = new, moved_in_all + moved
    assert moved_in_all > 10
    x = np.asarray(batch["match"].x)[:, 1]
    assert np.mean(np.abs(x - 0.3) < 0.1) > 0.3
    # Sources belong to the new points.
    assert_close(batch["match"].source[:, 0], exact(x))


def test_cells_are_halved_across_the_layer():
    problem = front()
    points, model, batch = adaptive(problem, {"match": ag.Cells(800), "start": ag.GaussLegendre(9)})
    layer = lambda p: np.exp(-(((np.asarray(p.x)[:, 1:] - 0.3) / 0.05) ** 2)) * np.asarray(p.scale)
    points.look = lambda _, probes: {key: layer(p) for key, p in probes.items()}
    for _ in range(4):
        batch, _ = points.improve(model.theta, batch)
    mesh = points.meshes["match"][0]
    size = (mesh.high - mesh.low)[mesh.leaves]
    smallest = size[np.argmin(size[:, 1])]
    assert smallest[1] < smallest[0]


def test_training_moves_points_only_when_fresh_points_say_so():
    problem = front(width=0.03)
    points = {"match": ag.Cells(1000), "start": ag.GaussLegendre(20)}
    setting = ag.Setting(model=ag.MLP(12, 12), points=points, options={"sketch": 0})
    trainer = Trainer(problem, setting, 0)
    before = np.asarray(trainer.batch["match"].x)
    trainer.train(Budget(90))
    assert trainer.history.moved_at > 0
    after = np.asarray(trainer.batch["match"].x)
    near = lambda x: np.mean(np.abs(x[:, 1] - 0.3) < 0.15)
    assert near(after) > 1.5 * near(before)


def test_smooth_problems_keep_their_points():
    problem = ag.catalogue.problem("heat")
    solution = ag.solve(problem, ag.MLP(8), points=ag.Cells(400), steps=60, options={"sketch": 0}, progress=False)
    assert solution.history.moved_at == 0


def test_isolated_points_do_not_move():
    box = ag.Box(x=(0, 1))
    problem = ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("x"), equals=1.0),
        pin=ag.Condition(lambda u: u, on=box.face(x=0)),
    )
    points, _, _ = adaptive(problem, {"equation": ag.Cells(40), "pin": ag.Cells(1)})
    assert list(points.meshes) == ["equation"]
