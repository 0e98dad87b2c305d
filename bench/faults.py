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
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
STEPS = 400
RUNG = 10_000  # counts for more than all of its steps
PAUSE = 0.05  # seconds after every block, so that there is time to be killed in
SETTINGS = ("climb", "ladder", "redrawn", "cells", "spring", "adam-lbfgs")
CLIMBS = {"climb": {"tol": 0}, "ladder": {"tol": 1e-12, "points": 60}}  # a few rungs: of features, and of networks


def problem():
    import jax.numpy as jnp

    import anagram as ag

    line = ag.Box(x=(0, 1))
    return ag.Problem(
        line,
        equation=ag.Condition(lambda u: u.d("x", "x") + u**3, equals=lambda x: jnp.sin(9 * x)),
        ends=ag.Condition(lambda u: u, on=line.faces("x")),
    )


def options(setting: str) -> dict:
    import anagram as ag

    if setting in CLIMBS:
        return CLIMBS[setting]
    points = {"cells": ag.Cells(80), "redrawn": ag.Redrawn(ag.Sobol(60), every=5)}.get(setting, 60)
    method = {"cells": "auto", "redrawn": "anagram"}.get(setting, setting)
    more = {"adam-lbfgs": {"switch": 100}, "cells": {"sketch": 0}}.get(setting, {})
    return {"model": ag.MLP(10), "method": method, "points": points, "options": more, "steps": STEPS, "patience": STEPS}


def child(setting: str, folder: str) -> None:
    """One process of the run: its beginning, or its going on."""
    import anagram as ag
    from anagram.training import budget

    budget.BLOCK_SECONDS = 0.02
    warnings.simplefilter("ignore")

    def report(record: dict) -> None:
        os.write(1, b".")
        assert record["step"] <= 2 * STEPS
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
    """How far a run is: the step of the last whole checkpoint, −1 if there is none, and the rungs before it.

    An error if what is there cannot be read.
    """
    from anagram.keeping import checkpoint

    rungs = len(list(folder.glob("rungs/*/run.json")))
    under_way = json.loads((folder / "run.json").read_text())["configuration"].get("rung", rungs)
    if not checkpoint.exists(folder) or under_way < rungs:
        return RUNG * rungs - 1
    snapshot, _ = checkpoint.read(folder)
    if not all(np.all(np.isfinite(v)) for k, v in snapshot.arrays.items() if k.endswith(".theta")):
        raise ValueError("parameters on disk are not finite")
    return RUNG * rungs + snapshot.record["step"]


def start(setting: str, folder: Path) -> tuple[int, int]:
    """A process of the run; its number, and where it reports its blocks.

    It is forked from this one, which has imported everything and computed nothing: that is most of the time to start.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if process:
        os.close(writing)
        return process, reading
    os.close(reading)
    os.dup2(writing, 1)
    os.setsid()
    status = 1
    try:
        child(setting, str(folder))
        status = 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def wait(process: int, seconds: float) -> int | None:
    """The status of a process when it ends within so many seconds; None if it does not."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            return None
        time.sleep(0.002)


def until_done(setting: str, folder: Path, rng: random.Random, counts: dict[str, int], kills: int) -> None:
    """Kill and go on until the run ends by itself; after enough kills it is left alone."""
    from anagram.keeping import checkpoint

    before = -1
    while True:
        process, reports = start(setting, folder)
        early = rng.random() < 0.1  # some are killed while they start
        if not early:
            os.read(reports, 1)  # the first block
        patience = rng.uniform(0, 3) if early else rng.expovariate(1 / 0.3)
        status = wait(process, patience if counts["kills"] < kills else float("inf"))
        if status is None:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            counts["kills"] += 1
        os.close(reports)
        if status is not None:
            if status != 0:
                counts["failed to go on"] += 1
                raise SystemExit(f"{setting}: a run could not go on in {folder}")
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=SETTINGS)
    parser.add_argument("--results", type=Path, default=HERE / "results" / "faults.jsonl")
    args = parser.parse_args()
    # Importing computes nothing; a process in which JAX had computed something could not be forked.
    from safetensors.numpy import load_file

    import anagram  # noqa: F401

    rng = random.Random(args.seed)
    counts = dict.fromkeys(
        ("runs", "kills", "damaged", "unreadable", "lost steps", "failed to go on", "other numbers"), 0
    )
    wholes: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as scratch:
        while counts["kills"] < args.kills:
            setting = args.settings[counts["runs"] % len(args.settings)]
            if setting not in wholes:
                wholes[setting] = Path(scratch) / f"whole-{setting}"
                process, reports = start(setting, wholes[setting])
                while os.read(reports, 4096):
                    pass
                os.close(reports)
                if wait(process, float("inf")) != 0:
                    raise SystemExit(f"{setting}: the run that nobody touches failed")
            folder = Path(scratch) / f"run-{counts['runs']}"
            until_done(setting, folder, rng, counts, args.kills)
            whole, run = (load_file(path / "solution.safetensors") for path in (wholes[setting], folder))
            counts["other numbers"] += not np.array_equal(whole["theta"], run["theta"])
            counts["runs"] += 1
            print(f"{setting}: {len(run['steps.loss'])} steps; {counts}", flush=True)
    with args.results.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**counts, "seed": args.seed, "cores": os.cpu_count()}) + "\n")


if __name__ == "__main__":
    main()
