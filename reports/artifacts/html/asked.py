"""What a report was asked, in words: the axes of the sweep, the targets and the prices."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from estimator.engine.options import OPEN_PERCENTILE
from estimator.estimates.sweep.entries import label_of
from reports.artifacts.words import listed, mode_words, number_words, split_words


def asked(inputs: Mapping[str, Any], snapshot: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Label and words of each part of the question."""
    sweep = inputs["sweep"]
    parts = [
        (_("Models"), listed(map(label_of, sweep["models"]))),
        (_("GPUs"), listed(map(label_of, sweep["gpus"]))),
        (_("Engines"), listed(_engine(entry) for entry in sweep["engines"])),
        (_("Weights / cache"), listed(_precision(given) for given in sweep["precisions"])),
        (
            _("Splits"),
            listed(split_words("-".join(f"{n}{d}" for n, d in given.items())) for given in sweep["parallelism"]),
        ),
        (_("Workloads"), listed(map(_workload, sweep["workloads"]), "; ")),
        (_("Batch sizes"), _batches(sweep.get("batch_sizes"))),
        (_("Settings of the engines"), listed(_settings(sweep.get("memory") or {}))),
        (_("Targets"), _targets(inputs.get("slo"))),
        (_("Prices"), listed(_prices(sweep["gpus"], snapshot.get("prices", {})))),
    ]
    return [(label, words) for label, words in parts if words]


def _engine(entry: Any) -> str:
    if isinstance(entry, str):
        return entry
    settings = ", ".join(_settings(entry.get("memory") or {}))
    return f"{entry['slug']} ({settings})" if settings else str(entry["slug"])


def _settings(memory: Mapping[str, Any]) -> list[str]:
    return [f"{name} {number_words(value)}" for name, value in memory.items() if value is not None]


def _precision(given: Mapping[str, Any]) -> str:
    return f"{given.get('weights') or 'bf16'}/{given.get('kv_cache') or 'bf16'}"


def _workload(given: Mapping[str, Any]) -> str:
    words = _("%(mode)s, prompt %(prompt)s and answer %(answer)s tokens") % {
        "mode": mode_words(given["mode"]),
        "prompt": given["input_tokens"],
        "answer": given["output_tokens"],
    }
    if given.get("requests_per_s"):
        rates = listed(f"{rate:g}" for rate in sorted(set(given["requests_per_s"])))
        words += _(" at %(rates)s requests/s") % {"rates": rates}
    if given.get("prefix_cache_hit_rate"):
        words += _(", %(share)s of the prompt cached") % {"share": f"{given['prefix_cache_hit_rate']:.0%}"}
    return f"{given['name']}: {words}" if given.get("name") else words


def _batches(given: Any) -> str:
    if given is None:
        return ""
    if given == "max":
        return _("up to what fits")
    if isinstance(given, Mapping):
        scale = _("powers of two") if given["scale"] == "powers_of_two" else _("every size")
        return _("%(first)s to %(last)s, %(scale)s") % {"first": given["from"], "last": given["to"], "scale": scale}
    return listed(sorted(set(given)))


def _targets(slo: Mapping[str, Any] | None) -> str:
    if not slo:
        return _("none")
    names = {"ttft_s": _("first token"), "tpot_s": _("each token"), "e2e_s": _("whole answer")}
    told = [f"{words} ≤ {slo[name]:g} s" for name, words in names.items() if slo.get(name) is not None]
    side = _("middle of the band") if slo.get("band_side") == "mid" else _("slow end of the band")
    return _("%(targets)s (%(side)s; arrivals at the %(percentile)sth percentile)") % {
        "targets": ", ".join(told) or _("none"),
        "side": side,
        "percentile": slo.get("percentile") or OPEN_PERCENTILE,
    }


def _prices(gpus: list[Any], prices: Mapping[str, Any]) -> list[str]:
    told = []
    for gpu in map(label_of, gpus):
        if price := prices.get(gpu):
            amount = f"{price['price_per_gpu_hour']} {price['currency']}"
            told.append(_("%(gpu)s %(amount)s per GPU hour") % {"gpu": gpu, "amount": amount})
        else:
            told.append(_("%(gpu)s none known") % {"gpu": gpu})
    return told
