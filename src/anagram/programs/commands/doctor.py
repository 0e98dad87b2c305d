"""The command ``anagram doctor``: what is installed, what the machine has, and a short self-test."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from anagram.programs.commands.common import escape, out

if TYPE_CHECKING:
    from anagram.programs.doctor import Finding

UNHEALTHY = 1
COLOURS = {"info": "dim", "ok": "green", "warning": "yellow", "failed": "bold red"}


def doctor(
    test: Annotated[bool, typer.Option(help="Solve a small problem, which takes some seconds.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
) -> None:
    """Examine the installation and this machine; solve a small problem. The exit status is 1 if something failed."""
    from anagram.programs.doctor import examine, examine_solving, healthy

    found = examine()
    if test:
        found += examine_solving()
    if as_json:
        _print_json(found)
    else:
        _print_table(found)
    if not healthy(found):
        raise typer.Exit(UNHEALTHY)


def _print_json(found: list[Finding]) -> None:
    from anagram.keeping.atomic import json_text
    from anagram.programs.doctor import healthy

    typer.echo(json_text({"healthy": healthy(found), "findings": [asdict(finding) for finding in found]}), nl=False)


def _print_table(found: list[Finding]) -> None:
    """One line each; what to do stands below the line it concerns."""
    width = max(len(finding.name) for finding in found)
    for group, findings in groupby(found, key=lambda finding: finding.group):
        out.print(f"[bold]{group}[/]")
        for finding in findings:
            out.print(
                f"  [{COLOURS[finding.state]}]{finding.state:7}[/]  {escape(finding.name):{width}}  "
                f"{escape(finding.text)}"
            )
            if finding.advice:
                out.print(f"  {'':7}  {'':{width}}  -> {escape(finding.advice)}")
    out.print(f"\n{_conclusion(found)}")


def _conclusion(found: Iterable[Finding]) -> str:
    states = [finding.state for finding in found]
    failed, warned = states.count("failed"), states.count("warning")
    if failed:
        return f"[bold red]{failed} failed[/]: do what is said there, and run this again"
    return f"[green]all is well[/], with {warned} warning{'s' * (warned > 1)}" if warned else "[green]all is well[/]"
