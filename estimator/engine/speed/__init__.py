"""The speed figures of a plan: ceiling, expectation, bands, many rows at once."""
