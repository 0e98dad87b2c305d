"""Studies: a problem solved over a grid of options, methods and seeds."""

from anagram.sweep.grid import Combination, combinations
from anagram.sweep.runner import Outcome, Study, run_study

__all__ = ["Combination", "Outcome", "Study", "combinations", "run_study"]
