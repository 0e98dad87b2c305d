"""Rungs as runs: each is trained, watched and kept like any run; those that were kept are read, not trained again."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from anagram.climbing.climb import BY_MONITOR, INTERRUPTED, TIME_UP
from anagram.compound import processes
from anagram.errors import AnagramError, FileError, ProcessError
from anagram.keeping.atomic import json_text, write_atomically
from anagram.keeping.records import is_whole
from anagram.keeping.runfolder import RUNGS, RunFolder
from anagram.keeping.runrecord import RECORD
from anagram.keeping.snapshot import Snapshot, fingerprint, refuse_another, restore
from anagram.keeping.solutions import read_solution, save
from anagram.models import ParametricModel
from anagram.solution import Solution
from anagram.statement.problem import Problem
from anagram.training.budget import Budget
from anagram.training.configuration import CUSTOM, Configuration, model_to_json
from anagram.training.rungs import Rung
from anagram.training.setting import Setting
from anagram.training.trainer import Monitor, Trainer
from anagram.training.watch import SpectrumWatch
from anagram.untrusted import read_json, read_text

LEFT = "left.json"  # among the rungs: what was left before which of them, because it would have taken too long
NOT_DONE = (INTERRUPTED, BY_MONITOR, TIME_UP)  # rungs that ended so go on when the run does


def left_of(data: Any) -> list[list[Any]]:
    """What a file says of what was left before which rung."""
    if isinstance(data, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in data):
        pairs = [list(pair) for pair in data]
        if all(isinstance(what, str) and is_whole(number) for what, number in pairs):
            return pairs
    raise FileError("it does not say what was left before which rung")


class TrainedRungs:
    """Trains rungs one after the other.

    Args:
        configuration: of the whole run.
        monitors: of every rung.
        kept: the folder of the run, if there is one. Each rung has a folder inside it once it is done.
        announce: called with each trainer before it is compiled.
    """

    def __init__(
        self,
        configuration: Configuration,
        monitors: Sequence[Monitor] = (),
        kept: RunFolder | None = None,
        announce: Callable[[Trainer], None] = lambda _: None,
    ) -> None:
        self.configuration, self.kept, self.announce = configuration, kept, announce
        self.monitors = monitors if kept is None else [SpectrumWatch(), *monitors, kept]
        self.count = 0
        self.last: Trainer | None = None
        self._solution: Solution | None = None
        self._begun: tuple[int, Snapshot | None, Any] | None = None
        self._aside: threading.Thread | None = None
        self.known = 0  # rungs that are there already
        while kept is not None and (self._folder(self.known) / RECORD).exists():
            self.known += 1
        self.left = self._read_left()

    def go_on_from(self, rung: int, snapshot: Snapshot | None, told: Any) -> None:
        """The rung that was under way: its checkpoint, if there is one, and the fingerprint in the record."""
        self._begun = (rung, snapshot, told)

    def __call__(
        self,
        problem: Problem,
        setting: Setting,
        budget: Budget,
        goal: Callable[[Trainer], str | None] | None,
        start: Callable[[ParametricModel], np.ndarray | None] | None = None,
    ) -> Solution:
        number, self.count = self.count, self.count + 1
        if number < self.known:
            self._solution = None
            own = setting.model if model_to_json(setting.model).get("kind") == CUSTOM else None
            return Solution.of(read_solution(self._folder(number), problem, own))
        if self._aside is not None:
            self._aside.join()  # most likely it compiles what is needed now
        trainer = Trainer(problem, setting, self.configuration.seed, result=Solution, compile_now=False)
        if start is not None:
            trainer.begin_with(start(trainer.model))
        self.last = trainer
        self.announce(trainer)
        begun = self._begun if self._begun is not None and self._begun[0] == number else None
        snapshot = None if begun is None else begun[1]
        if self.kept is not None and begun is None:
            self.kept.begin(trainer, self.configuration, rung=number)
        trainer.compile()
        if begun is not None:  # what it is refused for is said before anything is written
            self._refuse_another(trainer, begun[2])
        if self.kept is not None and snapshot is not None:
            restore(trainer, snapshot)
            self.kept.continues(trainer)
        elif self.kept is not None:
            if begun is not None:
                self.kept.begin(trainer, self.configuration, rung=number)
            self.kept.compiled(trainer)
        limits = self.configuration.budget
        budget = replace(budget, patience=limits.patience, early_stopping=limits.early_stopping)
        # Where the next rung has more points, nobody needs to be told that this one has too few.
        quiet = self.configuration.setting.model is None
        # Where features fit their points and not the equation, that is to be seen: more points will do.
        keep = "last" if quiet and setting.method == "newton" else self.configuration.keep
        monitors = list(self.monitors)
        try:
            reached = trainer.train(budget, monitors, keep=keep, goal=goal, quiet=quiet)
        except ProcessError:
            if self.kept is not None:
                self.kept.lost(trainer)
            raise
        self._solution = Solution.of(reached)
        return self._solution

    def prepare(self, problem: Problem, setting: Setting) -> None:
        """Compile the programs of a rung in a thread of its own; they are kept for when it comes to it."""
        if self.count < self.known or (self._aside is not None and self._aside.is_alive()):
            return
        if problem.guess is not None:
            return  # it would be fitted to the first guess twice
        if processes.are_several():  # all of them must do the same in the same order
            return

        def compile_aside() -> None:
            # What is wrong with it will be said when it is trained.
            with contextlib.suppress(Exception):
                Trainer(problem, setting, self.configuration.seed)

        here = contextvars.copy_context()  # a thread of its own would not know the devices of the run
        self._aside = threading.Thread(target=here.run, args=(compile_aside,), name="compile the next rung")
        self._aside.start()

    def leaves(self, what: str, decide: Callable[[], bool]) -> bool:
        """Whether something is left before the next rung: as it was decided then, or is now."""
        if [what, self.count] in self.left:
            return True
        is_known = self.count < self.known or (self._begun is not None and self._begun[0] == self.count)
        if is_known or not decide():
            return False
        self.left.append([what, self.count])
        if self.kept is not None and self.kept.writes:
            with self.kept.guarded("a decision"):
                write_atomically(self._left_file, lambda path: path.write_text(json_text(self.left), encoding="utf-8"))
        return True

    @property
    def _left_file(self) -> Path:
        assert self.kept is not None
        return self.kept.path / RUNGS / LEFT

    def _read_left(self) -> list[list[Any]]:
        """What was left, with the numbers of the rungs that followed."""
        if self.kept is None or not self.known or not self._left_file.exists():
            return []
        try:
            return left_of(read_json(read_text(self._left_file)))
        except (FileError, ValueError) as error:
            raise FileError(f"'{self._left_file}' is damaged: {error}") from error

    def note(self, _: Rung) -> None:
        """Keep the rung that was trained last, unless it is to go on."""
        solution = self._solution
        if self.kept is None or not self.kept.writes or solution is None or solution.stopped_because in NOT_DONE:
            return
        with self.kept.guarded("a rung"):
            save(solution, self._folder(self.count - 1))

    def _refuse_another(self, trainer: Trainer, told: Any) -> None:
        assert self.kept is not None
        try:
            refuse_another(self.kept.path, fingerprint(trainer), told)
        except AnagramError:
            self.kept.puts_back()
            raise

    def _folder(self, number: int) -> Path:
        assert self.kept is not None
        return self.kept.path / RUNGS / f"{number:03d}"
