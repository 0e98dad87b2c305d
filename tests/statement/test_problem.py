import jax
import jax.numpy as jnp
import numpy as np
import pytest

import anagram as ag
from tolerances import assert_close

LINE = ag.Box(x=(0, 1))
SQUARE = ag.Box(t=(0, 1), x=(-1, 1))
EQUATION = ag.Condition(lambda u: u.d("t") - u.d("x", "x"))


def test_unknowns_are_read_from_the_operators():
    problem = ag.Problem(SQUARE, equation=EQUATION)
    assert [u.name for u in problem.unknowns] == ["u"]
    named = ag.Problem(SQUARE, c=ag.Condition(lambda w, k: k * w), coefficients={"k": 2})
    assert [u.name for u in named.unknowns] == ["w"]
    assert named.coefficients == {"k": 2.0}


def test_components_tell_vectors_and_complex_values_apart():
    problem = ag.Problem(
        SQUARE,
        first=ag.Condition(lambda u, psi: (u, psi.d("t")), equals=(1.0, 2j)),
        second=ag.Condition(lambda psi: psi.real),
        unknowns={"u": float, "psi": complex},
    )
    assert problem.components == {"first": (False, True), "second": (False,)}
    assert problem.sought.outputs == 3
    batch = ag.sample(problem, 4)
    assert_close(batch["first"].source[0], [1.0, 0.0, 2.0])


def test_sources_of_every_kind():
    data = LINE.points(x=[0.1, 0.9])
    problem = ag.Problem(
        LINE,
        number=ag.Condition(lambda u: u, equals=3),
        function=ag.Condition(lambda u: u, equals=lambda x: x**2),
        plain_python=ag.Condition(lambda u: u, equals=lambda x: 1.0 if x > 0.5 else float(np.sin(x))),
        anything=ag.Condition(lambda u: u, equals=lambda **p: p["x"]),
        field=ag.Condition(lambda u: u, equals=LINE.coordinate("x") ** 2),
        data=ag.Condition(lambda u: u, on=data, equals=np.array([5.0, 7.0])),
    )
    batch = ag.sample(problem, ag.Grid(9))
    x = np.linspace(0, 1, 11)[1:-1]
    assert_close(batch["number"].source[:, 0], np.full(9, 3.0))
    assert_close(batch["function"].source[:, 0], x**2)
    assert_close(batch["plain_python"].source[:, 0], np.where(x > 0.5, 1.0, np.sin(x)))
    assert_close(batch["anything"].source[:, 0], x)
    assert_close(batch["field"].source[:, 0], x**2)
    assert_close(batch["data"].source[:, 0], [5.0, 7.0])


def test_exact_solutions():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u), solution=lambda x: x**2)
    assert_close(problem.exact(np.array([[0.5]]))["u"], [0.25])
    assert ag.Problem(LINE, c=ag.Condition(lambda u: u)).exact(np.zeros((1, 1))) is None


def test_references_are_checked_when_used():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u), reference=lambda x: x)
    with pytest.raises(ag.ProblemError, match=r"3 values at 3 points, it gave the shape \(3, 1\)"):
        problem.exact(np.zeros((3, 1)))
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u), reference=lambda x: x[:, 0] / 0)
    with pytest.raises(ag.ProblemError, match="known solution 'u' is nan"), np.errstate(all="ignore"):
        problem.exact(np.zeros((3, 1)))


def test_sources_undefined_at_an_end_are_found_when_points_meet_it():
    condition = ag.Condition(lambda u: u, on=SQUARE.face(t=0), equals=lambda x: jnp.log(1 + x))
    problem = ag.Problem(SQUARE, start=condition)
    ag.sample(problem, ag.GaussLegendre(8))
    with pytest.raises(ag.ProblemError, match=r"'start': the source is -inf at \(t=0, x=-1\)"):
        ag.sample(problem, ag.Grid(8))


def test_variable_coefficients_and_functions_of_fields():
    x = LINE.coordinate("x")
    k = LINE.field(lambda x: 1 + x**2)
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: (k * u.d("x")).d("x") + np.exp(u) * x))
    model = ag.ParametricModel(problem.sought, ag.Polynomial(3), 0)
    theta = jnp.array([0.0, 0.5, 0.0, 0.0])  # u = ½(2x − 1) = x − ½
    value = ag.Compound(problem, model).operator_rows("c", theta, jnp.array([0.3]), None)
    assert_close(value, [2 * 0.3 + np.exp(-0.2) * 0.3])


MISTAKES = {
    "no condition": (lambda: ag.Problem(SQUARE), "at least one condition"),
    "no domain": (lambda: ag.Problem("box", c=EQUATION), "needs a domain"),
    "no Condition": (lambda: ag.Problem(SQUARE, c=lambda u: u), "'c' must be a Condition"),
    "axis": (lambda: ag.Problem(SQUARE, heat=ag.Condition(lambda u: u.d("z"))), "'heat'.*no axis 'z'"),
    "laplacian": (lambda: ag.Problem(SQUARE, heat=ag.Condition(lambda u: u.laplacian())), "'heat'.*time 't'"),
    "face": (lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, on=SQUARE.face(t=0.5))), "no face t=0.5"),
    "region": (lambda: ag.Condition(lambda u: u, on="boundary"), "on= needs a region"),
    "other domain": (
        lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, on=LINE.faces("x"))),
        "'c' holds on.*no part",
    ),
    "twice": (lambda: ag.Problem(SQUARE, {"c": EQUATION}, c=EQUATION), "two conditions have the name 'c'"),
    "normal inside": (
        lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u.normal_derivative())),
        "'c'.*only on a face",
    ),
    "source axis": (
        lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals=lambda y: y)),
        "'c': the source takes 'y', which is not an axis",
    ),
    "source shape": (
        lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals=lambda x: jnp.array([x, x]))),
        r"'c': the source must give one number.*\(2,\)",
    ),
    "source count": (
        lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: (u, u), equals=lambda x: x)),
        "'c': the operator has 2 component.* source has 1",
    ),
    "source tuple": (lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals=(1, 2))), "source has 2"),
    "source array": (lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals=np.ones(3))), "domain.points"),
    "data length": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u, on=LINE.points(x=[0, 1]), equals=np.ones(3))),
        r"shape \(3,\).*need \(2,\)",
    ),
    "source text": (lambda: ag.Problem(SQUARE, c=ag.Condition(lambda u: u, equals="x")), "must be a number"),
    "source raises": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u, equals=lambda x: [][3])),
        "'c': the source failed at .x=.*IndexError",
    ),
    "source NaN": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u, equals=lambda x: jnp.log(x - 0.5))),
        r"'c': the source is nan at \(x=",
    ),
    "complex source": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u, equals=1j)), "source is complex"),
    "operator NaN": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u / LINE.field(lambda x: x), on=LINE.face(x=0))),
        r"'c' is not finite at \(x=0\)",
    ),
    "jnp on a field": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: jnp.exp(u))), r"'c'.*np.exp\(u\)"),
    "operator constant": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: 0.0)), "'c'.*must return a field"),
    "operator empty": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: ())), "returned no field"),
    "operator array": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u.map(lambda v: jnp.stack([v, v])))), "tuple"),
    "operator name": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u, v, q: u + v), unknowns=("u", "v")),
        "'c'.*takes 'q', which is not one of: u, v",
    ),
    "several names": (
        lambda: ag.Problem(LINE, a=ag.Condition(lambda u: u), b=ag.Condition(lambda w: w)),
        r"several unknowns: 'u' \(in 'a'\), 'w' \(in 'b'\)",
    ),
    "operator is no function": (lambda: ag.Condition(3.0), "function of fields"),
    "weight": (lambda: ag.Condition(lambda u: u, weight=0), "positive number"),
    "weight infinite": (lambda: ag.Condition(lambda u: u, weight=np.inf), "positive number"),
    "coefficient": (lambda: ag.Problem(LINE, c=EQUATION, coefficients={"k": np.nan}), "coefficient 'k'"),
    "coefficient clash": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), unknowns="u", coefficients={"u": 1}),
        "both an unknown field and a coefficient",
    ),
    "coefficient unused": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), coefficients={"k": 1}),
        "no condition says anything about the coefficient 'k'",
    ),
    "coefficient list": (lambda: ag.Problem(LINE, c=EQUATION, coefficients=["k"]), "need first guesses"),
    "unknown unused": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), unknowns=("u", "v")),
        "no condition says anything about the unknown field 'v'",
    ),
    "unknown is an axis": (lambda: ag.Problem(LINE, c=ag.Condition(lambda x: x)), "called like an axis"),
    "coordinate": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u, x: x * u)), r"write domain.coordinate\('x'\)"),
    "unknown kind": (lambda: ag.Problem(LINE, c=EQUATION, unknowns={"u": int}), "float or complex"),
    "unknown twice": (lambda: ag.Problem(LINE, c=EQUATION, unknowns=("u", "u")), "different names"),
    "solution axis": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), solution=lambda y: y), "not an axis"),
    "region outside": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u, on=ag.Box(x=(0, 7)).face(x=7))),
        r"'c' holds on face\(x=7\), which is no part of Box\(x=\(0, 1\)\)",
    ),
    "solution complex": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), solution=lambda x: 1j * x),
        "complex, the unknown is real",
    ),
    "reference": (lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), reference=3), "reference= must be a function"),
    "solution NaN": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), solution=lambda x: x / 0.0 * 0),
        "the known solution 'u'",
    ),
    "solution name": (
        lambda: ag.Problem(LINE, c=ag.Condition(lambda u: u), solution={"v": lambda x: x}),
        "functions by unknown",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_everything_wrong_is_named_when_the_problem_is_stated(case):
    mistake, message = MISTAKES[case]
    with pytest.raises(ag.ProblemError, match=f"(?s){message}"):
        mistake()


def test_singularities_outside_the_points_are_allowed():
    """u_r / r is fine inside (0, 1), where no point has r = 0."""
    r = ag.Box(r=(0, 1))
    ag.Problem(r, c=ag.Condition(lambda u: u.d("r", "r") + u.d("r") / r.coordinate("r")))


def test_roots_of_the_unknown_are_allowed():
    """sqrt(u) is undefined for negative u only; that is the model's business, not the problem's."""
    ag.Problem(LINE, c=ag.Condition(lambda u: np.sqrt(u) - np.log(u)))


def test_the_data_a_nonlinear_evolution_begins_with_counts_more():
    def weights(equation, **others):
        initial = ag.Condition(lambda u: u, on=SQUARE.face(t=0))
        walls = ag.Condition(lambda u: u, on=SQUARE.faces("x"))
        problem = ag.Problem(SQUARE, equation=ag.Condition(equation), initial=initial, walls=walls, **others)
        return {key: problem.weight(key) for key in problem.conditions}

    nonlinear = lambda u: u.d("t") + u * u.d("x")
    equal = {"equation": 1.0, "initial": 1.0, "walls": 1.0}
    assert weights(nonlinear) == {**equal, "initial": 10.0}
    assert weights(lambda u: u.d("t") - u.d("x", "x")) == equal
    # What is given at both ends is no beginning, and what the user says stands.
    assert weights(nonlinear, last=ag.Condition(lambda u: u, on=SQUARE.face(t=1))) == {**equal, "last": 1.0}
    assert ag.catalogue.problem("allen-cahn").weight("initial") == 10.0
    assert ag.catalogue.problem("allen-cahn", paper=True).weight("initial") == 1.0
    given = ag.Problem(
        SQUARE,
        equation=ag.Condition(nonlinear, weight=3),
        initial=ag.Condition(lambda u: u, on=SQUARE.face(t=0), weight=0.5),
    )
    assert [given.weight(key) for key in given.conditions] == [3.0, 0.5]


# -- stated once ---------------------------------------------------------------------------------------
def test_a_problem_does_not_change_once_it_is_stated():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u))
    for name in ("name", "setting", "origin", "conditions"):
        with pytest.raises(AttributeError, match=rf"restated\({name}="):
            setattr(problem, name, None)
    with pytest.raises(TypeError):
        problem.origin["catalogue"] = "heat"


def test_a_restated_problem_is_another_one():
    problem = ag.Problem(LINE, c=ag.Condition(lambda u: u, weight=2.0), d=ag.Condition(lambda u: u.d("x")), name="line")
    setting = ag.Setting(steps=3)
    other = problem.restated(name="other", weights={"c": 5.0}, setting=setting, origin={"file": "line.py"})
    assert (problem.name, problem.weight("c"), problem.setting, dict(problem.origin)) == ("line", 2.0, None, {})
    assert (other.name, other.weight("c"), other.weight("d")) == ("other", 5.0, 1.0)
    assert other.setting is setting
    assert dict(other.origin) == {"file": "line.py"}
    assert other.conditions["c"].operator is problem.conditions["c"].operator
    # A condition may be called like anything that `restated` takes.
    assert "origin" in ag.Problem(LINE, origin=ag.Condition(lambda u: u)).conditions


def test_functions_of_numpy_and_of_jax_mean_the_same():
    x = np.linspace(0.1, 0.9, 5)
    for ours, theirs in (
        (LINE.field(lambda x: np.sin(x) * x), LINE.field(lambda x: jnp.sin(x) * x)),
        (LINE.coordinate("x").map(np.exp), LINE.coordinate("x").map(jnp.exp)),
        (LINE.coordinate("x").map(lambda v: np.exp(v) + 1), LINE.coordinate("x").map(lambda v: jnp.exp(v) + 1)),
        (LINE.field(lambda x: np.float64(2.0)), LINE.field(lambda x: 2.0)),
    ):
        for derivative in (lambda f: f, lambda f: f.d("x", "x")):
            assert_close([derivative(ours)(v) for v in x], [derivative(theirs)(v) for v in x], 1e-14)
    with pytest.raises(ag.ProblemError, match="jnp.sin does not take fields: write np.sin"):
        ag.Problem(LINE, equation=ag.Condition(lambda u: jnp.sin(u)))
    with pytest.raises(ag.ProblemError, match="write it with jax.numpy"):
        LINE.field(lambda x: np.interp(x, [0, 1], [2, 3]))


def test_lists_of_values_belong_to_given_points():
    points = LINE.points(x=[0.25, 0.75])
    for values in ([1.0, 2.0], (1, 2), [np.float64(1.0), 2]):
        problem = ag.Problem(LINE, e=ag.Condition(lambda u: u.d("x")), data=ag.Condition(lambda u: u, points, values))
        assert_close(ag.sample(problem, 4)["data"].source, [[1.0], [2.0]])
    two = ag.Problem(LINE, data=ag.Condition(lambda u, v: (u, v), points, (1.0, 2.0)), unknowns=("u", "v"))
    assert_close(ag.sample(two, 4)["data"].source, [[1.0, 2.0], [1.0, 2.0]])  # one for each component
    for region, values in ((points, [1.0, 2.0, 3.0]), (LINE.boundary(), [1.0, 2.0])):
        with pytest.raises(ag.ProblemError, match="one value for each point goes with on=domain.points"):
            ag.Problem(LINE, data=ag.Condition(lambda u: u, region, values))


def test_boundaries_say_of_which_shape_they_are():
    disk = ag.Disk()
    holed = ag.Box(x=(-2, 2), y=(-2, 2)) - disk
    problem = ag.Problem(
        holed,
        equation=ag.Condition(lambda u: u.laplacian()),
        hole=ag.Condition(lambda u: u, on=disk.boundary()),
        walls=ag.Condition(lambda u: u, on=holed.boundary("box")),
        all=ag.Condition(lambda u: u, on=disk.boundary() | holed.boundary("box")),
    )
    lines = dict(line.strip().split(": ", 1) for line in str(problem).splitlines()[1:])
    assert lines["hole"] == "u = 0 on boundary() of Disk(center=(0, 0), radius=1)"
    assert lines["walls"] == "u = 0 on boundary('box')"
    assert "boundary() of Disk(center=(0, 0), radius=1) | boundary('box') of" in lines["all"]
    tube = ag.Box(t=(0, 1)) * disk
    moving = ag.Problem(tube, e=ag.Condition(lambda u: u.d("t")), w=ag.Condition(lambda u: u, on=tube.boundary()))
    assert "w: u = 0 on boundary() of Disk(center=(0, 0), radius=1)" in str(moving)


def test_what_jax_derives_is_a_source():
    """Such functions take their arguments by place and not by name."""
    line = ag.Box(x=(0, 1))
    problem = ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x"), equals=jax.grad(jax.grad(lambda x: x**3))),
        ends=ag.Condition(lambda u: u, on=line.boundary(), equals=lambda x: x**3),
    )
    assert float(problem.sources["equation"](np.array([0.5]))) == pytest.approx(3.0)
