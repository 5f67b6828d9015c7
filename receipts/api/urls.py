"""Addresses of predictions, measurements and calibrations."""

from django.urls import path

from receipts.api import views

urlpatterns = [
    path("predictions/", views.PredictionsView.as_view(), name="predictions"),
    path("predictions/<uuid:pk>/", views.PredictionView.as_view(), name="prediction"),
    path("measurements/", views.MeasurementsView.as_view(), name="measurements"),
    path("measurements/check/", views.CheckView.as_view(), name="measurements-check"),
    path("measurements/<uuid:pk>/", views.MeasurementView.as_view(), name="measurement"),
    path("calibrations/", views.CalibrationsView.as_view(), name="calibrations"),
    path("calibrations/<uuid:pk>/", views.CalibrationView.as_view(), name="calibration"),
    path("calibrations/<uuid:pk>/share/", views.SharingView.as_view(), name="calibration-share"),
]
