"""How a quantised checkpoint is stored, as one of the methods' readers tells it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from estimator.engine.formats.module_patterns import ModulePatterns

Settings = Mapping[str, Any]
MAX_PATTERNS = 20_000
WHERE = "config.quantization_config"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """How a checkpoint is stored.

    `main` is the format of what no other rule names, `kept` what stays in 16 bits; `single` gives a format to module
    paths one by one, `groups` to lists of modules (the first that names a module wins), `experts` to routed experts.
    """

    method: str
    main: str
    kept: ModulePatterns
    kv_format: str | None = None
    single: Mapping[str, str] | None = None
    experts: str | None = None
    groups: tuple[tuple[ModulePatterns, str], ...] = ()
    lm_head: str = "native"
    notes: tuple[str, ...] = ()


Reader = Callable[[Settings, str, ModulePatterns], Scheme | None]
