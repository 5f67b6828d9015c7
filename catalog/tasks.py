"""Tasks of the catalog."""

import logging

from celery import shared_task

from catalog.services import cross_check, price_sources

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


@shared_task(name="catalog.tasks.cross_check_prices")  # type: ignore[untyped-decorator]  # celery has no types
def cross_check_prices() -> dict[str, int]:
    """Compare the prices in force with the public lists of the catalog's data and keep what they state otherwise."""
    found = cross_check.compare()
    cross_check.apply(found)
    if found.changes:
        logger.warning("the disputes of %s prices changed; manage.py cross_check_prices -v 2", len(found.changes))
    return {"prices": found.prices, "disputed": found.disputed, "changed": len(found.changes)}
