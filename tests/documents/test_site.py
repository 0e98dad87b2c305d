"""The site: its navigation, what is left out of pages, and what is put into them. `make docs` builds it."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the extra docs is not installed")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def hooks():
    spec = importlib.util.spec_from_file_location("site_hooks", ROOT / "docs" / "site" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Config:
    docs_dir = str(ROOT / "docs")

    def __init__(self, nav):
        self.nav = nav


class Page:
    def __init__(self, name):
        self.file = type("File", (), {"src_uri": name})()


def test_pages_that_are_not_there_are_left_out_and_others_added(hooks):
    nav = [{"Home": "index.md"}, {"How to": [{"Shapes": "shapes.md"}, {"Nowhere": "nowhere.md"}]}]
    found = hooks.on_config(Config(nav)).nav
    howtos = found[1]["How to"]
    assert howtos[0] == {"Shapes": "shapes.md"}
    assert {"conditions.md", "errors.md"} <= set(howtos[1:])
    assert "nowhere.md" not in str(found)


def test_what_only_tests_read_is_not_shown(hooks):
    text = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
    shown = hooks.on_page_markdown(text, Page("conditions.md"), Config([]))
    assert "<!-- setup" in text
    assert "<!--" not in shown
    assert re.findall(r"^```python", shown, re.MULTILINE) == re.findall(r"^```python", text, re.MULTILINE)


def test_entries_of_the_gallery_have_their_scripts(hooks):
    text = (ROOT / "docs" / "gallery" / "README.md").read_text(encoding="utf-8")
    shown = hooks.on_page_markdown(text, Page("gallery/README.md"), Config([]))
    scripts = [path.name for path in (ROOT / "docs" / "gallery").glob("*.py")]
    assert all(f'??? example "{name}"' in shown for name in scripts)
    assert (ROOT / "docs" / "gallery" / "disk.txt").read_text(encoding="utf-8").strip() in shown


def test_nothing_is_fetched_from_elsewhere(hooks):
    html = f'<script src="{hooks.REMOTE_WORKER}"></script>'
    assert hooks.on_post_page(html, Page("api/problems.md")) == '<script src="../assets/worker.js"></script>'
    assert hooks.on_post_template(html) == '<script src="assets/worker.js"></script>'
