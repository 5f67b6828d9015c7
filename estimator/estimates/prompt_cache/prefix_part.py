"""The self-hosted side of prompt caching: prefill time, TTFT and throughput gained by the engine's own prefix cache."""

from collections.abc import Iterator

from django.utils.translation import gettext as _
from pydantic import Field

from estimator.engine.explain import Step
from estimator.engine.prompt_cache.saving import Prompt
from estimator.engine.specs import WorkloadMode
from estimator.estimates.answers import BASIS_HELP, Basis, ResponsePart
from estimator.estimates.endpoint import Asked
from estimator.estimates.prompt_cache.prefix_reuse import PrefixGain, prefix_gain
from estimator.estimates.throughput.idle import with_idle_settings
from estimator.estimates.unused import Unused, unused_by_speed, unused_in_plan, unused_warnings
from estimator.question.fields import PositiveShare
from estimator.question.plan import PlanRequest
from estimator.question.workload import Workload
from estimator.resolvers.plan import Resolved
from estimator.resolvers.resolve import resolve_plan

BLOCK_TOKENS = 16


class PrefixReusePart(PlanRequest):
    """The replica that serves the prompts; lengths are those of the request, the load that of `workload`."""

    hit_rate: PositiveShare = Field(
        default=1.0, description="Share of requests whose prefix is still in the engine's cache, above 0 to 1."
    )


class PrefixReuse(ResponsePart):
    """What the engine's prefix cache gains; times of one replica at the middle of the band."""

    basis: Basis = Field(description=BASIS_HELP)
    cached_tokens: int = Field(description="Prefix tokens the cache takes, whole blocks of 16.")
    hit_probability: float = Field(description="Share of requests that find the prefix, 0 to 1.")
    prefill_s_without: float | None = Field(description="Prefill of a whole prompt, seconds.")
    prefill_s_with: float | None = Field(description="Prefill behind a cached prefix, seconds.")
    prefill_s_gained: float | None = Field(description="Seconds of prefill a hit saves.")
    ttft_s_without: float | None = Field(description="Time to first token without prefix caching, seconds.")
    ttft_s_with: float | None = Field(description="Time to first token with it, mean over hits and misses, seconds.")
    ttft_s_gained: float | None = Field(description="Their difference, seconds.")
    requests_per_s_without: float | None = Field(description="Requests per second without prefix caching.")
    requests_per_s_with: float | None = Field(description="Requests per second with it.")
    kv_cache_tokens_shared: int = Field(
        description="KV cache that concurrent requests need not hold twice, tokens: prefix · (concurrency − 1) · hits."
    )
    reason: str | None = Field(description="Why figures are null.")


def reuse_answer(
    part: PrefixReusePart, prompt: Prompt, variable_part_first: bool, asked: Asked
) -> tuple[PrefixReuse, list[Resolved], list[Step]]:
    """The gain, what it rests on and its working."""
    load = part.workload or Workload(mode=WorkloadMode.SINGLE_STREAM)
    lengths = {"input_tokens": max(prompt.prompt_tokens, 1), "output_tokens": max(prompt.output_tokens, 1)}
    plan = resolve_plan(part.model_copy(update={"workload": load.model_copy(update=lengths)}), asked.facts)
    plan = with_idle_settings(plan, "self_hosted.")
    cached = 0 if variable_part_first else prompt.prefix_tokens // BLOCK_TOKENS * BLOCK_TOKENS
    gain = prefix_gain(plan, cached_tokens=cached, hit_rate=part.hit_rate if cached else 0.0)
    notes = Resolved(
        not_modelled=(_("eviction of the prefix by other traffic: give its share as hit_rate"),),
        assumptions=(_("The engine caches whole blocks of 16 tokens."),),
        warnings=unused_warnings(part, (*_unused(), *unused_in_plan(plan)), prefix="self_hosted."),
    )
    return _part(gain), [plan, notes], gain.explain() if asked.explain else []


def _unused() -> Iterator[Unused]:
    yield from unused_by_speed()
    for name in ("input_tokens", "output_tokens"):
        yield f"workload.{name}", _("the lengths are those of the request")
    yield "workload.prefix_cache_hit_rate", _("what is found follows from prefix_tokens and hit_rate")
    for path in ("workload.batch_sizes", "slo", "power", "speculative"):
        yield path, _("the gain of a cached prefix at one load does not depend on it")


def _part(gain: PrefixGain) -> PrefixReuse:
    return PrefixReuse.model_validate(
        {
            "basis": gain.basis,
            "cached_tokens": gain.cached_tokens,
            "hit_probability": gain.hit_rate,
            "prefill_s_without": gain.without.prefill_s,
            "prefill_s_with": gain.hit.prefill_s,
            "prefill_s_gained": _less(gain.without.prefill_s, gain.hit.prefill_s),
            "ttft_s_without": gain.without.ttft_s,
            "ttft_s_with": gain.mean.ttft_s,
            "ttft_s_gained": _less(gain.without.ttft_s, gain.mean.ttft_s),
            "requests_per_s_without": gain.without.requests_per_s,
            "requests_per_s_with": gain.mean.requests_per_s,
            "kv_cache_tokens_shared": gain.kv_cache_tokens_shared,
            "reason": gain.without.reason,
        }
    )


def _less(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else before - after
