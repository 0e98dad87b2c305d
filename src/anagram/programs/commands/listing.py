"""``anagram list``: what there is to solve, and with what."""

from __future__ import annotations

from rich.table import Table

from anagram.programs.commands.common import out


def list_problems() -> None:
    """List the problems of the catalogue and the methods."""
    from anagram import catalogue
    from anagram.methods import METHODS

    table = Table("problem", "equation", "parameters", box=None, header_style="bold", pad_edge=False)
    for entry in catalogue.ENTRIES.values():
        parameters = ", ".join(f"{k}={v:g}" for k, v in entry.parameters.items())
        table.add_row(entry.name, entry.equation, parameters)
    out.print(table)
    out.print(f"\nmethods: {', '.join(METHODS)}")
