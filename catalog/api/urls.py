"""Addresses of the catalog; included last, so that models/inspect/ and the like are not taken for slugs."""

from rest_framework.routers import SimpleRouter

from catalog.api import resources

router = SimpleRouter()
router.register("gpus", resources.GpuViewSet, basename="gpu")
router.register("models", resources.LanguageModelViewSet, basename="model")
router.register("engine-profiles", resources.EngineProfileViewSet, basename="engine-profile")
router.register("presets", resources.PresetViewSet, basename="preset")

urlpatterns = router.urls
