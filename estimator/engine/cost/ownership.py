"""What owned machines cost a month and a GPU hour: capital, electricity, a place to stand, people and licences."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext

from estimator.engine.cost import money
from estimator.engine.errors import InvalidInputError

MONTHS_PER_YEAR = 12
WATTS_PER_KW = 1000
# Powers of the monthly rate over decades keep all digits that any currency has.
_WIDE = Context(prec=40, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Owned GPUs with everything that is paid for them; amounts of one currency, powers in W.

    `capex` is the price of all machines with what belongs to them (servers, network, installation), `residual_value`
    what they still fetch after `years`, `interest_rate` the yearly rate that capital costs, 0 or more. Powers are those
    of all GPUs together (`gpu_watts`) and of hosts and network; `pue` ≥ 1 is that of the building.
    """

    capex: Decimal
    years: Decimal
    gpus: int
    interest_rate: Decimal = Decimal(0)
    residual_value: Decimal = Decimal(0)
    gpu_watts: Decimal = Decimal(0)
    host_watts: Decimal = Decimal(0)
    network_watts: Decimal = Decimal(0)
    pue: Decimal = Decimal(1)
    price_per_kwh: Decimal = Decimal(0)
    colocation_per_kw_month: Decimal = Decimal(0)
    overhead_per_month: Decimal = Decimal(0)
    staff_per_month: Decimal = Decimal(0)
    licence_per_month: Decimal = Decimal(0)
    hours_per_month: Decimal = Decimal(730)

    def __post_init__(self) -> None:
        if not self.years > 0:
            raise InvalidInputError("years must be above 0", field="years")
        if not self.hours_per_month > 0:
            raise InvalidInputError("hours_per_month must be above 0", field="hours_per_month")
        if self.pue < 1:
            raise InvalidInputError("a PUE is 1 or more", field="power.pue")
        if self.residual_value > self.capex:
            raise InvalidInputError("what is left is at most what was paid", field="residual_value")

    @property
    def it_kw(self) -> Decimal:
        """Power of GPUs, hosts and network in kW, before the building's share."""
        with localcontext(money.EXACT):
            return (self.gpu_watts + self.host_watts + self.network_watts) / WATTS_PER_KW


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedMonth:
    """The bill of a month, part by part; `total` and `per_gpu_hour` are rounded once to 9 significant digits."""

    capital: Decimal
    electricity: Decimal
    colocation: Decimal
    overhead: Decimal
    staff: Decimal
    licence: Decimal
    total: Decimal
    per_gpu_hour: Decimal

    @property
    def parts(self) -> dict[str, Decimal]:
        """The parts by name, in the order of the sum."""
        names = ("capital", "electricity", "colocation", "overhead", "staff", "licence")
        return {name: getattr(self, name) for name in names}


def owned_month(owned: Ownership) -> OwnedMonth:
    """What owned machines cost a month.

    capital = (capex − residual / (1 + j)^n) · j / (1 − (1 + j)^−n) with j = interest / 12 and n = 12 · years; without
    interest (capex − residual) / n. electricity = kW · PUE · hours · price per kWh; colocation = kW · its price.
    per GPU hour = total / (gpus · hours).

    Example:
        Eight GPUs of 35,000 with 40 % of servers and network, four years, 0.7 kW each, PUE 1.4, 0.12 a kWh, 400 hours
        and 3,000 a month for people: 8,166.67 + 376.32 + 3,000.

        >>> month = owned_month(Ownership(capex=Decimal(392000), years=Decimal(4), gpus=8, gpu_watts=Decimal(5600),
        ...     pue=Decimal("1.4"), price_per_kwh=Decimal("0.12"), overhead_per_month=Decimal(3000),
        ...     hours_per_month=Decimal(400)))
        >>> f"{month.total:.2f} {month.per_gpu_hour:.3f}"
        '11542.99 3.607'

    Source: definition; annuity of a loan. Example: a public calculator of on-premises GPUs (randomcalculators.com).
    """
    with localcontext(_WIDE):
        capital = _capital(owned)
        electricity = owned.it_kw * owned.pue * owned.hours_per_month * owned.price_per_kwh
        colocation = owned.it_kw * owned.colocation_per_kw_month
        running = electricity + colocation + owned.overhead_per_month + owned.staff_per_month + owned.licence_per_month
        total = capital + running
        per_hour = total / (owned.gpus * owned.hours_per_month)
    return OwnedMonth(
        capital=money.round_physics(capital),
        electricity=money.EXACT.normalize(electricity),
        colocation=money.EXACT.normalize(colocation),
        overhead=owned.overhead_per_month,
        staff=owned.staff_per_month,
        licence=owned.licence_per_month,
        total=money.round_physics(total),
        per_gpu_hour=money.round_physics(per_hour),
    )


def _capital(owned: Ownership) -> Decimal:
    months = owned.years * MONTHS_PER_YEAR
    if not owned.interest_rate:
        return (owned.capex - owned.residual_value) / months
    rate = owned.interest_rate / MONTHS_PER_YEAR
    growth = (1 + rate) ** months
    return (owned.capex - owned.residual_value / growth) * rate / (1 - 1 / growth)
