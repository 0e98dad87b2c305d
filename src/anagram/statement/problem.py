"""Problems: named conditions on a domain, unknown fields and coefficients, and what is known of the solution."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from anagram.errors import ProblemError
from anagram.statement import deflation, probe
from anagram.statement.beyond import axes_read, looks_beyond, shared_parts
from anagram.statement.condition import (
    Condition,
    check_finite,
    check_weight,
    equation_of,
    evaluate_function,
    mapped_source,
    weight_values,
)
from anagram.statement.deflation import POWER, SHIFT
from anagram.statement.domains import Along, Domain, Kronecker, Region
from anagram.statement.exactly import ansatz_of
from anagram.statement.expressions import Node, everything
from anagram.statement.expressions import Unknown as Symbol
from anagram.statement.jumps import warn_of_lost_jumps
from anagram.statement.noise import check_measured, first_prior_weight
from anagram.statement.notation import latex_name
from anagram.statement.stating import check_names, first_guess, gathered_conditions, known_solutions, stated_unknowns
from anagram.statement.unknowns import Ansatz, Unknown, Unknowns

Reference = Callable[[np.ndarray], np.ndarray]
BEGINNING_WEIGHT = 10.0  # of the data from which a nonlinear evolution begins


class Problem:
    """Find the fields (and coefficients) that satisfy all conditions: equation (3) of the paper.

    Args:
        domain: the set Ω on which everything lives, a box or a shape.
        unknowns: names of the unknown fields. May be left out if there is one; give several as
            ``("u", "v")``, complex ones as ``{"psi": complex}``, and those that live on a part of the domain as
            ``{"u": left, "v": right}``, or ``{"psi": (complex, left)}``. Those that depend on some axes only are given
            with these: ``{"u": float, "k": "x"}``.
        coefficients: unknown numbers with their first guesses, ``{"kappa": 1.0}``, learned with the fields.
        solution: the exact solution, a function of the point (a mapping by name for several unknowns).
            It is never used in training, only to measure errors.
        reference: a numerical solution: a function from points (n, d) to values (n,), in place of `solution`.
        guess: where training begins: a function of the point near which a solution is looked for (a mapping by name for
            several unknowns), or a solution of another problem with the same unknowns. For nonlinear problems that
            have several solutions, or one that is hard to find from nothing.
        name: used for run folders and titles.
        setting: how to solve it when `solve` is told nothing else. It is carried along and not looked at here.
        conditions: `Condition`s by name, as keywords or as mappings.

    Everything that can be checked is checked here; see `anagram.errors.ProblemError`. Afterwards a problem does not
    change; `restated` makes another one of it. Its `origin` says where it was found, so that a run can find it again.
    """

    def __init__(
        self,
        domain: Domain,
        *groups: Mapping[str, Condition],
        unknowns: Sequence[str] | Mapping[str, Any] | str | None = None,
        coefficients: Mapping[str, float] | None = None,
        solution: Any = None,
        reference: Reference | None = None,
        guess: Any = None,
        name: str = "problem",
        setting: Any = None,
        **conditions: Condition,
    ) -> None:
        if not isinstance(domain, Domain):
            raise ProblemError(f"a problem needs a domain such as Box(x=(0, 1)) or Disk(), not {domain!r}")
        self.domain = domain
        self.name = str(name)
        self.setting = setting
        self.ansatz: Mapping[str, Ansatz] = {}
        self.undeflated: Problem | None = None  # the equations themselves, where known solutions were divided out
        # Problems stated in Python have none. No argument, because conditions may well be called so: see `restated`.
        self.origin: Mapping[str, Any] = MappingProxyType({})
        self._row_sizes: Mapping[str, Sequence[float]] = {}
        self.conditions = gathered_conditions((*groups, conditions))
        for key, condition in self.conditions.items():
            if condition.on is not None and not condition.on.lies_in(domain):
                raise ProblemError(f"condition '{key}' holds on {condition.on!r}, which is no part of {domain!r}")
        if not isinstance(coefficients, Mapping | None):
            raise ProblemError("coefficients need first guesses, as in coefficients={'kappa': 1.0}")
        self.coefficients = {k: first_guess(k, v) for k, v in (coefficients or {}).items()}
        self.unknowns = stated_unknowns(unknowns, self.conditions, self.coefficients, domain)
        check_names(self.conditions, [u.name for u in self.unknowns], self.coefficients, domain.axes)
        clash = set(self.coefficients) & {u.name for u in self.unknowns}
        if clash:
            raise ProblemError(f"'{min(clash)}' is both an unknown field and a coefficient: rename one of them")
        self.expressions = probe.state_conditions(self)
        self._regions = {key: self._place(key) for key in self.conditions}
        # Functions are traced once, now: what they read from elsewhere does not change any more.
        self.sources = {
            key: mapped_source(condition.equals, domain.axes, f"condition '{key}'")
            for key, condition in self.conditions.items()
        }
        self._weights_at = {
            key: mapped_source(condition.weight, domain.axes, f"condition '{key}'")
            for key, condition in self.conditions.items()
            if condition.is_weighted_by_position
        }
        self._weights: Mapping[str, float] = {}
        self.corners: tuple[tuple[float, float], ...] = ()
        self.components = probe.check_conditions(self)
        check_measured(self)
        self.ansatz = ansatz_of(self)
        if not self.soft:
            raise ProblemError("all conditions are exact=True: the equation itself must be left to the model")
        self.solution = known_solutions(solution, self.unknowns, domain.axes)
        self.reference = reference
        if reference is not None and not callable(reference):
            raise ProblemError(f"reference= must be a function from points (n, d) to values (n,), not {reference!r}")
        if reference is not None and (solution is not None or len(self.unknowns) > 1):
            raise ProblemError("give either solution= or reference=, and a reference only for a single unknown")
        self._check_solution()
        warn_of_lost_jumps(self)
        self.guess = None if guess is None else deflation.guess_of(self, guess)
        self._is_stated = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_stated" in vars(self):
            raise AttributeError(f"a problem does not change once it is stated; restated({name}=...) gives another one")
        super().__setattr__(name, value)

    def restated(
        self,
        *,
        name: str | None = None,
        weights: Mapping[str, float] | None = None,
        row_sizes: Mapping[str, Sequence[float]] | None = None,
        setting: Any = None,
        origin: Mapping[str, Any] | None = None,
        guess: Any = None,
        corners: Sequence[tuple[float, float]] | None = None,
    ) -> Problem:
        """Another problem with the same conditions; what is left out is as it was.

        Args:
            name: what it is called.
            weights: how much the named conditions count; weights by position are multiplied by it.
            row_sizes: by condition, what the rows of each of its real components are divided by.
            setting: how it is solved.
            origin: where it was found, an entry of the catalogue or a file, as JSON values. It is carried along and not
                looked at here.
            guess: where training begins.
            corners: near which equations count as little as they must, see `anagram.statement.cornerweights`.
        """
        other = object.__new__(Problem)
        conditions, in_front = {**self.conditions}, dict(self._weights)
        for key, weight in (weights or {}).items():
            given = conditions[key]
            if given.is_weighted_by_position or given.noise is not None or given.prior:
                check_weight(weight)
                in_front[key] = float(weight)
            else:
                conditions[key] = replace(conditions[key], weight=weight)
        vars(other).update(
            vars(self),
            conditions=conditions,
            _weights=in_front,
            _row_sizes=self._row_sizes if row_sizes is None else dict(row_sizes),
            name=self.name if name is None else str(name),
            setting=self.setting if setting is None else setting,
            origin=self.origin if origin is None else MappingProxyType(dict(origin)),
            guess=self.guess if guess is None else deflation.guess_of(self, guess),
            corners=self.corners if corners is None else tuple(corners),
        )
        return other

    def deflated(
        self, *known: Any, power: float = POWER, shift: float = SHIFT, coefficients: Mapping[str, float] | None = None
    ) -> Problem:
        """The same problem without solutions that are known: ``ag.solve(problem.deflated(first))`` finds another one.

        All residuals are multiplied by Π (d_i⁻ᵖ + α), d_i the distance from a known solution relative to its size: what
        was a solution is none any more, everything else that was one still is. Errors are estimated with the equations
        as they were.

        Args:
            known: what `solve` returned, functions of the point, or these by unknown.
            power: p.
            shift: α.
            coefficients: other first guesses for them.
        """
        conditions = deflation.deflated(self, known, power, shift)
        found = self._with_conditions(conditions, f"{self.name}, deflated", coefficients)
        original = self if self.undeflated is None else self.undeflated
        vars(found)["undeflated"] = original._with_conditions(original.conditions, found.name, found.coefficients)
        return found

    def orthogonal_to(self, *modes: Any, coefficients: Mapping[str, float] | None = None) -> Problem:
        """The same problem for a mode that is orthogonal to others: one condition ∫ u u_i = 0 more for each.

        Args:
            modes: what `solve` returned, or functions of the point.
            coefficients: other first guesses, for the eigenvalue that is looked for.
        """
        return self._with_conditions(deflation.orthogonal(self, modes), f"{self.name}, another mode", coefficients)

    def _with_conditions(
        self, conditions: Mapping[str, Condition], name: str, coefficients: Mapping[str, float] | None
    ) -> Problem:
        """Other conditions on the same unknowns; the known solution is not that of the new problem."""
        unknown = set(coefficients or {}) - set(self.coefficients)
        if unknown:
            raise ProblemError(f"there is no coefficient '{min(unknown)}'; there are {', '.join(self.coefficients)}")
        kinds: dict[str, Any] = {
            u.name: (complex if u.is_complex else float, *([] if u.on is None else [u.on])) for u in self.unknowns
        }
        guesses = {**self.coefficients, **(coefficients or {})}
        return Problem(self.domain, conditions, unknowns=kinds, coefficients=guesses, name=name, setting=self.setting)

    @property
    def sought(self) -> Unknowns:
        """The unknowns, without the conditions on them."""
        return Unknowns(self.domain, self.unknowns, self.coefficients, self.ansatz)

    @property
    def soft(self) -> tuple[str, ...]:
        """The conditions that are part of the loss: all but those that hold exactly."""
        return tuple(key for key, condition in self.conditions.items() if not condition.exact)

    @functools.cached_property
    def is_linear(self) -> bool:
        """Whether all operators are affine in the unknowns (tried out on test fields)."""
        with jax.ensure_compile_time_eval():  # also while a step is being traced
            return probe.is_linear(self)

    @property
    def measured(self) -> tuple[str, ...]:
        """The conditions that are data with noise."""
        return tuple(key for key, condition in self.conditions.items() if condition.noise is not None)

    @property
    def priors(self) -> tuple[str, ...]:
        """The conditions that only say what is likely."""
        return tuple(key for key, condition in self.conditions.items() if condition.prior)

    @property
    def knows_solution(self) -> bool:
        """Whether errors can be measured."""
        return self.reference is not None or self.solution is not None

    def region(self, condition: str) -> Any:
        """The region on which a condition holds."""
        return self._regions[condition]

    @property
    def inside(self) -> list[str]:
        """The conditions that hold inside the domain, on all of it or on a part, and not on a boundary alone."""
        return [key for key in self.conditions if self.region(key).dimension == self.domain.dimension]

    @functools.cached_property
    def shared_parts(self) -> dict[str, list[Node]]:
        """By condition, the integrals and values at fixed points that are the same at all its points."""
        dimension = self.domain.dimension
        return {key: shared_parts(nodes, dimension) for key, nodes in self.expressions.items()}

    def weight(self, condition: str) -> float:
        """How much the mean square of a condition counts in the loss.

        All conditions count the same, with one exception: where a nonlinear evolution begins, its data counts
        ten times, because errors made there are carried along, and may grow. Where weights differ from point to point
        (see `weights_at`), or follow from the noise of data, this is the number in front of them.
        """
        given = self.conditions[condition]
        if given.is_weighted_by_position or given.noise is not None:
            return self._weights.get(condition, 1.0)
        if given.weight is not None:
            return float(given.weight)
        if given.prior:
            return self._weights.get(condition) or first_prior_weight(self)
        return BEGINNING_WEIGHT if self._begins_at(condition) and not self.is_linear else 1.0

    def weights_at(self, condition: str, x: np.ndarray) -> np.ndarray:
        """By how much more or less than others each of the points (n, d) of a condition counts; ones unless given."""
        if condition not in self._weights_at:
            return np.ones(len(x))
        return weight_values(self._weights_at[condition], self.region(condition), x, f"condition '{condition}'")

    def rows(self, condition: str) -> int:
        """How many real components a condition has at a point."""
        return len(self.components[condition]) + sum(self.components[condition])

    def row_sizes(self, condition: str) -> np.ndarray:
        """What the rows of a condition are divided by, one number for each real component; ones unless given."""
        return np.asarray(self._row_sizes.get(condition, np.ones(self.rows(condition))), dtype=float)

    def _place(self, condition: str) -> Region:
        """Where a condition holds: as it says, or else everywhere, on the axes that it depends on.

        An integral over the domain is one number, and its condition one row; one along x is a row for every t.
        """
        given, nodes = self.conditions[condition].on, self.expressions[condition]
        if given is not None:
            return given
        read = {node.name for node in everything(nodes) if isinstance(node, Symbol)}
        own = {id(region): region for region, found in self.sought.by_region if read & {u.name for u in found}}
        axes = {self.domain.axes[k] for k in axes_read(nodes, self.domain.dimension)}
        if looks_beyond(nodes) and len(axes) < self.domain.dimension:
            box = next(iter(own.values()), self.domain)
            return Along(box if len(own) == 1 and isinstance(box, Domain) else self.domain, axes)
        if len(own) > 1:
            raise ProblemError(
                f"condition '{condition}' reads {' and '.join(sorted(read))}, which live on different sets: say where "
                "it holds, as in on=box.slice(x=0.5)"
            )
        return next(iter(own.values()), self.domain)

    def _begins_at(self, condition: str) -> bool:
        """Whether a condition holds on one face, and none on the face opposite to it."""
        own = self.region(condition).end
        if own is None:
            return False
        axis, upper = own
        ends = [part.end for key in self.conditions for part in self.region(key).parts]
        return (axis, not upper) not in ends

    def exact(self, x: np.ndarray) -> dict[str, np.ndarray] | None:
        """The known solution at points (n, d), by unknown, or None; NaN where an unknown does not live."""
        if self.reference is not None:
            values = {self.unknowns[0].name: np.asarray(self.reference(x))}
        elif self.solution is not None:
            values = {u.name: self._known(u, x) for u in self.unknowns if u.name in self.solution}
        else:
            return None
        for unknown in self.unknowns:
            if unknown.name in values:
                if unknown.on is None:
                    _check_exact(values[unknown.name], unknown, self.domain.axes, x)
                else:
                    own = unknown.on.contains(x)
                    _check_exact(values[unknown.name][own], unknown, self.domain.axes, x[own])
                values[unknown.name] = values[unknown.name].astype(complex if unknown.is_complex else float)
        return values

    def _known(self, unknown: Unknown, x: np.ndarray) -> np.ndarray:
        assert self.solution is not None
        what = f"the solution '{unknown.name}'"
        if unknown.on is None:
            return evaluate_function(self.solution[unknown.name], self.domain.axes, x, what)[0]
        inside = unknown.on.contains(x)
        values = np.full(len(x), np.nan, dtype=complex if unknown.is_complex else float)
        if inside.any():
            values[inside] = evaluate_function(self.solution[unknown.name], self.domain.axes, x[inside], what)[0]
        return values

    def _check_solution(self) -> None:
        # A reference may be costly; it is checked when it is first used.
        if self.solution is None:
            return
        x = self.domain.draw(Kronecker(16), np.random.default_rng(0)).x
        self.exact(x)
        probe.check_periods(self, x)

    @property
    def equations(self) -> dict[str, str]:
        """Every condition as a reader would write it, by name."""
        return {key: self._equation(key) for key in self.conditions}

    def _equation(self, key: str, *, latex: bool = False) -> str:
        axes = self.domain.axes
        return equation_of(self.expressions[key], self.conditions[key].equals, axes, latex=latex)

    def __repr__(self) -> str:
        fields = ", ".join(u.name for u in self.unknowns)
        lines = [f"Problem({self.name}: {fields} on {self.domain!r})"]
        for key, equation in self.equations.items():
            lines.append(f"  {key}: {equation}{self._where(key)}")
        return "\n".join(lines)

    def _where(self, key: str) -> str:
        """The region of a condition behind its equation; nothing for the whole domain, and for a single number."""
        place = self.region(key)
        if place is self.domain or (isinstance(place, Along) and place.dimension == 0):
            return ""
        return f" for {place!r}" if isinstance(place, Along) else f" on {place.called_in(self.domain)}"

    def _repr_latex_(self) -> str:
        """For notebooks."""
        unknowns = ", ".join(latex_name(u.name) for u in self.unknowns)
        rows = [rf"\text{{find}}\quad & {unknowns} \quad\text{{on {_plain(repr(self.domain))}}}"]
        for key in self.conditions:
            where = self._where(key)
            where = where and rf" \quad\text{{{_plain(where)}}}"
            rows.append(rf"\text{{{_plain(key)}:}}\quad & {self._equation(key, latex=True)}{where}")
        return r"$\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}$"


def _plain(text: str) -> str:
    """A text inside LaTeX."""
    return text.replace("\\", "/").replace("_", r"\_").replace("&", "and").replace("|", ",")


def _check_exact(values: np.ndarray, unknown: Unknown, axes: tuple[str, ...], x: np.ndarray) -> None:
    what = f"the known solution '{unknown.name}'"
    if values.shape != (len(x),):
        raise ProblemError(f"{what} must give {len(x)} values at {len(x)} points, it gave the shape {values.shape}")
    if np.iscomplexobj(values) and not unknown.is_complex:
        raise ProblemError(f"{what} is complex, the unknown is real: unknowns={{'{unknown.name}': complex}}")
    check_finite(values, axes, x, what)
