"""Members of families: a solution for all values of parameters, with these held at one value each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.domains import Domain, Region
from anagram.statement.domains.members import checked_member, member_domain

if TYPE_CHECKING:
    from anagram.training.reached import Reached


class Member:
    """One member of a family: what was reached, at some values of the parameters, as a function of the other axes.

    It is made by ``solution.at(nu=0.03)`` and called like a solution, without the parameters: ``member(t=0.5, x=0.1)``.
    """

    def __init__(self, reached: Reached, held: Mapping[str, Any]) -> None:
        self.reached = reached
        self.held = checked_member(reached.domain, held)
        self.domain: Domain = member_domain(reached.domain, self.held)

    def at(self, **held: Any) -> Member:
        """The same with other parameters held too, where there are several."""
        return Member(self.reached, {**self.held, **held})

    def __call__(self, *coordinates: Any, **named: Any) -> Any:
        """The unknown at points; a dictionary by name if there are several. See `anagram.Solution`."""
        return self.reached(**self._placed(coordinates, named))

    def __getitem__(self, unknown: str) -> Callable[..., np.ndarray]:
        """One unknown as a function."""
        values = self.reached[unknown]
        return lambda *coordinates, **named: values(**self._placed(coordinates, named))

    def evaluate(self, operator: Callable[..., Any], *coordinates: Any, **named: Any) -> Any:
        """An operator applied to the member, at points: ``member.evaluate(lambda u: u.d("x"), t=0.5, x=0.1)``.

        Derivatives by the parameters are known too: ``lambda u: u.d("nu")``.
        """
        return self.reached.evaluate(operator, **self._placed(coordinates, named))

    def integral(self, operator: Callable[..., Any], over: Region | None = None, nodes: Any = None) -> Any:
        """The integral of an operator of the member over a region of its domain; see `anagram.Solution.integral`."""
        rest = [axis for axis in self.reached.domain.parameter_axes if axis not in self.held]
        if rest:
            raise ProblemError(
                f"an integral is that of one member: hold {', '.join(rest)} too, as in at({rest[0]}=...)"
            )
        return self.reached.integral_over(operator, self.domain, self.held, over, nodes)

    def seconds(self, points: int = 1) -> float:
        """How long a call at so many points takes; see `anagram.Solution.seconds`."""
        return self.reached.seconds(points)

    def _placed(self, coordinates: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Coordinates by axis, with the parameters that are held."""
        axes = self.domain.axes
        twice = next((axis for axis in named if axis in self.held), None)
        if twice is not None:
            raise ProblemError(f"{twice} is held at {self.held[twice]:g} here: call the solution itself for others")
        if len(coordinates) == 1 and not named and np.ndim(coordinates[0]) >= (1 if len(axes) > 1 else 2):
            x = np.asarray(coordinates[0], dtype=float)
            if x.shape[-1] != len(axes):
                raise ProblemError(
                    f"an array of points needs {len(axes)} columns ({', '.join(axes)}), it has {x.shape[-1]}"
                )
            return {**{axis: x[..., k] for k, axis in enumerate(axes)}, **self.held}
        given = dict(zip(axes, coordinates, strict=False)) | named
        if len(coordinates) > len(axes) or set(given) - {"outside"} != set(axes):
            raise ProblemError(f"a point of this member needs exactly the coordinates {', '.join(axes)}")
        return {**given, **self.held}

    def __repr__(self) -> str:
        values = ", ".join(f"{axis}={value:g}" for axis, value in self.held.items())
        return f"Member({self.reached.summary['problem']} at {values}, on {self.domain!r})"
