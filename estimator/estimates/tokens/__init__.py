"""Tokens of a text."""
