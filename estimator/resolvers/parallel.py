"""Checks how a model is split over GPUs: what the heads, experts and layers allow."""

from django.utils.translation import gettext as _

from estimator.engine.model.cache import attention_splits_over, splits_over
from estimator.engine.model.spec import Architecture, Attention
from estimator.engine.specs import Parallelism
from estimator.resolvers.collect import Collector
from estimator.resolvers.plan import ResolvedGpu

_PATH = ("parallelism",)


def check_parallelism(parallelism: Parallelism, architecture: Architecture) -> None:
    """Whether the degrees go with the model.

    tp divides the query heads, and divides the KV heads or is a multiple of them (each KV head is then held by several
    ranks); a latent cache has no KV heads to divide. ep divides tp · dp and needs routed experts. pp is at most the
    number of layers.

    Raises:
        ResolutionError: every degree that does not.
    """
    found = Collector()
    _check_heads(parallelism.tp, architecture, found)
    experts = max((group.feed_forward.experts for group in architecture.layer_groups if group.feed_forward), default=0)
    if parallelism.ep > 1 and not experts:
        found.add((*_PATH, "ep"), "not_supported", _("The model has no routed experts to spread."))
    elif (parallelism.tp * parallelism.dp) % parallelism.ep:
        detail = _("ep %(ep)s must divide tp · dp = %(ranks)s.") % {
            "ep": parallelism.ep,
            "ranks": parallelism.tp * parallelism.dp,
        }
        found.add((*_PATH, "ep"), "invalid", detail)
    layers = sum(group.layers for group in architecture.layer_groups)
    if parallelism.pp > layers:
        detail = _("pp %(pp)s is more than the %(layers)s layers of the model.") % {
            "pp": parallelism.pp,
            "layers": layers,
        }
        found.add((*_PATH, "pp"), "out_of_range", detail)
    found.raise_if_any()


def scale_up_warning(parallelism: Parallelism, gpu: ResolvedGpu) -> str | None:
    """What to say when a replica spans more GPUs than one fast domain joins."""
    joined = gpu.spec.scale_up_gpus
    if parallelism.tp * parallelism.dp <= max(joined, 8):
        return None
    return _("A replica of %(gpus)s GPUs spans more than the %(joined)s that one fast link joins.") % {
        "gpus": parallelism.gpus,
        "joined": joined,
    }


def _check_heads(tp: int, architecture: Architecture, found: Collector) -> None:
    if tp == 1:
        return
    told = set()
    for group in architecture.layer_groups:
        attention = group.attention
        if attention is None:
            continue
        fault = _fault(tp, attention)
        if fault and fault not in told:
            told.add(fault)
            found.add((*_PATH, "tp"), "invalid", f"{fault} {_allowed(architecture)}")


def _fault(tp: int, attention: Attention) -> str | None:
    if attention.query_heads % tp:
        return _("tp %(tp)s does not divide the %(heads)s query heads.") % {"tp": tp, "heads": attention.query_heads}
    if not attention_splits_over(attention, tp):
        return _("tp %(tp)s neither divides the %(heads)s KV heads nor is a multiple of them.") % {
            "tp": tp,
            "heads": attention.kv_heads,
        }
    return None


def _allowed(architecture: Architecture) -> str:
    """The degrees up to 64 that every layer allows, in words."""
    degrees = [tp for tp in range(1, 65) if splits_over(architecture, tp)]
    return _("Allowed: %(degrees)s.") % {"degrees": ", ".join(map(str, degrees))}
