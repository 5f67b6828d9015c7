"""The `api` part of money requests: which prices, sent how and when, for which usage."""

import datetime
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AfterValidator, AwareDatetime, Field, Tag
from pydantic_core import PydanticCustomError

from catalog.spelling import near_matches
from estimator.engine.cost.api import UsageConvention
from estimator.engine.cost.meters import meter
from estimator.engine.cost.price_list import STANDARD, InlineTier
from estimator.engine.cost.price_rules import SEARCH_CONTEXTS
from estimator.engine.errors import InvalidInputError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.recent import Recent
from estimator.estimates.cost.usage_part import USAGE_KEYS, Counted, UsageField, counted
from estimator.question.fields import MAX_TOKENS, WHOLE, Currency, Money, PriceSlug, RequestBody, by_key, tag
from estimator.resolvers.plan import Resolved
from estimator.resolvers.price_book import InlinePrice, PriceChoice

Channel = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,19}$")]
MeterName = Annotated[str, Field(min_length=1, max_length=60, pattern=r"^[a-z][a-z0-9_]*$")]
Meters = Annotated[
    dict[MeterName, Money],
    Field(
        max_length=60,
        description=(
            "Price of each meter: token meters (input, output, cache_read, cache_write_5m, cache_write_1h, "
            "cache_write_{seconds}s, reasoning, input_audio, …) per million tokens, cache_storage_hour per million "
            "tokens and hour, the others (request, web_search, image, …) per piece."
        ),
        examples=[{"input": "3", "output": "15", "cache_read": "0.30", "cache_write_5m": "3.75"}],
    ),
]


_STATED = Recent(256)


class PriceTierPart(RequestBody):
    """A tier of the stated prices: it bills every token of a request whose total prompt passes the threshold."""

    above_tokens: Annotated[int, Field(ge=1, le=MAX_TOKENS), WHOLE] = Field(
        description="Threshold on the total prompt, cached tokens included, tokens."
    )
    operator: Literal["gt", "ge"] = Field(
        default="gt", description="gt: the tier begins above the threshold; ge: at the threshold."
    )
    meters: Meters


class InlinePricePart(RequestBody):
    """Prices stated in the request."""

    currency: Currency
    meters: Meters
    tiers: Annotated[list[PriceTierPart], Field(max_length=10)] = Field(
        default=[], description="Tiers beside the base prices; a token meter a tier does not name is unpriced there."
    )

    def inline(self) -> InlinePrice:
        """The prices as the resolver takes them; lists stated last are kept, for one list is asked of many usages.

        Raises:
            ResolutionError: A meter that does not exist.
        """
        tiers = ((tier.above_tokens, tier.operator, *tier.meters.items()) for tier in self.tiers)
        return _STATED.of((self.currency, *self.meters.items(), *tiers), self._inline)

    def _inline(self) -> InlinePrice:
        tables: list[tuple[tuple[str | int, ...], dict[str, str]]] = [(("price", "meters"), self.meters)]
        tables += [(("price", "tiers", place, "meters"), tier.meters) for place, tier in enumerate(self.tiers)]
        issues = [issue for path, meters in tables for issue in _unknown_meters(path, meters)]
        if issues:
            raise ResolutionError(issues)
        return InlinePrice(
            currency=self.currency,
            meters=_decimals(self.meters),
            tiers=tuple(
                InlineTier(above_tokens=tier.above_tokens, operator=tier.operator, meters=_decimals(tier.meters))
                for tier in self.tiers
            ),
        )


def _below_one(share: str) -> str:
    if not Decimal(share) < 1:
        raise PydanticCustomError("less_than", "less than 1", {"lt": 1})
    return share


# A day of a price has a neighbour in every time zone, and months ahead of it.
_FIRST_YEAR, _LAST_YEAR = 2, 9900


def _in_reach(day: datetime.date) -> datetime.date:
    if day.year < _FIRST_YEAR:
        raise PydanticCustomError("greater_than_equal", "too early", {"ge": f"the year {_FIRST_YEAR}"})
    if day.year > _LAST_YEAR:
        raise PydanticCustomError("less_than_equal", "too late", {"le": f"the year {_LAST_YEAR}"})
    return day


def _unknown_meters(path: tuple[str | int, ...], meters: dict[str, str]) -> list[Fault]:
    issues = []
    for name in meters:
        try:
            meter(name)
        except InvalidInputError:
            near = near_matches(name, [key.removesuffix("_tokens") for key in USAGE_KEYS])
            issues.append(
                Fault(path=(*path, name), code="unknown_field", detail=_("There is no such meter."), near=near)
            )
    return issues


def _decimals(meters: dict[str, str]) -> dict[str, Decimal]:
    return {name: Decimal(amount) for name, amount in meters.items()}


PricePart = Annotated[
    Annotated[PriceSlug, Tag(tag("slug"))] | Annotated[InlinePricePart, Tag(tag("inline"))],
    by_key({"meters": "inline"}, text="slug", otherwise="inline"),
]


class ApiPricePart(RequestBody):
    """Which prices apply."""

    price: PricePart = Field(
        description="Slug of a priced model (api-prices/), such as anthropic-claude-opus-5-5, or stated prices."
    )
    channel: Channel = Field(
        default=STANDARD,
        description=(
            "How requests are sent, as the seller calls it: standard, batch, flex, priority, fast, ultrafast …; meters "
            "without a price of the channel stay standard."
        ),
    )
    endpoint_class: Annotated[str, Field(max_length=60)] = Field(
        default="",
        description=(
            "Region or class of endpoint with prices of its own, such as data_residency=eu, inference_geo=us, "
            "regional or us-east5; empty: the general ones."
        ),
    )
    search_context_size: Literal["low", "medium", "high"] = Field(
        default="low", description="Search context of the request, where its fee depends on it (Perplexity)."
    )
    discount: Annotated[Money, AfterValidator(_below_one)] = Field(
        default="0", description="Share negotiated off every price, exact decimal from 0 to below 1: 0.1 is 10 %."
    )
    on: Annotated[datetime.date, AfterValidator(_in_reach)] | None = Field(
        default=None,
        description="Day whose prices apply, from 00:00 UTC; today when not given.",
        examples=["2026-11-29"],
    )
    at: Annotated[AwareDatetime, AfterValidator(_in_reach)] | None = Field(
        default=None,
        description="Moment with its offset, instead of `on`, where hours of the day have prices of their own.",
        examples=["2026-11-27T02:00:00Z"],
    )

    def price_choice(self) -> PriceChoice:
        """The choice as the resolver takes it.

        Raises:
            ResolutionError: Both a day and a moment.
        """
        if self.on is not None and self.at is not None:
            raise ResolutionError([Fault(path=("at",), code="ambiguous", detail=_("Give on or at, not both."))])
        price = self.price
        return PriceChoice(
            price=price.inline() if isinstance(price, InlinePricePart) else price,
            moment=self.at or self.on or timezone.now().date(),
            channel=self.channel,
            endpoint_class=self.endpoint_class,
            search_context=self.search_context_size,
            discount=Decimal(self.discount),
        )


class ApiCostPart(ApiPricePart):
    """A usage to bill."""

    usage: UsageField
    usage_convention: Literal["disjoint", "inclusive"] | None = Field(
        default=None,
        description=(
            "disjoint: no token is in two counts; inclusive: input_tokens holds the cached and audio tokens, "
            "output_tokens the reasoning, as OpenAI and Google report them. A provider's usage object says it itself; "
            "disjoint where neither does."
        ),
    )
    requests: Annotated[int, Field(ge=0, le=10**12), WHOLE] = Field(
        default=1, description="How many such requests; the tier is chosen by one of them, count."
    )
    partial: bool = Field(
        default=False, description="true: a used meter without a price gives null and a reason instead of an error."
    )

    whole_month: bool = Field(
        default=False,
        description="true: usage times requests is all of a month, so that monthly free quantities are taken off.",
    )

    def counted(self) -> Counted:
        """The counts, exact.

        Raises:
            ResolutionError: A key that no meter counts, or a value that is no count.
        """
        given = self.usage_convention
        return counted(self.usage, None if given is None else UsageConvention(given))


def as_sent(part: ApiCostPart, usage: Counted) -> tuple[PriceChoice, Resolved]:
    """The prices asked for, with the channel and place that a provider's usage object names where none was asked for.

    Raises:
        ResolutionError: Both a day and a moment.
    """
    choice, read = part.price_choice(), usage.read
    if read is None:
        return choice, Resolved()
    assumed = [_("The usage object is read in the words of %(provider)s.") % {"provider": read.provider}]
    warnings = []
    if read.channel and "channel" not in part.model_fields_set and read.channel != choice.channel:
        choice = replace(choice, channel=read.channel)
        assumed.append(_("The usage object names the channel: %(channel)s.") % {"channel": read.channel})
    if read.place and not part.endpoint_class:
        choice = replace(choice, endpoint_class=read.place)
        assumed.append(_("The usage object names the place: %(place)s.") % {"place": read.place})
    if read.search_context in SEARCH_CONTEXTS and "search_context_size" not in part.model_fields_set:
        choice = replace(choice, search_context=read.search_context)
        assumed.append(_("The usage object names the search context: %(size)s.") % {"size": read.search_context})
    given = part.usage_convention
    if given is not None and given != read.convention:
        warnings.append(_("Not used: api.usage_convention; the usage object says itself what its counts hold."))
    if read.ignored:
        warnings.append(_("Counts without a meter are not billed: %(names)s.") % {"names": ", ".join(read.ignored)})
    return choice, Resolved(assumptions=tuple(assumed), warnings=tuple(warnings))


def under(prefix: str, error: ResolutionError) -> ResolutionError:
    """The same faults, their paths below a part of the body."""
    return ResolutionError(
        [
            Fault(path=(prefix, *issue.path), code=issue.code, detail=issue.detail, near=issue.near)
            for issue in error.faults
        ]
    )


def json_quantity(quantity: Decimal) -> Any:
    """A count as a JSON number: whole where it is whole."""
    return int(quantity) if quantity == quantity.to_integral_value() and quantity < 2**53 else float(quantity)
