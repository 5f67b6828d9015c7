"""The catalog for tests of the command."""

from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]
