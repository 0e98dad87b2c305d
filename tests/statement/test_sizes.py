"""Natural sizes: what a problem says of itself, and that they change with its units as it does."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.compound.batch import sample
from anagram.statement.sizes import in_natural_sizes, natural_sizes
from problems import LINE, parabola
from tolerances import assert_close


# -- known problems ------------------------------------------------------------------------------------------------
def on_line(operator, value, where=None, **more):
    return ag.Problem(
        LINE,
        equation=ag.Condition(operator),
        ends=ag.Condition(lambda u: u, on=where or LINE.boundary(), equals=value),
        **more,
    )


def test_values_at_the_ends_give_the_middle_and_the_spread():
    sizes = natural_sizes(on_line(lambda u: u.d("x", "x"), lambda x: 300 + 10 * x))
    assert sizes.offset == (pytest.approx(305.0),)
    assert 2.5 < sizes.size[0] < 10
    assert_close(sizes.rows["ends"], [5.0], 0.5)


def test_a_middle_that_is_small_beside_the_values_is_none():
    sizes = natural_sizes(on_line(lambda u: u.d("x", "x"), lambda x: -1 + 3 * x))
    assert sizes.offset == (0.0,)
    assert 1 < sizes.size[0] < 3


def test_sources_give_the_size_where_values_vanish():
    """u = x(x − 1), of which the largest value is a quarter."""
    sizes = natural_sizes(parabola())
    assert sizes.offset == (0.0,)
    assert 0.06 < sizes.size[0] < 0.5
    assert_close(sizes.rows["equation"], [2.0], 1e-9)


def test_an_equation_at_rest_gives_the_size_where_values_do_not_change():
    """u' = −u from 300: e⁻ˣ is away from 300 by about a third."""
    sizes = natural_sizes(on_line(lambda u: u.d("x") + u, 300.0, LINE.face(x=0)))
    assert sizes.offset == (300.0,)
    assert 30 < sizes.size[0] < 300
    still = natural_sizes(on_line(lambda u: u.d("x"), 300.0, LINE.face(x=0)))
    assert (still.offset, still.size) == ((300.0,), (300.0,))


def test_a_force_that_falls_with_the_distance_does_not_make_things_large():
    """An orbit: without y the pull on x is 4, which no y however large takes away entirely."""
    time = ag.Box(t=(0, 3))

    def pull(x, y):
        return (x.d("t", "t") + x / (x**2 + y**2) ** 1.5, y.d("t", "t") + y / (x**2 + y**2) ** 1.5)

    problem = ag.Problem(
        time,
        forces=ag.Condition(pull),
        start=ag.Condition(lambda x, y: (x, y), on=time.face(t=0), equals=(0.5, 0.0)),
        speed=ag.Condition(lambda x, y: (x.d("t"), y.d("t")), on=time.face(t=0), equals=(0.0, 1.7)),
        unknowns=("x", "y"),
    )
    assert max(natural_sizes(problem).size) < 10


def test_nothing_at_all_is_of_size_one():
    sizes = natural_sizes(on_line(lambda u: u.d("x") + u, 0.0, LINE.face(x=0)))
    assert (sizes.offset, sizes.size) == ((0.0,), (1.0,))


def test_robins_condition_counts_where_there_is_no_other():
    def robin(**more):
        return natural_sizes(
            ag.Problem(
                LINE,
                equation=ag.Condition(lambda u: u.d("x", "x")),
                ends=ag.Condition(lambda u: u.normal_derivative() + 5 * u, on=LINE.faces("x"), equals=10.0),
                **more,
            )
        )

    assert robin().offset == (pytest.approx(2.0),)
    assert robin(pinned=ag.Condition(lambda u: u, on=LINE.points(x=0.5), equals=7.0)).offset == (pytest.approx(7.0),)


def test_unknowns_of_which_nothing_is_said_balance_the_others():
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda u, v: (u.d("x") - 1e6 * v, v.d("x") + u)),
        start=ag.Condition(lambda u: u, on=LINE.face(x=0), equals=lambda x: 2.0 + x),
        unknowns=("u", "v"),
    )
    sizes = natural_sizes(problem)
    assert sizes.offset == (2.0, 0.0)
    assert all(0.01 < s < 100 for s in sizes.size)
    assert len(sizes.rows["equation"]) == 2


def test_complex_unknowns_have_no_middle_and_two_components():
    problem = ag.Problem(
        LINE,
        equation=ag.Condition(lambda psi: psi.d("x") - 1j * psi),
        start=ag.Condition(lambda psi: psi, on=LINE.face(x=0), equals=3.0 + 3.0j),
        unknowns={"psi": complex},
    )
    sizes = natural_sizes(problem)
    assert sizes.offset == (0.0, 0.0)
    assert sizes.size[0] == sizes.size[1]
    assert 1 < sizes.size[0] < 10
    assert (len(sizes.rows["equation"]), len(sizes.rows["start"])) == (2, 2)


@pytest.mark.parametrize("name", ag.catalogue.names(paper=True))
def test_sizes_are_near_those_of_the_solution(name):
    problem = ag.catalogue.problem(name)
    sizes = natural_sizes(problem)
    x = problem.domain.draw(ag.Sobol(256), np.random.default_rng(0)).x
    values = next(iter(problem.exact(x).values()))
    assert 0.2 < np.sqrt(np.mean((values - sizes.offset[0]) ** 2)) / sizes.size[0] < 5
    assert all(np.isfinite(s) and s > 0 for rows in sizes.rows.values() for s in rows)


# -- rows ----------------------------------------------------------------------------------------------------------
def test_rows_are_divided_by_their_sizes_in_one_place():
    problem = parabola()
    sizes = natural_sizes(problem)
    plain, scaled = sample(problem, ag.GaussLegendre(5)), sample(in_natural_sizes(problem, sizes), ag.GaussLegendre(5))
    for key, part in plain.items():
        assert part.scale.shape == part.source.shape
        assert_close(scaled[key].scale * sizes.rows[key][0], part.scale)
        assert_close(scaled[key].source, part.source)
    assert_close(problem.row_sizes("equation"), [1.0])
    assert_close(in_natural_sizes(problem, sizes).restated(name="other").row_sizes("ends"), sizes.rows["ends"])


# -- units ---------------------------------------------------------------------------------------------------------
def heat(T=1.0, X=1.0, U=1.0, C=1.0):
    box = ag.Box(t=(0, T), x=(-X, X))
    return ag.Problem(
        box,
        equation=ag.Condition(
            lambda u: C * (u.d("t") - 0.1 * X**2 / T * u.d("x", "x")),
            equals=lambda t, x: C * U / T * jnp.sin(3 * x / X) * jnp.exp(-t / T),
        ),
        initial=ag.Condition(lambda u: C * u, on=box.face(t=0), equals=lambda x: C * U * (5 + jnp.cos(x / X))),
        walls=ag.Condition(lambda u: u.normal_derivative(), on=box.faces("x"), equals=U / X),
    )


def burgers(T=1.0, X=1.0, U=1.0, C=1.0):
    box = ag.Box(t=(0, T), x=(0, X))
    speed = X / (T * U)
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: C * (u.d("t") + speed * u * u.d("x") - 0.02 * X**2 / T * u.d("x", "x"))),
        initial=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: U * jnp.sin(2 * jnp.pi * x / X)),
        walls=ag.Condition(lambda u: C * u, on=box.faces("x")),
    )


def bratu(T=1.0, X=1.0, U=1.0, C=1.0):
    """Nothing but the equation says how large it is, and that is not linear."""
    box = ag.Box(t=(0, T), x=(0, X))
    return ag.Problem(
        box,
        equation=ag.Condition(
            lambda u: C * (T**2 * u.d("t", "t") + X**2 * u.d("x", "x") + (u / U) ** 2 * u), equals=-C * U
        ),
        walls=ag.Condition(lambda u: C * u, on=box.faces("x") | box.faces("t")),
    )


def system(T=1.0, X=1.0, U=1.0, C=1.0):
    """Two unknowns with units of their own."""
    box = ag.Box(t=(0, T), x=(0, X))
    return ag.Problem(
        box,
        equation=ag.Condition(
            lambda u, v: (C * (u.d("t") + v.d("x")), v.d("t") + X**2 / T**2 * u.d("x") + u * v / (T * U))
        ),
        initial=ag.Condition(
            lambda u, v: (u, C * v), on=box.face(t=0), equals=(lambda x: U * (3 + jnp.sin(3 * x / X)), 0.0)
        ),
        unknowns=("u", "v"),
    )


PROBLEMS = {
    "heat": (heat, lambda T, X, U, C: {"u": U}, lambda T, X, U, C: [C * U / T, C * U, U / X]),
    "burgers": (burgers, lambda T, X, U, C: {"u": U}, lambda T, X, U, C: [C * U / T, U, C * U]),
    "bratu": (bratu, lambda T, X, U, C: {"u": U}, lambda T, X, U, C: [C * U, C * U]),
    "system": (
        system,
        lambda T, X, U, C: {"u": U, "v": U * X / T},
        lambda T, X, U, C: [C * U / T, U * X / T**2, U, C * U * X / T],
    ),
}


UNITS = {
    "long times, small lengths": {"T": 1e9, "X": 1e-9, "U": 1e-9, "C": 1e9},
    "short times, small lengths": {"T": 1e-9, "X": 1e-9, "U": 1e9, "C": 1e-9},
}


@functools.cache
def plain_sizes(name):
    return natural_sizes(PROBLEMS[name][0]())


@pytest.mark.parametrize(
    ("name", "units"),
    [
        *((name, units) for name in PROBLEMS for units in UNITS.values()),
        *(("burgers", {unit: factor}) for unit in "TXUC" for factor in (1e-9, 1e9)),
    ],
)
def test_sizes_change_with_the_units(name, units):
    state, unknowns, rows = PROBLEMS[name]
    plain, found = plain_sizes(name), natural_sizes(state(**units))
    units = {"T": 1.0, "X": 1.0, "U": 1.0, "C": 1.0} | units
    own, size = np.array(list(unknowns(**units).values())), np.array(plain.size)
    assert_close(found.size / own / size, np.ones(len(own)), 1e-9, "sizes")
    assert_close(found.offset / own / size, np.array(plain.offset) / size, 1e-9, "offsets", scale=1.0)
    flat, before = (np.concatenate([sizes.rows[key] for key in sizes.rows]) for sizes in (found, plain))
    assert_close(flat / np.array(rows(**units)) / before, np.ones(len(flat)), 1e-9, "rows")


def test_a_mean_on_a_torus_is_as_large_as_what_is_shifted():
    """Waves around both axes have no mean: the row of an integral is not measured by them."""
    torus = ag.Box(x=ag.periodic(0, 3), y=ag.periodic(0, 1))
    problem = ag.Problem(
        torus,
        equation=ag.Condition(lambda u: -u.laplacian(), equals=lambda x, y: jnp.sin(2 * np.pi * y)),
        mean=ag.Condition(lambda u: ag.integral(u)),
    )
    sizes = natural_sizes(problem)
    assert_close(sizes.rows["mean"][0], 3 * sizes.size[0], 1e-12)


def test_a_wave_operator_does_not_vanish_on_the_waves():
    """As it would on one that has the same number of half waves along t and x."""
    square = ag.Box(t=(0, 1), x=(0, 1), y=(0, 1))
    operators = {
        "t-x": lambda u: u.d("t", "t") - u.d("x", "x"),
        "t-y": lambda u: u.d("t", "t") - u.d("y", "y"),
        "transport": lambda u: u.d("t") + u.d("x"),
    }
    problem = ag.Problem(square, {key: ag.Condition(operator) for key, operator in operators.items()})
    for rows in natural_sizes(problem).rows.values():
        assert rows[0] > 1


@pytest.mark.parametrize("dimension", [8, 30, 100])
def test_a_hundred_axes_make_nothing_huge_or_tiny(dimension):
    """A product of waves along all of them would be zero nearly everywhere."""
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(dimension)})
    square = lambda **x: sum(value**2 for value in x.values())
    problem = ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.laplacian(), equals=2.0 * dimension),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=square),
    )
    sizes = natural_sizes(problem)
    spread = np.sqrt(dimension * 4 / 45)
    assert 0.7 * spread < sizes.size[0] < 1.5 * spread
    assert 0.7 * spread < sizes.rows["walls"][0] < 1.5 * spread
    assert dimension < sizes.rows["equation"][0] < 50 * dimension


def test_mixed_derivatives_of_many_axes_are_seen():
    axes = 40
    cube = ag.Box(**{f"x{k}": (0, 1) for k in range(axes)})
    problem = ag.Problem(
        cube,
        equation=ag.Condition(lambda u: u.d("x0", "x1") + u.d("x38", "x39"), equals=1.0),
        walls=ag.Condition(lambda u: u, on=cube.boundary(), equals=lambda x0, **_: x0),
    )
    assert 1 < natural_sizes(problem).rows["equation"][0] < 50
