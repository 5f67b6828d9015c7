"""Readers by model_type."""

from collections.abc import Callable

from estimator.engine.architecture.families.dense import dense_readers
from estimator.engine.architecture.families.legacy import legacy_readers
from estimator.engine.architecture.families.mixtures import mixture_readers
from estimator.engine.architecture.fields import Fields
from estimator.engine.architecture.spec import Architecture

READERS: dict[str, Callable[[Fields], Architecture]] = {
    **dense_readers(),
    **mixture_readers(),
    **legacy_readers(),
}
