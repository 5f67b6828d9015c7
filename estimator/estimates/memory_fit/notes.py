"""What a memory estimate says in words: why a figure differs from a well-known formula, and what it leaves out."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from estimator.engine.memory.plan import holds_experts_on_host, holds_tables_on_host
from estimator.engine.memory.replica_cache import grows_with_prompt
from estimator.estimates.memory_fit.compute import CacheFigures, MemoryEstimate, host_decides

_GIB = 2**30
_SIXTEEN_BIT = ("fp32", "bf16", "fp16")
_SEEN_ABOVE_BUDGET_BYTES = 1.37 * _GIB
"""What a server has been measured to take above its own budget: 31.18 of 29.81 GiB, graphs of 62 MiB (vLLM pull request
51590, gpt-oss-120b on eight cards of 31.38 GiB at 0.95)."""


def memory_notes(estimate: MemoryEstimate) -> Iterator[str]:
    """What to know about the cache figures."""
    plan, cache = estimate.plan, estimate.cache
    yield from _formula(cache)
    if plan.parallelism.tp > 1 and cache.attention == "MLA":
        yield _("A latent cache is not split by tensor parallelism: every GPU holds all of it.")
    if _narrow(plan.precision.weights) and not _narrow(plan.precision.kv_cache):
        text = _(
            "The format of the weights (%(weights)s) is not that of the cache: it stays in %(cache)s unless "
            "precision.kv_cache says otherwise."
        )
        yield text % {"weights": plan.precision.weights, "cache": plan.precision.kv_cache}
    yield from _windows(estimate)
    if grows_with_prompt(estimate.memory.policy, estimate.memory.overrides):
        yield _(
            "Without chunked prefill a whole prompt is one pass: the activations follow the longest prompt, not only "
            "the cache. memory.max_batched_tokens (chunked prefill) bounds them."
        )
    if estimate.fit.rank.outside_graph_bytes:
        yield _("The engine pays captured graphs from outside its budget: they count inside unmanaged.")
    if plan.engine.kind == "serving":
        yield _(
            "An engine takes its whole budget at start: what the driver shows as used holds weights, activations, "
            "graphs, allocator and all of the cache, whatever the load."
        )


def _narrow(name: str) -> bool:
    return name not in _SIXTEEN_BIT


def _formula(cache: CacheFigures) -> Iterator[str]:
    """Why the formula with all query heads (or the hidden size) is another figure."""
    own = cache.bytes_per_token + cache.window_bytes_per_token
    if not own or cache.mha_bytes_per_token <= own:
        return
    values = {
        "attention": cache.attention,
        "own": cache.bytes_per_token,
        "window": cache.window_bytes_per_token,
        "tokens": cache.window_tokens,
        "mha": cache.mha_bytes_per_token,
        "times": cache.mha_bytes_per_token / own,
    }
    if cache.window_bytes_per_token:
        text = _(
            "The cache follows the model's attention (%(attention)s): %(own)s bytes a token in layers that grow, and "
            "%(window)s bytes more for each token that windowed layers keep (at most the last %(tokens)s). The "
            "formula of multi-head attention in every layer would give %(mha)s bytes a token, and is wrong for this "
            "model."
        )
    elif cache.attention == "MLA":
        text = _(
            "The cache follows the model's attention (%(attention)s), %(own)s bytes a token: one latent a layer for "
            "all heads, not a K and a V. The formula of multi-head attention would give %(mha)s bytes, %(times).1f "
            "times as much, and is wrong for this model."
        )
    else:
        text = _(
            "The cache follows the model's attention (%(attention)s), %(own)s bytes a token: its KV heads, not the "
            "hidden size. The formula of multi-head attention would give %(mha)s bytes, %(times).1f times as much, "
            "and is wrong for this model."
        )
    yield text % values


def _windows(estimate: MemoryEstimate) -> Iterator[str]:
    """What the engine keeps of windowed layers beyond the window itself."""
    allocation = estimate.fit.rank.allocation
    window = estimate.cache.window_tokens
    if window is None:
        return
    kept = allocation.windowed_tokens
    if kept is None:
        yield _("This engine keeps windowed layers at full length.")
    elif kept > window + allocation.main_block_tokens:
        text = _(
            "This engine keeps up to %(kept)s tokens of windowed layers (window %(window)s, and the tokens of one "
            "pass): engine_allocated_bytes_per_sequence and capacity_tokens count them for each sequence, as the "
            "server prints it; in max_sequences all sequences share the tokens of one pass."
        )
        yield text % {"kept": round(kept), "window": window}


def memory_warnings(estimate: MemoryEstimate) -> Iterator[str]:
    """What may end a server that this estimate lets start."""
    rank = estimate.fit.rank
    if estimate.plan.engine.kind != "serving":
        return
    yield from _shared_memory(estimate)
    if estimate.memory.policy.utilization_of_free:
        return
    outside = rank.outside_activation_bytes + rank.outside_graph_bytes
    if outside > rank.unmanaged_bytes:
        text = _(
            "The engine pays %(outside)s bytes of activations and graphs from outside its budget, but only %(left)s "
            "are left there: it runs out of memory while serving. Lower memory.utilization."
        )
        yield text % {"outside": outside, "left": rank.unmanaged_bytes}
        return
    asked = estimate.memory.overrides.utilization
    raised = asked is not None and asked > estimate.memory.policy.share_of_memory(rank.memory_bytes)
    if raised and rank.unmanaged_bytes - outside < _SEEN_ABOVE_BUDGET_BYTES:
        text = _(
            "Only %(left)s bytes stay free outside the budget and the captured graphs; servers have been measured "
            "1.37 GiB above their own budget (vLLM pull request 51590). Lower memory.utilization, or keep a reserve "
            "with memory.runtime_overhead_bytes."
        )
        yield text % {"left": rank.unmanaged_bytes - outside}


def _shared_memory(estimate: MemoryEstimate) -> Iterator[str]:
    """What public logs had less than is said, where host and GPU have one memory and the cache is not observed."""
    if not host_decides(estimate.plan):
        return
    yield _(
        "This GPU shares its memory with the host: what the host holds while the server starts (files of the weights "
        "in its page cache, compilation) counts as taken, and the cache gets less than is said. Public logs of GB10: "
        "12.5 GiB less of 35 (vLLM 0.29, MiniMax-M2.7), 46 less of 52 (TensorRT-LLM 1.1, gpt-oss-120b), nothing in "
        "others. How much it is cannot be known from here, so that nothing is said to fit more than tightly: drop the "
        "page cache before the start, and state what the server prints with memory.kv_cache_tokens_observed."
    )


def memory_not_modelled(estimate: MemoryEstimate) -> Iterator[str]:
    """What the ledger leaves out."""
    plan = estimate.plan
    yield _("Fragmentation of the allocator; memory of other processes on the GPU.")
    if plan.speculative is not None and plan.draft_model is None and not plan.mtp_layers_loaded:
        yield _(
            "Weights and cache of the draft: name speculative.draft_model, or mtp_layers_loaded, and they are counted."
        )
    if plan.engine.engine == "vllm" and plan.model.architecture.vision_audio_parameters:
        yield _(
            "The peak of the towers on their largest item at start: 2.8 GiB less cache than said was measured with "
            "passes of 16,384 tokens, 4.4 GiB in another log (Gemma 4, vLLM 0.20 and 0.21)."
        )
    if plan.engine.engine == "tensorrt-llm":
        yield _(
            "The peak of the start's trial pass, which takes from the cache: the profile counts 1 GiB for it and the "
            "runtime; a log of DeepSeek R1 on eight H200 with passes of 16,384 tokens had 9.5 GiB less cache than said."
        )
    groups = plan.model.architecture.layer_groups
    if plan.lora is not None and any(group.feed_forward and group.feed_forward.experts for group in groups):
        yield _("Adapters of routed experts: those of attention and dense MLPs are counted.")
    if holds_tables_on_host(estimate.memory):
        yield _("Reads of n-grams from host memory: their time is taken for that of the GPU's own memory.")
    if holds_experts_on_host(estimate.memory):
        yield _(
            "Speed with experts in host memory, which the host's memory and threads decide; copies of experts on the "
            "GPU while a prompt passes."
        )
    elif estimate.fit.ledger.slack_bytes < 0:
        yield _not_moved(estimate)


def _not_moved(estimate: MemoryEstimate) -> str:
    """Weights in host memory where nothing fits: of one engine the setting that moves experts there."""
    groups = estimate.plan.model.architecture.layer_groups
    if estimate.memory.policy.experts_on_host and any(one.feed_forward and one.feed_forward.experts for one in groups):
        return _("Weights in host memory: nothing here is moved off the GPU; memory.n_cpu_moe moves experts.")
    return _("Weights in host memory (offloading): nothing here is moved off the GPU.")
