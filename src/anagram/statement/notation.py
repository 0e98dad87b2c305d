"""Expressions as a reader would write them: as text, u_t − 0.25 u_xx, and in LaTeX."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from anagram.statement.beyond import Elsewhere, Integral, Variable
from anagram.statement.evaluation import FunctionSource
from anagram.statement.expressions import (
    NORMAL,
    Apply,
    Coordinate,
    Index,
    Leaf,
    Named,
    Node,
    Number,
    Unknown,
    postorder,
)

# How tightly a piece of text holds together: sums least, then products, signs, powers, and what stands alone.
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(5)
_GREEK = {
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu"),
    *("nu", "xi", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega"),
}
_LONGEST = 400  # nodes; longer expressions are cut short


class _Style:
    """How the pieces of an expression are put together."""

    def __init__(self, axes: Sequence[str], *, latex: bool) -> None:
        self.axes, self.latex = tuple(axes), latex

    def name(self, name: str) -> str:
        """An unknown, a coefficient or an axis."""
        if not self.latex:
            return name
        head, _, tail = name.partition("_")
        head = f"\\{head}" if head in _GREEK else head if len(head) == 1 else f"\\mathrm{{{head}}}"
        return f"{head}_{{{tail}}}" if tail else head

    def derivative(self, name: str, index: Index) -> str:
        """A field with subscripts for its derivatives."""
        letters = [axis for axis, order in zip(self.axes, index, strict=True) for _ in range(order)]
        if not letters:
            return name
        if self.latex:
            return f"{name}_{{{' '.join(self.name(letter) for letter in letters)}}}"
        return f"{name}_{''.join(letters)}" if all(len(a) == 1 for a in letters) else f"{name}_({' '.join(letters)})"

    def region(self, name: str) -> str:
        """The name of a set, as a subscript."""
        if not self.latex:
            return name if " " not in name else f"({name})"
        return r"\Omega" if name == "Ω" else rf"{{\text{{{name}}}}}"

    def number(self, value: Any) -> str:
        """A number; one that is not known yet has no digits."""
        if isinstance(value, bool) or not isinstance(value, int | float | complex):
            return "c"
        if isinstance(value, complex):
            if value.real == 0:
                return f"{self.number(value.imag)}i" if abs(value.imag) != 1 else "i" if value.imag > 0 else "-i"
            return f"({self.number(value.real)} + {self.number(value.imag)}i)"
        text = f"{value:.6g}"
        mantissa, e, exponent = text.partition("e")
        if not e:
            return text
        power = f"10^{{{int(exponent)}}}" if self.latex else f"1e{int(exponent)}"
        if self.latex:
            return power if mantissa == "1" else f"{mantissa} \\cdot {power}"
        return f"{mantissa}e{int(exponent)}"


def text_of(node: Node, axes: Sequence[str]) -> str:
    """An expression as plain text."""
    return _written(node, _Style(axes, latex=False))


def latex_of(node: Node, axes: Sequence[str]) -> str:
    """An expression in LaTeX, without dollars."""
    return _written(node, _Style(axes, latex=True))


def latex_name(name: str) -> str:
    """An unknown, a coefficient or an axis in LaTeX."""
    return _Style((), latex=True).name(name)


def _written(root: Node, style: _Style) -> str:
    written: dict[int, tuple[str, int]] = {}
    for count, node in enumerate(postorder([root])):
        if count > _LONGEST:
            return "\\ldots" if style.latex else "…"
        written[id(node)] = _piece(node, style, [written[id(operand)] for operand in node.operands])
    return written[id(root)][0]


def _piece(node: Node, style: _Style, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of a node, and how tightly it holds together."""
    if isinstance(node, Number):
        text = style.number(node.value)
        return text, _SIGN if text.startswith("-") else _PRODUCT if "cdot" in text else _ATOM
    if isinstance(node, Named | Variable):
        if node.name.startswith(NORMAL):
            return style.derivative("n", tuple(int(a == node.name.removeprefix(NORMAL)) for a in style.axes)), _ATOM
        return style.name(node.name), _ATOM
    if isinstance(node, Coordinate):
        return style.name(node.name), _ATOM
    if isinstance(node, Unknown):
        return style.derivative(style.name(node.name), node.index), _ATOM
    if isinstance(node, Leaf):
        label = node.source.label if isinstance(node.source, FunctionSource) else str(node.component)
        return style.derivative(style.name(label), node.index), _ATOM
    if isinstance(node, Elsewhere):
        given = {axis: text for (axis, _), (text, _) in zip(node.places, operands, strict=True)}
        point = ", ".join(given.get(axis, style.name(name)) for axis, name in enumerate(style.axes))
        inner = _written(node.inner, style)
        return f"{inner if isinstance(node.inner, Unknown) else f'({inner})'}({point})", _ATOM
    if isinstance(node, Integral):
        return _integral(node, style), _PRODUCT
    if isinstance(node, Apply):
        return _applied(node, style, operands)
    return "…", _ATOM


def _integral(node: Integral, style: _Style) -> str:
    """∫ u dx along axes, ∫_face(x=1) u_x dS over a region."""
    inner, own = node.inner, [id(variable) for variable in node.variables]
    if isinstance(inner, Elsewhere) and all(id(place) in own for _, place in inner.places):
        inner = inner.inner  # the variables are called like the axes they stand for
    text = _written(inner, style)
    if isinstance(inner, Apply) and inner.function in (operator.add, operator.sub):
        text = f"({text})"
    sign, space = (r"\int", r"\,") if style.latex else ("∫", " ")
    if node.quadrature.over:
        where = style.region(node.quadrature.over)
        return f"{sign}_{where} {text}{space}d{'S' if where != style.region('Ω') else where}"
    names = [style.name(v.name) for v in node.variables if not v.name.startswith(NORMAL)]
    return f"{sign} {text}{space}{' '.join(f'd{name}' for name in names)}"


def _applied(node: Apply, style: _Style, operands: list[tuple[str, int]]) -> tuple[str, int]:
    function, minus = node.function, "-" if style.latex else "−"
    if function is operator.add:
        return f"{operands[0][0]} + {_wrapped(operands[1], _PRODUCT)}", _SUM
    if function is operator.sub:
        return f"{operands[0][0]} {minus} {_wrapped(operands[1], _PRODUCT)}", _SUM
    if function is operator.neg:
        return f"{minus}{_wrapped(operands[0], _PRODUCT)}", _SIGN
    if function is operator.mul:
        return f"{_wrapped(operands[0], _PRODUCT)} {_wrapped(operands[1], _POWER)}", _PRODUCT
    if function is operator.truediv:
        if style.latex:
            return f"\\frac{{{operands[0][0]}}}{{{operands[1][0]}}}", _ATOM
        return f"{_wrapped(operands[0], _PRODUCT)}/{_wrapped(operands[1], _POWER)}", _PRODUCT
    if function is operator.pow:
        exponent = f"{{{operands[1][0]}}}" if style.latex else _wrapped(operands[1], _ATOM)
        base = operands[0] if "_" not in operands[0][0] or not style.latex else (f"({operands[0][0]})", _ATOM)
        return f"{_wrapped(base, _ATOM)}^{exponent}", _POWER
    arguments = ", ".join(text for text, _ in operands)
    if node.name in ("abs", "absolute"):
        return f"|{arguments}|", _ATOM
    name = "f" if "<lambda>" in node.name else node.name
    if style.latex:
        known = name in ("exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh")
        name = f"\\{name}" if known else f"\\operatorname{{{name.replace('_', ' ')}}}"
    return f"{name}({arguments})", _ATOM


def _wrapped(piece: tuple[str, int], least: int) -> str:
    """In brackets unless it holds together tightly enough."""
    text, tightness = piece
    return text if tightness >= least else f"({text})"
