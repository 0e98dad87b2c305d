"""Is this machine fit to solve problems? What is installed, what there is of memory and disk, and a short self-test."""

from anagram.programs.doctor.finding import FAILED, INFO, OK, WARNING, Finding, healthy
from anagram.programs.doctor.folders import examine_folders
from anagram.programs.doctor.machine import examine_machine
from anagram.programs.doctor.packages import examine_packages
from anagram.programs.doctor.selftest import examine_solving

__all__ = ["FAILED", "INFO", "OK", "WARNING", "Finding", "examine", "examine_solving", "healthy"]


def examine() -> list[Finding]:
    """What is installed, what the machine has, and where things are written. Nothing is compiled."""
    return [*examine_packages(), *examine_machine(), *examine_folders()]
