"""The version of our formulas; it changes whenever the same inputs would give another figure."""

ESTIMATOR_VERSION = "0.2.0"
