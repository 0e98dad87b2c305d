"""The notebooks in docs/notebooks: their cells run, and give what they show.

Their code is executed here as one program; `make test-long` executes them in a kernel, as users do.
"""

import ast
import json
import re
from pathlib import Path

import matplotlib as mpl
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def code_cells(notebook):
    return [cell for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


def run(source, names):
    """Execute a cell; the value of its last expression, if it ends with one."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def without_numbers(text):
    """Numbers depend on the machine in their last digits, and estimates in their first."""
    return re.sub(r"\d+(\.\d+)?(e-?\d+)?", "#", text)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_give_what_they_show(notebook):
    names = {}
    with mpl.rc_context({"backend": "agg"}):
        for cell in code_cells(notebook):
            value = run("".join(cell["source"]), names)
            shown = ["".join(out["data"]["text/plain"]) for out in cell["outputs"] if "data" in out]
            found = [] if value is None else [repr(value)]
            assert [*map(without_numbers, found)] == [*map(without_numbers, shown)]
    assert names["solution"].reached


@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run_in_a_kernel(notebook):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=300, kernel_name="python3").execute()
    kinds = {kind for cell in content.cells for out in cell.get("outputs", ()) for kind in out.get("data", ())}
    assert {"text/html", "text/latex"} <= kinds


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 2
