"""Integrals of fields: over the domain, over a region, or along some axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anagram.errors import ProblemError
from anagram.statement.arguments import parameter_names
from anagram.statement.beyond import Integral, Quadrature, Variable, moved, refuse_normal
from anagram.statement.domains import Box, GaussLegendre, Kronecker, PointRule, Region
from anagram.statement.domains.members import of_every_member
from anagram.statement.expressions import NORMAL, Named, Node, rewritten
from anagram.statement.fields import Field, Frame

# Gauss–Legendre nodes on every axis, by dimension; how exact they are: docs/conditions.md.
NODES = {0: 1, 1: 40, 2: 24, 3: 12}
SCATTERED = 4096  # nodes in more dimensions, all in all


def integral(
    integrand: Field | Callable[..., Any],
    over: Region | str | Sequence[str] | None = None,
    nodes: int | PointRule | None = None,
) -> Field:
    """The integral of a field, for operators: ``ag.Condition(lambda u: ag.integral(u))``.

    Args:
        integrand: a field made from the unknowns, ``u**2``; or a function of the variables of integration, in which
            the point stays where it is: ``lambda s: np.exp(-abs(x - s)) * u.at(x=s)``.
        over: the set. Left out it is the whole domain, and the integral a number. A region such as
            ``box.face(x=1)`` gives a number too, and the integrand sees the normal there. Names of axes, ``"x"`` or
            ``("x", "y")``, give the integral along these axes, a field of the others. Parameters are not integrated
            over: of a family each member has its own integral.
        nodes: Gauss–Legendre nodes on every axis, or a rule such as ``GaussLegendre(x=60)``. By default there are 40 on
            a line, 24² in the plane, 12³ in space; in more dimensions 4096 points are spread evenly, and the integral
            has two or three digits.
    """
    if not isinstance(integrand, Field) and not callable(integrand):
        raise ProblemError(f"an integral needs a field, as in ag.integral(u**2), not {integrand!r}")
    axes = _axis_names(over)
    names = parameter_names(integrand) if not isinstance(integrand, Field) else None
    variables = [Variable(name) for name in _variable_names(names, axes, over)]
    field = integrand if isinstance(integrand, Field) else _called(integrand, variables)
    frame = field.frame
    if axes is None:
        region = frame.domain if over is None else over
        if not isinstance(region, Region):
            raise ProblemError("this integrand does not say over which set it is integrated: give over=, a region")
        if frame.axes and region.axes != frame.axes:
            raise ProblemError(
                f"{region!r} has the axes {', '.join(region.axes)}, the integrand {', '.join(frame.axes)}"
            )
        own = of_every_member(region, frame.parameters)
        axes, quadrature = own.axes, quadrature_over(own, nodes, "Ω" if over is None else repr(region))
    else:
        for axis in axes:
            frame.index(axis)
            if axis in frame.parameters:
                raise ProblemError(f"'{axis}' is a parameter, which is not integrated over: every member has its own")
        quadrature = _along_axes(axes, frame.domain, nodes)
    if isinstance(integrand, Field):
        variables = [Variable(axis) for axis in axes]
        inner = moved(field.node, tuple((frame.index(axis), v) for axis, v in zip(axes, variables, strict=True)))
        normals = quadrature.nodes.shape[1] - len(axes)
        if normals:
            components = {NORMAL + axis: Variable(NORMAL + axis) for axis in axes}
            inner, variables = _with_normal(inner, components), [*variables, *components.values()]
        elif len(axes) + len(frame.parameters) == len(frame.axes):
            refuse_normal([inner])
    elif len(variables) != len(axes):
        raise ProblemError(
            f"the integrand takes {len(variables)} variable(s), and the integral is over {', '.join(axes)}: it needs "
            "one for each axis"
        )
    else:
        inner = field.node
        quadrature = quadrature._replace(nodes=quadrature.nodes[:, : len(axes)])
    return Field(Integral(inner, variables, quadrature), frame)


def _axis_names(over: Any) -> tuple[str, ...] | None:
    """The axes along which to integrate, or None for a region."""
    if over is None or isinstance(over, Region):
        return None
    names = (over,) if isinstance(over, str) else tuple(over) if isinstance(over, tuple | list) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ProblemError(
            f"over= is a region such as box.face(x=1), an axis such as 'x', or axes such as ('x', 'y'), not {over!r}"
        )
    return names


def _variable_names(names: list[str] | None, axes: tuple[str, ...] | None, over: Any) -> list[str]:
    if names is not None:
        return names
    return list(axes or (over.axes if isinstance(over, Region) else ()))


def _called(integrand: Callable[..., Any], variables: Sequence[Variable]) -> Field:
    field = integrand(*(Field(variable, Frame(())) for variable in variables))
    if not isinstance(field, Field) or not field.frame.axes:
        raise ProblemError(
            "an integrand that is a function must return a field made from the unknowns, as in u.at(x=s)"
        )
    return field


def _with_normal(inner: Node, components: dict[str, Variable]) -> Node:
    """The normal of the points of integration in the place of that of the point."""

    def replaced(node: Node) -> Node:
        found = rewritten([node], lambda n: components.get(n.name) if isinstance(n, Named) else None, replaced)
        return found[0]

    return replaced(inner)


def _rule(dimension: int, nodes: int | PointRule | None) -> PointRule:
    if isinstance(nodes, PointRule):
        return nodes
    if nodes is not None and (isinstance(nodes, bool) or not isinstance(nodes, int | np.integer) or nodes < 1):
        raise ProblemError(
            f"nodes= is a number of nodes on every axis, or a rule such as GaussLegendre(60), not {nodes!r}"
        )
    if dimension in NODES:
        return GaussLegendre(NODES[dimension] if nodes is None else int(nodes))
    return Kronecker(SCATTERED if nodes is None else int(nodes))


def quadrature_over(region: Region, nodes: int | PointRule | None, name: str = "") -> Quadrature:
    """Nodes of all parts of a region, each with its own measure; normals after the coordinates."""
    rows, weights = [], []
    for part in region.parts:
        cloud = part.draw(_rule(part.dimension, nodes), np.random.default_rng(0))
        rows.append(cloud.x if cloud.normal is None else np.concatenate([cloud.x, cloud.normal], axis=1))
        weights.append(part.measure * cloud.weight)
    return Quadrature(np.concatenate(rows), np.concatenate(weights), name)


def _along_axes(axes: tuple[str, ...], domain: Any, nodes: int | PointRule | None) -> Quadrature:
    if not isinstance(domain, Box):
        hint = "an integrand made of unknowns is needed" if domain is None else f"{domain!r} is no box"
        raise ProblemError(f"nobody knows where the axes {', '.join(axes)} end: {hint}; give over= a region")
    line = Box(**{axis: domain.intervals[axis] for axis in axes})
    cloud = line.draw(_rule(line.dimension, nodes), np.random.default_rng(0))
    return Quadrature(cloud.x, line.measure * cloud.weight, "")
