"""A program for `test_layout.py`: the same problem on several numbers of devices, in one process."""

import json

import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.compound import Linearisation
from anagram.compound.batch import count_rows
from anagram.compound.variation import SecondVariation
from anagram.errors import SettingError
from anagram.spectrum import factorise
from anagram.training.traffic import bytes_sent
from anagram.training.trainer import Trainer

POINTS = ag.Grid(113)  # and two ends, which no number of devices divides


def bent():
    """u'' + u² = f on a line with a known solution."""
    line = ag.Box(x=(0, 1))

    def exact(x):
        return jnp.sin(3 * x)

    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x") + u * u, equals=lambda x: exact(x) ** 2 - 9 * exact(x)),
        ends=ag.Condition(lambda u: u, on=line.boundary(), equals=exact),
        solution=exact,
    )


def gap(found, expected):
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.max(np.abs(found - expected)) / max(np.max(np.abs(expected)), 1e-300))


def quantities(layout, problem, model, batch):
    """All that methods ask of a compound model, as they would ask for it."""
    compound = ag.Compound(problem, model, chunk_bytes=8 * model.parameters * 4)  # chunks of four points
    whole = ag.Compound(problem, model)

    def ask(theta, batch):
        linear = Linearisation(whole, theta, batch)
        triangle, chunked = compound.triangle(theta, batch), compound.gram(theta, batch)
        wide = ag.Compound.thinned(whole, batch, 12)
        residual, features = whole.features(theta, batch)
        return {
            "loss": compound.loss(theta, batch),
            "residual": residual,
            "features": features,
            "gradient": compound.gradient(theta, batch),
            "times": compound.times(theta, batch, theta),
            "pulled": compound.transposed_times(theta, batch, residual),
            "gram": chunked.matrix,
            "square": chunked.square,
            "triangle": triangle.T @ triangle,
            "linear": linear.gram(jnp.eye(theta.size)).matrix,
            "bend": linear.transposed_times(linear.second(theta)),
            "variation": SecondVariation(whole).matrix(theta, batch),
            "rows": compound.rows_at("equation", theta, batch["equation"]),
            "step": factorise("auto", whole, theta, batch).damped(1e-3).direction,
            "step of few rows": factorise("auto", whole, theta, wide).damped(1e-3).direction,
        }

    return layout.program(layout.quick_jit(ask))(model.theta, batch)


def compared_quantities():
    problem = bent()
    model = ag.ParametricModel(problem.sought, ag.MLP(6), 0)
    batch = ag.sample(problem, {"equation": ag.Grid(45), "ends": ag.Grid(1)})
    found = []
    for count in (1, 3):
        with ag.on_devices(count) as layout:
            found.append(quantities(layout, problem, model, batch))
    return {name: max(gap(other[name], found[0][name]) for other in found[1:]) for name in found[0]}


def runs(model, method, steps, counts, **options):
    """Losses and errors of the same run on every number of devices, and what a step of it sends."""
    problem, found = bent(), {}
    for count in counts:
        sol = ag.solve(
            problem, model, method, points=POINTS, steps=steps, options=options, progress=False, devices=count
        )
        found[count] = {
            "losses": sol.history.steps["loss"].tolist(),
            "error": sol.l2_error,
            "parameters": sol.model.parameters,
        }
    with ag.on_devices(counts[-1]):
        trainer = Trainer(problem, ag.Setting(model, method, options, POINTS, steps), 0)  # compiled before
        found["sent"] = bytes_sent(trainer._block.func.as_text())
        found["planned"] = trainer.method.sent(trainer.model.parameters, count_rows(trainer.batch))
    return found


def refused(devices):
    try:
        with ag.on_devices(devices):
            return "not refused"
    except SettingError as error:
        return str(error)


if __name__ == "__main__":
    with ag.on_devices(3), ag.on_devices(None) as inner:
        kept = inner.count
    print(
        json.dumps(
            {
                "quantities": compared_quantities(),
                "runs": {
                    "auto": runs(ag.MLP(24), "auto", 5, (1, 2, 4, 8)),
                    "newton": runs(ag.Features(48), "newton", 2, (1, 8)),
                    "large": runs(ag.MLP(24), "large", 3, (1, 8), modes=4, accuracy=1e-12),
                },
                "refused": {str(wrong): refused(wrong) for wrong in (0, 9, "some", True)},
                "inside": kept,
            }
        )
    )
