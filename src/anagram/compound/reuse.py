"""Compiled programs that are used again: for the same equations, model and shapes nothing is compiled twice.

What tells programs apart is a fingerprint of the equations as JAX sees them. Points, sources, parameters and the
numbers in operators are arguments of a program, so that another seed, source or number is the same program.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr

from anagram.environment import quick_compilation

Made = TypeVar("Made")

MOST = 64  # that are kept; the one that was not used for longest goes first
_KEPT: OrderedDict[str, Any] = OrderedDict()
_LOCK = threading.Lock()
_CALLBACKS = itertools.count()


def reuse(key: str | None, make: Callable[[], Made]) -> Made:
    """What was made for this key before, or else is made now; without a key nothing is kept."""
    if key is None:
        return make()
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    made = make()
    with _LOCK:
        _KEPT[key] = made
        while len(_KEPT) > MOST:
            _KEPT.popitem(last=False)
    return made


def forget() -> None:
    """Forget all programs."""
    with _LOCK:
        _KEPT.clear()


def traced_text(function: Callable[..., Any], *arguments: Any) -> str:
    """What a function does with arguments of these shapes: its program as JAX traces it, and the arrays inside it.

    What is called back in Python cannot be told apart: such a program is like no other.
    """
    traced = jax.make_jaxpr(function)(*arguments)
    digest = hashlib.sha256()
    for program, constants in _with_inner(traced.jaxpr, traced.consts):
        for constant in constants:
            array = np.asarray(constant)
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        if any("callback" in equation.params for equation in program.eqns):
            digest.update(f"{next(_CALLBACKS)}".encode())
    # A program is traced again for another number of points: what is no array in its arguments must be the same then.
    return f"{jax.tree.structure(arguments)} {traced.jaxpr} {digest.hexdigest()}"


def _with_inner(program: Jaxpr, constants: Sequence[Any] = ()) -> Iterator[tuple[Jaxpr, Sequence[Any]]]:
    """A program and all that it calls: the text of these says that they hold arrays, but not which."""
    yield program, constants
    for equation in program.eqns:
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if isinstance(inner, ClosedJaxpr):
                    yield from _with_inner(inner.jaxpr, inner.consts)
                elif isinstance(inner, Jaxpr):
                    yield from _with_inner(inner)


def shapes_text(*trees: Any) -> str:
    """The shapes and kinds of arrays in trees."""
    leaves, structure = jax.tree.flatten(trees)
    return f"{structure} {[(np.shape(leaf), str(jax.dtypes.result_type(leaf))) for leaf in leaves]}"


def quick_jit(function: Callable[..., Any]) -> Any:
    """Compiled soon, for functions that are called a few times."""
    return jax.jit(function, compiler_options=quick_compilation())
