"""Addresses of the pages."""

from django.urls import path

from pages import calculator

urlpatterns = [
    path("", calculator.calculator, name="home"),
]
