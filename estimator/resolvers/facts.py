"""Where facts come from: the live catalog, or the snapshot that a saved report holds. One path for both."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from catalog.engine_versions import release_row
from estimator.engine.recent import Recent
from estimator.question.fields import Kind
from estimator.resolvers.plan import Calibration

FactRow = Mapping[str, Any]
ValueT = TypeVar("ValueT")


class UnknownSlugError(LookupError):
    """No row of this kind has the slug."""

    def __init__(self, kind: Kind, slug: str) -> None:
        self.kind = kind
        self.slug = slug
        super().__init__(f"{kind} {slug!r} is not known")


class Facts(Protocol):
    """Facts by kind and slug, as JSON-able rows with sources (the keys of `catalog.snapshot`)."""

    @property
    def catalog_revision(self) -> int:
        """The revision of the catalog these facts belong to."""
        ...

    @property
    def calibrations(self) -> Sequence[Calibration]:
        """Calibrations that whoever asks may use, the first that fits counts; none for what is stored."""
        ...

    def slugs(self, kind: Kind) -> Collection[str]:
        """Every slug and alias that `row` accepts."""
        ...

    def spelled(self, kind: Kind, given: str) -> tuple[str, ...]:
        """Slugs that another spelling of a name may mean: one where it is clear, several where it is not."""
        ...

    def row(self, kind: Kind, slug: str) -> FactRow:
        """The facts of one row; an engine's alias gives the profile it stands for.

        Raises:
            UnknownSlugError: no such row.
        """
        ...

    def derived(self, key: tuple[str, ...], build: Callable[[], ValueT]) -> ValueT:
        """A value built from these facts, kept with them; it must be immutable."""
        ...

    def recent(self, key: Hashable, build: Callable[[], ValueT]) -> ValueT:
        """The same for keys without end, such as the settings of requests: those asked for last are kept."""
        ...


class StoredFacts:
    """Facts held in plain dicts, such as the snapshot of a report version: `{kind: {slug: row}}`."""

    def __init__(self, rows: Mapping[str, Mapping[str, FactRow]], *, catalog_revision: int) -> None:
        self._rows: dict[str, dict[str, FactRow]] = {kind: dict(by_slug) for kind, by_slug in rows.items()}
        for profile in list(self._rows.get("engine", {}).values()):
            for alias in profile.get("aliases", ()):
                self._rows["engine"].setdefault(alias, profile)
        self._catalog_revision = catalog_revision
        self._derived: dict[tuple[str, ...], Any] = {}
        self._recent = Recent()

    @property
    def catalog_revision(self) -> int:
        """The revision of the catalog at the time the facts were stored."""
        return self._catalog_revision

    @property
    def calibrations(self) -> Sequence[Calibration]:
        """None: what is stored is what the catalog said."""
        return ()

    def slugs(self, kind: Kind) -> Collection[str]:
        """Every slug and alias stored of this kind."""
        return self._rows.get(kind, {}).keys()

    def spelled(self, kind: Kind, given: str) -> tuple[str, ...]:
        """None: what is stored was named by its slug."""
        return ()

    def row(self, kind: Kind, slug: str) -> FactRow:
        """The stored facts of one row.

        Raises:
            UnknownSlugError: no such row.
        """
        found = self._rows.get(kind, {}).get(slug)
        if found is None and kind == "engine":
            found = release_row(slug, self._rows.get(kind, {}).values())
        if found is None:
            raise UnknownSlugError(kind, slug)
        return found

    def derived(self, key: tuple[str, ...], build: Callable[[], ValueT]) -> ValueT:
        """A value built from these facts once."""
        if key not in self._derived:
            self._derived[key] = build()
        value: ValueT = self._derived[key]
        return value

    def recent(self, key: Hashable, build: Callable[[], ValueT]) -> ValueT:
        """The same for keys without end: those asked for last are kept."""
        return self._recent.of(key, build)
