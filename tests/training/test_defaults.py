import pytest

import anagram as ag
from anagram.compound.batch import enough_points, point_rules
from anagram.training.defaults import complete

BOX = ag.Box(t=(0, 1), x=(-1, 1))


def stated(operator, **more):
    return ag.Problem(BOX, equation=ag.Condition(operator), **more)


@pytest.mark.parametrize(
    ("operator", "linear"),
    [
        (lambda u: u.d("t") - u.d("x", "x") + 3, True),
        (lambda u: u.laplacian("x") * BOX.coordinate("x"), True),
        (lambda u: u.d("t") + u * u.d("x"), False),
        (lambda u: u**3 - u.d("x", "x"), False),
        (lambda u: u.map(abs) - u.d("x"), False),
        (lambda u: 1 / u - u.d("x"), False),
    ],
)
def test_what_is_linear(operator, linear):
    assert stated(operator).is_linear is linear


def test_learned_coefficients_make_a_problem_nonlinear():
    assert not stated(lambda u, k: u.d("t") - k * u.d("x", "x"), coefficients={"k": 1.0}).is_linear


def test_systems():
    linear = stated(lambda u, v: (u.d("t") - v, v.d("t") + u), unknowns=("u", "v"))
    product = stated(lambda u, v: (u.d("t") - v * u, v.d("t")), unknowns=("u", "v"))
    assert linear.is_linear
    assert not product.is_linear
    assert complete(ag.Setting(), linear).model.widths == (20, 20)


def test_every_default_has_more_rows_than_parameters():
    """No model may be able to fit its points without solving the equation."""
    for name in ag.catalogue.names(paper=True):
        problem = ag.catalogue.problem(name)
        setting = complete(ag.Setting(), problem)
        parameters = ag.ParametricModel(problem.sought, setting.model, 0).parameters
        inside = enough_points(problem, parameters)
        assert inside >= 2.5 * parameters
        rules = point_rules(problem, None, inside)
        kinds = {type(rule).__name__ for rule in rules.values()}
        assert ("Cells" in kinds) == (not problem.is_linear)


def test_what_the_user_says_stands():
    problem = ag.catalogue.problem("laplace-5d")
    setting = complete(ag.Setting(model=ag.MLP(7), steps=3, options={"growth": 2.0}), problem)
    assert (setting.model.widths, setting.steps, setting.options["growth"]) == ((7,), 3, 2.0)
    assert complete(ag.Setting(method="anagram"), problem).options == {}


def test_small_steps_on_fresh_points_are_many():
    problem = ag.catalogue.problem("laplace-5d")
    usual, fresh = (complete(ag.Setting(method=method), problem).steps for method in ("auto", "spring"))
    assert fresh > 10 * usual
    kept = complete(ag.Setting(method="spring", options={"resample": False}), problem)
    assert kept.steps == usual
