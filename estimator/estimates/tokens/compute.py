"""Tokens of words or a text, and whether prompt plus answer fit a context window."""

from dataclasses import dataclass

from estimator.engine.errors import InvalidInputError
from estimator.engine.explain import Step
from estimator.engine.tokens.count import TokenCount, WindowFit, count_tokens, count_units, rule_for, window_fit
from estimator.engine.tokens.rules import TOKEN_RULES


class UnknownLanguageError(InvalidInputError):
    """There is no rule for the language; `known` holds the tags that have one."""

    def __init__(self, language: str) -> None:
        self.known = tuple(sorted(TOKEN_RULES))
        super().__init__(f"no token rule for language {language!r}", field="language")


class WordsNeedSpacesError(InvalidInputError):
    """The language is written without spaces between words, so that a number of words cannot be turned into tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenEstimate:
    """Tokens of the prompt with their uncertainty, and the fit in the window (None without a window).

    `count` is None when the tokens were given and nothing had to be counted.
    """

    tokens: int
    count: TokenCount | None
    max_output_tokens: int
    context_window_tokens: int | None
    fit: WindowFit | None

    def explain(self) -> list[Step]:
        """The working: words to tokens, prompt plus answer, what the window leaves."""
        return [*self._explain_count(), *self._explain_fit()]

    def _explain_count(self) -> list[Step]:
        if self.count is None:
            return []
        rule = self.count.rule
        return [
            Step.worked(
                name="tokens",
                formula=f"ceil({rule.unit} · tokens_per_unit)",
                values={rule.unit: self.count.units, "tokens_per_unit": rule.per_unit},
                value=self.tokens,
                unit="tokens",
                source=rule.source,
            )
        ]

    def _explain_fit(self) -> list[Step]:
        if self.fit is None or self.context_window_tokens is None:
            return []
        return [
            Step.worked(
                name="total_tokens",
                formula="tokens + max_output_tokens",
                values={"tokens": self.tokens, "max_output_tokens": self.max_output_tokens},
                value=self.fit.total_tokens,
                unit="tokens",
                source="request",
            ),
            Step.worked(
                name="remaining_tokens",
                formula="context_window_tokens − total_tokens",
                values={"context_window_tokens": self.context_window_tokens, "total_tokens": self.fit.total_tokens},
                value=self.fit.remaining_tokens,
                unit="tokens",
                source="the window holds prompt and answer together",
            ),
        ]


def estimate_tokens(
    *,
    language: str = "en",
    words: int | None = None,
    text: str | None = None,
    input_tokens: int | None = None,
    max_output_tokens: int = 0,
    context_window_tokens: int | None = None,
) -> TokenEstimate:
    """Tokens of the prompt and the fit in the window.

    Args:
        language: BCP 47 tag; its primary language decides the rule.
        words: words of the prompt.
        text: the prompt itself, counted by the rule.
        input_tokens: tokens of the prompt where they are known; nothing is counted then.
        max_output_tokens: room kept for the answer, tokens.
        context_window_tokens: the window, tokens.

    Raises:
        UnknownLanguageError: there is no rule for the language.
        WordsNeedSpacesError: words were given for a script without spaces.
    """
    count = None if input_tokens is not None else _count(language, words, text)
    tokens = count.tokens if count is not None else (input_tokens or 0)
    fit = None if context_window_tokens is None else window_fit(tokens, max_output_tokens, context_window_tokens)
    return TokenEstimate(
        tokens=tokens,
        count=count,
        max_output_tokens=max_output_tokens,
        context_window_tokens=context_window_tokens,
        fit=fit,
    )


def _count(language: str, words: int | None, text: str | None) -> TokenCount:
    rule = rule_for(language, TOKEN_RULES)
    if rule is None:
        raise UnknownLanguageError(language)
    if text is not None:
        return count_tokens(count_units(text, rule), rule)
    if rule.unit != "words":
        raise WordsNeedSpacesError(
            f"language {rule.language!r} is written without spaces between words; give the text", field="words"
        )
    return count_tokens(words or 0, rule)
