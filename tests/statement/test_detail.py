"""How fine a solution may be: narrow bumps in data, and fronts that an equation makes by itself."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from anagram.statement.detail import NODES, Detail, detail_of
from anagram.statement.sizes import natural_sizes
from problems import LINE, SPACE_TIME
from tolerances import assert_close

SQUARE = ag.Box(x=(-1, 1), y=(-1, 1))


def found(problem):
    return detail_of(problem, natural_sizes(problem))


def poisson(source, domain=SQUARE, walls: Any = 0.0):
    return ag.Problem(
        domain,
        equation=ag.Condition(lambda u: u.laplacian(), equals=source),
        walls=ag.Condition(lambda u: u, on=domain.boundary(), equals=walls),
    )


def bump(width, size=1.0, length=1.0):
    def source(x, y):
        return size * jnp.exp(-((x / length - 0.2) ** 2 + (y / length + 0.3) ** 2) / width**2)

    return poisson(source, ag.Box(x=(-length, length), y=(-length, length)))


def test_polynomials_need_as_many_as_they_have():
    for degree in (0, 3, 9):
        series = np.polynomial.legendre.Legendre.basis(degree).convert(kind=np.polynomial.Polynomial).coef
        source = lambda x, y, c=series: jnp.polyval(jnp.asarray(c[::-1]), y) + 0 * x
        assert found(poisson(source)).data == degree + 1


def test_narrow_bumps_need_many():
    wide, narrow, narrowest = (found(bump(width)).data for width in (0.6, 0.2, 0.02))
    assert 2 * wide < narrow < narrowest
    assert narrowest == NODES[2], "more than it is looked at with"


def test_units_do_not_matter():
    assert found(bump(0.2, 1e9, 1e-6)).data == found(bump(0.2)).data


def test_bumps_on_a_face_count_and_negligible_ones_do_not():
    on_face = lambda size: poisson(1.0, walls=lambda x, y: size * jnp.exp(-((x / 0.05) ** 2)) + 0 * y)
    assert found(on_face(1.0)).data > 20
    assert found(on_face(1e-9)).data == 0


def test_numbers_and_measurements_have_no_detail():
    assert found(poisson(1.0)).data == 0
    x = np.linspace(-0.9, 0.9, 5)
    measured = ag.Problem(
        SQUARE,
        equation=ag.Condition(lambda u: u.d("x") + u.d("y")),
        data=ag.Condition(lambda u: u, on=SQUARE.points(x=x, y=x), equals=np.sign(x)),
    )
    assert found(measured).data == 0


def evolution(operator):
    return ag.Problem(
        SPACE_TIME,
        equation=ag.Condition(operator),
        initial=ag.Condition(lambda u: u, on=SPACE_TIME.face(t=0), equals=lambda x: jnp.sin(jnp.pi * x)),
        walls=ag.Condition(lambda u: u, on=SPACE_TIME.faces("x")),
    )


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_fronts_are_as_thin_as_the_highest_derivatives_allow(power):
    """Convection gives ν, reaction √ν: a hundredth of ν is so many times thinner."""
    operators = {
        1.0: lambda nu: lambda u: u.d("t") + u * u.d("x") - nu * u.d("x", "x"),
        0.5: lambda nu: lambda u: u.d("t") - u + u**3 - nu * u.d("x", "x"),
    }
    thick, thin = (found(evolution(operators[power](nu))).operator for nu in (1e-3, 1e-5))
    assert_close(np.log(thin / thick), np.log(100.0**power), 0.2)


def test_equations_of_one_order_make_no_fronts():
    assert found(bump(0.02)).operator < 2
    assert found(evolution(lambda u: u.d("t", "t") - u.d("x", "x"))).operator < 2


def test_a_pressure_makes_no_fronts_of_a_velocity():
    flow = lambda size: ag.Problem(
        SQUARE,
        momentum=ag.Condition(
            lambda u, v, p: (p.d("x") - u.laplacian(), p.d("y") - v.laplacian()), equals=(size, lambda x, y: size * x)
        ),
        mass=ag.Condition(lambda u, v: u.d("x") + v.d("y")),
        walls=ag.Condition(lambda u, v: (u, v), on=SQUARE.boundary()),
        pressure=ag.Condition(lambda p: p, on=SQUARE.points(x=0, y=0)),
        unknowns=("u", "v", "p"),
    )
    assert found(flow(1e6)).operator < 2


def test_on_a_line_and_in_space_nothing_is_looked_at():
    assert found(poisson(lambda x: jnp.sign(x - 0.3), LINE)) == Detail()
    cube = ag.Box(x=(0, 1), y=(0, 1), z=(0, 1))
    assert found(poisson(lambda x, y, z: jnp.sign(x - 0.3), cube)) == Detail()


def test_sources_that_are_not_finite_everywhere_have_no_detail():
    """They are refused where points are drawn, if they are met there."""
    problem = poisson(lambda x, y: jnp.where(jnp.abs(x - 0.99926) < 1e-3, jnp.nan, 1.0) + y)
    assert found(problem).data == 0
