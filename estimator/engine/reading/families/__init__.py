"""Readers by model_type."""

from collections.abc import Callable, Mapping
from functools import partial

from estimator.engine.model.spec import Architecture
from estimator.engine.reading.decoder import Decoder, read_decoder
from estimator.engine.reading.families.deepseek_v4 import deepseek_v4_readers
from estimator.engine.reading.families.deepseek_v41 import read_deepseek_v41
from estimator.engine.reading.families.dense import DENSE_RULES
from estimator.engine.reading.families.encoders import ENCODERS
from estimator.engine.reading.families.gemma import GEMMA
from estimator.engine.reading.families.hybrids import HYBRIDS
from estimator.engine.reading.families.inkling import INKLING
from estimator.engine.reading.families.latent import latent_readers
from estimator.engine.reading.families.legacy import legacy_readers
from estimator.engine.reading.families.looped import LOOPED
from estimator.engine.reading.families.mamba import mamba_readers
from estimator.engine.reading.families.mixtures import MIXTURE_RULES
from estimator.engine.reading.families.per_layer import PER_LAYER
from estimator.engine.reading.families.qwen4 import QWEN4
from estimator.engine.reading.families.search import search_readers
from estimator.engine.reading.families.special_mixtures import SPECIAL_MIXTURES
from estimator.engine.reading.families.standard import read_standard
from estimator.engine.reading.families.zaya import ZAYA
from estimator.engine.reading.fields import Fields

Reader = Callable[[Fields], Architecture]
_DECODERS: Mapping[str, Decoder] = {
    **ENCODERS, **GEMMA, **PER_LAYER, **SPECIAL_MIXTURES, **HYBRIDS, **INKLING, **LOOPED, **QWEN4, **ZAYA,
}  # fmt: skip

READERS: dict[str, Reader] = {
    **{name: partial(read_standard, rule=rule, family=name) for name, rule in {**DENSE_RULES, **MIXTURE_RULES}.items()},
    **{name: partial(read_decoder, decoder=decoder, family=name) for name, decoder in _DECODERS.items()},
    **legacy_readers(),
    **latent_readers(),
    **deepseek_v4_readers(),
    "deepseek_v41_text": read_deepseek_v41,
    **mamba_readers(),
    **search_readers(),
}
