"""`estimates/tokens/`: tokens of words or a text, and whether prompt and answer fit the window."""

from typing import Annotated, Literal, Self

from django.utils.translation import gettext as _
from pydantic import Field

from catalog.spelling import near_matches
from estimator.engine.errors import MissingFigureError
from estimator.engine.faults import Fault, ResolutionError
from estimator.engine.tokens.scripts import LONGEST_MEAN_WORD_CHARACTERS, mean_word_characters, unspaced_language
from estimator.estimates.answers import Answer, ResponsePart, common_parts
from estimator.estimates.endpoint import Asked, Endpoint
from estimator.estimates.tokens.compute import (
    TokenEstimate,
    UnknownLanguageError,
    WordsNeedSpacesError,
    estimate_tokens,
)
from estimator.estimates.unused import unused_warnings
from estimator.question.acting import needs
from estimator.question.fields import MAX_TOKENS, WHOLE, ModelSlug, RequestBody, Tokens, TokensOrNone
from estimator.resolvers.facts import FactRow
from estimator.resolvers.plan import Provenance, Resolved

_COUNTED = needs("words", "text", why="only words and a text are counted by a language")


class TokensRequest(RequestBody):
    """Exactly one of `words`, `text` and `input_tokens`; at most one of `context_window_tokens` and `model`."""

    words: Annotated[int, Field(ge=0, le=MAX_TOKENS), WHOLE] | None = Field(
        default=None, description="Words of the prompt.", examples=[900]
    )
    text: Annotated[str, Field(max_length=1_000_000)] | None = Field(
        default=None, description="The prompt itself; counted by the language's rule and not stored."
    )
    input_tokens: TokensOrNone | None = Field(
        default=None, description="Tokens of the prompt, where they are known; then only the window is checked."
    )
    language: Annotated[Annotated[str, Field(min_length=2, max_length=35)] | None, _COUNTED] = Field(
        default=None,
        description=(
            "BCP 47 tag of the language, such as en, es-MX or zh; when not given ja, zh or th where the text is in "
            "such a script, else en."
        ),
    )
    max_output_tokens: TokensOrNone = Field(default=0, description="Tokens kept for the answer.")
    context_window_tokens: Tokens | None = Field(
        default=None, description="Context window of the model, tokens of prompt and answer together."
    )
    model: ModelSlug | None = Field(default=None, description="Catalog model whose context window is taken.")


class TokenMethod(ResponsePart):
    """How the tokens were counted."""

    kind: Literal["rule", "given"] = Field(
        description="rule: words or characters times a factor of the language; given: taken from the request."
    )
    language: str | None = Field(description="Language whose rule was used; null when the tokens were given.")
    unit: Literal["words", "characters"] | None = Field(description="What was counted; null when given.")
    units: int | None = Field(description="Words, or characters other than white space, counted.")
    tokens_per_unit: float | None = Field(description="Tokens per word or character.")
    tokens_per_unit_low: float | None = Field(description="Fewest tokens per word or character over the tokenizers.")
    tokens_per_unit_high: float | None = Field(description="Most tokens per word or character over the tokenizers.")
    source: str = Field(description="Evidence of the rule.")

    @classmethod
    def of(cls, estimate: TokenEstimate) -> Self:
        """The method of an estimate."""
        if estimate.count is None:
            nothing = dict.fromkeys(("language", "unit", "units", "tokens_per_unit", "tokens_per_unit_low"))
            return cls.model_validate({**nothing, "tokens_per_unit_high": None, "kind": "given", "source": "request"})
        rule = estimate.count.rule
        return cls.model_validate(
            {
                "kind": "rule",
                "language": rule.language,
                "unit": rule.unit,
                "units": estimate.count.units,
                "tokens_per_unit": rule.per_unit,
                "tokens_per_unit_low": rule.per_unit_low,
                "tokens_per_unit_high": rule.per_unit_high,
                "source": rule.source,
            }
        )


class TokensInputs(ResponsePart):
    """What was counted, resolved; the text itself is not sent back."""

    words: int | None = Field(description="Words given; null where text or tokens were.")
    text_characters: int | None = Field(description="Characters of the text given; null without one.")
    input_tokens: int | None = Field(description="Tokens given; null where words or a text were.")
    language: str | None = Field(description="Language whose rule was used; null where tokens were given.")
    max_output_tokens: int = Field(description="Tokens kept for the answer.")
    context_window_tokens: int | None = Field(description="The window used, tokens; null when none was given.")
    model: str | None = Field(description="Slug of the model whose window was taken; null without one.")


class TokensAnswer(Answer):
    """Tokens of the prompt and what the window leaves."""

    inputs: TokensInputs
    tokens: int = Field(description="Tokens of the prompt.")
    tokens_low: int = Field(description="Tokens with the tokenizer that needs fewest.")
    tokens_high: int = Field(description="Tokens with the tokenizer that needs most.")
    method: TokenMethod = Field(description="How the tokens were counted.")
    max_output_tokens: int = Field(description="Tokens kept for the answer, echoed.")
    context_window_tokens: int | None = Field(description="The window used, tokens; null when none was given or known.")
    total_tokens: int = Field(description="Prompt and answer together, tokens.")
    fits: bool | None = Field(description="Whether prompt and answer fit the window; null without a window.")
    fits_at_high: bool | None = Field(
        description="Whether they still fit with the tokenizer that needs most; null without a window."
    )
    remaining_tokens: int | None = Field(
        description="What the window leaves, tokens; negative when it does not fit, null without a window."
    )


def answer_tokens(body: TokensRequest, asked: Asked) -> TokensAnswer:
    """The answer to a request.

    Raises:
        ResolutionError: not exactly one input, two windows, or a language without a rule.
        MissingFigureError: the catalog does not know the window of the model.
    """
    _check(body)
    window, provenance = _window(body, asked)
    try:
        estimate = estimate_tokens(
            language=_language(body),
            words=body.words,
            text=body.text,
            input_tokens=body.input_tokens,
            max_output_tokens=body.max_output_tokens,
            context_window_tokens=window,
        )
    except UnknownLanguageError as error:
        raise ResolutionError([_unknown_language(body.language or "", error.known)]) from None
    except WordsNeedSpacesError:
        detail = _("This language is written without spaces between words; give the text.")
        raise ResolutionError([Fault(path=("words",), code="not_supported", detail=detail)]) from None
    resolved = Resolved(provenance=provenance, assumptions=_assumptions(body), warnings=_warnings(body, estimate))
    return _answer(body, asked, estimate, resolved)


def _answer(body: TokensRequest, asked: Asked, estimate: TokenEstimate, resolved: Resolved) -> TokensAnswer:
    count, fit = estimate.count, estimate.fit
    high = count.tokens_high if count else estimate.tokens
    window = estimate.context_window_tokens
    return TokensAnswer(
        **common_parts(
            resolved,
            catalog_revision=asked.facts.catalog_revision,
            steps=estimate.explain(),
            explain=asked.explain,
            not_modelled=[] if count is None else [_("chat template, tool definitions and images")],
        ),
        inputs=TokensInputs(
            words=body.words,
            text_characters=None if body.text is None else len(body.text),
            input_tokens=body.input_tokens,
            language=count.rule.language if count else None,
            max_output_tokens=body.max_output_tokens,
            context_window_tokens=window,
            model=body.model,
        ),
        tokens=estimate.tokens,
        tokens_low=count.tokens_low if count else estimate.tokens,
        tokens_high=high,
        method=TokenMethod.of(estimate),
        max_output_tokens=body.max_output_tokens,
        context_window_tokens=window,
        total_tokens=estimate.tokens + body.max_output_tokens,
        fits=fit.fits if fit else None,
        fits_at_high=None if window is None else high + body.max_output_tokens <= window,
        remaining_tokens=fit.remaining_tokens if fit else None,
    )


def _assumptions(body: TokensRequest) -> tuple[str, ...]:
    if body.input_tokens is not None:
        return ()
    counted = _("No tokenizer file of a model is at hand: tokens are counted by the rule of the language.")
    if body.language:
        return (counted,)
    language = _language(body)
    if language == "en":
        return counted, _("Language not given: English.")
    return counted, _("Language not given: %(language)s by the script of the text.") % {"language": language}


def _language(body: TokensRequest) -> str:
    return body.language or (unspaced_language(body.text) if body.text else None) or "en"


def _warnings(body: TokensRequest, estimate: TokenEstimate) -> tuple[str, ...]:
    """A language that counts nothing, and runs that a rule by words says nothing of: codes, numbers, other scripts."""
    unused = unused_warnings(body)
    if not body.text or estimate.count is None or estimate.count.rule.unit != "words":
        return unused
    characters = mean_word_characters(body.text)
    if characters <= LONGEST_MEAN_WORD_CHARACTERS:
        return unused
    text = _(
        "The text has %(characters)d characters between spaces in the mean, which no prose of this language has: its "
        "tokens are more than the rule counts, up to one a character."
    )
    return (*unused, text % {"characters": round(characters)})


def _check(body: TokensRequest) -> None:
    faults = []
    given = [name for name in ("words", "text", "input_tokens") if getattr(body, name) is not None]
    if len(given) != 1:
        detail = _("Give exactly one of words, text and input_tokens.")
        faults.append(Fault(path=(), code="ambiguous" if given else "required", detail=detail))
    if body.model is not None and body.context_window_tokens is not None:
        detail = _("Give the window by context_window_tokens or by model, not both.")
        faults.append(Fault(path=("context_window_tokens",), code="ambiguous", detail=detail))
    if faults:
        raise ResolutionError(faults)


def _window(body: TokensRequest, asked: Asked) -> tuple[int | None, tuple[Provenance, ...]]:
    if body.model is None:
        return body.context_window_tokens, ()
    facts: FactRow = asked.facts.row("model", body.model)
    window = facts.get("context_window_tokens")
    if window is None:
        detail = _("The catalog does not know the context window of this model; give context_window_tokens.")
        raise MissingFigureError(detail, field="model")
    source = facts.get("source") or "catalog"
    entry = Provenance(what="context_window_tokens", value=window, unit="tokens", source=str(source))
    return int(window), (entry,)


def _unknown_language(given: str, known: tuple[str, ...]) -> Fault:
    detail = _("There is no rule for this language; known are %(known)s.") % {"known": ", ".join(known)}
    return Fault(path=("language",), code="not_supported", detail=detail, near=near_matches(given, known))


ENDPOINT = Endpoint(
    slug="tokens",
    summary="Tokens of words or a text, and what the window leaves",
    description=(
        "Turns words or a text into tokens by the rule of the language (three quarters of a word a token in English; "
        "other languages need more), with the span over tokenizers. With a window it tells whether prompt and answer "
        "fit: a window of 8,192 tokens holds a prompt of 8,000 and 192 tokens of answer. The text is not stored."
    ),
    request=TokensRequest,
    response=TokensAnswer,
    answer=answer_tokens,
)
