"""``anagram list``: what there is to solve, and with what."""

from __future__ import annotations

from itertools import groupby

from rich.table import Table

from anagram.programs.commands.common import out


def list_problems() -> None:
    """List the problems of the catalogue, kind by kind, and the methods."""
    from anagram import catalogue
    from anagram.methods import METHODS

    table = Table("problem", "equation", "parameters", box=None, header_style="bold", pad_edge=False)
    for kind, entries in groupby(catalogue.ENTRIES.values(), lambda entry: entry.kind):
        table.add_row()
        table.add_row(f"[bold]{kind}[/]")
        for entry in entries:
            parameters = ", ".join(f"{k}={v:g}" for k, v in entry.parameters.items())
            table.add_row(entry.name, entry.equation, parameters)
    out.print(table)
    out.print(f"\nmethods: {', '.join(METHODS)}")
