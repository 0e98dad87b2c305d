"""On which devices a run is carried out, and with which other processes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from anagram.programs.commands.common import PROCESS_GONE, WRONG_INPUT, err, escape, one_line

DEVICES_HELP = "Over how many devices the points are spread; all that JAX sees by default."
COORDINATOR_HELP = "Where the first of several processes listens for the others."
PROCESSES_HELP = (
    "How many processes share the run; auto lets JAX find out. Those that srun or mpirun start come together by "
    "themselves; 1 keeps them apart."
)
PROCESS_HELP = "Which of them this one is, from 0."


# JAX ends a process at once where another one is not heard of any more, and no Python runs then. A small program beside
# it notices that its input has ended without a last line, and has the last word.
BESIDE = """
import sys
said = sys.stdin.read()
if not said.endswith(chr(0)):
    print(said.strip(), file=sys.stderr, flush=True)
"""
ENDED = (
    "error: this process was ended, or another process of the run has gone and this one stops too: the last checkpoint "
    "stands, and the run goes on from it on any number of processes and devices"
)


class Others:
    """The other processes of a run, and what is said should one of them go."""

    def __init__(self, *, there: bool) -> None:
        self.there, self.command = there, ""

    def begin(self, command: str, *, first: bool) -> None:
        """There is something to go on from with a command."""
        self.command = command
        if not self.there:
            return
        said = f"{ENDED}\nGo on with:  {command}" if first else ENDED
        # In a session of its own: Ctrl-C is not meant for it.
        self._beside = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", BESIDE], stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self._beside.stdin is not None
        self._beside.stdin.write(said)
        self._beside.stdin.flush()

    def end(self) -> None:
        """Nothing is to be said any more."""
        beside = getattr(self, "_beside", None)
        if beside is not None:
            with contextlib.suppress(OSError):
                beside.communicate(chr(0), timeout=5)


@contextlib.contextmanager
def with_others(coordinator: str | None, processes: str | None, process: int | None) -> Iterator[Others]:
    """Come together with other processes, if there are some; where one goes, the others say so and stop."""
    from anagram.compound.processes import AUTO, are_several, gone, is_first, join
    from anagram.errors import AnagramError, ProcessError, SettingError

    if processes is not None and processes != AUTO and not processes.isdecimal():
        raise SettingError(f"--processes takes a number of processes or '{AUTO}', not '{processes}'")
    if not join(coordinator, int(processes) if processes and processes != AUTO else processes, process):
        yield Others(there=False)
        return
    others = Others(there=True)
    from jax.errors import JaxRuntimeError

    try:
        yield others
        others.end()
    except (AnagramError, JaxRuntimeError) as error:
        others.end()
        said = error if isinstance(error, AnagramError) else gone(error)
        err.print(f"[bold red]error:[/] {escape(one_line(str(said)))}")
        if isinstance(said, ProcessError) and others.command and is_first():
            err.print(f"Go on with:  {escape(others.command)}")
        sys.stderr.flush()
        # At once: on the way out JAX would wait for processes that are not there any more.
        assert are_several()
        os._exit(PROCESS_GONE if isinstance(said, ProcessError) else WRONG_INPUT)


@contextlib.contextmanager
def on_the_devices(text: str | None) -> Iterator[None]:
    """Spread points over devices: those of the run, and of what is made of it afterwards."""
    from anagram.compound.layout import ALL, on_devices
    from anagram.errors import SettingError

    if text is not None and text.strip() != ALL and not text.strip().isdecimal():
        raise SettingError(f"--devices takes '{ALL}' or a number of devices, not '{text}'")
    with on_devices(ALL if text is None or text.strip() == ALL else int(text)):
        yield
