"""A load in words: how many ask at once, and how long their prompts and answers are."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from estimator.figures import written


def lengths_words(input_tokens: float, output_tokens: float) -> str:
    """Lengths of prompt and answer."""
    return _("%(input)s in, %(output)s out") % {
        "input": written.count(input_tokens), "output": written.count(output_tokens),
    }  # fmt: skip


def rate_words(requests_per_s: float) -> str:
    """Arrivals."""
    return _("%(n)s requests/s") % {"n": f"{requests_per_s:g}"}


def users_words(concurrency: int) -> str:
    """Users at once."""
    return ngettext("%(n)s user at once", "%(n)s users at once", concurrency) % {"n": written.count(concurrency)}
