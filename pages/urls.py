"""Addresses of the pages."""

from django.urls import path

from pages import calculator, compare, prices

urlpatterns = [
    path("", calculator.calculator, name="home"),
    path("compare/", compare.compare, name="compare"),
    path("prices/", prices.index, name="prices-index"),
    path("prices/<str:model>/", prices.prices, name="prices"),
]
