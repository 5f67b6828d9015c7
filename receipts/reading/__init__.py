"""Readers of what benchmarks and engines write: text in, one form out; no Django, no database, no engine's figures."""
