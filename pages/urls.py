"""Addresses of the pages."""

from django.urls import path

from pages import calculator, compare

urlpatterns = [
    path("", calculator.calculator, name="home"),
    path("compare/", compare.compare, name="compare"),
]
