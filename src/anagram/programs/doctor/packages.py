"""Versions of what is needed, and of what can be added."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from anagram.programs.doctor.finding import FAILED, INFO, OK, WARNING, Finding, carefully

if TYPE_CHECKING:
    from packaging.requirements import Requirement

GROUP = "packages"
DISTRIBUTION = "anagram-pinn"


def examine_packages() -> list[Finding]:
    """Python, this package, what it needs, and its extras."""
    from anagram.version import __version__

    found = [
        Finding(GROUP, "python", f"{platform.python_version()} ({sys.executable})"),
        Finding(GROUP, "anagram", __version__),
    ]
    return found + carefully(GROUP, "dependencies", _dependencies)


def _dependencies() -> list[Finding]:
    from packaging.requirements import Requirement

    try:
        stated = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or []]
    except metadata.PackageNotFoundError:
        advice = "install it: pip install -e . in its folder"
        return [Finding(GROUP, DISTRIBUTION, "used without being installed", WARNING, advice)]
    needed = [r for r in stated if r.marker is None or r.marker.evaluate({"extra": ""})]
    names = {r.name for r in needed}
    found = [_needed(requirement) for requirement in needed]
    if "jax" in names and "jaxlib" not in names:
        found.append(Finding(GROUP, "jaxlib", _version("jaxlib") or "missing"))
    for extra in sorted(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []):
        if extra != "dev":
            belong = [r for r in stated if r not in needed and r.marker and r.marker.evaluate({"extra": extra})]
            found.append(_extra(extra, belong))
    return found


def _needed(requirement: Requirement) -> Finding:
    name, version = requirement.name, _version(requirement.name)
    if version is None:
        return Finding(GROUP, name, "missing", FAILED, f"pip install '{requirement}'")
    if not _fits(requirement, version):
        return Finding(GROUP, name, f"{version}, too old", FAILED, f"pip install --upgrade '{requirement}'")
    return Finding(GROUP, name, version)


def _extra(extra: str, requirements: list[Requirement]) -> Finding:
    """An extra that is not installed is not missed until somebody asks for it."""
    install = f"pip install '{DISTRIBUTION}[{extra}]'"
    versions = {r.name: _version(r.name) for r in requirements}
    missing = [name for name, version in versions.items() if version is None]
    if missing:
        return Finding(GROUP, f"extra {extra}", f"not installed ({', '.join(missing)})", INFO, install)
    old = [r.name for r in requirements if not _fits(r, versions[r.name])]
    text = ", ".join(f"{name} {version}" for name, version in versions.items())
    if old:
        return Finding(GROUP, f"extra {extra}", f"{text}: {old[0]} is too old", WARNING, f"{install} --upgrade")
    return Finding(GROUP, f"extra {extra}", text, OK)


def _fits(requirement: Requirement, version: str | None) -> bool:
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
