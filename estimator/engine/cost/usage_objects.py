"""Usage objects as providers return them, read into the counts of our meters.

Every provider counts in its own words: OpenAI's prompt count holds what was cached, Anthropic's input count does not,
Gemini's answers leave the thoughts out, xAI's chat answers too. Each reader turns one provider's object into counts
that either include one another or never do, and says which. Counts that only sum up others are left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import write_meter
from estimator.engine.errors import InvalidInputError

MAX_COUNT = 10**15


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadUsage:
    """Counts by usage key, how they relate, whose words they were in, and what the object says of the sending."""

    counts: Mapping[str, Decimal]
    convention: UsageConvention
    provider: str
    channel: str | None = None
    place: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(slots=True)
class _Object:
    """A usage object being read: every key that is taken is marked, the rest is told.

    `flat` are its parts by path (a dot leads into a nested object), `leaves` the paths of those that are no objects,
    `apart` beginnings of paths that count nothing.
    """

    raw: Mapping[str, Any]
    taken: set[str] = field(default_factory=set)
    apart: tuple[str, ...] = ()
    flat: dict[str, Any] = field(init=False)
    leaves: set[str] = field(init=False)

    def __post_init__(self) -> None:
        self.flat = _flat(self.raw)
        self.leaves = {path for path, value in self.flat.items() if value is not None and not isinstance(value, dict)}

    def count(self, *paths: str) -> Decimal:
        """The first of these counts that is there, 0 where none is; a dot leads into a nested object.

        Raises:
            InvalidInputError: It is no count.
        """
        for path in paths:
            value = self._at(path)
            if value is not None:
                return _checked(value, path)
        return Decimal(0)

    def has(self, *paths: str) -> bool:
        """Whether one of these is there."""
        return any(self._at(path) is not None for path in paths)

    def text(self, path: str) -> str:
        """A word, "" where there is none."""
        value = self._at(path)
        return value if isinstance(value, str) else ""

    def modalities(self, *names: str) -> dict[str, Decimal]:
        """Gemini's list of {modality, tokenCount} as counts by modality in small letters."""
        for name in names:
            value = self._at(name)
            if value is None:
                continue
            if not isinstance(value, Sequence) or isinstance(value, str):
                raise InvalidInputError("modalities are a list of objects", field=name)
            counts: dict[str, Decimal] = {}
            for place, part in enumerate(value):
                modality, tokens = self._modality(part, f"{name}.{place}")
                counts[modality] = counts.get(modality, Decimal(0)) + tokens
            return counts
        return {}

    @staticmethod
    def _modality(part: Any, path: str) -> tuple[str, Decimal]:
        if not isinstance(part, Mapping):
            raise InvalidInputError("a modality is an object with its tokens", field=path)
        tokens = part.get("tokenCount", part.get("token_count", part.get("tokens", 0)))
        return str(part.get("modality", "")).lower(), _checked(tokens, path)

    def _at(self, path: str) -> Any:
        self.taken.add(path)
        value = self.flat.get(path)
        if value is None and "." in path and not self.leaves.isdisjoint(_holders(path)):
            holder = next(holder for holder in _holders(path) if holder in self.leaves)
            raise InvalidInputError("an object with its counts", field=holder)
        return value

    def untaken(self) -> tuple[str, ...]:
        """Counts that nobody read: they may have a price that is missing from the bill."""
        return tuple(
            path
            for path, value in self.flat.items()
            if value and isinstance(value, (int, float)) and value is not True and path not in self.taken
            and not path.startswith(self.apart)
        )  # fmt: skip


@lru_cache(maxsize=1024)
def _holders(path: str) -> tuple[str, ...]:
    """The paths of what a path lies in, the widest first."""
    names = path.split(".")
    return tuple(".".join(names[:place]) for place in range(1, len(names)))


def _flat(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Every part of an object by its path."""
    flat: dict[str, Any] = dict(raw)
    nested = [(name, value) for name, value in raw.items() if isinstance(value, dict)]
    while nested:
        path, parts = nested.pop()
        for name, value in parts.items():
            flat[inside := f"{path}.{name}"] = value
            if isinstance(value, dict):
                nested.append((inside, value))
    return flat


def _checked(value: Any, path: str) -> Decimal:
    if type(value) is int and 0 <= value <= MAX_COUNT:
        return Decimal(value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise InvalidInputError("a count is a number", field=path)
    number = Decimal(str(value))
    if not number.is_finite() or not 0 <= number <= MAX_COUNT:
        raise InvalidInputError(f"a count is between 0 and {MAX_COUNT:.0e}", field=path)
    return number


def read_usage(raw: Mapping[str, Any]) -> ReadUsage | None:
    """What a provider's usage object says; None where it is none: keys of our own meters, nothing nested.

    Raises:
        InvalidInputError: A count of it is no count.
    """
    for sign, reader in _READERS:
        if sign(raw):
            return reader(_Object(raw))
    return None


def _openai(usage: _Object) -> ReadUsage:
    """OpenAI, chat and Responses, and everybody who speaks as they do (DeepSeek, xAI, Moonshot, Qwen, OpenRouter)."""
    prompt = usage.count("prompt_tokens", "input_tokens")
    answer = usage.count("completion_tokens", "output_tokens")
    if not usage.has("prompt_tokens", "input_tokens"):
        prompt = usage.count("prompt_cache_hit_tokens") + usage.count("prompt_cache_miss_tokens")
    given = {name: usage.raw.get(name) for name in ("prompt_tokens_details", "input_tokens_details")}
    details = next((name for name, value in given.items() if value is not None), "prompt_tokens_details")
    outs = "completion_tokens_details" if usage.has("completion_tokens_details") else "output_tokens_details"
    reasoning = usage.count(f"{outs}.reasoning_tokens", "reasoning_tokens")
    # xAI's chat answers leave the reasoning out of completion_tokens: the total tells.
    if reasoning and usage.count("total_tokens") == prompt + answer + reasoning:
        answer += reasoning
    counts = {"input_tokens": prompt, "output_tokens": answer, "reasoning_tokens": reasoning}
    counts |= _openai_reads(usage, details) | _openai_writes(usage, details)
    for name in ("audio", "image", "video"):
        counts[f"input_{name}_tokens"] = usage.count(f"{details}.{name}_tokens")
        counts[f"output_{name}_tokens"] = usage.count(f"{outs}.{name}_tokens")
    counts |= _openai_tools(usage)
    usage.taken |= {
        "total_tokens", "cost", "prompt_cache_miss_tokens", f"{details}.text_tokens", f"{outs}.text_tokens",
        f"{outs}.accepted_prediction_tokens", f"{outs}.rejected_prediction_tokens", "cost_in_usd_ticks",
        "num_sources_used",
    }  # fmt: skip
    usage.apart = ("cost_details", "cost.")
    return _read(usage, counts, UsageConvention.INCLUSIVE, "openai")


def _openai_reads(usage: _Object, details: str) -> dict[str, Decimal]:
    """Cached tokens; explicit ones apart where the object says that marks found them (Qwen: cache_type ephemeral)."""
    cached = usage.count(
        f"{details}.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"
    )
    usage.taken |= {"prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"}
    explicit = usage.text(f"{details}.cache_type") == "ephemeral" or usage.has(f"{details}.cache_creation")
    by_kind = {
        f"cache_read_{kind}_tokens": usage.count(f"{details}.cached_tokens_details.{kind}_tokens")
        for kind in ("audio", "image")
    }
    usage.taken.add(f"{details}.cached_tokens_details.text_tokens")
    reads = {"cache_read_tokens": cached} | by_kind
    return reads | ({"cache_read_explicit_tokens": cached} if explicit else {})


def _openai_writes(usage: _Object, details: str) -> dict[str, Decimal]:
    lives = {
        write_meter(300): usage.count(f"{details}.cache_creation.ephemeral_5m_input_tokens"),
        write_meter(3600): usage.count(f"{details}.cache_creation.ephemeral_1h_input_tokens"),
    }
    whole = usage.count(
        f"{details}.cache_write_tokens", f"{details}.cache_creation_input_tokens", f"{details}.cache_creation_tokens",
        "cache_write_tokens", "cache_creation_input_tokens",
    )  # fmt: skip
    usage.taken |= {"cache_write_tokens", "cache_creation_input_tokens", f"{details}.cache_creation_input_tokens"}
    counts = {f"{name}_tokens": count for name, count in lives.items() if count}
    whole = max(whole, sum(counts.values(), start=Decimal(0)))
    return counts | {"cache_write_tokens": whole}


def _openai_tools(usage: _Object) -> dict[str, Decimal]:
    """Calls of xAI's and OpenRouter's own tools."""
    tools = "server_side_tool_usage_details"
    return {
        "web_searches": usage.count(f"{tools}.web_search_calls", "server_tool_use.web_search_requests"),
        "social_searches": usage.count(f"{tools}.x_search_calls"),
        "code_executions": usage.count(f"{tools}.code_interpreter_calls", f"{tools}.code_execution_calls"),
        "storage_searches": usage.count(f"{tools}.file_search_calls", f"{tools}.document_search_calls"),
    }


def _anthropic(usage: _Object) -> ReadUsage:
    """Anthropic's messages: input_tokens are the fresh ones; writes by life in cache_creation."""
    five = usage.count("cache_creation.ephemeral_5m_input_tokens")
    hour = usage.count("cache_creation.ephemeral_1h_input_tokens")
    writes = usage.count("cache_creation_input_tokens")
    counts = {
        "input_tokens": usage.count("input_tokens"),
        "cache_read_tokens": usage.count("cache_read_input_tokens"),
        # What the lives leave of the whole was written for the default one.
        "cache_write_5m_tokens": max(five, writes - hour),
        "cache_write_1h_tokens": hour,
        "output_tokens": usage.count("output_tokens"),
        "web_searches": usage.count("server_tool_use.web_search_requests"),
        "code_executions": usage.count("server_tool_use.code_execution_requests"),
    }
    usage.taken |= {"server_tool_use.web_fetch_requests", "output_tokens_details.thinking_tokens"}
    return _read(usage, counts, UsageConvention.DISJOINT, "anthropic")


def _gemini(usage: _Object) -> ReadUsage:
    """Gemini's usageMetadata: the prompt holds what was cached, the candidates leave the thoughts out."""
    tools = usage.count("toolUsePromptTokenCount", "tool_use_prompt_token_count")
    thoughts = usage.count("thoughtsTokenCount", "thoughts_token_count")
    counts = {
        "input_tokens": usage.count("promptTokenCount", "prompt_token_count") + tools,
        "cache_read_tokens": usage.count("cachedContentTokenCount", "cached_content_token_count"),
        "output_tokens": usage.count(
            "candidatesTokenCount", "candidates_token_count", "responseTokenCount", "response_token_count"
        )
        + thoughts,
        "reasoning_tokens": thoughts,
    }
    prompt = usage.modalities("promptTokensDetails", "prompt_tokens_details")
    tooled = usage.modalities("toolUsePromptTokensDetails", "tool_use_prompt_tokens_details")
    cached = usage.modalities("cacheTokensDetails", "cache_tokens_details")
    answer = usage.modalities(
        "candidatesTokensDetails", "candidates_tokens_details", "responseTokensDetails", "response_tokens_details"
    )
    for name in ("audio", "image", "video"):
        counts[f"input_{name}_tokens"] = prompt.get(name, Decimal(0)) + tooled.get(name, Decimal(0))
        counts[f"cache_read_{name}_tokens"] = cached.get(name, Decimal(0))
        counts[f"output_{name}_tokens"] = answer.get(name, Decimal(0))
    usage.taken |= {"totalTokenCount", "total_token_count"}
    place = usage.text("trafficType").lower() or usage.text("traffic_type").lower()
    channel = {"on_demand_flex": "flex", "on_demand_priority": "priority"}.get(place)
    return _read(usage, counts, UsageConvention.INCLUSIVE, "google", channel=channel)


def _bedrock(usage: _Object) -> ReadUsage:
    """Bedrock's Converse: inputTokens beside cacheReadInputTokens and cacheWriteInputTokens, writes by life if told."""
    lives = _bedrock_lives(usage.raw.get("cacheDetails"))
    writes = usage.count("cacheWriteInputTokens", "cacheWriteInputTokenCount", "cacheWriteInputTokensCount")
    rest = max(writes - sum(lives.values(), start=Decimal(0)), Decimal(0))
    counts = {
        "input_tokens": usage.count("inputTokens", "inputTokenCount"),
        "cache_read_tokens": usage.count(
            "cacheReadInputTokens", "cacheReadInputTokenCount", "cacheReadInputTokensCount"
        ),
        "output_tokens": usage.count("outputTokens", "outputTokenCount"),
    }
    usage.taken |= {"totalTokens", "totalTokenCount"}
    return _read(usage, counts | lives | {"cache_write_tokens": rest}, UsageConvention.DISJOINT, "aws")


_LIFE = re.compile(r"^(?P<number>[1-9]\d{0,3})(?P<unit>[smh])$")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def _bedrock_lives(details: Any) -> dict[str, Decimal]:
    """Writes by life from Bedrock's list of {ttl, inputTokens}.

    Raises:
        InvalidInputError: It is no such list, or names no life.
    """
    if details is None:
        return {}
    if not isinstance(details, Sequence) or isinstance(details, str):
        raise InvalidInputError("cacheDetails is a list of objects", field="cacheDetails")
    lives: dict[str, Decimal] = {}
    for place, part in enumerate(details):
        life = _LIFE.match(str(part.get("ttl", "5m"))) if isinstance(part, Mapping) else None
        if life is None:
            raise InvalidInputError("an object with ttl (5m, 1h) and inputTokens", field=f"cacheDetails.{place}")
        name = f"{write_meter(int(life['number']) * _SECONDS[life['unit']])}_tokens"
        tokens = _checked(part.get("inputTokens", 0), f"cacheDetails.{place}.inputTokens")
        lives[name] = lives.get(name, Decimal(0)) + tokens
    return lives


def _read(
    usage: _Object,
    counts: Mapping[str, Decimal],
    convention: UsageConvention,
    provider: str,
    *,
    channel: str | None = None,
) -> ReadUsage:
    tier = usage.text("service_tier")
    if tier in ("default", "auto", "on_demand", "standard_only"):
        tier = "standard"
    if usage.text("speed") == "fast":
        tier = "fast"
    geo = usage.text("inference_geo")
    return ReadUsage(
        counts={key: count for key, count in counts.items() if count} or {"input_tokens": Decimal(0)},
        convention=convention,
        provider=provider,
        channel=channel or tier or None,
        place=f"inference_geo={geo}" if geo and geo not in ("global", "not_available") else None,
        ignored=usage.untaken(),
    )


def _any_of(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    signs = frozenset(names)
    return lambda raw: not signs.isdisjoint(raw)


# The first sign that a key gives decides; Anthropic's words come before those that OpenAI's Responses share with it.
_READERS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[_Object], ReadUsage]], ...] = (
    (_any_of("promptTokenCount", "prompt_token_count", "candidatesTokenCount", "candidates_token_count"), _gemini),
    (_any_of("inputTokens", "outputTokens", "inputTokenCount", "outputTokenCount"), _bedrock),
    (_any_of("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"), _openai),
    (_any_of("input_tokens_details"), _openai),
    (
        _any_of("cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "server_tool_use",
                "inference_geo"),
        _anthropic,
    ),
    (_any_of("output_tokens_details", "total_tokens"), _openai),
    (_any_of("service_tier"), _anthropic),
)  # fmt: skip
