"""What a compiled program sends from device to device, read off the program itself."""

from __future__ import annotations

import math
import re

_COLLECTIVE = re.compile(
    r"= (?P<result>.+?) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|"
    r"collective-broadcast)(?:-start)?\((?P<rest>.*)"
)
_SHAPE = re.compile(r"\b(?P<kind>pred|[a-z]+\d+)\[(?P<sides>[\d,]*)\]")
_LISTED = re.compile(r"replica_groups=\{\{(?P<members>[\d,]*)\}")
_COUNTED = re.compile(r"replica_groups=\[\d+,(?P<members>\d+)\]")
_NAMED = re.compile(r"replica_groups=mesh\[(?P<axes>[^\]]*)\] \{(?P<taken>[^}]*)\}")


def bytes_sent(program: str) -> int:
    """Bytes that each device hands to others, once for every place in a compiled program where it does.

    Loops count once. What is inside a branch counts whether it is taken or not.
    """
    return sum(_operands(found) for found in map(_COLLECTIVE.search, program.splitlines()) if found)


def _operands(found: re.Match[str]) -> int:
    size = sum(_bytes(shape["kind"], shape["sides"]) for shape in _SHAPE.finditer(found["result"]))
    # Results of other kinds are as large as what is sent.
    if found["kind"] == "all-gather":
        return size // _members(found["rest"])
    return size * _members(found["rest"]) if found["kind"] == "reduce-scatter" else size


def _bytes(kind: str, sides: str) -> int:
    width = 1 if kind == "pred" else max(1, int(re.sub(r"\D", "", kind)) // 8)
    return width * math.prod(int(side) for side in sides.split(",") if side)


def _members(text: str) -> int:
    """How many devices talk to each other."""
    if (listed := _LISTED.search(text)) is not None:
        return len(listed["members"].split(","))
    if (counted := _COUNTED.search(text)) is not None:
        return int(counted["members"])
    if (named := _NAMED.search(text)) is not None:
        sizes = dict(re.findall(r"'([^']+)'=(\d+)", named["axes"]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'([^']+)'", named["taken"]))
    return 1
