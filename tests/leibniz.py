"""Derivatives of a model that is made of products, against nested differentiation of its values."""

import jax

from anagram.statement.evaluation import nested
from anagram.statement.expressions import Wanted
from tolerances import assert_close


def assert_derivatives_agree(model, point, indices, total):
    """Single derivatives of the unknown u by index, and a sum Σ c ∂^α of them."""

    @jax.jit
    def both(point):
        found = model.source(model.theta).derivatives(point, {"u": Wanted(indices, [total])})["u"]
        wanted = dict.fromkeys([*indices, *(index for index, _ in total)])
        slow = {i: nested(lambda x: model.values(model.theta, x)[0], i)(point) for i in wanted}
        return found.values, found.sums[0], slow

    values, summed, slow = both(point)
    for index in indices:
        assert_close(values[index], slow[index], 1e-12, str(index))
    assert_close(summed, sum(c * slow[index] for index, c in total), 1e-12)
