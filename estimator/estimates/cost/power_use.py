"""Power of the GPUs behind a bill: stated, of the load that was asked for, or of GPUs whose work is not known."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.errors import MissingFigureError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.power.draw import Draw, draw_of, mean_watts, unknown_work_ends
from estimator.engine.specs import WorkloadMode
from estimator.engine.speed.prepared import Basis
from estimator.estimates.answers import Band
from estimator.estimates.throughput.energy import power_basis
from estimator.estimates.throughput.replica import ReplicaSpeed
from estimator.resolvers.facts import Facts
from estimator.resolvers.gpus import resolve_gpu
from estimator.resolvers.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerUse:
    """Power of one GPU at work, W, and the price of electricity; `draw` says what it takes idle.

    `draw` is None where the power was stated or is a mean already: it then holds for every hour that is billed.
    """

    watts: Band
    draw: Draw | None
    pue: float
    price_per_kwh: Decimal
    currency: str
    basis: str

    def mean(self, load_share: float) -> Band:
        """The mean power of a GPU that works a share of the hours.

        Equation: docs/model.md, eq. (53).
        """
        if self.draw is None:
            return self.watts
        low, mid, high = (float(mean_watts(self.draw, end, load_share)) for end in _ends(self.watts))
        return Band(low=low, mid=mid, high=high)


def _ends(band: Band) -> tuple[float, float, float]:
    return band.low, band.mid, band.high


def power_use(part: Any, plan: Plan | None, speed: ReplicaSpeed | None, facts: Facts) -> PowerUse | None:
    """Power of the GPUs of a money request, None when it was not asked for.

    Args:
        part: the machines as asked for.
        plan: their plan, where there is one.
        speed: the speed of a replica with its power; None where the rate was given.
        facts: where the GPU's design power comes from.

    Raises:
        ResolutionError: No GPU whose power could be known.
        MissingFigureError: The catalog does not know the GPU's power.
    """
    power = part.power
    if power is None:
        return None
    price = {"pue": power.pue, "price_per_kwh": Decimal(power.price_per_kwh), "currency": power.currency}
    if (stated := part.watts_per_gpu) is not None:
        return PowerUse(watts=Band(low=stated, mid=stated, high=stated), draw=None, basis="observed", **price)
    if part.gpu is None:
        detail = _("Needed for its power: without a GPU no electricity can be counted.")
        raise ResolutionError([Fault(path=("gpu",), code="required", detail=detail)])
    gpu = (plan.gpu if plan is not None else resolve_gpu(part.gpu, facts, ideal=False)).spec
    if gpu.tdp_w is None:
        raise MissingFigureError(_("The power of this GPU is not known."), field="gpu")
    draw = draw_of(gpu, part.power_cap_w)
    if speed is None or speed.watts_per_gpu is None:
        low, mid, high = map(float, unknown_work_ends(draw))
        return PowerUse(watts=Band(low=low, mid=mid, high=high), draw=draw, basis=Basis.ASSUMPTION.value, **price)
    # At a rate of arrivals the power is a mean over busy and idle time already.
    mean = plan is not None and plan.workload is not None and plan.workload.mode is WorkloadMode.OPEN_LOOP
    return PowerUse(watts=speed.watts_per_gpu, draw=None if mean else draw, basis=power_basis(gpu).value, **price)
