"""What the commands share: where they print, how they say what is wrong, how they read their options."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console

out = Console(soft_wrap=True, emoji=False)
err = Console(stderr=True, soft_wrap=True, emoji=False)

WRONG_INPUT, NUMERICAL_FAILURE, PROCESS_GONE = 2, 3, 4
MOST_SEEDS = 100_000
LONGEST_MESSAGE = 2000  # characters

Target = Annotated[
    str,
    typer.Argument(
        metavar="NAME_OR_FILE.py[:problem]", help="A problem of the catalogue, or a Python file that states one."
    ),
]

Trust = Annotated[
    bool, typer.Option("--trust", help="Execute the problem file in the folder; only if you know where it is from.")
]


@contextmanager
def wrong_input() -> Iterator[None]:
    """What this package refuses is said in one line, and has an exit status of its own."""
    from anagram.errors import AnagramError

    try:
        yield
    except AnagramError as error:
        err.print(f"[bold red]error:[/] {escape(one_line(str(error)))}")
        raise typer.Exit(WRONG_INPUT) from None
    except MemoryError:
        err.print("[bold red]error:[/] out of memory: take a smaller model, fewer points or a coarser grid")
        raise typer.Exit(WRONG_INPUT) from None


def read_names(text: str) -> list[str]:
    """`a, b` as a list."""
    return [name.strip() for name in text.split(",") if name.strip()]


def read_seeds(text: str, option: str = "--seeds") -> list[int]:
    """`10`, `3:7` or `0,4,5`."""
    from anagram.errors import SettingError

    try:
        if ":" in text:
            first, last = (int(part) for part in text.split(":"))
            seeds = list(range(first, min(last, first + MOST_SEEDS + 1)))
        elif "," in text:
            seeds = [int(part) for part in text.split(",") if part.strip()]
        else:
            seeds = list(range(min(int(text), MOST_SEEDS + 1)))
    except ValueError:
        raise SettingError(f"{option} needs a number, a range 3:7 or a list 0,4,5, not '{text.rstrip(',')}'") from None
    if not seeds or min(seeds) < 0:
        raise SettingError(f"{option} {text.rstrip(',')} names no seeds, or negative ones")
    if len(seeds) > MOST_SEEDS:
        raise SettingError(f"{option} {text} names more than {MOST_SEEDS} seeds: take fewer")
    return seeds


def read_key_value(text: str) -> tuple[str, Any]:
    """`key=value`, the value as Python would read it, or a word."""
    from anagram.errors import SettingError

    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise SettingError(f"--set needs key=value, as in --set width=64, not '{text}'; --set help lists the keys")
    value = value.strip()
    if "," in value and not value.startswith(("(", "[")):
        value = f"({value})"
    return key.strip(), read_value(value)


def read_value(text: str) -> Any:
    """A number, a tuple, true or false, or else a word."""
    value = text.strip()
    try:
        read = ast.literal_eval({"true": "True", "false": "False"}.get(value.lower(), value))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        read = value
    whole = isinstance(read, float) and read.is_integer() and "." not in value  # 1e3 is a thousand
    return int(read) if whole else read


def show_warning(message: Any, category: Any, *_: Any, **__: Any) -> None:
    """Warnings of this package in one line; others are for developers."""
    from anagram.errors import PointsWarning, RunWarning

    if issubclass(category, PointsWarning | RunWarning):
        err.print(f"[bold yellow]warning:[/] {escape(one_line(str(message)))}")


def one_line(text: str) -> str:
    """A message in one line, and not a page of it: parts of it may come from a file."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 1]}…"


def escape(text: str) -> str:
    """Brackets in a text are no markup, and characters that steer a terminal are shown and not sent to it."""
    from rich.markup import escape

    return escape("".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text))
