"""Every block of Python in README.md and in docs/ is executed, page by page, from the first to the last.

What a page takes for granted stands in a comment before its first block, `<!-- setup` … `-->`, which is not shown.
A block below the comment `<!-- slow -->` is executed by `make test-long` alone, and so is what needs its results;
`<!-- setup slow` is the same for setups.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"^<!-- setup(?P<late> slow)?\n(?P<setup>.*?)^-->|^(?P<slow><!-- slow -->\n)?^```python[^\n]*\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
LONG = bool(os.environ.get("ANAGRAM_LONG"))


class Block(NamedTuple):
    """A piece of a program, the line it begins at, and whether it takes long."""

    code: str
    line: int
    slow: bool


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            found["setup"] or found["code"], text[: found.start()].count("\n") + 2, bool(found["slow"] or found["late"])
        )
        for found in BLOCK.finditer(text)
    ]


def runnable(page):
    return [block for block in blocks(page) if LONG or not block.slow]


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__" if LONG else page.stem}
    with mpl.rc_context({"backend": "agg"}):
        for block in runnable(page):
            # Errors name the line of the page.
            exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), names)


def test_no_block_is_overlooked():
    for page in PAGES:
        code = [block for block in blocks(page) if "\n" in block.code or block.code]
        fences = page.read_text(encoding="utf-8").count("```python")
        setups = page.read_text(encoding="utf-8").count("<!-- setup")
        assert len(code) == fences + setups, f"{page}: a block of Python or a setup is not written as the others are"


def test_the_first_page_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
