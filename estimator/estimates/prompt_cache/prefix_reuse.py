"""Gain of a replica whose engine finds a shared prefix in its own cache."""

from dataclasses import dataclass, replace

from estimator.engine.errors import MissingFigureError
from estimator.engine.explain import Step
from estimator.estimates.throughput.replica import ReplicaSpeed, replica_speed
from estimator.resolvers.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixGain:
    """Speed without the cache, of requests that hit, and of the mix of hits and misses."""

    cached_tokens: int
    hit_rate: float
    concurrency: int
    without: ReplicaSpeed
    hit: ReplicaSpeed
    mean: ReplicaSpeed

    @property
    def basis(self) -> str:
        """What the times rest on."""
        return self.without.basis

    @property
    def kv_cache_tokens_shared(self) -> int:
        """Tokens of KV cache held once instead of once per concurrent request that hits."""
        return int(self.cached_tokens * max(self.concurrency - 1, 0) * self.hit_rate)

    def explain(self) -> list[Step]:
        """Prefill seconds gained."""
        if self.without.prefill_s is None or self.hit.prefill_s is None:
            return []
        return [
            Step.worked(
                name="prefill_s_gained",
                formula="prefill_s_without − prefill_s_with",
                values={"prefill_s_without": self.without.prefill_s, "prefill_s_with": self.hit.prefill_s},
                value=self.without.prefill_s - self.hit.prefill_s,
                unit="s",
                source="speed model of the engine profile, with and without the cached prefix",
            )
        ]


def prefix_gain(plan: Plan, *, cached_tokens: int, hit_rate: float) -> PrefixGain:
    """Speed of a replica with `cached_tokens` of each prompt found by a share `hit_rate` of requests.

    Args:
        plan: The replica and its load; the workload's input is the whole prompt.
        cached_tokens: Tokens of the prefix that the cache takes, below the prompt.
        hit_rate: Share of requests that find them, [0, 1].
    """
    workload = plan.workload
    if workload is None:
        raise MissingFigureError("a workload is needed", field="workload")
    # At least the last token is always computed: it gives the first token of the answer.
    share = min(cached_tokens, workload.input_tokens - 1) / workload.input_tokens

    def at(rate: float) -> ReplicaSpeed:
        return replica_speed(replace(plan, workload=workload.model_copy(update={"prefix_cache_hit_rate": rate})))

    return PrefixGain(
        cached_tokens=cached_tokens,
        hit_rate=hit_rate,
        concurrency=workload.concurrency,
        without=at(0.0),
        hit=at(share),
        mean=at(share * hit_rate),
    )
