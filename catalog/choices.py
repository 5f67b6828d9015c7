"""Closed sets of words that catalog fields accept."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Confidence(models.TextChoices):
    """How sure we are of a figure: seen in the maker's own words, agreed by others, or derived."""

    HIGH = "high", _("High: the maker's own figure or a reading from the device")
    MEDIUM = "medium", _("Medium: agreeing secondary sources")
    LOW = "low", _("Low: derived or a rule of thumb")


class Vendor(models.TextChoices):
    """Makers of accelerators."""

    NVIDIA = "NVIDIA", "NVIDIA"
    AMD = "AMD", "AMD"
    INTEL = "Intel", "Intel"
    GOOGLE = "Google", "Google"
    AWS = "AWS", "AWS"
    APPLE = "Apple", "Apple"
    OTHER = "other", _("Other")


class Link(models.TextChoices):
    """The link between accelerators of one machine that collectives run over."""

    NVLINK2 = "nvlink2", "NVLink 2"
    NVLINK3 = "nvlink3", "NVLink 3"
    NVLINK4 = "nvlink4", "NVLink 4"
    NVLINK5 = "nvlink5", "NVLink 5"
    XGMI = "xgmi", "Infinity Fabric (xGMI)"
    PCIE3 = "pcie3", "PCIe 3 x16"
    PCIE4 = "pcie4", "PCIe 4 x16"
    PCIE5 = "pcie5", "PCIe 5 x16"
    ICI = "ici", _("Google ICI")
    NEURONLINK = "neuronlink", "NeuronLink"
    ROCE = "roce", "RoCE"
    ETHERNET = "ethernet", _("Ethernet")


class EngineKind(models.TextChoices):
    """Which set of equations an engine profile feeds."""

    IDEAL = "ideal", _("Ideal roofline of the source documents")
    SERVING = "serving", _("Calibrated serving engine")
    LLAMA_CPP = "llama_cpp", _("llama.cpp class: single stream, file quantisation")


class SloPercentile(models.IntegerChoices):
    """The percentile of requests that a target is for."""

    P50 = 50, "50"
    P90 = 90, "90"
    P95 = 95, "95"
    P99 = 99, "99"
