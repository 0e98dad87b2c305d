"""Runs and solutions on disk."""
