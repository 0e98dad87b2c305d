"""Studies: a problem solved over a grid of options, methods and seeds."""

from anagram.programs.sweep.elsewhere import executor_of, write_array
from anagram.programs.sweep.grid import Combination, combinations
from anagram.programs.sweep.runner import Outcome, Study, check_study, run_one, run_study

__all__ = [
    "Combination",
    "Outcome",
    "Study",
    "check_study",
    "combinations",
    "executor_of",
    "run_one",
    "run_study",
    "write_array",
]
