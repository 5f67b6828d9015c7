"""Addresses of the catalog; included last, so that models/inspect/ and the like are not taken for slugs."""

from rest_framework.routers import SimpleRouter

from catalog.api import price_changes, price_resources, resources

router = SimpleRouter()
router.register("gpus", resources.GpuViewSet, basename="gpu")
router.register("models", resources.LanguageModelViewSet, basename="model")
router.register("engine-profiles", resources.EngineProfileViewSet, basename="engine-profile")
router.register("presets", resources.PresetViewSet, basename="preset")
router.register("providers", price_resources.ProviderViewSet, basename="provider")
router.register("api-prices", price_resources.ApiPriceViewSet, basename="api-price")
router.register(
    r"api-prices/(?P<slug>[A-Za-z0-9._-]+)/rows", price_changes.ApiPriceRowViewSet, basename="api-price-row"
)
router.register("api-models", price_resources.ApiModelViewSet, basename="api-model")
router.register("cache-policies", price_resources.CachePolicyViewSet, basename="cache-policy")
router.register("gpu-offers", price_resources.GpuOfferViewSet, basename="gpu-offer")

urlpatterns = router.urls
