"""Studies: a problem solved over a grid of options, methods and seeds."""

from anagram.programs.sweep.grid import Combination, combinations
from anagram.programs.sweep.runner import Outcome, Study, run_study

__all__ = ["Combination", "Outcome", "Study", "combinations", "run_study"]
