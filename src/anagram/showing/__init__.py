"""Runs and solutions for people and for other programs: pictures, pages, files."""
