"""Chebyshev polynomials along the axes of a box, also of bent coordinates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import chebyshev

import anagram as ag
from anagram.errors import SettingError
from anagram.models import Chebyshev, ParametricModel, spec_from_json, spec_to_json
from anagram.statement.domains.bends import Bend
from anagram.statement.expressions import Wanted
from anagram.statement.unknowns import Unknown, Unknowns
from anagram.training.guesses import features_near
from tolerances import ACCUMULATED, assert_close

SLAB = ag.Box(t=(0, 2), x=(-1, 3))
SPACE = ag.Box(t=(0, 2), x=(-1, 3), y=(0, 1))
BEND = (0.05, 1.04, -0.05, -0.04)
CASES = [
    (SLAB, Chebyshev(40, finest=12, along="x", offset=1.0, size=2.0)),
    (SLAB, Chebyshev(40, finest=12, along="x", bends={"x": BEND})),
    (SPACE, Chebyshev(60, finest=15, along=("x", "y"), bends={"y": BEND})),
    (SLAB, Chebyshev(20, finest=20, along=("t", "x"))),
]


def drawn(domain, spec, *names):
    unknowns = tuple(Unknown(name, False, None) for name in names or ("u",))
    model = ParametricModel(Unknowns(domain, unknowns, {}), spec, 0)
    return model, np.random.default_rng(1).standard_normal(model.parameters)


def points(domain, count=16):
    return domain.draw(ag.Sobol(count), np.random.default_rng(0)).x


def by_hand(domain, spec, x, index=None):
    """∂^α T_i(s(x)) T_j(t) by NumPy alone, function by function: each is a polynomial that is differentiated."""
    index = index or (0,) * len(domain.axes)
    z = 2 * (x - domain.low) / domain.lengths - 1
    along = [k for k, axis in enumerate(domain.axes) if axis in spec.along]
    across = [k for k in range(len(domain.axes)) if k not in along]

    def of_total_degree(count, columns):
        every = np.indices((count,) * len(columns)).reshape(len(columns), -1).T if columns else np.zeros((1, 0), int)
        return sorted((tuple(int(n) for n in d) for d in every), key=lambda d: (sum(d), d))

    def one(degree, column):
        bend = spec.bends.get(domain.axes[column])
        bent = (lambda z: z) if bend is None else bend
        count = degree if bend is None else degree * (len(bend.coefficients) - 1)
        series = chebyshev.chebinterpolate(lambda z: chebyshev.chebval(bent(z), [0] * degree + [1]), count)
        slope = (2 / domain.lengths[column]) ** index[column]
        return slope * chebyshev.chebval(z[:, column], chebyshev.chebder(series, index[column]))

    def product(degrees, columns):
        return np.prod([one(d, column) for d, column in zip(degrees, columns, strict=True)], axis=0)

    fine, coarse = of_total_degree(spec.width + 1, along), of_total_degree(spec.width + 1, across)
    finest = spec.finest if across else spec.width + 1
    return np.array(
        [product(fine[k % finest], along) * product(coarse[k // finest], across) for k in range(1, spec.width + 1)]
    ).T


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_its_functions_are_products_of_chebyshev_polynomials(domain, spec):
    model, theta = drawn(domain, spec)
    module, x = model._module(jnp.asarray(theta)), points(domain)
    functions = by_hand(domain, spec, x)
    assert_close(module.features(x), functions, ACCUMULATED)
    place = module.placement
    values = place.offset + place.size * (functions @ module.weight.T + module.bias)
    assert_close(jax.jit(jax.vmap(module))(x), values, ACCUMULATED)
    assert model.is_linear
    assert model.parameters == spec.count(domain, 1) == spec.width + 1


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_jets_are_derivatives(domain, spec):
    model, theta = drawn(domain, spec)
    x, rest = points(domain, 4), (0,) * (len(domain.axes) - 2)
    indices = [(1, 0, *rest), (0, 2, *rest), (1, 1, *rest), (0, 4, *rest)]
    sums = [(((2, 0, *rest), 1.0), ((0, 2, *rest), 3.0))]

    @jax.jit
    @jax.vmap
    def jets(x):
        found = model.source(jnp.asarray(theta)).derivatives(x, {"u": Wanted(indices, sums)})["u"]
        return [found.values[index] for index in indices], found.sums

    module = model._module(jnp.asarray(theta))
    expected = lambda index: (module.placement.size * (by_hand(domain, spec, x, index) @ module.weight.T))[:, 0]
    values, totals = jets(x)
    for index, value in zip(indices, values, strict=True):
        assert_close(value, expected(index), ACCUMULATED)
    assert_close(totals[0], expected((2, 0, *rest)) + 3 * expected((0, 2, *rest)), ACCUMULATED)


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_functions_that_it_holds_are_fitted(domain, spec):
    model, theta = drawn(domain, spec)
    known = lambda x: {"u": np.asarray(jax.jit(jax.vmap(model.values, (None, 0)))(jnp.asarray(theta), x))[:, 0]}
    assert_close(features_near(model, known), theta, 1e-8)


@pytest.mark.parametrize(("domain", "spec"), CASES)
def test_recipes_come_back_from_json(domain, spec):
    again = spec_from_json(spec_to_json(spec))
    assert again.options() == spec.options()
    assert repr(again) == repr(spec)


def test_thin_fronts_need_fewer_functions_of_a_bent_coordinate():
    from anagram.training.bending import bend_for

    front = lambda x: np.tanh((x - 1) / 0.05)
    bend, _ = bend_for(lambda z: front(1 + 2 * z)[None], 1e-8)
    x = points(SLAB, 256)
    errors = []
    for bends in (None, {"x": bend}):
        model, _ = drawn(SLAB, Chebyshev(80, finest=80, along="x", bends=bends))
        theta = features_near(model, lambda x: {"u": front(x[:, 1])})
        values = jax.jit(jax.vmap(model.values, (None, 0)))(jnp.asarray(theta), x)[:, 0]
        errors.append(np.max(np.abs(values - front(x[:, 1]))))
    assert errors[1] < 1e-3 * errors[0]


def test_solve_takes_it_with_newton():
    problem = ag.Problem(
        SLAB,
        equation=ag.Condition(lambda u: u.d("t") + u.d("x")),
        start=ag.Condition(lambda u: u, on=SLAB.face(t=0), equals=np.sin),
        inflow=ag.Condition(lambda u: u, on=SLAB.face(x=-1), equals=lambda t: np.sin(-1 - t)),
        solution=lambda t, x: np.sin(x - t),
    )
    solution = ag.solve(problem, ag.Chebyshev(240, finest=20, along="x", bends={"x": Bend(BEND)}), progress=False)
    assert solution.summary["method"] == "newton"
    assert solution.relative_l2_error < 1e-5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width of Chebyshev is a whole number"),
        ({"finest": 2.5}, "finest of Chebyshev is a whole number"),
        ({"along": 3}, "along= of Chebyshev names axes"),
        ({"along": ()}, "along= of Chebyshev names axes"),
        ({"along": ("x", "x")}, "along= of Chebyshev names axes"),
        ({"bends": {"x": [0.0, -1.0]}}, "must grow"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(SettingError, match=message):
        Chebyshev(**{"width": 8, "finest": 3, "along": "x", **arguments})


@pytest.mark.parametrize(
    ("domain", "arguments", "message"),
    [
        (ag.Box(x=ag.periodic(0, 1), y=(0, 1)), {}, "boxes without periodic axes"),
        (ag.Disk(), {}, "boxes without periodic axes"),
        (SLAB, {"along": "z"}, "there is no axis 'z' in t, x"),
        (SLAB, {"bends": {"z": BEND}}, "there is no axis 'z' in t, x"),
    ],
)
def test_other_domains_are_refused(domain, arguments, message):
    with pytest.raises(SettingError, match=message):
        drawn(domain, Chebyshev(**{"width": 8, "finest": 3, "along": "x", **arguments}))
