"""Are runs lost? A run is killed at random moments, and sometimes its last checkpoint is damaged, until it is done.

    python bench/faults.py --kills 200

After every kill what is on disk must be readable, and no step that was on disk may be lost; in the end the run must
have come to the same numbers, bit for bit, as one that nobody touched. A checkpoint is written after every block, so
that many kills hit the writing itself.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
STEPS = 400
PAUSE = 0.01  # seconds after every block, so that there is time to be killed in
SETTINGS = ("auto", "cells", "redrawn", "spring", "adam-lbfgs")


def problem():
    import jax.numpy as jnp

    import anagram as ag

    box = ag.Box(t=(0, 1), x=(0, 1))
    return ag.Problem(
        box,
        equation=ag.Condition(lambda u: u.d("t") + u * u.d("x") - 0.02 * u.d("x", "x")),
        initial=ag.Condition(lambda u: u, on=box.face(t=0), equals=lambda x: jnp.sin(2 * jnp.pi * x)),
        walls=ag.Condition(lambda u: u, on=box.faces("x")),
    )


def options(setting: str) -> dict:
    import anagram as ag

    points = {"cells": ag.Cells(192), "redrawn": ag.Redrawn(ag.Sobol(150), every=5)}.get(setting, 150)
    method = setting if setting in ("spring", "adam-lbfgs") else "auto"
    more = {"adam-lbfgs": {"switch": 100}}.get(setting, {})
    return {
        "model": ag.MLP(8, 8),
        "method": method,
        "points": points,
        "options": more,
        "steps": STEPS,
        "patience": STEPS,
    }


def child(setting: str, folder: str) -> None:
    """One process of the run: its beginning, or its going on."""
    import anagram as ag
    from anagram import budget
    from anagram.cache import enable_compilation_cache

    enable_compilation_cache()
    budget.BLOCK_SECONDS = 0.02
    warnings.simplefilter("ignore")

    def report(record: dict) -> None:
        print(record["step"], flush=True)
        time.sleep(PAUSE)

    more = {"progress": False, "checkpoint_every": 0.0, "monitors": [report]}
    if (Path(folder) / "run.json").exists():
        ag.resume(folder, problem(), **more)
    else:
        ag.solve(problem(), folder=folder, **options(setting), **more)


def damage(path: Path, rng: random.Random) -> None:
    """A flipped byte, a lost end, or nothing at all."""
    data = bytearray(path.read_bytes())
    kind = rng.choice(("flip", "cut", "empty"))
    if kind == "flip":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(
        bytes(data[: rng.randrange(len(data))]) if kind == "cut" else b"" if kind == "empty" else bytes(data)
    )


def step_on_disk(folder: Path) -> int:
    """The step of the last whole checkpoint, −1 if there is none; an error if what is there cannot be read."""
    from anagram import checkpoint

    if not checkpoint.exists(folder):
        return -1
    snapshot, _ = checkpoint.read(folder)
    if not all(np.all(np.isfinite(v)) for k, v in snapshot.arrays.items() if k.endswith(".theta")):
        raise ValueError("parameters on disk are not finite")
    return snapshot.record["step"]


def until_done(setting: str, folder: Path, rng: random.Random, counts: dict[str, int]) -> None:
    """Kill and go on until the run ends by itself."""
    from anagram import checkpoint

    before = -1
    while True:
        command = [sys.executable, __file__, "--child", setting, str(folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        early = rng.random() < 0.1  # some are killed while they start
        if not early:
            assert process.stdout is not None
            process.stdout.readline()  # the first block
        try:
            _, stderr = process.communicate(timeout=rng.uniform(0, 4) if early else rng.expovariate(1 / 0.25))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            counts["kills"] += 1
        else:
            if process.returncode != 0:
                counts["failed to go on"] += 1
                raise SystemExit(f"{setting}: a run could not go on:\n{stderr}")
            return
        try:
            now = step_on_disk(folder)
            if (folder / "metrics.jsonl").exists():
                lines = (folder / "metrics.jsonl").read_text().splitlines()
                for line in lines[:-1]:  # the last one may be half written
                    json.loads(line)
        except Exception as error:
            counts["unreadable"] += 1
            print(f"{setting}: {type(error).__name__}: {error}", flush=True)
            continue
        counts["lost steps"] += now < before
        before = now
        files = checkpoint.paths(folder)
        if rng.random() < 0.1 and len(files) == 2:
            damage(rng.choice(files), rng)
            counts["damaged"] += 1
            before = step_on_disk(folder)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "faults.jsonl")
    args = parser.parse_args()
    import anagram as ag

    rng = random.Random(args.seed)
    counts = dict.fromkeys(
        ("runs", "kills", "damaged", "unreadable", "lost steps", "failed to go on", "other numbers"), 0
    )
    wholes: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as scratch:
        while counts["kills"] < args.kills:
            setting = SETTINGS[counts["runs"] % len(SETTINGS)]
            if setting not in wholes:
                wholes[setting] = Path(scratch) / f"whole-{setting}"
                command = [sys.executable, __file__, "--child", setting, str(wholes[setting])]
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            folder = Path(scratch) / f"run-{counts['runs']}"
            until_done(setting, folder, rng, counts)
            whole, run = ag.load(wholes[setting]), ag.load(folder)
            counts["other numbers"] += not np.array_equal(whole.theta, run.theta)
            counts["runs"] += 1
            print(f"{setting}: {run.summary['steps']} steps; {counts}", flush=True)
    with args.results.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**counts, "seed": args.seed, "cores": os.cpu_count()}) + "\n")


if __name__ == "__main__":
    main()
