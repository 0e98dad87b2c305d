"""What the site adds to the pages of docs/: scripts and outputs in the gallery, notebooks as pages, its navigation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

HIDDEN = re.compile(r"^<!-- (?:setup(?: slow)?\n.*?|slow )-->\n\n?", re.DOTALL | re.MULTILINE)
EQUATIONS = re.compile(r'<div class="anagram-equations" data-text="([^"]*)">.*?</div>', re.DOTALL)
HOW_TO = "How to"
WORKER, REMOTE_WORKER = "assets/worker.js", "https://unpkg.com/iframe-worker/shim"
PICTURE = re.compile(r"^!\[[^\]]*\]\((?P<name>\w+)\.png\)$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Leave pages out of the navigation that are not there, and add those that it does not name to the how-tos."""
    root = Path(config.docs_dir)
    config.nav = _present(config.nav, root)
    named = set(_targets(config.nav))
    apart = ("site", "api", "gallery", "results", "notebooks")
    pages = [page.relative_to(root) for page in sorted(root.rglob("*.md"))]
    more = [str(page) for page in pages if page.parts[0] not in apart and str(page) not in named]
    howtos = next(entry[HOW_TO] for entry in config.nav if isinstance(entry, dict) and HOW_TO in entry)
    howtos.extend(more)
    return config


def _present(entries: list[Any], root: Path) -> list[Any]:
    found: list[Any] = []
    for entry in entries:
        ((title, target),) = entry.items() if isinstance(entry, dict) else ((None, entry),)
        if isinstance(target, list):
            target = _present(target, root)
            if target:
                found.append({title: target})
        elif (root / target).is_file():
            found.append(entry if title is None else {title: _page(target)})
    return found


def _page(target: str) -> str:
    return target.replace(".ipynb", ".md")


def on_files(files: Any, config: Any) -> Any:
    """Notebooks become pages, and the worker of the search comes from here."""
    worker = Path(__file__).with_name("worker.js").read_text(encoding="utf-8")
    files.append(File.generated(config, WORKER, content=worker))
    for notebook in sorted(Path(config.docs_dir).glob("notebooks/*.ipynb")):
        name = f"notebooks/{notebook.stem}.md"
        files.append(File.generated(config, name, content=_as_markdown(notebook)))
    return files


def _targets(entries: Any) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [target for value in values for target in _targets(value)]


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Take out what only tests read; in the gallery, put the script and what it printed below each picture."""
    markdown = HIDDEN.sub("", markdown)
    if page.file.src_uri != "gallery/README.md":
        return markdown
    folder = Path(config.docs_dir) / "gallery"
    return PICTURE.sub(lambda found: f"{found[0]}\n\n{_entry(folder, found['name'])}", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Nothing is fetched from elsewhere when the site is read."""
    return output.replace(REMOTE_WORKER, "../" * page.file.src_uri.count("/") + WORKER)


def on_post_template(output_content: str, **_: Any) -> str:
    """The same for the page that says that there is none."""
    return output_content.replace(REMOTE_WORKER, WORKER)


def _entry(folder: Path, name: str) -> str:
    script = (folder / f"{name}.py").read_text(encoding="utf-8")
    printed = folder / f"{name}.txt"
    parts = [_details(f"{name}.py", script, "py")]
    if printed.is_file():
        parts.insert(0, "\n".join(["```text", printed.read_text(encoding="utf-8").strip(), "```"]))
    return "\n\n".join(parts)


def _details(title: str, text: str, language: str) -> str:
    lines = "\n".join(f"    {line}".rstrip() for line in (f"```{language}", *text.strip().splitlines(), "```"))
    return f'??? example "{title}"\n\n{lines}'


def _as_markdown(notebook: Path) -> str:
    """The cells of a notebook and what they showed: text, pictures, and equations as text."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```py\n{source}\n```")
        parts += [shown for output in cell.get("outputs", ()) if (shown := _shown(output))]
    where = f"[The notebook itself]({notebook.name})"
    return "\n\n".join([*parts, where]) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        # The site has no program that typesets LaTeX: equations come as text.
        return EQUATIONS.sub(r"<pre><code>\1</code></pre>", "".join(data["text/html"]))
    text = "".join(data.get("text/plain", output.get("text", "")))
    return f"```text\n{text.strip()}\n```" if text.strip() else ""
