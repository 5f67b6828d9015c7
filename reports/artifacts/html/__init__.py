"""The report as one HTML file that asks nothing of the network."""

from reports.artifacts.html.page import write

__all__ = ["write"]
