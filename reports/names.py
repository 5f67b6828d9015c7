"""Names for people of what rows call by slugs: models, GPUs, engines, workloads."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from estimator.engine.specs import WorkloadMode
from estimator.question.sweep import Sweep, SweptWorkload


class Names:
    """The names that a snapshot holds; a label that it does not know stays as it is."""

    def __init__(self, snapshot: Mapping[str, Any], sweep: Sweep) -> None:
        self._facts: Mapping[str, Mapping[str, Any]] = snapshot.get("facts", {})
        profiles = self._facts.get("engine", {})
        self._aliases = {alias: slug for slug, row in profiles.items() for alias in row.get("aliases") or ()}
        self._workloads = {workload.label: workload for workload in sweep.workloads}

    def gpu(self, label: str) -> str:
        """A GPU without what its name says in brackets: B200 SXM, where the catalog has B200 SXM (HGX/DGX)."""
        row = self._facts.get("gpu", {}).get(label)
        return label if row is None else str(row.get("name") or label).partition(" (")[0]

    def model(self, label: str) -> str:
        """A model, with what was changed of it behind."""
        return self._name("model", label)

    def engine(self, label: str) -> str:
        """An engine profile by its slug or alias, with the settings of its own behind."""
        slug, bracket, rest = label.partition(" (")
        return self._name("engine", f"{self._aliases.get(slug, slug)}{bracket}{rest}")

    def workload(self, label: str) -> str:
        """A workload: its given name and lengths, or its lengths and what is not as usual."""
        given = self._workloads.get(label)
        return label if given is None else workload_words(given)

    def _name(self, kind: str, label: str) -> str:
        slug, bracket, rest = label.partition(" (")
        row = self._facts.get(kind, {}).get(slug)
        return label if row is None else f"{row.get('name') or slug}{bracket}{rest}"


def workload_words(given: SweptWorkload) -> str:
    """A workload for people: chat: 1,000 in, 300 out tokens."""
    asked = given.resolved()
    words = _("%(input)s in, %(output)s out tokens") % {
        "input": f"{asked.input_tokens:,g}" if asked.input_tokens < 1e6 else f"{asked.input_tokens:,.0f}",
        "output": f"{asked.output_tokens:,g}" if asked.output_tokens < 1e6 else f"{asked.output_tokens:,.0f}",
    }
    if given.mode is not WorkloadMode.CLOSED_LOOP:
        words = f"{words}, {mode_words(given.mode)}"
    if given.context_tokens:
        words += _(", at %(tokens)s tokens of context") % {"tokens": f"{given.context_tokens:,g}"}
    if given.prefix_cache_hit_rate:
        words += _(", %(share)s of the prompt cached") % {"share": f"{given.prefix_cache_hit_rate:.0%}"}
    if given.burstiness_cv != 1.0:
        words += _(", variation %(cv)s") % {"cv": f"{given.burstiness_cv:g}"}
    told = given.traffic.model_dump(mode="json", exclude_defaults=True)
    words += "".join(f", {name.replace('_', ' ')} {value}" for name, value in told.items())
    return f"{given.name}: {words}" if given.name else words


def mode_words(mode: str) -> str:
    """A mode as people say it."""
    return {
        "closed_loop": pgettext("load", "closed loop"),
        "open_loop": pgettext("load", "arrivals"),
        "offline": pgettext("load", "offline"),
        "static_batch": pgettext("load", "static batch"),
        "single_stream": pgettext("load", "one stream"),
        "decode_step": pgettext("load", "one decode step"),
    }[mode]
