"""Each room of the house imports only from rooms before it, wherever in a file the import stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "anagram"

# The rooms, in order; those of one line stand side by side and do not see each other.
ORDER = (
    ("errors", "environment", "version"),
    ("untrusted",),
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
    ("solution", "climbing", "solving", "repeat", "several"),
    ("programs",),
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
# The facades stand side by side, but each may use those before it on its line.
FACADES = ("solution", "climbing", "solving", "repeat", "several")


def _room(module: str) -> str:
    return module.split(".")[1]


def _module(file: Path, package: Path) -> str:
    parts = file.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(file: Path, package: Path) -> Iterator[tuple[int, str]]:
    """The modules that are imported anywhere in a file, also inside functions and for types alone, with their lines."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:  # relative to the folder of the file
                folder = file.relative_to(package.parent).parent.parts
                module = ".".join([*folder[: len(folder) - node.level + 1], *filter(None, [module])])
            if module == "anagram":
                yield from ((node.lineno, f"anagram.{name.name}") for name in node.names)
            else:
                yield node.lineno, module


def _allowed(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    if importer in FACADES and imported in FACADES:
        return FACADES.index(imported) < FACADES.index(importer)
    return LEVEL[imported] < LEVEL[importer]


def upward_imports(package: Path) -> list[str]:
    """File, line and what is imported, for every import that goes the wrong way."""
    wrong = []
    for file in sorted(package.rglob("*.py")):
        module = _module(file, package)
        if module == "anagram":  # the door: it shows what all the rooms offer
            continue
        room = _room(module)
        for line, imported in _imports(file, package):
            if imported.split(".")[0] != "anagram":
                continue
            where = f"{file.relative_to(package.parent)}:{line}"
            if imported == "anagram" or _room(imported) not in LEVEL:
                if room != "programs":  # which stand outside, and come in by the door like any user
                    wrong.append(f"{where} imports {imported} from the root: name the room it comes from")
            elif not _allowed(room, _room(imported)):
                wrong.append(f"{where} imports {imported}, and {room} comes before or beside {_room(imported)}")
    return wrong


def test_each_room_imports_only_from_rooms_before_it():
    wrong = upward_imports(PACKAGE)
    assert not wrong, "\n".join(["", *wrong])


def test_imports_that_go_the_wrong_way_are_found_wherever_they_stand(tmp_path):
    package = tmp_path / "anagram"
    (package / "models").mkdir(parents=True)
    (package / "models" / "mlp.py").write_text(
        "from __future__ import annotations\n"
        "from typing import TYPE_CHECKING\n"
        "import anagramming, anagram.statement.problem\n"
        "from ..statement import fields\n"
        "from . import spec\n"
        "if TYPE_CHECKING:\n"
        "    from anagram.keeping.runfolder import RunFolder\n"
        "def build():\n"
        "    from anagram import catalogue, errors, solve\n"
        "    from ..training import trainer\n"
    )
    (package / "solving.py").write_text("from anagram.solution import Solution\nimport anagram.repeat\n")
    assert upward_imports(package) == [
        "anagram/models/mlp.py:7 imports anagram.keeping.runfolder, and models comes before or beside keeping",
        "anagram/models/mlp.py:9 imports anagram.catalogue, and models comes before or beside catalogue",
        "anagram/models/mlp.py:9 imports anagram.solve from the root: name the room it comes from",
        "anagram/models/mlp.py:10 imports anagram.training, and models comes before or beside training",
        "anagram/solving.py:2 imports anagram.repeat, and solving comes before or beside repeat",
    ]


def test_the_root_holds_only_rooms_and_the_files_named_above():
    found = {file.stem for file in PACKAGE.glob("*.py")} | {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    loose = sorted(found - set(LEVEL) - {"__init__"})
    assert not loose, f"{PACKAGE} holds {', '.join(loose)}, which have no place in the order of rooms"
    missing = sorted(set(LEVEL) - found)
    assert not missing, f"{', '.join(missing)} have a place in the order of rooms and do not exist"
