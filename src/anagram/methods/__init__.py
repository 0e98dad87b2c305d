"""Methods: `init` and `step`; state is carried, info is reported."""

from __future__ import annotations

from typing import Any

from anagram.errors import SettingError
from anagram.methods.amstramgram import Amstramgram
from anagram.methods.anagram import Anagram
from anagram.methods.auto import Auto
from anagram.methods.base import Method, State
from anagram.methods.engd import Engd
from anagram.methods.first_order import Adam, AdamLbfgs, GradientDescent, Lbfgs
from anagram.methods.large import Large
from anagram.methods.newton import Newton
from anagram.methods.spring import Spring

METHODS: dict[str, type[Method]] = {
    "auto": Auto,
    "anagram": Anagram,
    "amstramgram": Amstramgram,
    "spring": Spring,
    "newton": Newton,
    "large": Large,
    "engd": Engd,
    "gd": GradientDescent,
    "adam": Adam,
    "lbfgs": Lbfgs,
    "adam-lbfgs": AdamLbfgs,
}

__all__ = [
    "METHODS",
    "Adam",
    "AdamLbfgs",
    "Amstramgram",
    "Anagram",
    "Auto",
    "Engd",
    "GradientDescent",
    "Large",
    "Lbfgs",
    "Method",
    "Newton",
    "Spring",
    "State",
    "make_method",
]


def make_method(method: str | Method, **options: Any) -> Method:
    """A method by name and options, or one that is ready already."""
    if isinstance(method, Method):
        if options:
            raise SettingError(f"options ({', '.join(options)}) go with a method's name, not with a ready method")
        return method
    if method not in METHODS:
        raise SettingError(f"there is no method '{method}'; choose from {', '.join(METHODS)}")
    for name, value in options.items():
        numbers = value if isinstance(value, list | tuple) else (value,)
        if any(isinstance(number, int) and abs(number) >= 2**63 for number in numbers):
            raise SettingError(f"method '{method}': {name} is too large a number")
    try:
        return METHODS[method](**options)
    except TypeError as error:
        raise SettingError(f"method '{method}': {error}") from error
