"""Models as layer groups: reading config.json, counting parameters, sizing caches and storing the result."""

from estimator.engine.architecture.inline import architecture_from_shape, override_cache
from estimator.engine.architecture.kv_cache import (
    KvCacheSummary,
    KvLayout,
    kv_cache_summary,
    kv_element_bytes,
    kv_layout,
)
from estimator.engine.architecture.parameters import ParameterTotals, parameter_totals
from estimator.engine.architecture.reader import known_model_types, read_config
from estimator.engine.architecture.serialise import from_dict, to_dict
from estimator.engine.architecture.spec import Architecture

__all__ = [
    "Architecture",
    "KvCacheSummary",
    "KvLayout",
    "ParameterTotals",
    "architecture_from_shape",
    "from_dict",
    "known_model_types",
    "kv_cache_summary",
    "kv_element_bytes",
    "kv_layout",
    "override_cache",
    "parameter_totals",
    "read_config",
    "to_dict",
]
