"""Whether docs/errors.md has every error, warning and reason to stop, and nothing that is no longer there.

How to add a row: write the message, as it stands in the code, into the table of its topic in docs/errors.md, in
backticks, with … for every part that varies and \\| for |, then why it comes and what to do about it. A test that fails
prints the first cell ready to paste. One row may stand for messages that are nearly the same, if it keeps at least
half of their letters. A message without words of its own (it only passes another one on) goes into `PASSED_ON`.
"""

import ast
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "anagram"
PAGE = ROOT / "docs" / "errors.md"
ERRORS = {"ProblemError", "SettingError", "FileError", "MissingError", "ProcessError"}
HOLE = "…"
HEADER = ["message", "cause", "cure"]
# The functions that return why a run stops, the variable that holds it, and the file whose constants are reasons.
GIVING_REASONS = {"_reason", "_without_progress", "_broken_off", "out_of_memory", "__call__"}
GIVING_REASONS_IN = {"training/trainer.py", "training/memory.py", "training/goal.py", "climbing/result.py"}
REASON = "reason"
CONSTANT_REASONS_IN = "climbing/climb.py"
NO_REASONS = {"IN_UNITS"}  # constants of that file which are names of methods
NOWHERE = ast.Module([], [])  # a scope without variables
# Messages without words of their own, by file and expression, with the reason why they need no row.
PASSED_ON = {
    (
        "statement/domains/shapes/meshes/mesh.py",
        "f\"'{Path(path)}': {error}\"",
    ): "what is wrong with a mesh, with its file before it",
    ("keeping/checkpoint.py", "'; '.join(damaged.values())"): "what is wrong with each checkpoint: read_file says it",
    (
        "statement/probe.py",
        "message if message.startswith(what) else f'{what}: {message}'",
    ): "an error of an operator with the name of its condition before it",
    ("climbing/settled.py", "finding"): "a finding of docs/inverse.md and of the section DataWarning",
    ("statement/measurements.py", "str(error)"): "what is wrong with a table, which has the name of its file in it",
    ("showing/report/page/runs.py", "unreadable[0]"): "the error that load or read_record raised",
    (
        "programs/sweep/runner.py",
        "f'{combination.label}: {error}'",
    ): "an error of a setting with its combination before it",
    (
        "training/trainer.py",
        "out_of_memory(error, self.model.parameters, count_rows(self.batch))",
    ): "that function returns the texts, which are looked at there",
}


class Message(NamedTuple):
    """A text of the code, its varying parts as holes, and where it stands."""

    text: str
    place: str


class Row(NamedTuple):
    """A row of a table of messages."""

    message: str
    cause: str
    cure: str
    line: int


# -- the code -------------------------------------------------------------------------------------------------------


def texts(node: ast.AST, scope: ast.AST) -> list[str]:
    """What an expression can say, with holes; the variables of a scope are looked up there."""
    match node:
        case ast.Constant(value=str(value)):
            return [value]
        case ast.JoinedStr(values=parts):
            return ["".join(str(part.value) if isinstance(part, ast.Constant) else HOLE for part in parts)]
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return [a + b for a, b in itertools.product(texts(left, scope), texts(right, scope))]
        case ast.IfExp(body=body, orelse=orelse):
            return texts(body, scope) + texts(orelse, scope)
        case ast.Name(id=name):
            return [text for value in assigned(name, scope) for text in texts(value, NOWHERE)] or [HOLE]
    return [HOLE]


def assigned(name: str, scope: ast.AST) -> list[ast.AST]:
    """What a variable is set to anywhere in a scope."""
    assignments = [node for node in ast.walk(scope) if isinstance(node, ast.Assign)]
    return [a.value for a in assignments if any(isinstance(t, ast.Name) and t.id == name for t in a.targets)]


def has_words(text: str) -> bool:
    return any(character.isalpha() for character in text)


def called(node: ast.Call) -> str:
    """The last part of the name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls(node: ast.AST, scope: ast.AST) -> Iterator[tuple[ast.Call, ast.AST]]:
    """The errors made and warnings given, each with the innermost function around it."""
    scope = node if isinstance(node, ast.FunctionDef) else scope
    if isinstance(node, ast.Call) and (called(node) in ERRORS or ast.unparse(node.func) == "warnings.warn"):
        yield node, scope
    for child in ast.iter_child_nodes(node):
        yield from calls(child, scope)


def said(file: str, tree: ast.AST) -> Iterator[Message]:
    """Messages of errors and warnings in a file."""
    for call, scope in calls(tree, tree):
        argument = call.args[0] if call.args else ast.Constant(HOLE)
        found = [text for text in texts(argument, scope) if has_words(text)]
        if not found and (file, ast.unparse(argument)) not in PASSED_ON:
            found = [f"{HOLE} {ast.unparse(argument)} {HOLE}: no words of its own; see PASSED_ON"]
        yield from (Message(text, f"src/anagram/{file}:{call.lineno}") for text in found)


def reasons(file: str, tree: ast.AST) -> Iterator[Message]:
    """Why runs stop: what some functions return, and what a variable is set to."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            values = assigned(REASON, function)
            if function.name in GIVING_REASONS:
                values += [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value]
            for value in values:
                for text in filter(has_words, texts(value, NOWHERE)):
                    yield Message(text, f"src/anagram/{file}:{value.lineno}")


def constant_reasons(file: str, tree: ast.Module) -> Iterator[Message]:
    """Why climbs stop: the texts that names of the module stand for."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) not in NO_REASONS:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for value in values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield Message(value.value, f"src/anagram/{file}:{value.lineno}")


def messages_of_code() -> list[Message]:
    found: list[Message] = []
    for path in sorted(SOURCE.rglob("*.py")):
        file, tree = path.relative_to(SOURCE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        found += said(file, tree)
        if file in GIVING_REASONS_IN:
            found += reasons(file, tree)
        if file == CONSTANT_REASONS_IN:
            found += constant_reasons(file, tree)
    return found


# -- the page -------------------------------------------------------------------------------------------------------


def cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def rows_of(page: str) -> list[Row]:
    """The rows of all tables whose columns are message, cause and cure."""
    rows, inside = [], False
    for number, line in enumerate(page.splitlines(), start=1):
        if not line.startswith("|"):
            inside = False
        elif cells(line) == HEADER:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            message, cause, cure = (*cells(line), "", "", "")[:3]
            rows.append(Row(re.sub(r"^(`+) ?(.*?) ?\1$", r"\2", message), cause, cure, number))
    return rows


def as_row(text: str) -> str:
    """The row of a message, to be filled in."""
    fence = "`` " if "`" in text else "`"
    escaped = text.replace("|", r"\|")
    return f"| {fence}{escaped}{fence[::-1]} | cause | cure |"


# -- both -----------------------------------------------------------------------------------------------------------


def covers(row: Row, message: Message) -> bool:
    """Whether a row says what a message says; its holes may stand for any text, but not for most of the message."""
    enough = 2 * letters(row.message) >= letters(message.text)
    return enough and pattern(row.message).fullmatch(message.text.replace(HOLE, "X")) is not None


@functools.cache
def pattern(text: str) -> re.Pattern[str]:
    """What a text with holes stands for."""
    return re.compile(".*".join(re.escape(part) for part in text.split(HOLE)), re.DOTALL)


@functools.cache
def letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def without_row(messages: list[Message], rows: list[Row]) -> list[Message]:
    return [message for message in messages if not any(covers(row, message) for row in rows)]


def without_message(messages: list[Message], rows: list[Row]) -> list[Row]:
    return [row for row in rows if not any(covers(row, message) for message in messages)]


@pytest.fixture(scope="module")
def messages() -> list[Message]:
    return messages_of_code()


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return rows_of(PAGE.read_text(encoding="utf-8"))


def test_every_message_has_a_row(messages, rows):
    missing = without_row(messages, rows)
    listed = "\n".join(f"{message.place}\n{as_row(message.text)}" for message in missing)
    assert not missing, f"docs/errors.md needs rows for these messages:\n{listed}"


def test_every_row_has_a_message(messages, rows):
    stale = without_message(messages, rows)
    listed = "\n".join(f"docs/errors.md:{row.line}  {row.message}" for row in stale)
    assert not stale, f"no message in the code is like these rows:\n{listed}"


def test_every_row_says_why_and_what_to_do(rows):
    assert rows
    assert [row for row in rows if not (has_words(row.cause) and has_words(row.cure))] == []


def test_no_message_has_two_rows_with_the_same_text(rows):
    texts_of_rows = [row.message for row in rows]
    assert sorted(text for text in set(texts_of_rows) if texts_of_rows.count(text) > 1) == []


def test_messages_that_are_passed_on_are_still_there():
    there = {
        (path.relative_to(SOURCE).as_posix(), ast.unparse(call.args[0]))
        for path in SOURCE.rglob("*.py")
        for call, _ in calls(ast.parse(path.read_text(encoding="utf-8")), NOWHERE)
        if call.args
    }
    assert set(PASSED_ON) - there == set()


# -- the checks themselves ------------------------------------------------------------------------------------------

EXAMPLE = """
class Thing:
    def first(self, x):
        raise ProblemError("one " + f"and {x!r} " "and three")

    def second(self, x):
        message = f"{x} is amiss"
        if x:
            raise ag.SettingError("too few" if x < 1 else "too many") from None
        warnings.warn(message, RunWarning, stacklevel=2)

    def third(self, message):
        warnings.warn("take care", stacklevel=2)
        raise FileError(message)
"""


def test_messages_are_found_however_they_are_written():
    found = [message.text for message in said("example.py", ast.parse(EXAMPLE))]
    assert found[:5] == ["one and … and three", "too few", "too many", "… is amiss", "take care"]
    assert "PASSED_ON" in found[5]


def test_reasons_are_found():
    place = "src/anagram/training/trainer.py"
    found = {message.text for message in messages_of_code() if message.place.startswith(place)}
    assert found >= {"interrupted", "stopped by a monitor", "time used up", "stagnant: no progress in … steps"}


def test_a_message_without_a_row_is_reported(messages, rows):
    new = Message("the moon '…' is not full: wait for …", "src/anagram/moon.py:7")
    assert without_row([*messages, new], rows)[-1] == new
    page = f"| {' | '.join(HEADER)} |\n|---|---|---|\n{as_row(new.text)}\n"
    assert without_row([new], rows_of(page)) == []


def test_a_row_without_a_message_is_reported(messages, rows):
    old = Row("the sun '…' is too hot", "", "", 1)
    assert without_message(messages, [*rows, old])[-1] == old


@pytest.mark.parametrize(
    ("row", "message", "covered"),
    [
        ("'…' is damaged: …", "'…' is damaged: it ends", True),
        ("… must be a number, not …", "rtol must be a number, not …", True),
        ("steps must be a number, not …", "… must be a number, not …", False),
        ("condition '…': …", "condition '…': operators take fields, not coordinates", False),
    ],
)
def test_holes_stand_for_any_text_but_not_for_most_of_it(row, message, covered):
    assert covers(Row(row, "", "", 1), Message(message, "")) is covered


@pytest.mark.parametrize("text", ["a | b", "as in `if u > 0` …", "'…' is damaged"])
def test_rows_are_read_as_they_are_written(text):
    page = f"| {' | '.join(HEADER)} |\n|---|---|---|\n{as_row(text)}\n"
    assert rows_of(page) == [Row(text, "cause", "cure", 3)]
