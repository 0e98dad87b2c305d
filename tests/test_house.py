"""Each room of the house imports only from rooms before it, wherever in a file the import stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "anagram"

# The rooms, in order; those of one line stand side by side and do not see each other.
ORDER = (
    ("errors", "environment", "version"),
    ("statement",),
    ("models",),
    ("compound",),
    ("spectrum",),
    ("methods",),
    ("tangent",),
    ("training",),
    ("keeping",),
    ("showing",),
    ("catalogue", "interop"),
    ("solution", "solving", "repeat"),
    ("programs",),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
# The facades stand side by side, but each may use those before it on its line.
FACADES = ("solution", "solving", "repeat")


def _room(module: str) -> str:
    return module.split(".")[1]


def _module(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(file: Path) -> Iterator[tuple[int, str]]:
    """The modules of the package that are imported anywhere in a file, with their lines."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # relative to the folder of the file
                folder = file.relative_to(PACKAGE.parent).parent.parts
                module = ".".join([*folder[: len(folder) - node.level + 1], *filter(None, [module])])
            for name in node.names:
                yield node.lineno, f"{module}.{name.name}" if module == "anagram" else module


def _allowed(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    if importer in FACADES and imported in FACADES:
        return FACADES.index(imported) < FACADES.index(importer)
    return LEVEL[imported] < LEVEL[importer]


def test_each_room_imports_only_from_rooms_before_it():
    wrong = []
    for file in sorted(PACKAGE.rglob("*.py")):
        module = _module(file)
        if module == "anagram":  # the door: it shows what all the rooms offer
            continue
        room = _room(module)
        for line, imported in _imports(file):
            if imported.split(".")[0] != "anagram":
                continue
            where = f"{file.relative_to(PACKAGE.parent.parent)}:{line}"
            if imported == "anagram" or _room(imported) not in LEVEL:
                if room != "programs":  # which stand outside, and come in by the door like any user
                    wrong.append(f"{where} imports {imported} from the root: name the room it comes from")
            elif not _allowed(room, _room(imported)):
                wrong.append(f"{where} imports {imported}, and {room} comes before or beside {_room(imported)}")
    assert not wrong, "\n".join(["", *wrong])


def test_the_root_holds_only_rooms_and_the_files_named_above():
    found = {file.stem for file in PACKAGE.glob("*.py")} | {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    loose = sorted(found - set(LEVEL) - {"__init__"})
    assert not loose, f"{PACKAGE} holds {', '.join(loose)}, which have no place in the order of rooms"
    missing = sorted(set(LEVEL) - found)
    assert not missing, f"{', '.join(missing)} have a place in the order of rooms and do not exist"
