"""Smoothness as a prior: an unknown field is taken to be smooth as far as noisy data do not say otherwise."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

from anagram.errors import ProblemError
from anagram.statement.condition import Condition
from anagram.statement.domains import Region
from anagram.statement.fields import Field


def smooth(unknown: str, order: int = 2, on: Region | None = None) -> Condition:
    """The prior that all derivatives of one order of an unknown are small: ``roughness=ag.smooth("k")``.

    Args:
        unknown: the name of the field.
        order: of the derivatives: 1 for fields that are nearly constant or may have kinks, 2 for smooth ones.
        on: where it is smooth; everywhere if left out.

    How small is decided by the noise of the data, see `Condition`. Each derivative is measured by what it is for a wave
    as long as the domain, so that axes in other units count the same.
    """
    if not isinstance(unknown, str) or not unknown.isidentifier():
        raise ProblemError(f"smooth() takes the name of an unknown field, not {unknown!r}")
    if isinstance(order, bool) or not isinstance(order, int) or not 1 <= order <= 4:
        raise ProblemError(f"smooth() takes derivatives of an order from 1 to 4, not {order!r}")

    def derivatives(field: Field) -> tuple[Any, ...]:
        axes = field.frame.axes
        return tuple(field.d(*along) for along in itertools.combinations_with_replacement(axes, order))

    return Condition(operator_of(unknown, derivatives), on, prior=True)


def operator_of(unknown: str, function: Callable[[Field], Any]) -> Callable[..., Any]:
    """An operator of the unknown with this name: operators are called by the names of their parameters."""

    def operator(**fields: Field) -> Any:
        return function(fields[unknown])

    parameter = inspect.Parameter(unknown, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    operator.__signature__ = inspect.Signature([parameter])  # pyright: ignore[reportFunctionMemberAccess]
    return operator
