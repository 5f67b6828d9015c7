"""Checks settings by an engine's own names, and puts those that its memory policy has into the memory overrides."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from estimator.constants.engine_settings import EngineSetting, Value, settings_of
from estimator.engine.options import MemoryOverrides
from estimator.engine.serving.settings import MEMORY_FEEDS
from estimator.engine.specs import EngineProfile
from estimator.resolvers.collect import Collector

_PATH = "engine_settings"
# Overrides of memory that other settings decide besides what they feed.
_ALSO_MEMORY = {
    "no_graphs": "enforce_eager",
    "prefixes_dropped": "enable_prefix_caching",
    "plans_ahead": "async_scheduling",
    "captured_tokens": "max_cudagraph_capture_size",
}
_WHOLE = ("tokens", "count", "steps")


def check_settings(stated: Mapping[str, Value], engine: EngineProfile) -> None:
    """Settings that the engine has, of the type and range that it takes.

    Raises:
        ResolutionError: every one that it does not; a name that it does not know is answered with those it knows.
    """
    found = Collector()
    known = settings_of(engine.engine)
    for name, value in stated.items():
        setting = known.get(name)
        if setting is None:
            allowed = ", ".join(known) or _("none")
            detail = _("%(engine)s has no such setting; known here: %(known)s.")
            found.add((_PATH, name), "not_supported", detail % {"engine": engine.engine, "known": allowed})
        elif fault := _fault(setting, value):
            found.add((_PATH, name), "invalid", fault)
    found.raise_if_any()


def memory_with(memory: MemoryOverrides, stated: Mapping[str, Value], engine: EngineProfile) -> MemoryOverrides:
    """The memory overrides with the settings that decide memory.

    Raises:
        ResolutionError: a setting and an override of the same that differ.
    """
    found = Collector()
    changes: dict[str, Any] = {}
    known = settings_of(engine.engine)
    for name, value in stated.items():
        override, figure = _memory_of(known[name], value, engine)
        if override is None:
            continue
        given = getattr(memory, override)
        if given is not None and given != figure:
            detail = _("memory.%(name)s says %(given)s: give one of them.") % {"name": override, "given": given}
            found.add((_PATH, name), "ambiguous", detail)
        changes[override] = figure
    found.raise_if_any()
    return replace(memory, **changes)


def memory_settings(stated: Mapping[str, Value], engine: EngineProfile) -> dict[str, str]:
    """The settings stated that decide memory, by the memory override that each is."""
    known = settings_of(engine.engine)
    overrides = {name: _memory_of(known[name], value, engine)[0] for name, value in stated.items()}
    return {override: name for name, override in overrides.items() if override is not None}


def settings_stated(memory: MemoryOverrides, stated: Mapping[str, Value], engine: EngineProfile) -> dict[str, Value]:
    """The settings stated by the engine's own names, and those that the memory overrides state, by these names."""
    found: dict[str, Value] = {}
    for name, setting in settings_of(engine.engine).items():
        override, kept = _memory_of(setting, True, engine)
        given = None if override is None else getattr(memory, override)
        if given is not None:
            found[name] = given if kept else not given
    return found | dict(stated)


def _memory_of(setting: EngineSetting, value: Value, engine: EngineProfile) -> tuple[str | None, Value]:
    feeds = setting.feeds
    if feeds == "prefixes_dropped":
        return _ALSO_MEMORY[feeds], not value
    if feeds in MEMORY_FEEDS:
        return feeds, int(value) if setting.kind in _WHOLE else value
    if engine.engine != "vllm" or (feeds == "plans_ahead" and engine.memory.in_flight_batches == 1):
        return None, value
    override = _ALSO_MEMORY.get(feeds)
    return override, int(value) if feeds == "captured_tokens" else value


def _fault(setting: EngineSetting, value: Value) -> str | None:
    if setting.kind == "flag":
        return None if isinstance(value, bool) else _("Must be true or false.")
    if isinstance(value, bool):
        return _("Must be a number.")
    if setting.kind == "share":
        return None if 0 <= value <= 1 else _("Must be from 0 to 1.")
    if setting.kind in _WHOLE and value != int(value):
        return _("Must be a whole number.")
    least = 0 if setting.kind == "steps" else 1
    if setting.kind == "ratio":
        return None if value > 0 else _("Must be above 0.")
    return None if least <= value <= 100_000_000 else _("Must be from %(least)s to 100,000,000.") % {"least": least}
