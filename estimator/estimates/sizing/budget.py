"""Limits of a whole fleet: GPUs, power and money."""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from estimator.estimates.sizing.compute import Option
from estimator.question.fields import SMALLEST, Count, Currency, Money, RequestBody


class Budget(RequestBody):
    """Limits of the whole fleet; null: no limit."""

    gpus: Count | None = Field(default=None, description="Most GPUs, count.")
    watts: Annotated[float, Field(ge=SMALLEST, le=1e12)] | None = Field(
        default=None, description="Most power of all GPUs, W; the high end of their power has to stay within."
    )
    cost_per_month: Money | None = Field(default=None, description="Most money for 730 h, exact decimal.")
    currency: Currency | None = Field(default=None, description="Currency of the limit.")

    def allows(self, option: Option) -> bool:
        """Whether an option stays within; an unknown price or power, or another currency, does not.

        Power is held against its high end.
        """
        if option.served is None or (self.gpus is not None and option.served.fleet.gpus > self.gpus):
            return False
        if self.watts is not None and (option.served.watts is None or option.served.watts.high > self.watts):
            return False
        if self.cost_per_month is None:
            return True
        price, bill, limit = option.candidate.price, option.served.cost_per_month, Decimal(self.cost_per_month)
        return price is not None and bill is not None and price.currency == self.currency and bill <= limit

    def excess(self, option: Option) -> tuple[bool, float]:
        """Whether something of an option that serves is unknown, and the largest factor by which it passes a limit."""
        served = option.served
        assert served is not None  # noqa: S101  only options that serve are held against a budget
        factors = [served.fleet.gpus / self.gpus] if self.gpus is not None else []
        if self.watts is not None and served.watts is not None:
            factors.append(served.watts.high / self.watts)
        if self.cost_per_month is not None and served.cost_per_month is not None:
            # Nothing is a limit too: then the bill itself is the excess.
            factors.append(float(served.cost_per_month / (Decimal(self.cost_per_month) or 1)))
        unknown = self.cost_per_month is not None and served.cost_per_month is None
        unknown |= self.watts is not None and served.watts is None
        return unknown, max(factors, default=0.0)
