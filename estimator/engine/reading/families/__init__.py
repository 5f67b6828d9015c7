"""Readers by model_type."""

from collections.abc import Callable

from estimator.engine.model.spec import Architecture
from estimator.engine.reading.families.cross_attention import cross_attention_readers
from estimator.engine.reading.families.deepseek_v4 import deepseek_v4_readers
from estimator.engine.reading.families.dense import dense_readers
from estimator.engine.reading.families.gemma_nano import gemma_nano_readers
from estimator.engine.reading.families.latent import latent_readers
from estimator.engine.reading.families.legacy import legacy_readers
from estimator.engine.reading.families.linear_hybrids import linear_hybrid_readers
from estimator.engine.reading.families.listed_experts import listed_expert_readers
from estimator.engine.reading.families.mamba_hybrids import mamba_hybrid_readers
from estimator.engine.reading.families.mixtures import mixture_readers
from estimator.engine.reading.families.per_layer import per_layer_readers
from estimator.engine.reading.families.search import search_readers
from estimator.engine.reading.fields import Fields

READERS: dict[str, Callable[[Fields], Architecture]] = {
    **dense_readers(),
    **mixture_readers(),
    **legacy_readers(),
    **latent_readers(),
    **deepseek_v4_readers(),
    **gemma_nano_readers(),
    **per_layer_readers(),
    **linear_hybrid_readers(),
    **mamba_hybrid_readers(),
    **search_readers(),
    **listed_expert_readers(),
    **cross_attention_readers(),
}
