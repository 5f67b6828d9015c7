"""Usage objects as providers return them, read into the counts of our meters.

Every provider counts in its own words: OpenAI's prompt count holds what was cached, Anthropic's input count does not,
Gemini's answers leave the thoughts out, xAI's chat answers too. Each reader turns one provider's object into counts
that either include one another or never do, and says which. Counts that only sum up others are left out.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import write_meter
from estimator.engine.cost.usage_object import ReadUsage, UsageObject, checked, read_as
from estimator.engine.errors import InvalidInputError


def read_usage(raw: Mapping[str, Any]) -> ReadUsage | None:
    """What a provider's usage object says; None where it is none: keys of our own meters, nothing nested.

    Raises:
        InvalidInputError: A count of it is no count.
    """
    for sign, reader in _READERS:
        if sign(raw):
            return reader(UsageObject(raw))
    return None


def _openai(usage: UsageObject) -> ReadUsage:
    """OpenAI, chat and Responses, and everybody who speaks as they do (DeepSeek, xAI, Moonshot, Qwen, OpenRouter)."""
    prompt = usage.count("prompt_tokens", "input_tokens")
    answer = usage.count("completion_tokens", "output_tokens")
    if not usage.has("prompt_tokens", "input_tokens"):
        prompt = usage.count("prompt_cache_hit_tokens") + usage.count("prompt_cache_miss_tokens")
    if not usage.has("prompt_tokens", "input_tokens", "completion_tokens", "output_tokens"):
        # An embedding has no answer: some sellers tell the total alone.
        prompt = prompt or usage.count("total_tokens")
    details, outs = _details(usage, _PROMPT_DETAILS), _details(usage, _ANSWER_DETAILS)
    reasoning = usage.count(f"{outs}.reasoning_tokens", f"{outs}.reasoning", "reasoning_tokens")
    citations = usage.count("citation_tokens")
    # xAI's chat answers leave the reasoning out of completion_tokens: the total tells. So do Perplexity's, whose total
    # leaves it out too.
    if reasoning and (usage.count("total_tokens") == prompt + answer + reasoning or reasoning > answer):
        answer += reasoning
    counts = {"input_tokens": prompt, "output_tokens": answer + citations, "reasoning_tokens": reasoning}
    counts |= {"citation_tokens": citations, "input_audio_seconds": _seconds(usage)}
    counts |= _openai_reads(usage, details) | _openai_writes(usage, details)
    for name in ("audio", "image", "video"):
        counts[f"input_{name}_tokens"] = usage.count(f"{details}.{name}_tokens", f"{details}.{name}")
        counts[f"output_{name}_tokens"] = usage.count(f"{outs}.{name}_tokens")
    counts |= _openai_tools(usage)
    usage.taken |= {
        "total_tokens", "cost", "prompt_cache_miss_tokens", f"{details}.text_tokens", f"{outs}.text_tokens",
        f"{outs}.accepted_prediction_tokens", f"{outs}.rejected_prediction_tokens", "cost_in_usd_ticks",
        "num_sources_used", "num_server_side_tools_used", "server_side_tool_usage_details.mcp_calls",
        "total_characters",
    }  # fmt: skip
    usage.apart = ("cost_details", "cost.")
    return read_as(usage, counts, UsageConvention.INCLUSIVE, "openai")


_PROMPT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_ANSWER_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
"""Where the parts of a count stand: chat, Responses, Realtime and transcriptions (and LangChain, in its own words)."""


def _details(usage: UsageObject, names: Sequence[str]) -> str:
    return next((name for name in names if usage.raw.get(name) is not None), names[0])


def _seconds(usage: UsageObject) -> Decimal:
    """Seconds of speech where those are billed: OpenAI's transcriptions, Mistral's prompt_audio_seconds (or {})."""
    spoken = usage.raw.get("prompt_audio_seconds")
    return usage.count("prompt_audio_seconds") if isinstance(spoken, (int, float, Decimal)) else Decimal(0)


def _openai_reads(usage: UsageObject, details: str) -> dict[str, Decimal]:
    """Cached tokens; explicit ones apart where the object says that marks found them (Qwen: cache_type ephemeral)."""
    cached = usage.count(
        f"{details}.cached_tokens", f"{details}.cache_read", "prompt_cache_hit_tokens", "cached_tokens",
        "cache_read_input_tokens",
    )  # fmt: skip
    usage.taken |= {"prompt_cache_hit_tokens", "cached_tokens", "cache_read_input_tokens"}
    lives = usage.has(f"{details}.cache_creation") and not _written_whole(usage, details)
    explicit = usage.text(f"{details}.cache_type") == "ephemeral" or lives
    by_kind = {
        f"cache_read_{kind}_tokens": usage.count(f"{details}.cached_tokens_details.{kind}_tokens")
        for kind in ("audio", "image")
    }
    usage.taken.add(f"{details}.cached_tokens_details.text_tokens")
    reads = {"cache_read_tokens": cached} | by_kind
    return reads | ({"cache_read_explicit_tokens": cached} if explicit else {})


def _openai_writes(usage: UsageObject, details: str) -> dict[str, Decimal]:
    whole_path = _written_whole(usage, details)
    kinds = () if whole_path else ((300, "5m"), (3600, "1h"))
    lives = {
        write_meter(ttl): usage.count(f"{details}.cache_creation.ephemeral_{name}_input_tokens") for ttl, name in kinds
    }
    whole = usage.count(
        f"{details}.cache_write_tokens", *whole_path, f"{details}.cache_creation_input_tokens",
        f"{details}.cache_creation_tokens", "cache_write_tokens", "cache_creation_input_tokens",
    )  # fmt: skip
    usage.taken |= {"cache_write_tokens", "cache_creation_input_tokens", f"{details}.cache_creation_input_tokens"}
    counts = {f"{name}_tokens": count for name, count in lives.items() if count}
    whole = max(whole, sum(counts.values(), start=Decimal(0)))
    return counts | {"cache_write_tokens": whole}


def _written_whole(usage: UsageObject, details: str) -> tuple[str, ...]:
    """LangChain's count of all writes, which has the name of the object of lives."""
    path = f"{details}.cache_creation"
    return (path,) if details == "input_token_details" and path in usage.leaves else ()


def _openai_tools(usage: UsageObject) -> dict[str, Decimal]:
    """Calls of xAI's and OpenRouter's own tools."""
    tools = "server_side_tool_usage_details"
    return {
        "web_searches": usage.count(
            f"{tools}.web_search_calls", "server_tool_use.web_search_requests", "num_search_queries"
        ),
        "social_searches": usage.count(f"{tools}.x_search_calls"),
        "code_executions": usage.count(f"{tools}.code_interpreter_calls", f"{tools}.code_execution_calls"),
        "storage_searches": usage.count(f"{tools}.file_search_calls", f"{tools}.collections_search_calls"),
        # Files attached to messages are searched by a tool of their own.
        "attachment_searches": usage.count(f"{tools}.document_search_calls", f"{tools}.attachment_search_calls"),
    }


def _cohere(usage: UsageObject) -> ReadUsage:
    """Cohere's billed_units; what it counted itself stands beside them in tokens."""
    counts = {
        "input_tokens": usage.count("billed_units.input_tokens"),
        "output_tokens": usage.count("billed_units.output_tokens"),
        "rerank_searches": usage.count("billed_units.search_units"),
        "images": usage.count("billed_units.images"),
    }
    usage.apart = ("tokens.", "cached_tokens")
    return read_as(usage, counts, UsageConvention.DISJOINT, "cohere")


def _spoken(usage: UsageObject) -> ReadUsage:
    """OpenAI's transcriptions that are billed by their length."""
    return read_as(usage, {"input_audio_seconds": usage.count("seconds")}, UsageConvention.DISJOINT, "openai")


def _anthropic(usage: UsageObject) -> ReadUsage:
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
    return read_as(usage, counts, UsageConvention.DISJOINT, "anthropic")


def _gemini(usage: UsageObject) -> ReadUsage:
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
    return read_as(usage, counts, UsageConvention.INCLUSIVE, "google", channel=channel)


def _bedrock(usage: UsageObject) -> ReadUsage:
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
    return read_as(usage, counts | lives | {"cache_write_tokens": rest}, UsageConvention.DISJOINT, "aws")


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
        tokens = checked(part.get("inputTokens", 0), f"cacheDetails.{place}.inputTokens")
        lives[name] = lives.get(name, Decimal(0)) + tokens
    return lives


def _any_of(*names: str) -> Callable[[Mapping[str, Any]], bool]:
    signs = frozenset(names)
    return lambda raw: not signs.isdisjoint(raw)


# The first sign that a key gives decides; Anthropic's words come before those that OpenAI's Responses share with it.
_READERS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Callable[[UsageObject], ReadUsage]], ...] = (
    (_any_of("promptTokenCount", "prompt_token_count", "candidatesTokenCount", "candidates_token_count"), _gemini),
    (_any_of("inputTokens", "outputTokens", "inputTokenCount", "outputTokenCount"), _bedrock),
    (_any_of("prompt_tokens", "completion_tokens", "prompt_cache_hit_tokens", "prompt_cache_miss_tokens"), _openai),
    (_any_of("input_tokens_details", "input_token_details"), _openai),
    (_any_of("billed_units"), _cohere),
    (lambda raw: raw.get("type") == "duration", _spoken),
    (
        _any_of("cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "server_tool_use",
                "inference_geo"),
        _anthropic,
    ),
    (_any_of("output_tokens_details", "output_token_details", "total_tokens"), _openai),
    (_any_of("service_tier"), _anthropic),
)  # fmt: skip
