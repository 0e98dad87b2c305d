"""Solving to a tolerance: a ladder of networks, and marches over long times."""

from anagram.climbing.climb import Climb
from anagram.climbing.march import March
from anagram.climbing.result import Found, find
from anagram.climbing.trained import TrainedRungs

__all__ = ["Climb", "Found", "March", "TrainedRungs", "find"]
