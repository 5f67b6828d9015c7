"""Who sells one model: prices of all sellers by the model that their own names of it mean.

Sellers write one model in many ways (`meta.llama3-3-70b-instruct-v1:0`, `meta-llama/Llama-3.3-70B-Instruct-Turbo`).
Names of one family are alike but for regions, sellers, days, variants and words for how it is served.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from catalog import snapshot
from catalog.models import ApiPrice
from catalog.price_facts import FIRST_PARTY
from catalog.selectors import names_of_models
from catalog.spelling import near_matches, words_of

_LONGEST = 200
_CLOUD = re.compile(r"^(?:[a-z0-9-]+\.)+(?=[a-z])")
_RELEASE = re.compile(r"-v\d+(?::\d+)?$|-\d+:\d+$")
_DAY = re.compile(r"[-@](?:20\d\d-?[01]\d-?[0-3]\d|20\d\d-?[01]\d|latest)(?=-|$)")
_SPLIT_NUMBER = re.compile(r"(?<=\d)-(?=\d-)|(?<=v\d)p(?=\d)")
_DOT = re.compile(r"(?<=\d)\.(?=\d)")
# How a seller serves open weights: the same model.
_SERVED = frozenset({"turbo", "versatile", "fp8", "fast", "specdec", "lite", "maas", "hf", "tee"})
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seller:
    """One seller's own name of a model, with the slug of its prices."""

    slug: str
    provider: str
    name: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFamily:
    """A model with all who sell it; `weights` is its row among the models whose weights are open, if it has one."""

    slug: str
    name: str
    sellers: tuple[Seller, ...]
    weights: str | None = None

    @property
    def providers(self) -> int:
        """How many sell it, count."""
        return len({seller.provider for seller in self.sellers})


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFamilies:
    """All families, to be asked for any name."""

    by_slug: Mapping[str, PriceFamily]
    open_models: Mapping[Key, str]
    by_key: Mapping[Key, str] = field(repr=False)
    by_price: Mapping[str, str] = field(repr=False)

    def seller(self, price: str) -> Seller:
        """Who sells at the prices of a slug.

        Raises:
            KeyError: no price has this slug.
        """
        return next(one for one in self.by_slug[self.by_price[price]].sellers if one.slug == price)

    def find(self, given: str) -> PriceFamily | None:
        """The family that a name means; None where it is not clear."""
        name = given.strip()[:_LONGEST].lower()
        slug = (
            name if name in self.by_slug else self.by_price.get(name) or self.by_key.get(_key(name, self.open_models))
        )
        return self.by_slug.get(slug or "")

    def search(self, given: str, limit: int) -> list[PriceFamily]:
        """Families whose names hold every word asked for, those sold by most first; else those with near names."""
        words = given.strip()[:_LONGEST].lower().replace("/", " ").split()
        exact = self.find(given)
        held = [
            one for one in self.by_slug.values() if all(any(word in text for text in _texts(one)) for word in words)
        ]
        found = sorted(held, key=lambda one: (-one.providers, one.slug))
        if not found:
            found = [self.by_slug[name] for name in near_matches(given, self.by_slug)]
        return list(dict.fromkeys([*([exact] if exact else []), *found]))[:limit]


def current_families() -> PriceFamilies:
    """Every family at the catalog's revision of now, read once a revision and process."""
    return snapshot.current().derived(("price families",), price_families)


def price_families() -> PriceFamilies:
    """Every family of the prices that were not voided."""
    models: dict[Key, set[str]] = {}
    names = {}
    for row in names_of_models():
        names[row.slug] = row.names[0]
        for name in (row.slug, *row.names):
            models.setdefault(words_of("model", name), set()).add(row.slug)
    # Base and tuned weights are sold at one price: the shorter name stands for both.
    known = {words: min(slugs, key=lambda slug: (len(slug), slug)) for words, slugs in models.items()}
    by_key: dict[Key, list[Seller]] = {}
    for seller in _sellers():
        by_key.setdefault(_key(seller.model, known, seller.provider), []).append(seller)
    families = {key: _family(key, tuple(sellers), known, names) for key, sellers in by_key.items()}
    return PriceFamilies(
        by_slug={one.slug: one for one in families.values()},
        open_models=known,
        by_key={key: one.slug for key, one in families.items()},
        by_price={seller.slug: one.slug for one in families.values() for seller in one.sellers},
    )


def _sellers() -> Iterable[Seller]:
    rows = ApiPrice.objects.filter(voided_at__isnull=True).order_by("slug")
    for slug, provider, name, model in rows.values_list("slug", "provider__slug", "provider__name", "model").distinct():
        yield Seller(slug=slug, provider=provider, name=name, model=model)


def _family(key: Key, sellers: tuple[Seller, ...], known: Mapping[Key, str], names: Mapping[str, str]) -> PriceFamily:
    """A family under its maker's own name, else that of the open model, else the shortest of its names."""
    weights = key[1] if key[0] == _OPEN else None

    def rank(seller: Seller) -> tuple[Any, ...]:
        maker = FIRST_PARTY.index(seller.provider) if seller.provider in FIRST_PARTY else len(FIRST_PARTY)
        return (maker, len(_bare(seller.model, seller.provider)), seller.slug)

    plain = _bare(min(sellers, key=rank).model, "")
    slug = weights or _UNSAFE.sub("-", plain).strip("-.") or "-".join(key)
    return PriceFamily(slug=slug, name=names.get(weights or "", plain), sellers=sellers, weights=weights)


_OPEN = "open"


def _key(model: str, known: Mapping[Key, str], provider: str = "") -> Key:
    """What two names of one model have in common: the open model that both mean, else their words."""
    bare = _bare(model, provider)
    for name in (bare, _SPLIT_NUMBER.sub(".", bare)):
        for words in (words_of("model", name), tuple(w for w in words_of("model", name) if w not in _SERVED)):
            if words in known:
                return (_OPEN, known[words])
    return words_of("model", _DOT.sub("-", bare)) or (bare,)


def _bare(model: str, provider: str) -> str:
    """A name without its publisher, region, seller, release, day and variant."""
    name = model.lower().rsplit("/", 1)[-1]
    name = _RELEASE.sub("", _CLOUD.sub("", name)).partition(":")[0]
    name = _DAY.sub("", name)
    return name if provider in FIRST_PARTY else name.removeprefix(f"{provider}-")


def _texts(family: PriceFamily) -> Iterable[str]:
    yield family.slug
    yield family.name.lower()
    for seller in family.sellers:
        yield seller.model.lower()
        yield seller.provider
