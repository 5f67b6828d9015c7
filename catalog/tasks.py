"""Tasks of the catalog."""

import logging

from celery import shared_task

from catalog.services import price_sources

logger = logging.getLogger(__name__)


@shared_task(name="catalog.tasks.report_price_differences")  # type: ignore[untyped-decorator]  # celery has no types
def report_price_differences() -> dict[str, int]:
    """Compare the prices in force with the installed genai-prices and log what an import would do; writes nothing."""
    plan = price_sources.plan_genai_prices()
    counts = {"add": len(plan.add), "close": len(plan.close), "unchanged": plan.unchanged, "left": len(plan.left)}
    if plan.writes:
        logger.warning(
            "genai-prices %s differs from the catalog: %s to add, %s to close; manage.py import_prices --dry-run",
            plan.source.version,
            counts["add"],
            counts["close"],
        )
    return counts
