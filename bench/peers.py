"""anagram beside other programs: the same problems, references and cores, one run after the other.

    python bench/peers.py                                  # all runs that are not there yet, then the page
    python bench/peers.py --seconds 20 --seeds 0 --minutes 33
    python bench/peers.py --problems heat disk --entrants anagram jinns
    python bench/peers.py --report                         # only the page and its figure, from the results there are

Every program has an environment of its own (bench/peers/environments.py) and a script (bench/peers/with_NAME.py) that
uses it as its documentation says for small errors. All run one problem before any runs the next, so that noise hits
all alike. Each run is one line of bench/results/peers.jsonl; those that are there are not done again, those that
failed are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "peers.jsonl"
sys.path.insert(0, str(HERE / "peers"))

from common_problems import PROBLEMS, STORED  # noqa: E402
from environments import ENTRANTS, python_of, surroundings  # noqa: E402

TOLERANCES = ("1e-3", "1e-5", "1e-7", "0")  # that anagram is asked for
OVERTIME = 240.0  # seconds for all that is not training, before a run is ended
Task = tuple[str, str, str, str, int]  # problem, entrant, option, state of the cache, seed


def tasks(problems: list[str], entrants: list[str], seeds: list[int]) -> Iterator[Task]:
    """All runs in their order. Classical solvers draw nothing: they run with the first seed only.

    A run of anagram with an empty cache is followed by the same run with the compiled programs that it left there.
    """
    for seed in seeds:
        for problem in problems:
            for name in entrants:
                if name == "anagram":
                    for tol in TOLERANCES:
                        yield problem, name, tol, "cold", seed
                        if tol != "0":
                            yield problem, name, tol, "warm", seed
                elif seed == seeds[0] or not ENTRANTS[name].classical:
                    yield problem, name, ENTRANTS[name].option, "", seed


def key(record: dict[str, Any]) -> tuple[Any, ...]:
    """What makes two runs the same."""
    return tuple(record[k] for k in ("problem", "entrant", "option", "cache", "seed", "limit"))


def longest(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of runs that differ in their limit of time alone, the longest."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for record in sorted(records, key=lambda r: r["limit"]):
        kept[key(record)[:-1]] = record
    return list(kept.values())


def load(path: Path = RESULTS) -> list[dict[str, Any]]:
    """The last record of every run; a line cut off by an interruption is left out."""
    records = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        records[key(record)] = record
    return list(records.values())


def measure(task: Task, limit: float, cache: Path | None, machine: str) -> dict[str, Any]:
    """One run as a record: what the script said, or how it failed."""
    problem, name, option, _, seed = task
    entrant = ENTRANTS[name]
    command = [str(python_of(entrant)), str(HERE / "peers" / entrant.script), problem]
    command += ["--seed", str(seed), "--seconds", str(limit), *(["--option", option] if option else [])]
    record: dict[str, Any] = dict(zip(("problem", "entrant", "option", "cache", "seed"), task, strict=True))
    load_before = os.getloadavg()[0] / (
        os.cpu_count() or 1
    )  # of the machine, by its cores: more is other people's work
    record |= {"limit": limit, "machine": machine, "date": date.today().isoformat(), "load": round(load_before, 2)}
    env = surroundings(entrant, cache)
    began = time.time()
    env["PEERS_BEGAN"] = repr(began)
    try:
        with tempfile.TemporaryDirectory() as folder:  # for what programs leave lying about
            ended = subprocess.run(
                command, env=env, cwd=folder, capture_output=True, text=True, timeout=limit + OVERTIME, check=False
            )
        said, complaints, code = ended.stdout, ended.stderr, str(ended.returncode)
    except subprocess.TimeoutExpired as late:
        said, complaints, code = _text(late.stdout), _text(late.stderr), "it took too long"
    answers = list(_answers(said))
    record["process_seconds"] = round(time.time() - began, 3)
    record["curve"] = [[a["seconds"], float(f"{a['error']:.3g}"), a["wall"]] for a in answers if "error" in a]
    done = next((a for a in answers if a.get("done")), None)
    if done is None:
        lines = [line for line in complaints.splitlines() if line.strip() and not line.startswith(("-", "For simpl"))]
        record["failed"] = f"{code}: {lines[-1][:300] if lines else 'nothing was said'}"
    else:
        record |= {k: v for k, v in done.items() if k not in ("done", "option")}
    return record


def _text(said: bytes | str | None) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said or ""


def _answers(said: str) -> Iterator[dict[str, Any]]:
    """The JSON lines among all that programs print."""
    for line in said.splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue


def run_all(todo: list[Task], limit: float, minutes: float | None) -> None:
    """Do the runs that are not there, and write each as soon as it has ended."""
    from anagram.programs.reproduce.runner import machine

    name, began = machine(), time.monotonic()
    there = {key(record) for record in load() if "failed" not in record}
    RESULTS.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for number, task in enumerate(todo):
            if (*task, limit) in there:
                continue
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                print("the time is up: the same command goes on with the rest")
                return
            problem, entrant, option, state, seed = task
            cache = Path(scratch) / f"{problem}-{option}-{seed}" if entrant == "anagram" else None
            if state == "warm" and cache is not None and not cache.exists():
                measure((problem, entrant, option, "cold", seed), limit, cache, name)
            record = measure(task, limit, cache, name)
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            best = min((error for _, error, _ in record["curve"]), default=None)
            said = record.get("failed") or record.get("note") or f"best {best:.1e}, {record['process_seconds']:.0f} s"
            print(f"{number + 1}/{len(todo)} {' '.join(str(part) for part in task)}: {said}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--entrants", nargs="+", choices=ENTRANTS, default=list(ENTRANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--seconds", type=float, default=20.0, help="of training, for each run")
    parser.add_argument("--minutes", type=float, help="begin no run after so many; the same command goes on later")
    parser.add_argument("--report", action="store_true", help="write the page only")
    asked = parser.parse_args()
    if not asked.report:
        for name in asked.entrants:
            python_of(ENTRANTS[name])
        if not STORED.exists():
            subprocess.run([sys.executable, HERE / "peers" / "references.py"], env={**os.environ}, check=True)
        run_all(list(tasks(asked.problems, asked.entrants, asked.seeds)), asked.seconds, asked.minutes)
    from page import write

    write(longest(load()))


if __name__ == "__main__":
    main()
