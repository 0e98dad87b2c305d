"""Whether known solutions satisfy the conditions of their problems, to rounding."""

import jax
import jax.numpy as jnp
import numpy as np

import anagram as ag
from anagram.environment import quick_compilation
from anagram.statement.condition import with_fields
from anagram.statement.evaluation import evaluate
from anagram.statement.fields import Field, Frame, constant
from tolerances import ROUNDING, assert_close

SIZE = 0.1


def assert_satisfied(problem, coefficients, *, points=2000, noise=None, tolerance=ROUNDING):
    """Put the known solution into every condition of a problem; `noise` is that of data, by condition."""
    batch = ag.sample(problem, points, seed=1)
    residual = residuals(problem, coefficients, batch)
    exact, wrong = residual(0.0), residual(SIZE)
    for key, part in batch.items():
        source = complex_source(part, exact[key])
        deviation = (noise or {}).get(key)
        if deviation:
            assert 0.8 * deviation < np.std(exact[key] - source) < 1.2 * deviation
            continue
        # A wrong solution says how large the terms of a condition are.
        scale = max(np.max(np.abs(wrong[key] - source)) / SIZE, np.max(np.abs(source)))
        assert_close(exact[key], source, tolerance, what=key, scale=scale)


def residuals(problem, coefficients, batch):
    """For any size: D(u* + a wave of this size) − f of every condition, at the points of a batch."""
    axes, box = problem.domain.axes, problem.domain
    centre = {u: float(np.sqrt(np.mean(np.abs(v) ** 2))) for u, v in problem.exact(batch_points(problem)).items()}

    def wave(x):
        return jnp.sin(1.0 + jnp.sum((x - box.low) / box.lengths * (1.0 + jnp.arange(len(axes)))))

    def at(key, size, x, normal):
        frame = Frame(axes)
        fields = {
            u.name: Field(lambda x, n=u.name: problem.solution[n](x) + size * centre[n] * wave(x), frame)
            for u in problem.unknowns
        } | {name: constant(value, frame) for name, value in coefficients.items()}
        return jnp.stack(evaluate(with_fields(problem.expressions[key], fields, axes, normal), x))

    def all_of_them(size, points):
        return {
            key: jax.vmap(lambda x, n, key=key: at(key, size, x, n), (0, None if normal is None else 0))(x, normal)
            for key, (x, normal) in points.items()
        }

    points = {key: (part.x, part.normal) for key, part in batch.items()}
    compiled = jax.jit(all_of_them, compiler_options=quick_compilation())
    return lambda size: compiled(size, points)


def batch_points(problem):
    return problem.domain.draw(ag.Sobol(256), np.random.default_rng(0)).x


def complex_source(part, values):
    """The source of a batch, whose complex components are two real ones."""
    source = np.asarray(part.source)
    return source[:, 0::2] + 1j * source[:, 1::2] if np.iscomplexobj(values) else source
