"""Runs as one HTML page that needs nothing else: its styles, its program and its numbers lie inside it."""

from anagram.showing.report.page.page import write_page

__all__ = ["write_page"]
