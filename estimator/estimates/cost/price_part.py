"""The `api` part of money requests: which prices, sent how and when, for which usage."""

import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import AwareDatetime, Field, Tag

from catalog.spelling import near_matches
from estimator.engine.cost.meters import meter, meter_of_usage
from estimator.engine.cost.price_list import InlineTier
from estimator.engine.errors import InvalidInputError
from estimator.question.fields import MAX_TOKENS, SMALLEST, WHOLE, Currency, Money, PriceSlug, RequestBody, by_key, tag
from estimator.resolvers.issues import Issue, ResolutionError
from estimator.resolvers.prices import InlinePrice, PriceChoice

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
Quantity = Annotated[float, Field(ge=0, le=1e15)]
USAGE_KEYS = (
    "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens",
    "reasoning_tokens", "input_audio_tokens", "output_audio_tokens", "input_image_tokens", "web_searches", "images",
    "cache_storage_token_hours", "audio_seconds",
)  # fmt: skip


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
        """The prices as the resolver takes them.

        Raises:
            ResolutionError: A meter that does not exist.
        """
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


def _unknown_meters(path: tuple[str | int, ...], meters: dict[str, str]) -> list[Issue]:
    issues = []
    for name in meters:
        try:
            meter(name)
        except InvalidInputError:
            near = near_matches(name, [key.removesuffix("_tokens") for key in USAGE_KEYS])
            issues.append(
                Issue(path=(*path, name), code="unknown_field", detail=_("There is no such meter."), near=near)
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
    channel: Literal["standard", "batch", "flex", "priority", "fast"] = Field(
        default="standard", description="How requests are sent; meters without a price of the channel stay standard."
    )
    endpoint_class: Annotated[str, Field(max_length=60)] = Field(
        default="", description="Region or class of endpoint with prices of its own; empty: the general ones."
    )
    on: datetime.date | None = Field(
        default=None,
        description="Day whose prices apply, from 00:00 UTC; today when not given.",
        examples=["2026-11-29"],
    )
    at: AwareDatetime | None = Field(
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
            raise ResolutionError([Issue(path=("at",), code="ambiguous", detail=_("Give on or at, not both."))])
        price = self.price
        return PriceChoice(
            price=price.inline() if isinstance(price, InlinePricePart) else price,
            moment=self.at or self.on or timezone.now().date(),
            channel=self.channel,
            endpoint_class=self.endpoint_class,
        )


class ApiCostPart(ApiPricePart):
    """A usage to bill."""

    usage: Annotated[dict[MeterName, Quantity], Field(min_length=1, max_length=60)] = Field(
        description=(
            "Counts of ONE request: input_tokens (fresh), cache_read_tokens, cache_write_5m_tokens, "
            "cache_write_1h_tokens, output_tokens, reasoning_tokens, input_audio_tokens, web_searches, images, "
            "cache_storage_token_hours, audio_seconds, …"
        ),
        examples=[{"input_tokens": 1200, "cache_read_tokens": 500, "output_tokens": 300}],
    )
    usage_convention: Literal["disjoint", "inclusive"] = Field(
        default="disjoint",
        description=(
            "disjoint: no token is in two counts; inclusive: input_tokens holds the cached and audio tokens, "
            "output_tokens the reasoning, as OpenAI and Google report them."
        ),
    )
    requests: Annotated[int, Field(ge=0, le=10**12), WHOLE] = Field(
        default=1, description="How many such requests; the tier is chosen by one of them, count."
    )
    partial: bool = Field(
        default=False, description="true: a used meter without a price gives null and a reason instead of an error."
    )

    def quantities(self) -> dict[str, Decimal]:
        """The counts, exact.

        Raises:
            ResolutionError: A key that no meter counts, or a count too small to mean anything.
        """
        issues = []
        for key in self.usage:
            try:
                meter_of_usage(key)
            except InvalidInputError:
                detail = _("No meter counts this.")
                near = near_matches(key, USAGE_KEYS)
                issues.append(Issue(path=("usage", key), code="unknown_field", detail=detail, near=near))
        tiny = _("Must be 0 or at least %(least)g.") % {"least": SMALLEST}
        issues += [
            Issue(path=("usage", key), code="out_of_range", detail=tiny)
            for key, count in self.usage.items()
            if 0 < count < SMALLEST
        ]
        if issues:
            raise ResolutionError(issues)
        return {key: exact(count) for key, count in self.usage.items()}


def exact(number: float) -> Decimal:
    """A JSON number as the decimal it was written as."""
    return Decimal(int(number)) if float(number).is_integer() else Decimal(repr(float(number)))


def under(prefix: str, error: ResolutionError) -> ResolutionError:
    """The same faults, their paths below a part of the body."""
    return ResolutionError(
        [
            Issue(path=(prefix, *issue.path), code=issue.code, detail=issue.detail, near=issue.near)
            for issue in error.issues
        ]
    )


def json_quantity(quantity: Decimal) -> Any:
    """A count as a JSON number: whole where it is whole."""
    return int(quantity) if quantity == quantity.to_integral_value() and quantity < 2**53 else float(quantity)
