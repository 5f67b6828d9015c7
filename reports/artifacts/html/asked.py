"""What a report was asked, in words: the axes of the sweep, the targets and the prices."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.options import BandSide
from estimator.engine.specs import WorkloadMode
from estimator.estimates.sweep.entries import label_of
from estimator.question.sweep import (
    UP_TO_FIT,
    BatchRange,
    OverriddenEngine,
    Sweep,
    SweptWorkload,
    stored_targets,
)
from estimator.question.workload import Targets
from reports.artifacts.words import listed, number_words, split_words
from reports.names import Names


def asked(inputs: Mapping[str, Any], snapshot: Mapping[str, Any], names: Names) -> list[tuple[str, str]]:
    """Label and words of each part of the question."""
    sweep, slo = Sweep.stored(inputs["sweep"]), stored_targets(inputs.get("slo"))
    parts = [
        (_("Models"), listed(names.model(label_of(one)) for one in sweep.models)),
        (_("GPUs"), listed(names.gpu(label_of(one)) for one in sweep.gpus)),
        (_("Engines"), listed(_engine(entry, names) for entry in sweep.engines)),
        (_("Weights / cache"), listed(f"{one.weights or 'bf16'}/{one.kv_cache or 'bf16'}" for one in sweep.precisions)),
        (_("Splits"), listed(split_words("-".join(f"{n}{d}" for n, d in given)) for given in sweep.parallelism)),
        (_("Workloads"), listed((names.workload(one.label) + _loads(one) for one in sweep.workloads), "; ")),
        (_("Batch sizes"), _batches(sweep.batch_sizes)),
        (_("Settings of the engines"), listed(_settings(sweep.memory))),
        (_("Speculative decoding"), listed(_settings(sweep.speculative or ()))),
        (_("Adapters"), listed(_settings(sweep.lora or ()))),
        (_("Multi-token prediction layers"), number_words(sweep.mtp_layers_loaded) if sweep.mtp_layers_loaded else ""),
        (_("Electricity"), listed(_settings(sweep.power or ()))),
        (_("Most power of a GPU, W"), number_words(sweep.power_cap_w) if sweep.power_cap_w else ""),
        (_("Targets"), _targets(slo)),
        (_("Prices"), listed(_prices(list(map(label_of, sweep.gpus)), snapshot.get("prices", {}), names))),
    ]
    return [(label, words) for label, words in parts if words]


def _engine(entry: str | OverriddenEngine, names: Names) -> str:
    if isinstance(entry, str):
        return names.engine(entry)
    settings = ", ".join(_settings(entry.memory))
    return f"{names.engine(entry.slug)} ({settings})" if settings else names.engine(entry.slug)


def _settings(noun: Iterable[tuple[str, Any]]) -> list[str]:
    """Name and value of each field that was given."""
    given = ((name, value) for name, value in noun if value is not None)
    return [f"{name} {_words(value)}" for name, value in given]


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "/".join(map(number_words, value)) if isinstance(value, Sequence) else number_words(value)


def _loads(given: SweptWorkload) -> str:
    """The loads of a workload's own."""
    if given.own_batches:
        return _(" at batch sizes %(sizes)s") % {"sizes": listed(given.own_batches)}
    if given.rates:
        return _(" at %(rates)s requests/s") % {"rates": listed(f"{rate:g}" for rate in given.rates)}
    return ""


def _batches(given: Any) -> str:
    if given is None:
        return ""
    if given == UP_TO_FIT:
        return _("up to what fits")
    if isinstance(given, BatchRange):
        scale = _("powers of two") if given.scale == "powers_of_two" else _("every size")
        return _("%(first)s to %(last)s, %(scale)s") % {"first": given.from_, "last": given.to, "scale": scale}
    return listed(sorted(set(given)))


def _targets(slo: Targets | None) -> str:
    if slo is None:
        return _("none")
    names = {"ttft_s": _("first token"), "tpot_s": _("each token"), "e2e_s": _("whole answer")}
    told = [f"{words} ≤ {target:g} s" for name, words in names.items() if (target := getattr(slo, name)) is not None]
    side = _("middle of the band") if slo.band_side is BandSide.MID else _("slow end of the band")
    return _("%(targets)s (%(side)s; arrivals at the %(percentile)sth percentile)") % {
        "targets": ", ".join(told) or _("none"),
        "side": side,
        "percentile": slo.percentile_in(WorkloadMode.OPEN_LOOP),
    }


def _prices(gpus: list[str], prices: Mapping[str, Any], names: Names) -> list[str]:
    told = []
    for gpu in gpus:
        if price := prices.get(gpu):
            amount = f"{price['price_per_gpu_hour']} {price['currency']}"
            told.append(_("%(gpu)s %(amount)s per GPU hour") % {"gpu": names.gpu(gpu), "amount": amount})
        else:
            told.append(_("%(gpu)s none known") % {"gpu": names.gpu(gpu)})
    return told
