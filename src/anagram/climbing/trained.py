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
from anagram.errors import AnagramError, ProcessError
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

NOT_DONE = (INTERRUPTED, BY_MONITOR, TIME_UP)  # rungs that ended so go on when the run does


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
        self._snapshot: tuple[int, Snapshot, Any] | None = None
        self._aside: threading.Thread | None = None
        self.known = 0  # rungs that are there already
        while kept is not None and (self._folder(self.known) / RECORD).exists():
            self.known += 1

    def go_on_from(self, rung: int, snapshot: Snapshot, told: Any) -> None:
        """A checkpoint of the rung that was under way, and the fingerprint that the record has of it."""
        self._snapshot = (rung, snapshot, told)

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
        snapshot = self._snapshot if self._snapshot is not None and self._snapshot[0] == number else None
        if self.kept is not None and snapshot is None:
            self.kept.begin(trainer, self.configuration, rung=number)
        trainer.compile()
        if snapshot is not None:
            self._restore(trainer, snapshot[1], snapshot[2])
        elif self.kept is not None:
            self.kept.compiled(trainer)
        limits = self.configuration.budget
        budget = replace(budget, patience=limits.patience, early_stopping=limits.early_stopping)
        # Where the next rung has more points, nobody needs to be told that this one has too few.
        quiet = self.configuration.setting.model is None
        # Where features fit their points and not the equation, that is to be seen: more points will do.
        keep = "last" if start is not None else self.configuration.keep
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

    def note(self, _: Rung) -> None:
        """Keep the rung that was trained last, unless it is to go on."""
        solution = self._solution
        if self.kept is None or not self.kept.writes or solution is None or solution.stopped_because in NOT_DONE:
            return
        with self.kept.guarded("a rung"):
            save(solution, self._folder(self.count - 1))

    def _restore(self, trainer: Trainer, snapshot: Snapshot, told: Any) -> None:
        assert self.kept is not None
        try:
            refuse_another(self.kept.path, fingerprint(trainer), told)
        except AnagramError:
            self.kept.puts_back()
            raise
        restore(trainer, snapshot)
        self.kept.continues(trainer)

    def _folder(self, number: int) -> Path:
        assert self.kept is not None
        return self.kept.path / RUNGS / f"{number:03d}"
