"""Writes of the reports app, by subject."""
