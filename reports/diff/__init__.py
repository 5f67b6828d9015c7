"""What changed between two versions of a report, and what each cause is worth."""

from reports.diff.compare import compare

__all__ = ["compare"]
