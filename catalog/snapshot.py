"""Facts: catalog rows as plain JSON-able values, cached by every process under the catalog revision.

Estimates are made from facts only, so that the live catalog and the snapshot a report stored take the same path.
`current()` reads the revision once (one small query); everything asked of its result belongs to that revision and is
read from the database at most once per revision and process.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from catalog.canonical import canonical_json, sha256_of
from catalog.fact_builders import engine_row_facts, gpu_row_facts, model_row_facts
from catalog.models import EngineProfile, Gpu, LanguageModel
from catalog.revisions import Revision, current_revision
from catalog.selectors import engine_names, names_of_engines, names_of_gpus, names_of_models
from catalog.spelling import Named, Spellings
from estimator.engine.recent import Recent

__all__ = [
    "CatalogFacts",
    "Facts",
    "UnknownSlugError",
    "canonical_json",
    "current",
    "engine_facts",
    "gpu_facts",
    "model_facts",
    "register",
    "sha256_of",
]

ValueT = TypeVar("ValueT")


class UnknownSlugError(LookupError):
    """No row of `kind` has this slug."""

    def __init__(self, kind: str, slug: str) -> None:
        super().__init__(f"no {kind} has the slug {slug!r}")
        self.kind = kind
        self.slug = slug


class Facts(dict[str, Any]):
    """Facts of one row; shared by all requests of a process, therefore read-only (copy with `dict(facts)`)."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("facts are shared and read-only; copy them first")

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: _thawed(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (_thawed(self),))


@dataclass(frozen=True, slots=True)
class _Kind:
    load: Callable[[str], Mapping[str, Any]]
    names: Callable[[], Mapping[str, str]]
    called: Callable[[], Iterable[Named]]
    finder: Callable[[], Callable[[str], tuple[str, ...]]] | None = None


_kinds: dict[str, _Kind] = {}
# Distinct settings of questions whose plans a process keeps; each takes some ten kilobytes.
_MOST_RECENT = 512


def register(
    kind: str,
    load: Callable[[str], Mapping[str, Any]],
    names: Callable[[], Mapping[str, str]],
    called: Callable[[], Iterable[Named]] = tuple,
    finder: Callable[[], Callable[[str], tuple[str, ...]]] | None = None,
) -> None:
    """Make facts of another kind available.

    Args:
        kind: name of the kind, as "price".
        load: facts of one slug, read from the database; raises `UnknownSlugError`. Called once per revision.
        names: every name the kind answers to (slugs, aliases) with the slug it means.
        called: what people call its rows, to understand other spellings; none are when not given.
        finder: made once a revision: finds the slugs that a name means, where the kind has rules of its own.
    """
    _kinds[kind] = _Kind(load, names, called, finder)


@dataclass(slots=True)
class CatalogFacts:
    """All facts of one revision, read on demand and kept for the life of the revision."""

    revision: Revision
    _facts: dict[tuple[str, str], Facts] = field(default_factory=dict)
    _names: dict[str, Mapping[str, str]] = field(default_factory=dict)
    _derived: dict[Any, Any] = field(default_factory=dict)
    # What was made for keys without end, such as the settings of requests: those asked for last are kept.
    recent: Recent = field(default_factory=lambda: Recent(_MOST_RECENT))

    def get(self, kind: str, name: str) -> Facts:
        """Facts of the row of `kind` that `name` means.

        Raises:
            UnknownSlugError: none does.
        """
        facts = self._facts.get((kind, name))
        if facts is None:
            slug = self.names(kind).get(name)
            if slug is None:
                raise UnknownSlugError(kind, name)
            facts = self._facts.get((kind, slug)) or frozen(_kinds[kind].load(slug))
            self._facts[kind, slug] = self._facts[kind, name] = facts
        return facts

    def names(self, kind: str) -> Mapping[str, str]:
        """Every name that `kind` answers to, with the slug it means; for validation and near matches."""
        names = self._names.get(kind)
        if names is None:
            names = self._names[kind] = dict(_kinds[kind].names())
        return names

    def spelled(self, kind: str, given: str) -> tuple[str, ...]:
        """Slugs that another spelling of a name may mean: one where it is clear; one read a revision."""
        finder = _kinds[kind].finder
        if finder is not None:
            return self.derived(("finder", kind), finder)(given)
        index = self.derived(("spellings", kind), lambda: Spellings(kind, _kinds[kind].called()))
        return index.find(given)

    def derived(self, key: Any, build: Callable[[], ValueT]) -> ValueT:
        """A value built from facts once per revision and process, as an engine spec; it must be immutable."""
        if key not in self._derived:
            self._derived[key] = build()
        value: ValueT = self._derived[key]
        return value

    def gpu(self, slug: str) -> Facts:
        """Facts of an accelerator."""
        return self.get("gpu", slug)

    def model(self, slug: str) -> Facts:
        """Facts of a language model."""
        return self.get("model", slug)

    def engine(self, name: str) -> Facts:
        """Facts of the engine profile that `name`, a slug or an alias, means."""
        return self.get("engine", name)


_newest = CatalogFacts(Revision(0, ""))


def current() -> CatalogFacts:
    """The facts of the catalog as it is now, by one read of the revision."""
    global _newest  # one reference, swapped whole: threads see the old or the new, both complete
    revision = current_revision()
    facts = _newest
    # Without a token nothing was ever written through the catalog's own doors: never trust a cache then.
    if facts.revision != revision or not revision.token:
        facts = _newest = CatalogFacts(revision)
    return facts


def gpu_facts(slug: str) -> Facts:
    """Facts of an accelerator now."""
    return current().gpu(slug)


def model_facts(slug: str) -> Facts:
    """Facts of a language model now."""
    return current().model(slug)


def engine_facts(name: str) -> Facts:
    """Facts now of the engine profile that `name` means."""
    return current().engine(name)


def frozen(value: Mapping[str, Any]) -> Facts:
    """`value` with every object in it read-only; lists become tuples, which JSON writes as arrays."""
    return Facts({key: _frozen(child) for key, child in value.items()})


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return frozen(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(child) for child in value)
    return value


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _thawed(child) for key, child in value.items()}
    if isinstance(value, tuple):
        return [_thawed(child) for child in value]
    return value


def _gpu(slug: str) -> Mapping[str, Any]:
    row = Gpu.objects.filter(slug=slug).first()
    if row is None:
        raise UnknownSlugError("gpu", slug)
    return gpu_row_facts(row)


def _model(slug: str) -> Mapping[str, Any]:
    row = LanguageModel.objects.filter(slug=slug).prefetch_related("checkpoints").first()
    if row is None:
        raise UnknownSlugError("model", slug)
    return model_row_facts(row)


def _engine(slug: str) -> Mapping[str, Any]:
    row = EngineProfile.objects.filter(slug=slug).select_related("parent").first()
    if row is None:
        raise UnknownSlugError("engine", slug)
    return engine_row_facts(row)


def _slugs(model: type[Gpu | LanguageModel]) -> dict[str, str]:
    return {slug: slug for slug in model.objects.values_list("slug", flat=True)}


register("gpu", _gpu, lambda: _slugs(Gpu), names_of_gpus)
register("model", _model, lambda: _slugs(LanguageModel), names_of_models)
register("engine", _engine, engine_names, names_of_engines)
