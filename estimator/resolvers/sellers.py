"""Who sells a model of the catalog by an API: price lists whose own name of a model can mean that row."""

from collections.abc import Iterator, Mapping

from catalog.spelling import model_words
from estimator.resolvers.facts import FactRow, Facts


def sellers_of(model: str, facts: Facts) -> tuple[FactRow, ...]:
    """Price facts of every seller of a model that is neither deprecated nor retired, by their slugs.

    A seller's name is taken for the model by case, separators and words for how it was tuned alone: the same
    architecture and size. A name with further words (turbo, free) may be another thing and is left out.

    Args:
        model: slug of the catalog.
        facts: where the price lists are from.
    """
    return facts.derived(("sellers of a model", model), lambda: tuple(_found(model, facts)))


def _found(model: str, facts: Facts) -> Iterator[FactRow]:
    row = facts.row("model", model)
    known = facts.derived(("names of prices by words",), lambda: _by_words(facts))
    names = {name for given in (row["slug"], row["name"]) for name in known.get(model_words(given), ())}
    slugs = {facts.row("price", name)["slug"] for name in names}
    for slug in sorted(slugs):
        price = facts.row("price", slug)
        life = price.get("life") or {}
        if not (life.get("deprecated") or life.get("deprecated_on") or life.get("retired_on")):
            yield price


def _by_words(facts: Facts) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """Names of prices, seller/name, by the words of the model's name."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in facts.slugs("price"):
        seller, slash, own = name.partition("/")
        if slash and seller and own:
            words = model_words(own)
            found[words] = (*found.get(words, ()), name)
    return found
