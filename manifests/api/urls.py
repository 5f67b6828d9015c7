"""Address of the endpoint of manifests."""

from django.urls import path

from manifests.api.views import ManifestsView

urlpatterns = [path("manifests/", ManifestsView.as_view(), name="manifests")]
