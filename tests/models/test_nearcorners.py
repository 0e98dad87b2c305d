"""What networks see of corners: derivatives beside those of JAX, and solutions that are not smooth."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.errors import SettingError
from anagram.models import ParametricModel, corners_seen, spec_from_json, spec_to_json
from anagram.models.nearcorners import corners_on
from tolerances import assert_close

ELL = ag.Box(x=(-1, 1), y=(-1, 1)) - ag.Box(x=(0, 1), y=(-1, 0))
SQUARE = ag.Box(x=(0, 2), y=(0, 1))
SLIT = ag.Polygon([(0, 0), (1, -1e-9), (1, -1), (-1, -1), (-1, 1), (1, 1), (1, 1e-9)])


def exact(x, y, stretch=1.0):
    """Harmonic in (x, y·stretch), zero on the sides that meet at the corner of the L."""
    angle = jnp.mod(jnp.arctan2(y * stretch, x), 2 * jnp.pi)
    return jnp.hypot(x, y * stretch) ** (2 / 3) * jnp.sin(2 / 3 * angle)


def problem(stretch=1.0, **weight):
    """u_xx + u_yy/stretch² = 0 on the L; for a stretch of its own the exponent is known, and the direction is not."""
    return ag.Problem(
        ELL,
        equation=ag.Condition(lambda u: u.d("x", "x") + stretch**-2 * u.d("y", "y"), **weight),
        sides=ag.Condition(lambda u: u, on=ELL.boundary(), equals=lambda x, y: exact(x, y, stretch)),
        solution=lambda x, y: exact(x, y, stretch),
    )


def derived(function, axis):
    """Its derivative along an axis, as JAX sees it."""
    return lambda x: jax.jacfwd(function)(x)[:, axis]


@pytest.mark.parametrize("domain", [ELL, SQUARE, SLIT, ag.Box(t=(0, 1)) * ELL], ids=["L", "box", "slit", "in time"])
@pytest.mark.parametrize("order", [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (1, 2), (2, 2)])
def test_derivatives_are_those_of_jax(domain, order):
    corners = corners_on(domain, [(0.0, 0.0), (0.3, 0.5)])
    axes = [domain.axes.index(axis) for axis in domain.plane]
    x = np.full(len(domain.axes), 0.7)
    x[axes] = -0.4, 0.2
    seen, place = corners.seen, jnp.asarray(x)
    for axis, times in zip(axes, order, strict=True):
        for _ in range(times):
            seen = derived(seen, axis)
    index = [0] * len(x)
    for axis, times in zip(axes, order, strict=True):
        index[axis] = times
    assert_close(corners.derivative(place, tuple(index)), seen(place), 1e-10)


def test_nothing_depends_on_time():
    domain = ag.Box(t=(0, 1)) * ELL
    corners = corners_on(domain, [(0.0, 0.0)])
    assert corners.derivative(jnp.ones(3), (1, 0, 0)) is None
    assert_close(corners.seen(jnp.array([0.1, 0.5, 0.5])), corners.seen(jnp.array([0.9, 0.5, 0.5])))


def test_the_two_sides_of_a_slit_are_told_apart():
    corners = corners_on(SLIT, [(0.0, 0.0)])
    above, below = (np.asarray(corners.seen(jnp.array([0.5, y]))) for y in (1e-6, -1e-6))
    assert np.max(np.abs(above - below)) > 1
    assert corners.share.tolist() == [0.5]


def test_at_a_corner_itself_everything_is_finite():
    model = ParametricModel(problem().sought, ag.MLP(4, corners=[(0, 0)]), 0)
    assert np.all(np.isfinite(model.values(model.theta, jnp.zeros(2))))


@pytest.mark.parametrize("spec", [ag.MLP(6, 5, corners=[(0, 0)]), ag.Features(9, corners=[(0, 0), (1, 1)])])
def test_jets_are_derivatives_of_values(spec):
    model = ParametricModel(problem().sought, spec, 0)
    theta = model.theta + jnp.asarray(np.random.default_rng(0).standard_normal(model.theta.shape))
    x = jnp.array([-0.3, 0.2])
    found = model.quantities(theta, ELL.frame)["u"]
    value = lambda x: model.values(theta, x)[0]
    operators = ag.Condition(lambda u: (u.d("x", "x"), u.d("x", "y"), u.d("y", "y", "y", "y")))
    fields = operators.operator(found)
    hessian = jax.hessian(value)(x)
    fourth = jax.hessian(lambda x: jax.hessian(value)(x)[1, 1])(x)[1, 1]
    for field, expected in zip(fields, (hessian[0, 0], hessian[0, 1], fourth), strict=True):
        assert_close(field(*x), expected, 1e-9)


def test_features_are_the_same_in_numpy_and_in_jax():
    spec = ag.Features(11, corners=[(0, 0)], seed=3)
    model = ParametricModel(problem().sought, spec, 0)
    x = ELL.draw(ag.Sobol(20), np.random.default_rng(0)).x
    module = model.module
    slopes = jax.vmap(jax.jacrev(lambda theta, x: model.values(theta, x)[0]), (None, 0))(model.theta, jnp.asarray(x))
    assert_close(module.features(x), slopes[:, :11], 1e-9)


@pytest.mark.parametrize("spec", [ag.MLP(6, 5, corners=[(0, 0), (1, 1)]), ag.Features(9, corners=[(0, 0)])])
def test_recipes_are_kept(spec):
    again = spec_from_json(spec_to_json(spec))
    assert again.corners == spec.corners
    assert repr(again) == repr(spec)
    model = ParametricModel(problem().sought, spec, 0)
    assert spec.count(ELL, 1) == model.parameters


def test_networks_without_corners_are_kept_as_they_were():

    assert "corners" not in ag.MLP(3).options()
    assert "corners" not in ag.Features(3).options()


@pytest.mark.parametrize("corners", [[(0,)], [0, 1], "no", [(0, np.nan)], [("a", "b")], 3])
def test_what_are_no_corners(corners):
    with pytest.raises(SettingError, match="pairs of finite coordinates"):
        ag.MLP(3, corners=corners)


def test_corners_are_for_the_plane():
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x")),
        ends=ag.Condition(lambda u: u, on=line.boundary()),
    )
    with pytest.raises(SettingError, match="domains in the plane"):
        ag.solve(problem, ag.MLP(3, corners=[(0, 0)]), steps=1, progress=False)


def test_corners_are_places_in_a_plane():
    ring = ag.Box(x=ag.periodic(0, 1), y=(0, 1))
    with pytest.raises(SettingError, match="'x' is periodic"):
        ag.MLP(3, corners=[(0, 0)]).build(ring, 1, jax.random.key(0))


def test_corners_may_be_an_array():
    assert ag.MLP(3, corners=np.zeros((1, 2))).corners == ((0.0, 0.0),)


def test_the_corners_of_a_recipe_are_known():
    one, other = ag.MLP(3, corners=[(0, 0)]), ag.Features(20, corners=[(1, 0)])
    assert corners_seen({"u": one, "v": other}) == ((0.0, 0.0), (1.0, 0.0))
    assert corners_seen(one + ag.Singular((0, 0), 3 * np.pi / 2)) == ((0.0, 0.0),)
    assert corners_seen(ag.MLP(3)) == corners_seen(object()) == ()


def test_equations_count_little_near_corners_without_a_tolerance_too():
    points = ag.Graded(8, 3, [(0, 0)])
    seen = ag.solve(problem(), ag.MLP(4, corners=[(0, 0)]), points=points, steps=0, progress=False)
    assert seen.problem.corners == ((0.0, 0.0),)
    plain = ag.solve(problem(), ag.MLP(4), points=points, steps=0, progress=False)
    assert plain.problem.corners == ()


def test_features_of_a_few_axes_see_no_corners():
    with pytest.raises(SettingError, match="few axes"):
        ag.Features(5, couples=1, corners=[(0, 0)])


def test_without_its_exponent_a_singular_solution_is_found():
    """Three seeds ended between 1e-5 and 3e-5; features without corners at 3e-3."""
    points, options = ag.Graded(25, 4, [(0, 0)]), {"steps": 2, "progress": False}
    found = ag.solve(problem(), ag.Features(320, steepness=3.0, corners=[(0, 0)]), "newton", points=points, **options)
    assert found.relative_l2_error < 2e-4


@pytest.mark.long
def test_a_climb_sees_corners_where_singular_functions_do_not_do():
    """Coordinates are stretched, so that r^⅔ sin ⅔φ is not what the solution looks like."""
    solution = ag.solve(problem(stretch=10**-0.5), tol=1e-4, progress=False)
    assert solution.reached
    assert solution.relative_l2_error < 1e-4
    assert solution.model.spec.corners == ((0.0, 0.0),)
    assert all("corners" in rung for rung in solution.rungs)


@pytest.mark.long
def test_values_that_do_not_meet_at_the_corners_of_a_box():
    """−Δu = 1 with u = 0 on a square has r² log r in its corners; beside the double series of its solution."""
    square = ag.Box(x=(0, 1), y=(0, 1))
    torsion = ag.Problem(
        square,
        equation=ag.Condition(lambda u: -u.laplacian(), equals=1.0),
        walls=ag.Condition(lambda u: u, on=square.boundary()),
    )
    solution = ag.solve(torsion, tol=1e-8, progress=False)
    x, y = np.meshgrid(*[np.linspace(0.05, 0.95, 19)] * 2)
    k = np.arange(1, 2000, 2)[:, None, None] * np.pi
    # cosh k(y − ½)/cosh k/2 without overflow
    falls = np.exp(k * (np.abs(y - 0.5) - 0.5)) * (1 + np.exp(-2 * k * np.abs(y - 0.5))) / (1 + np.exp(-k))
    known = np.sum(4 / k**3 * np.sin(k * x) * (1 - falls), axis=0)
    assert_close(solution(x=x, y=y), known, 1e-8)
