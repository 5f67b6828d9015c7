"""Turns catalog facts, or inline values of a request, into engine specs; the only place that does."""
