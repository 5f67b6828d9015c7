"""The catalog in the admin, one module a model."""

from catalog.admin import engine_profile, gpu, language_model, left_alone, preset, pricing, review, withdrawal

__all__ = ["engine_profile", "gpu", "language_model", "left_alone", "preset", "pricing", "review", "withdrawal"]
