"""The `usage` of a bill: counts by our meters, or the usage object that a provider returned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

from django.utils.translation import gettext as _
from pydantic import Field

from catalog.spelling import near_matches
from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import meter_of_usage
from estimator.engine.cost.usage_object import MAX_COUNT, ReadUsage
from estimator.engine.cost.usage_objects import read_usage
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, ResolutionError
from estimator.question.fields import SMALLEST

USAGE_KEYS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
    "cache_write_1800s_tokens", "cache_write_tokens", "reasoning_tokens", "input_audio_tokens", "output_audio_tokens",
    "input_image_tokens", "input_video_tokens", "web_searches", "images", "cache_storage_token_hours",
    "audio_seconds", "code_executions", "container_sessions", "container_hours", "storage_searches",
    "attachment_searches", "storage_gb_days", "social_searches", "maps_searches",
)  # fmt: skip
UsageField = Annotated[
    dict[str, Any],
    Field(
        min_length=1,
        max_length=60,
        description=(
            "Counts of ONE request: input_tokens (fresh), cache_read_tokens, cache_write_5m_tokens, "
            "cache_write_1h_tokens, cache_write_tokens, output_tokens, reasoning_tokens, input_audio_tokens, "
            "web_searches, code_executions, container_sessions, container_hours, storage_gb_days, images, "
            "cache_storage_token_hours, audio_seconds, …; or the usage object as the provider returned it: OpenAI "
            "(chat, Responses), Anthropic, Gemini (usageMetadata), Bedrock, DeepSeek, xAI, "
            "Moonshot, Qwen, OpenRouter, Perplexity, Mistral, Groq, Cohere."
        ),
        examples=[{"input_tokens": 1200, "cache_read_tokens": 500, "output_tokens": 300}],
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counts by usage key, how they relate to one another, and the provider's object they were read from."""

    quantities: Mapping[str, Decimal]
    convention: UsageConvention
    read: ReadUsage | None = None


def counted(usage: Mapping[str, Any], convention: UsageConvention | None) -> Counted:
    """The counts, exact. A provider's object says itself how its counts relate; our own keys are disjoint if not told.

    Raises:
        ResolutionError: A key that no meter counts, or a value that is no count.
    """
    try:
        read = read_usage(usage)
    except InvalidInputError as wrong:
        path = ("usage", *(wrong.field or "").split("."))
        raise ResolutionError(
            [Fault(path=path, code="invalid_type", detail=_("Cannot be read: %(why)s.") % {"why": wrong})]
        ) from None
    if read is not None:
        return Counted(quantities=read.counts, convention=read.convention, read=read)
    faults = [fault for key, value in usage.items() if (fault := _fault(key, value)) is not None]
    if faults:
        raise ResolutionError(faults)
    quantities = {key: exact(count) for key, count in usage.items()}
    return Counted(quantities=quantities, convention=convention or UsageConvention.DISJOINT)


def _fault(key: str, value: Any) -> Fault | None:
    path = ("usage", key)
    try:
        meter_of_usage(key)
    except InvalidInputError:
        near = near_matches(key, USAGE_KEYS)
        return Fault(path=path, code="unknown_field", detail=_("No meter counts this."), near=near)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Fault(path=path, code="invalid_type", detail=_("Must be a number."))
    if not math.isfinite(value):
        return Fault(path=path, code="out_of_range", detail=_("Must be a finite number."))
    if value < 0:
        return Fault(path=path, code="out_of_range", detail=_("Must be at least %(limit)s.") % {"limit": 0})
    if value > MAX_COUNT:
        return Fault(
            path=path, code="out_of_range", detail=_("Must be at most %(limit)s.") % {"limit": f"{MAX_COUNT:.0e}"}
        )
    if 0 < value < SMALLEST:
        detail = _("Must be 0 or at least %(least)g.") % {"least": SMALLEST}
        return Fault(path=path, code="out_of_range", detail=detail)
    return None


def exact(number: float) -> Decimal:
    """A JSON number as the decimal it was written as."""
    return Decimal(int(number)) if float(number).is_integer() else Decimal(repr(float(number)))
