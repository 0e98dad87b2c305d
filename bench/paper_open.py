"""What was open between the paper's numbers and ours: experiments that change one thing at a time.

    python bench/paper_open.py --list
    python bench/paper_open.py --parts b d --jobs 8 --budget 470     # eight workers on two cores each
    python bench/paper_open.py --trials a-anagram-public a-engd-public --budget 470
    python bench/paper_open.py --small                                # three steps of every trial

One JSON line a run goes to results/paper-open.jsonl. A run that the budget ends is written as far as it came, and its
state is kept beside the results: the same command goes on. `paper_tables.py` makes the tables.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    started = time.monotonic()
    args = _arguments()
    if args.jobs > 1:
        _share(args)
        return
    # What follows imports JAX, which looks at once at the cores it may use.
    from anagram.environment import has_accelerator
    from paper_runs import Deadline, Group, append, read
    from paper_trials import trials

    deadline = Deadline(started + args.budget - args.elapsed)
    chosen = [t for t in trials() if not args.parts or t.part in args.parts]
    if args.trials:  # in the order in which they are named
        chosen = [t for name in args.trials for t in chosen if t.name == name]
    # Workers begin with different ones, so that they do not all compile the same.
    chosen = chosen[args.turn * len(chosen) // 8 :] + chosen[: args.turn * len(chosen) // 8]
    if args.list:
        for trial in chosen:
            print(f"{trial.part}  {trial.name:20} {trial.problem:11} {trial.steps:5} steps  seeds {trial.seeds}")
        return
    for trial in chosen:
        steps = 3 if args.small else trial.steps
        there = {key: record for key, record in read(args.out).items() if record["finished"]}
        wanted = [s for s in trial.seeds if (args.seeds is None or s in args.seeds) and (trial.name, s) not in there]
        size = 1 if trial.factorises and not (has_accelerator() and trial.problem != "burgers") else len(wanted)
        size = min(size, args.together or size)
        for seeds in (wanted[k : k + size] for k in range(0, len(wanted), size or 1)):
            if deadline.left < 15 or not _claim(args.claims, f"{trial.name}-{seeds[0]}"):
                continue
            group = Group(trial, seeds, args.state, steps)
            finished = group.run(deadline)
            append(args.out, group.lines())
            last = group.records[-1][1]["l2_error"]
            shown = " ".join(f"{e:.1e}" for e in last)
            pace = group.seconds / max(1, group.together.done)
            told = f"{trial.name} seeds {seeds} step {group.together.done} {'end' if finished else 'time is up'}"
            print(
                f"{time.monotonic() - started + args.elapsed:5.0f} s  {told}: {shown}  {1e3 * pace:.1f} ms", flush=True
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", choices=["a", "b", "c", "d"])
    parser.add_argument("--trials", nargs="*")
    parser.add_argument("--seeds", nargs="*", type=int)
    parser.add_argument("--budget", type=float, default=1e9, help="seconds after which it ends with what it has")
    parser.add_argument("--jobs", type=int, default=1, help="workers, each on cores of its own")
    parser.add_argument("--cores", type=int, default=2, help="cores of each worker")
    parser.add_argument("--first-core", type=int, default=0)
    parser.add_argument("--together", type=int, default=0, help="seeds side by side, at most; on a GPU all of them")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "paper-open.jsonl")
    parser.add_argument("--state", type=Path, help="where runs that are not finished are kept")
    parser.add_argument("--small", action="store_true", help="three steps of everything, to see that it works")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--claims", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--turn", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--elapsed", type=float, default=0.0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.state = args.state or args.out.with_suffix(".state")
    return args


def _share(args: argparse.Namespace) -> None:
    """Workers take one group of seeds after the other from the same list."""
    available = sorted(os.sched_getaffinity(0))[args.first_core :]
    claims = Path(tempfile.mkdtemp(prefix="claims-"))
    workers = []
    for k in range(args.jobs):
        cores = available[k * args.cores : (k + 1) * args.cores]
        if not cores:
            break
        pinned = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, str(Path(__file__)), *sys.argv[1:]]
        limits = {"JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": str(len(cores)), "OPENBLAS_NUM_THREADS": str(len(cores))}
        more = [
            "--jobs",
            "1",
            "--turn",
            str(k % 8),
            "--claims",
            str(claims),
            "--elapsed",
            str(time.monotonic() - START),
        ]
        workers.append(subprocess.Popen([*pinned, *more], env={**os.environ, **limits}))
    for worker in workers:
        worker.wait()


def _claim(folder: Path | None, name: str) -> bool:
    """Whether nobody else has taken it."""
    if folder is None:
        return True
    try:
        os.close(os.open(folder / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


START = time.monotonic()

if __name__ == "__main__":
    main()
