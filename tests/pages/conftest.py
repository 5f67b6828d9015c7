"""The catalog for tests of pages."""

from tests.estimator.conftest import loaded_catalog

__all__ = ["loaded_catalog"]
