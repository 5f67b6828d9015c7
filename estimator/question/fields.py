"""Field types of request bodies: bounded numbers, exact money, slugs of the catalog, unions told apart by key.

Order matters in `Annotated[int, Field(ge=…), WHOLE]`: with WHOLE first the schema would lose the limits.
Every number has an upper bound, and a divisor a lower one above 0, so that no product or quotient of them leaves the
range of a float or of 64-bit integers.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainSerializer,
    ValidationInfo,
)
from pydantic_core import PydanticCustomError

from estimator.engine.cost.currencies import is_currency

MAX_TOKENS = 100_000_000
MAX_COUNT = 1_000_000
MAX_BYTES = 2**53 - 1
MAX_RATE = 1e21
# The least of what must be above 0: a billionth of any unit here is no plan, and 5e-324 would be a division by nothing.
SMALLEST = 1e-9
TAG_PREFIX = "="


Kind = Literal["gpu", "model", "engine", "price", "offer", "cache_policy"]


class Names(Protocol):
    """Where slugs are looked up: the facts of the live catalog, or those that a report keeps."""

    def slugs(self, kind: Kind) -> Collection[str]:
        """Every slug and alias of the kind."""
        ...

    def spelled(self, kind: Kind, given: str) -> tuple[str, ...]:
        """Slugs that another spelling of a name may mean."""
        ...


class RequestBody(BaseModel):
    """Base of every noun of a question: strict types, no unknown fields, finite numbers.

    The same objects are read from requests, held by plans, echoed in answers and kept with reports.
    """

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        frozen=True,
        json_schema_serialization_defaults_required=True,
    )


def _whole(value: Any) -> Any:
    """8.03e9 and 1.0 are whole numbers in JSON; anything else is left to the strict check."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value


WHOLE = BeforeValidator(_whole)


def _whole_if_whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else value


# A mean of tokens: 2000 is written as 2000, and 921.6 as it is.
AS_WRITTEN = PlainSerializer(_whole_if_whole, return_type=float | int, when_used="json")

Tokens = Annotated[int, Field(ge=1, le=MAX_TOKENS), WHOLE]
TokensOrNone = Annotated[int, Field(ge=0, le=MAX_TOKENS), WHOLE]
MeanTokens = Annotated[float, Field(ge=0, le=MAX_TOKENS), AS_WRITTEN]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT), WHOLE]
Width = Annotated[int, Field(ge=1, le=10_000_000), WHOLE]
Parameters = Annotated[int, Field(ge=1, le=10**15), WHOLE]
Bytes = Annotated[int, Field(ge=1, le=MAX_BYTES), WHOLE]
BytesOrNone = Annotated[int, Field(ge=0, le=MAX_BYTES), WHOLE]
PositiveSeconds = Annotated[float, Field(ge=SMALLEST, le=1e9)]
PositiveRate = Annotated[float, Field(ge=SMALLEST, le=MAX_RATE)]
HardwareRate = Annotated[float, Field(ge=1, le=MAX_RATE)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(ge=SMALLEST, le=1)]
# [0-9] and not \d: pydantic's \d also takes the digits of other scripts.
Money = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{1,18}(\.[0-9]{1,12})?$",
        max_length=31,
        description='Exact decimal as a string, such as "2.50"; never a JSON number.',
        examples=["2.50"],
    ),
]


def _currency(value: str) -> str:
    if not is_currency(value):
        raise PydanticCustomError("unknown_currency", "not a code of ISO 4217")
    return value


Currency = Annotated[
    str,
    Field(pattern=r"^[A-Z]{3}$", description="ISO 4217 code of every amount beside it, such as USD.", examples=["USD"]),
    AfterValidator(_currency),
]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class SlugOf:
    """Checks a slug against the facts of the validation context, and takes another spelling for it where it is clear.

    The context is `{"facts": Names, "read_as": dict}`; what was spelled otherwise is noted in `read_as`.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(self, value: str, info: ValidationInfo) -> str:
        """The slug if the catalog has it, or the one row that the spelling can mean.

        Raises:
            PydanticCustomError: `unknown_slug`, with the kind and the rows it may mean in its context.
        """
        context = info.context or {}
        facts: Names | None = context.get("facts")
        if facts is None or value in facts.slugs(self.kind):
            return value
        meant = facts.spelled(self.kind, value)
        if len(meant) != 1:
            raise PydanticCustomError("unknown_slug", "unknown {kind}", {"kind": self.kind, "meant": meant})
        if meant[0] != value:
            context.get("read_as", {})[value] = meant[0]
        return meant[0]


class OnePerRow:
    """Refuses an object with two keys that name the same row, of which one value would be lost."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def __call__(self, value: Any, info: ValidationInfo) -> Any:
        """The object as it is.

        Raises:
            PydanticCustomError: `same_row`, with the two keys in its context.
        """
        facts: Names | None = (info.context or {}).get("facts")
        if facts is None or not isinstance(value, dict):
            return value
        seen: dict[str, str] = {}
        for name in value:
            meant = facts.spelled(self.kind, name) if name not in facts.slugs(self.kind) else (name,)
            slug = meant[0] if len(meant) == 1 else name
            if slug in seen:
                raise PydanticCustomError("same_row", "same row", {"first": seen[slug], "second": name})
            seen[slug] = name
        return value


GpuSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(SlugOf("gpu"))]
ModelSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(SlugOf("model"))]
EngineSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(SlugOf("engine"))]
PriceSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(SlugOf("price"))]
OfferSlug = Annotated[str, Field(min_length=1, max_length=100), AfterValidator(SlugOf("offer"))]


def tag(name: str) -> str:
    """The tag of a union member; tags are taken out of error pointers again."""
    return TAG_PREFIX + name


def by_key(keys: Mapping[str, str], *, text: str | None = None, otherwise: str | None = None) -> Discriminator:
    """Tells the members of a union apart by the key an object holds.

    Args:
        keys: distinguishing key of the object → tag name of the member.
        text: tag name of the member that is a plain string, if any.
        otherwise: tag name of the member for an object without any of the keys.

    An object that holds two distinguishing keys is `ambiguous`; one that holds none, or another type, is refused.
    """
    return Discriminator(
        _chooser(keys, text, otherwise),
        custom_error_type="one_of_keys",
        custom_error_message="one of the keys",
        custom_error_context={"keys": ", ".join(keys), "text": "yes" if text else ""},
    )


def _chooser(keys: Mapping[str, str], text: str | None, otherwise: str | None) -> Callable[[Any], str | None]:
    def choose(value: Any) -> str | None:
        if isinstance(value, str):
            return tag(text) if text else None
        if isinstance(value, dict):
            found = [name for key, name in keys.items() if key in value]
            if len(found) == 1:
                return tag(found[0])
            return tag(otherwise) if not found and otherwise else None
        if isinstance(value, BaseModel):
            return next((tag(name) for key, name in keys.items() if key in type(value).model_fields), None)
        return None

    return choose
