"""``anagram plan``: what a run will take of memory, network and time, on one device and on many."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from anagram.programs.commands.common import Target, escape, out, read_key_value, show_warning, wrong_input

if TYPE_CHECKING:
    from anagram.training.cost import Cost
    from anagram.training.setting import Setting


def plan(
    target: Target,
    method: Annotated[str | None, typer.Option(help="The method; see `anagram list`.")] = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's network, points, cutoff and steps.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="An option of the problem, model, points or method; may be repeated."
        ),
    ] = None,
    bandwidth: Annotated[float, typer.Option(help="GB a second between devices.")] = 10.0,
    latency: Annotated[float, typer.Option(help="Microseconds of a message between devices.")] = 20.0,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the numbers to this file as JSON.")] = None,
) -> None:
    """Say what a run of one network will take, and how far it scales; some steps are measured, nothing is trained."""
    from anagram.errors import SettingError

    warnings.showwarning = show_warning
    with wrong_input():
        for name, value in (("--bandwidth", bandwidth), ("--latency", latency)):
            if not 0 < value < float("inf"):
                raise SettingError(f"{name} must be a positive number, not {value!r}")
        cost, setting, name = _cost(target, method, paper, set_ or [], bandwidth, latency)
        if json_path is not None:
            _write(cost, setting, json_path)
    _print(cost, setting, name)


def _cost(
    target: str, method: str | None, paper: bool, changes: list[str], bandwidth: float, latency: float
) -> tuple[Cost, Setting, str]:
    from dataclasses import replace

    from anagram.programs.loading import find_case, problem_parameters
    from anagram.training.cost import cost_of
    from anagram.training.defaults import complete

    given = dict(read_key_value(text) for text in changes)
    of_problem = {k: given.pop(k) for k in problem_parameters(target) if k in given}
    case = find_case(target, paper, of_problem)
    setting = case.setting if method is None else case.setting.with_method(method)
    whole = complete(setting, case.problem).with_changes(given)
    # Options may have made another model of it, which may be too large for the method that was chosen first.
    setting = complete(replace(whole, options=dict(whole.options)), case.problem)
    return cost_of(case.problem, setting, 0, 1e9 * bandwidth, 1e-6 * latency), setting, case.problem.name


def _print(cost: Cost, setting: Setting, name: str) -> None:
    from anagram.environment import device_memory, gigabytes
    from anagram.training.cost import DEVICES

    there = device_memory()
    of = "" if there is None else f" of {gigabytes(there)}"
    out.print(escape(f"problem   {name}  (method {setting.method}, {setting.model!r})"), highlight=False)
    out.print(f"sizes     {cost.parameters} parameters, {cost.rows} rows", highlight=False)
    out.print(f"memory    {gigabytes(cost.device_bytes)}{of} GB on one device", highlight=False)
    out.print(f"sent      {cost.sent / 2**20:.3g} MB a step by each of several devices", highlight=False)
    table = Table("devices", "seconds a step", "points", "alone", "sums", "times as fast", box=None, pad_edge=False)
    for devices in DEVICES:
        seconds = cost.seconds(devices)
        parts = (cost.each_row * cost.rows / devices, cost.alone, cost.talking(devices))
        faster = cost.seconds(1) / seconds
        table.add_row(str(devices), f"{seconds:.2e}", *(f"{part:.1e}" for part in parts), f"{faster:.3g}")
    out.print(table, highlight=False)
    out.print(f"It scales to about {cost.ends_at} devices; beyond, {cost.limit} takes longest.", highlight=False)
    predicted, seconds = cost.checked
    out.print(
        f"Fitted to steps on this machine; on other points it predicts {predicted:.2e} s where {seconds:.2e} s were "
        f"measured. Sums: {cost.bandwidth / 1e9:g} GB/s, {1e6 * cost.latency:g} µs.",
        highlight=False,
    )


def _write(cost: Cost, setting: Setting, path: Path) -> None:
    from anagram.keeping.atomic import json_text, write_atomically
    from anagram.training.cost import DEVICES

    record: dict[str, Any] = {
        **asdict(cost),
        "method": setting.method if isinstance(setting.method, str) else type(setting.method).__name__.lower(),
        "seconds": {str(devices): cost.seconds(devices) for devices in DEVICES},
        "ends_at": cost.ends_at,
        "limit": cost.limit,
    }
    write_atomically(path, lambda p: p.write_text(json_text(record), encoding="utf-8"))
