"""What an examination finds: one line each, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

INFO, OK, WARNING, FAILED = "info", "ok", "warning", "failed"


@dataclass(frozen=True)
class Finding:
    """One line. `state` is info (neither good nor bad), ok, warning (it works, but) or failed."""

    group: str
    name: str
    text: str
    state: str = OK
    advice: str = ""


def healthy(findings: Iterable[Finding]) -> bool:
    """Whether nothing failed; warnings do no harm."""
    return all(finding.state != FAILED for finding in findings)


def carefully(group: str, name: str, examine: Callable[[], list[Finding]]) -> list[Finding]:
    """An examination that breaks down has found something, too."""
    try:
        return examine()
    except Exception as error:
        message = str(error).strip().split("\n")[0]
        return [Finding(group, name, f"{type(error).__name__}: {message}", FAILED, "see the message")]


def in_words(size: float) -> str:
    """A number of bytes."""
    for unit in ("bytes", "kB", "MB"):
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"
