"""Usage objects as providers return them, read into our counts: what each holds, by each provider's own page."""

from decimal import Decimal

import pytest

from estimator.engine.cost.api import UsageConvention, disjoint_usage
from estimator.engine.cost.usage_objects import read_usage
from estimator.engine.errors import InvalidInputError

D = Decimal
OPENAI_CHAT = {
    "prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306,
    "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 100, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0,
    },
}  # fmt: skip
# object → disjoint counts that are not 0
OBJECTS = {
    "OpenAI chat": (OPENAI_CHAT, {"input": 86, "cache_read": 1920, "output": 200, "reasoning": 100}),
    "OpenAI Responses": (
        {"input_tokens": 1500, "input_tokens_details": {"cached_tokens": 1000, "cache_write_tokens": 400},
         "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 1550},
        {"input": 100, "cache_read": 1000, "cache_write": 400, "output": 30, "reasoning": 20},
    ),
    "Anthropic": (
        {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 300,
         "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200}, "output_tokens": 5,
         "server_tool_use": {"web_search_requests": 2}, "service_tier": "standard"},
        {"input": 10, "cache_read": 200, "cache_write_5m": 100, "cache_write_1h": 200, "output": 5, "web_search": 2},
    ),
    "Anthropic before lives": (
        {"input_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 300, "output_tokens": 5},
        {"input": 10, "cache_write_5m": 300, "output": 5},
    ),
    "Gemini by modality": (
        {"promptTokenCount": 1258, "cachedContentTokenCount": 500, "candidatesTokenCount": 10, "thoughtsTokenCount": 40,
         "toolUsePromptTokenCount": 30, "totalTokenCount": 1338,
         "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1000}, {"modality": "IMAGE", "tokenCount": 258}],
         "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 400}, {"modality": "IMAGE", "tokenCount": 100}]},
        # 1,288 in all: 400 text and 100 image cached, 158 image fresh, 630 the rest
        {"input": 630, "input_image": 158, "cache_read": 400, "cache_read_image": 100, "output": 10, "reasoning": 40},
    ),
    "Bedrock with lives": (
        {"inputTokens": 10, "outputTokens": 5, "totalTokens": 315, "cacheReadInputTokens": 100,
         "cacheWriteInputTokens": 200,
         "cacheDetails": [{"ttl": "1h", "inputTokens": 150}, {"ttl": "5m", "inputTokens": 50}]},
        {"input": 10, "cache_read": 100, "cache_write_1h": 150, "cache_write_5m": 50, "output": 5},
    ),
    "Bedrock without": (
        {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 200},
        {"input": 10, "cache_read": 100, "cache_write": 200, "output": 5},
    ),
    "DeepSeek": (
        {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050, "prompt_cache_hit_tokens": 600,
         "prompt_cache_miss_tokens": 400, "completion_tokens_details": {"reasoning_tokens": 30}},
        {"input": 400, "cache_read": 600, "output": 20, "reasoning": 30},
    ),
    # xAI's chat: 32 + 9 + 94 = 135, so the reasoning comes on top of completion_tokens
    "xAI": (
        {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
         "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 6},
         "completion_tokens_details": {"reasoning_tokens": 94}, "num_sources_used": 0,
         "server_side_tool_usage_details": {"web_search_calls": 3, "x_search_calls": 1}},
        {"input": 26, "cache_read": 6, "output": 9, "reasoning": 94, "web_search": 3, "social_search": 1},
    ),
    # 2 of its own files, 1 of a collection; calls of MCP have no fee
    "xAI's tools": (
        {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150, "input_tokens_details": {"cached_tokens": 0},
         "num_server_side_tools_used": 5, "cost_in_usd_ticks": 37756000,
         "server_side_tool_usage_details": {"file_search_calls": 1, "document_search_calls": 2, "mcp_calls": 2}},
        {"input": 100, "output": 50, "storage_search": 1, "attachment_search": 2},
    ),
    # the Realtime API says token_details: 119 + 13 in, of them 64 of text from the cache; 30 + 91 out
    "OpenAI Realtime": (
        {"total_tokens": 253, "input_tokens": 132, "output_tokens": 121,
         "input_token_details": {"text_tokens": 119, "audio_tokens": 13, "cached_tokens": 64,
                                 "cached_tokens_details": {"text_tokens": 64, "audio_tokens": 0}},
         "output_token_details": {"text_tokens": 30, "audio_tokens": 91}},
        {"input": 55, "cache_read": 64, "input_audio": 13, "output": 30, "output_audio": 91},
    ),
    "OpenAI transcription": (
        {"type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
         "output_tokens": 45, "total_tokens": 59},
        {"input_audio": 14, "output": 45},
    ),
    "OpenAI transcription by its length": ({"type": "duration", "seconds": 27}, {"input_audio_second": 27}),
    "an embedding that tells its total alone": ({"total_tokens": 100}, {"input": 100}),
    "Groq, whose times are no counts": (
        {"queue_time": 0.018, "prompt_tokens": 18, "prompt_time": 0.001, "completion_tokens": 556,
         "completion_time": 0.46, "total_tokens": 574, "total_time": 0.47},
        {"input": 18, "output": 556},
    ),
    "Cohere": (
        {"billed_units": {"input_tokens": 5, "output_tokens": 418}, "tokens": {"input_tokens": 71}},
        {"input": 5, "output": 418},
    ),
    "Cohere Rerank": ({"billed_units": {"search_units": 3}}, {"rerank_search": 3}),
    # its reasoning and citations stand beside the answer and the total
    "Perplexity deep research": (
        {"prompt_tokens": 33, "completion_tokens": 7163, "total_tokens": 7196, "citation_tokens": 20016,
         "num_search_queries": 18, "reasoning_tokens": 73997},
        {"input": 33, "output": 7163, "reasoning": 73997, "citation": 20016, "web_search": 18},
    ),
    "Mistral with speech": (
        {"prompt_audio_seconds": 12, "prompt_tokens": 6, "completion_tokens": 27, "total_tokens": 33},
        {"input": 6, "output": 27, "input_audio_second": 12},
    ),
    "Mistral without": (
        {"prompt_audio_seconds": {}, "prompt_tokens": 6, "completion_tokens": 27, "total_tokens": 33},
        {"input": 6, "output": 27},
    ),
    "LangChain's words for OpenAI's": (
        {"input_tokens": 100, "output_tokens": 50, "total_tokens": 150, "output_token_details": {"reasoning": 5},
         "input_token_details": {"cache_read": 60, "cache_creation": 10, "audio": 4}},
        {"input": 26, "cache_read": 60, "cache_write": 10, "input_audio": 4, "output": 45, "reasoning": 5},
    ),
    "Qwen implicit": (
        {"prompt_tokens": 3019, "completion_tokens": 104, "total_tokens": 3123,
         "prompt_tokens_details": {"cached_tokens": 2048}},
        {"input": 971, "cache_read": 2048, "output": 104},
    ),
    "Qwen explicit": (
        {"prompt_tokens": 3019, "completion_tokens": 104, "total_tokens": 3123,
         "prompt_tokens_details": {"cached_tokens": 2000, "cache_type": "ephemeral", "cache_creation_input_tokens": 500,
                                   "cache_creation": {"ephemeral_5m_input_tokens": 500}}},
        {"input": 519, "cache_read_explicit": 2000, "cache_write_5m": 500, "output": 104},
    ),
    "OpenRouter": (
        {"prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196, "cost": 0.95, "is_byok": False,
         "cost_details": {"upstream_inference_cost": 19},
         "prompt_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 50, "audio_tokens": 0},
         "completion_tokens_details": {"reasoning_tokens": 0}},
        {"input": 44, "cache_read": 100, "cache_write": 50, "output": 2},
    ),
    "Moonshot": (
        {"prompt_tokens": 300, "completion_tokens": 20, "total_tokens": 320, "cached_tokens": 256},
        {"input": 44, "cache_read": 256, "output": 20},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_read_in_the_words_of_its_provider(name):
    raw, expected = OBJECTS[name]
    found = read_usage(raw)
    counts = {meter: count for meter, count in disjoint_usage(found.counts, found.convention).items() if count}
    assert counts == {meter: D(count) for meter, count in expected.items()}
    assert found.ignored == ()


def test_our_own_keys_are_nobodys_object():
    assert read_usage({"input_tokens": 10, "cache_write_tokens": 20, "output_tokens": 5}) is None
    assert read_usage({"input_tokens": 10, "output_tokens": 5}) is None


def test_what_nobody_bills_is_named():
    found = read_usage(OPENAI_CHAT | {"teleportation_tokens": 7})
    assert found.ignored == ("teleportation_tokens",)


def test_the_way_it_was_sent_is_read():
    found = read_usage({"input_tokens": 1, "cache_read_input_tokens": 2, "output_tokens": 3, "service_tier": "batch",
                        "inference_geo": "us"})  # fmt: skip
    assert (found.channel, found.place, found.convention) == (
        "batch", "inference_geo=us", UsageConvention.DISJOINT,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"prompt_tokens": -1}, "prompt_tokens"),
        ({"prompt_tokens": "many"}, "prompt_tokens"),
        ({"prompt_tokens": True}, "prompt_tokens"),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": [1]}}, "prompt_tokens_details.cached_tokens"),
        ({"promptTokenCount": 5, "promptTokensDetails": ["TEXT"]}, "promptTokensDetails.0"),
    ],
)
def test_what_is_no_count_is_refused_by_its_name(raw, field):
    with pytest.raises(InvalidInputError) as refused:
        read_usage(raw)
    assert refused.value.field == field


def test_what_lives_leave_of_a_whole_was_written_for_the_default_one():
    anthropic = read_usage(
        {"input_tokens": 0, "cache_creation_input_tokens": 300, "cache_creation": {"ephemeral_1h_input_tokens": 100}}
    )
    assert (anthropic.counts["cache_write_5m_tokens"], anthropic.counts["cache_write_1h_tokens"]) == (200, 100)
    bedrock = read_usage(
        {"inputTokens": 1, "cacheWriteInputTokens": 300, "cacheDetails": [{"ttl": "1h", "inputTokens": 100}]}
    )
    assert (bedrock.counts["cache_write_tokens"], bedrock.counts["cache_write_1h_tokens"]) == (200, 100)


def test_a_life_of_its_own_is_a_meter_of_its_own():
    read = read_usage({"inputTokens": 1, "cacheDetails": [{"ttl": "2h", "inputTokens": 100}]})
    assert read.counts["cache_write_7200s_tokens"] == 100


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"inputTokens": 1, "cacheDetails": 5}, "cacheDetails"),
        ({"inputTokens": 1, "cacheDetails": ["5m"]}, "cacheDetails.0"),
        ({"inputTokens": 1, "cacheDetails": [{"ttl": "for ever", "inputTokens": 1}]}, "cacheDetails.0"),
        ({"inputTokens": 1, "cacheDetails": [{"ttl": "5m", "inputTokens": -1}]}, "cacheDetails.0.inputTokens"),
        ({"prompt_tokens": 5, "prompt_tokens_details": [1]}, "prompt_tokens_details"),
        ({"prompt_tokens": 5, "completion_tokens_details": 7}, "completion_tokens_details"),
        ({"promptTokenCount": 5, "promptTokensDetails": "IMAGE"}, "promptTokensDetails"),
        ({"input_tokens": 5, "cache_creation": 3}, "cache_creation"),
        ({"input_tokens": 5, "server_tool_use": "web"}, "server_tool_use"),
    ],
)
def test_a_part_that_is_no_part_is_refused_by_its_name(raw, field):
    with pytest.raises(InvalidInputError) as refused:
        read_usage(raw)
    assert refused.value.field == field


def test_a_modality_that_stands_twice_is_summed():
    image = {"modality": "IMAGE", "tokenCount": 30}
    assert (
        read_usage({"promptTokenCount": 100, "promptTokensDetails": [image, image]}).counts["input_image_tokens"] == 60
    )
