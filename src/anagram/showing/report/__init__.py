"""Figures and progress displays. Nothing here is imported before it is used."""
