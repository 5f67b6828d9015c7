"""A verdict in words: one sentence, what binds, and the nearest change that would help."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from estimator.engine.codes import Binding, Reason
from estimator.engine.specs import WorkloadMode
from estimator.estimates.throughput.figures import Triple
from estimator.estimates.throughput.setting import workload_of
from estimator.estimates.verdict.changes import Change, counted
from estimator.estimates.verdict.judge import Judged, State, has_targets, month_of
from estimator.figures import written
from estimator.resolvers.plan import Plan


def label_of(state: State) -> str:
    """A state in two or three words."""
    return {
        State.SAFE: _("Fits, safe within the targets"),
        State.LIKELY: _("Fits, targets likely, not safe"),
        State.FITS: _("Fits"),
        State.TOO_SLOW: _("Fits, too slow"),
        State.SPEED_UNKNOWN: _("Fits, speed not known"),
        State.DOES_NOT_FIT: _("Does not fit"),
    }[state]


def machines_of(plan: Plan) -> str:
    """The GPUs of a plan, as "2 × H100 SXM5 80GB"."""
    return counted(plan.parallelism.gpus, plan.gpu.name)


def sentence_of(judged: Judged) -> str:
    """The verdict in one sentence or two short ones."""
    words = {"machines": machines_of(judged.plan), "load": _load(judged.plan)}
    state = judged.state
    if state is State.DOES_NOT_FIT:
        return _too_large(judged, words)
    if state is State.SPEED_UNKNOWN:
        return _("%(machines)s fits %(load)s. No measurement tells how fast.") % words
    if workload_of(judged.plan).mode is WorkloadMode.OPEN_LOOP:
        return _arriving(judged, words)
    if state is State.SAFE:
        return _("%(machines)s fits and keeps %(load)s safely within your targets.") % words
    if state is State.FITS:
        return _("%(machines)s fits %(load)s.") % words
    if state is State.LIKELY:
        safe = judged.users.low if judged.users is not None else 0
        if not safe:
            return _("%(machines)s fits. %(load)s likely stay within your targets, but not one is safe.") % words
        end = ngettext("only %(n)s is safe", "only %(n)s are safe", safe) % {"n": written.count(safe)}
        text = _("%(machines)s fits. %(load)s likely stay within your targets, but %(end)s.")
        return text % (words | {"end": end})
    return _("%(machines)s fits, but %(load)s are too many for your targets.") % words


def _load(plan: Plan) -> str:
    workload = workload_of(plan)
    if workload.mode is WorkloadMode.OPEN_LOOP:
        rate = workload.requests_per_s or 0.0
        each = _("%(n)s request per second") if rate == 1 else _("%(n)s requests per second")
        return each % {"n": f"{rate:,.15g}"}
    n = workload.concurrency
    return ngettext("%(n)s user", "%(n)s users", n) % {"n": written.count(n)}


def _too_large(judged: Judged, words: dict[str, str]) -> str:
    held = judged.fit.max_sequences
    if held < 1:
        return _("%(machines)s is too small: no room is left for one conversation of this length.") % words
    holds = ngettext("%(n)s conversation", "%(n)s conversations", held) % {"n": written.count(held)}
    asked = written.count(judged.fit.sequences)
    return _("%(machines)s holds %(holds)s of this length, not %(asked)s.") % (words | {"holds": holds, "asked": asked})


def _arriving(judged: Judged, words: dict[str, str]) -> str:
    rates = judged.rates
    if rates is not None:
        words = words | {"low": _rate(rates.low), "mid": _rate(rates.mid)}
    if judged.state is State.SAFE:
        return _("%(machines)s fits and answers %(load)s safely within your targets.") % words
    if judged.state is State.LIKELY:
        return _("%(machines)s fits. %(load)s likely stay within your targets, but only %(low)s are safe.") % words
    if judged.figures.reason is Reason.QUEUE_GROWS:
        return _("%(machines)s fits, but %(load)s are more than it can answer: the queue grows without end.") % words
    if judged.state is State.FITS:
        return _("%(machines)s fits and answers %(load)s.") % words
    return _("%(machines)s fits, but %(load)s are too many for your targets: %(mid)s likely stay within them.") % words


def _rate(value: float | None) -> str:
    return written.two_digits(value or 0.0)


def figures_of(judged: Judged) -> str | None:
    """The figures in a sentence: first token, each further token, money; None where they are not said."""
    if judged.state in (State.DOES_NOT_FIT, State.SPEED_UNKNOWN):
        return None
    expected, parts = judged.figures.expected, []
    for name, words in (("ttft_s", _("first token %(range)s")), ("tpot_s", _("each further token %(range)s"))):
        if (band := expected[name]).mid is not None:
            parts.append(words % {"range": _range(band)})
    bill = judged.bill
    if bill is not None and bill.cost.cost_per_mtok_output is not None:
        money = _("%(output)s %(currency)s per million output tokens")
        if bill.cost.cost_per_mtok_blended is not None:
            money = _("%(output)s %(currency)s per million output tokens (%(blended)s blended)")
        parts.append(
            money
            % {
                "output": written.money(bill.cost.cost_per_mtok_output),
                "blended": written.money(bill.cost.cost_per_mtok_blended),
                "currency": bill.cost.machines.currency,
            }
        )
    text = ", ".join(parts)
    return text[:1].upper() + text[1:] + "." if parts else None


def _range(band: Triple) -> str:
    low, high = written.seconds(band.low), written.seconds(band.high)
    if low == high:
        return low
    number, _space, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(" " + unit) else f"{low} to {high}"


def binds_of(judged: Judged) -> str:
    """What limits the plan, in a sentence."""
    if judged.state is State.DOES_NOT_FIT:
        return {
            "weights": _("Memory: the weights alone pass what the GPU has."),
            "runtime_overhead": _("Memory: weights and runtime leave nothing for the cache."),
            "activation": _("Memory: weights and activations leave nothing for the cache."),
            "cuda_graph": _("Memory: weights, activations and graphs leave nothing for the cache."),
            "kv_cache": _("Memory for the cache: more conversations than it holds."),
            "max_num_seqs": _("The engine: more conversations than it runs at once."),
        }[judged.fit.binding_term.value]
    binding = judged.figures.binding
    if binding is None:
        return _("Not known: no measurement describes this plan.")
    return {
        Binding.MEMORY_BANDWIDTH: _("Memory bandwidth: each token waits for weights and cache to be read."),
        Binding.COMPUTE: _("Compute: products keep the GPU busy."),
        Binding.INTERCONNECT: _("The link between GPUs: each token waits for their exchange."),
        Binding.OVERHEAD: _("The engine's own step: each token waits for kernels to start."),
        Binding.KV_CACHE: _("Memory for the cache: no more conversations run at once."),
    }[binding]


def advice_of(judged: Judged, best: Change | None) -> str:
    """The nearest change that would help, in a sentence."""
    if judged.state is State.SAFE or (judged.state is State.FITS and not has_targets(judged.plan)):
        return _("Nothing has to change.")
    if best is None:
        return _("No single change near this plan would help: see sizing.")
    goal = {
        State.SAFE: _("that is safe"),
        State.LIKELY: _("that likely keeps the targets"),
    }.get(best.judged.state, _("that fits"))
    text = _("The nearest change %(goal)s: %(change)s.")
    now, then = month_of(judged), month_of(best.judged)
    if now is not None and then is not None and now != then and _currency(judged) == _currency(best.judged):
        text = _("The nearest change %(goal)s: %(change)s, for %(then)s %(currency)s a month in place of %(now)s.")
    words = {"goal": goal, "change": best.label, "currency": _currency(judged)}
    return text % (words | {"now": written.money(now), "then": written.money(then)})


def _currency(judged: Judged) -> str | None:
    return None if judged.bill is None else judged.bill.cost.machines.currency
