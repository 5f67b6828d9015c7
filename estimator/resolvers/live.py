"""Facts of the live catalog."""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeVar

from catalog import snapshot
from catalog.engine_versions import RELEASE, release_row
from estimator.question.fields import Kind
from estimator.resolvers.calibrations import calibrations_of
from estimator.resolvers.facts import FactRow, Facts, UnknownSlugError
from estimator.resolvers.plan import Calibration

ValueT = TypeVar("ValueT")


class LiveFacts:
    """Facts of the catalog as of one revision; rows are read once per revision and process."""

    def __init__(self, catalog: snapshot.CatalogFacts, calibrations: Sequence[Calibration] = ()) -> None:
        self._catalog = catalog
        self._calibrations = calibrations
        self._slugs: dict[Kind, Collection[str]] = {}

    @property
    def catalog_revision(self) -> int:
        """The revision these facts belong to."""
        return self._catalog.revision.number

    @property
    def calibrations(self) -> Sequence[Calibration]:
        """Those of the person who asks, and shared ones."""
        return self._calibrations

    def slugs(self, kind: Kind) -> Collection[str]:
        """Every slug and alias of the kind."""
        found = self._slugs.get(kind)
        if found is None:
            found = self._slugs[kind] = self._catalog.names(kind).keys()
        return found

    def spelled(self, kind: Kind, given: str) -> tuple[str, ...]:
        """Slugs that another spelling of a name may mean; an engine with its release stays as it is."""
        meant = self._catalog.spelled(kind, given)
        if kind == "engine" and len(meant) != 1:
            found = self._release(given)
            return (f"{found['engine']}-{found[RELEASE]}",) if found is not None else meant
        return meant

    def row(self, kind: Kind, slug: str) -> FactRow:
        """The facts of one row.

        Raises:
            UnknownSlugError: no such row.
        """
        try:
            return self._catalog.get(kind, slug)
        except snapshot.UnknownSlugError:
            found = self._release(slug) if kind == "engine" else None
            if found is None:
                raise UnknownSlugError(kind, slug) from None
            return found

    def _release(self, name: str) -> FactRow | None:
        """The profile that covers a release of an engine."""
        slugs = sorted(set(self._catalog.names("engine").values()))
        return release_row(name, (self._catalog.get("engine", slug) for slug in slugs))

    def derived(self, key: tuple[str, ...], build: Callable[[], ValueT]) -> ValueT:
        """A value built from the facts once per revision and process; it must be immutable."""
        return self._catalog.derived(key, build)

    def recent(self, key: Hashable, build: Callable[[], ValueT]) -> ValueT:
        """The same for keys without end: those asked for last are kept."""
        return self._catalog.recent.of(key, build)


def current_facts() -> Facts:
    """The facts of the catalog as it is now; one small read."""
    catalog = snapshot.current()
    return catalog.derived("live_facts", lambda: LiveFacts(catalog))


def calibrated_facts(person: int | None) -> Facts:
    """The facts of the catalog with the calibrations that a person may use; no further read where they are warm."""
    catalog = snapshot.current()
    calibrations = calibrations_of(catalog, person)
    if not calibrations:
        return catalog.derived("live_facts", lambda: LiveFacts(catalog))
    return catalog.recent.of(("calibrated_facts", person), lambda: LiveFacts(catalog, calibrations))
