"""From a plan to the engine: the key whose constants are folded, and the loads as rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from estimator.engine.codes import MODE_CODES
from estimator.engine.errors import InvalidInputError
from estimator.engine.forward_pass.kernel_tables import DEFAULT_OPERATORS, OperatorConstants
from estimator.engine.memory.fit import memory_fit
from estimator.engine.specs import Workload, WorkloadMode
from estimator.engine.speed.prepared import Key, PreparedKey, prepare
from estimator.engine.speed.sweep import Rows
from estimator.resolvers.plan import Plan, ResolvedModel
from estimator.services.memory_plan import load_of, memory_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheBudget:
    """Bytes of one rank that the engine gives to the KV cache, None for the speed profile's rule; what it rests on."""

    bytes_per_rank: float | None
    basis: str

    @property
    def observed(self) -> bool:
        """Whether a server printed it."""
        return self.basis == "observed"


def prepared_key(
    plan: Plan,
    budget: CacheBudget,
    *,
    kv_settings_assumed: bool = False,
    constants: OperatorConstants = DEFAULT_OPERATORS,
) -> PreparedKey:
    """The folded key of a plan.

    Args:
        plan: resolved model, GPU, engine and settings.
        budget: bytes of the KV cache (`cache_budget`).
        kv_settings_assumed: whether KV format or memory fraction are defaults that the request did not state.
        constants: operator constants; others than the shipped ones while constants are fitted.

    Raises:
        EngineError: a format or figure the engine does not know.
    """
    ideal = plan.engine.kind == "ideal"
    return prepare(
        Key(
            architecture=plan.model.architecture,
            gpu=plan.gpu.spec,
            engine=plan.engine,
            precision=plan.precision,
            parallelism=plan.parallelism,
            cache_budget_bytes=budget.bytes_per_rank,
            memory_utilization=plan.memory.utilization,
            max_num_seqs=plan.memory.max_num_seqs,
            max_batched_tokens=plan.memory.max_batched_tokens,
            kv_settings_assumed=kv_settings_assumed and not ideal and not budget.observed,
        ),
        constants,
    )


def cache_budget(plan: Plan) -> CacheBudget:
    """The budget of the KV cache of the worst rank.

    What the server printed at start, if given. The ledger of the memory model where start-up logs of this engine stand
    behind it, for `ideal`, and where the request adds to the ledger (overheads, adapters, drafts). Otherwise the rule
    that the speed profile was calibrated with.
    """
    policy = plan.engine.memory
    if policy is None:
        return CacheBudget(bytes_per_rank=None, basis="assumption")
    memory = memory_plan(plan)
    sequences, tokens = load_of(plan)
    fit = memory_fit(memory, sequences=sequences, context_tokens=tokens)
    if fit.observed:
        return CacheBudget(bytes_per_rank=float(fit.capacity_bytes), basis="observed")
    added = plan.memory.runtime_overhead_bytes is not None or plan.lora or plan.draft_model or plan.mtp_layers_loaded
    # Where a whole prompt is one batch the ledger has a budget for each length: one rule for all rows is kept there.
    logged = policy.basis == "calibrated" and not policy.batched_tokens_follow_context
    if logged or plan.engine.serving is None or added:
        return CacheBudget(bytes_per_rank=float(fit.capacity_bytes), basis=policy.basis)
    if fit.rank.weights_bytes >= fit.rank.usable_bytes:
        # The files of a packed checkpoint may be larger than the formula of the speed profile's rule says.
        return CacheBudget(bytes_per_rank=0.0, basis=policy.basis)
    return CacheBudget(bytes_per_rank=None, basis=policy.basis)


def draft_key(plan: Plan) -> PreparedKey | None:
    """The folded key of the draft model on the same GPUs; its heads may not divide by tp, so it runs on one."""
    if plan.draft_model is None:
        return None
    return _beside(plan, plan.draft_model)


def _beside(plan: Plan, model: ResolvedModel) -> PreparedKey:
    degrees = plan.parallelism
    heads = [group.attention.query_heads for group in model.architecture.layer_groups if group.attention]
    splits = all(count % degrees.tp == 0 for count in heads)
    return prepare(
        Key(
            architecture=model.architecture,
            gpu=plan.gpu.spec,
            engine=plan.engine,
            precision=plan.precision,
            parallelism=type(degrees)(tp=degrees.tp if splits else 1),
        )
    )


def workload_of(plan: Plan) -> Workload:
    """The plan's workload.

    Raises:
        InvalidInputError: the plan has none.
    """
    if plan.workload is None:
        raise InvalidInputError("a workload is needed", field="workload")
    return plan.workload


def rows_of(workload: Workload, concurrency: Any, *, mode: WorkloadMode | None = None, rate: Any = None) -> Rows:
    """Rows of one key at several concurrencies (or rates) of one workload."""
    count = np.broadcast_shapes(np.shape(concurrency), np.shape(rate))
    context = workload.context_tokens
    return Rows(
        key=np.zeros(count, dtype=np.intp),
        mode=MODE_CODES[mode or workload.mode],
        input_tokens=float(workload.input_tokens),
        output_tokens=float(workload.output_tokens),
        concurrency=concurrency,
        context_tokens=np.nan if context is None else float(context),
        prefix_cache_hit_rate=workload.prefix_cache_hit_rate,
        requests_per_s=workload.requests_per_s if rate is None else rate,
        burstiness_cv=workload.burstiness_cv,
    )
