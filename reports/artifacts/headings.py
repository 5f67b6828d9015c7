"""What people call the columns of rows, with units: headings of tables and sheets, names of axes."""

from collections.abc import Mapping

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

_Words = str | Promise
_WHOLE: Mapping[str, tuple[_Words, str]] = {
    "row_index": (gettext_lazy("Row"), ""),
    "model": (gettext_lazy("Model"), ""),
    "gpu": (gettext_lazy("GPU"), ""),
    "engine": (gettext_lazy("Engine"), ""),
    "precision": (gettext_lazy("Weights / cache"), ""),
    "parallelism": (gettext_lazy("Split"), ""),
    "workload": (gettext_lazy("Workload"), ""),
    "tp": (gettext_lazy("Tensor parallel degree"), ""),
    "gpus": (gettext_lazy("GPUs of a replica"), ""),
    "input_tokens": (gettext_lazy("Prompt"), "tokens"),
    "output_tokens": (gettext_lazy("Answer"), "tokens"),
    "batch_size": (gettext_lazy("Users at once"), ""),
    "offered_requests_per_s": (gettext_lazy("Arrivals"), "1/s"),
    "refined": (gettext_lazy("Load found between two"), ""),
    "status": (gettext_lazy("Status"), ""),
    "reason": (gettext_lazy("Why no figures"), ""),
    "fits": (gettext_lazy("Fits"), ""),
    "effective_concurrency": (gettext_lazy("Users that run at once"), ""),
    "max_sequences": (gettext_lazy("Most users that run at once"), ""),
    "full_length_sequences": (gettext_lazy("Users whose whole answers fit"), ""),
    "binding_term": (gettext_lazy("Bound by"), ""),
    "basis": (gettext_lazy("Basis"), ""),
    "utilization": (gettext_lazy("Arrivals over what is served"), ""),
    "max_stable_requests_per_s": (gettext_lazy("Most arrivals without a growing queue"), "1/s"),
    "speculative_speedup": (gettext_lazy("Speed with speculation over without"), ""),
    "speculative_tpot_s": (gettext_lazy("Each further token, speculation"), "s"),
    "memory_bytes": (gettext_lazy("Memory of a GPU"), "bytes"),
    "unmanaged_bytes": (gettext_lazy("Left to the driver"), "bytes"),
    "weights_bytes": (gettext_lazy("Weights"), "bytes"),
    "runtime_overhead_bytes": (gettext_lazy("Runtime"), "bytes"),
    "activation_bytes": (gettext_lazy("Activations"), "bytes"),
    "cuda_graph_bytes": (gettext_lazy("Graphs"), "bytes"),
    "kv_cache_bytes": (gettext_lazy("Cache"), "bytes"),
    "slack_bytes": (gettext_lazy("Free"), "bytes"),
    "electricity_currency": (gettext_lazy("Currency of electricity"), ""),
    "electricity_per_hour": (gettext_lazy("Electricity per hour"), ""),
    "electricity_per_mtok_output": (gettext_lazy("Electricity per million output tokens"), ""),
    "currency": (gettext_lazy("Currency"), ""),
    "price_per_hour": (gettext_lazy("Price of the replica per hour"), ""),
    "chance_within_slo": (gettext_lazy("Chance of all targets"), "0 to 1"),
    "meets_slo": (gettext_lazy("Targets"), ""),
}
_FIGURES: Mapping[str, tuple[_Words, str]] = {
    "ttft_s": (gettext_lazy("First token"), "s"),
    "tpot_s": (gettext_lazy("Each further token"), "s"),
    "e2e_s": (gettext_lazy("Whole answer"), "s"),
    "tokens_per_s_per_user": (gettext_lazy("Tokens/s per user"), ""),
    "tokens_per_s_total": (gettext_lazy("Tokens/s in all"), ""),
    "tokens_per_s_per_gpu": (gettext_lazy("Tokens/s per GPU"), ""),
    "requests_per_s": (gettext_lazy("Requests served"), "1/s"),
    "watts_per_gpu": (gettext_lazy("Power of a GPU"), "W"),
    "joules_per_token": (gettext_lazy("Energy of an output token"), "J"),
    "joules_per_request": (gettext_lazy("Energy of a request"), "J"),
    "cost_per_mtok_output": (gettext_lazy("Cost per million output tokens"), ""),
    "goodput_requests_per_s": (gettext_lazy("Requests within the targets"), "1/s"),
}
_SIDES: Mapping[str, _Words] = {
    "low": gettext_lazy("low end"),
    "mid": "",
    "high": gettext_lazy("high end"),
    "ceiling": gettext_lazy("physical limit"),
}


def heading(name: str) -> str:
    """What people call a column, with its unit.

    >>> heading("ttft_s_p95"), heading("tpot_s_high"), heading("weights_bytes")
    ('First token, 95th percentile, s', 'Each further token, high end, s', 'Weights, bytes')
    """
    if name in _WHOLE:
        text, unit = _WHOLE[name]
        return ", ".join(filter(None, (str(text), unit)))
    base, _underscore, side = name.rpartition("_")
    text, unit = _FIGURES[base]
    told = _SIDES.get(side) if side in _SIDES else _("%(n)sth percentile") % {"n": side.removeprefix("p")}
    return ", ".join(filter(None, (str(text), str(told), unit)))
