"""Catalog models, by subject."""

from catalog.models.revision import CatalogRevision  # isort: skip  first: query sets of the others raise it
from catalog.models.api_model import ApiModel
from catalog.models.cache_policy import CachePolicy
from catalog.models.engine_profile import EngineProfile
from catalog.models.gpu import Gpu
from catalog.models.gpu_offer import GpuOffer
from catalog.models.language_model import Checkpoint, LanguageModel
from catalog.models.left_alone import LeftAlone
from catalog.models.preset import Preset
from catalog.models.price_rule import PriceRule
from catalog.models.pricing import ApiPrice, PriceList, Provider
from catalog.models.row import CatalogRecord, CatalogRow
from catalog.models.withdrawal import Withdrawal

__all__ = [
    "ApiModel",
    "ApiPrice",
    "CachePolicy",
    "CatalogRecord",
    "CatalogRevision",
    "CatalogRow",
    "Checkpoint",
    "EngineProfile",
    "Gpu",
    "GpuOffer",
    "LanguageModel",
    "LeftAlone",
    "Preset",
    "PriceList",
    "PriceRule",
    "Provider",
    "Withdrawal",
]
