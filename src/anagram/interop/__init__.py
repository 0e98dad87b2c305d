"""Our methods in other people's libraries. Each library is imported when its name here is first used.

`LeastSquares` makes any method a solver for ``optimistix.least_squares`` (extra ``optimistix``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anagram.errors import MissingError

if TYPE_CHECKING:
    from anagram.interop.least_squares import LeastSquares

__all__ = ["LeastSquares"]


def __getattr__(name: str) -> Any:
    if name != "LeastSquares":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        import optimistix  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingError(
            f"interop.LeastSquares needs optimistix ({error}); install it with: pip install 'anagram-pinn[optimistix]'"
        ) from error
    from anagram.interop.least_squares import LeastSquares

    return LeastSquares


def __dir__() -> list[str]:
    return sorted(__all__)
