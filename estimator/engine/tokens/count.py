"""Tokens of a text from its words or characters, by language, when the model's tokenizer is not at hand.

    tokens = ceil(words · tokens_per_word)

The rules are coarse and say so: tokenizers differ more between languages than between models of one generation.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from estimator.engine.errors import InvalidInputError


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRule:
    """Tokens per unit of one language, with the span seen across tokenizers.

    `unit` is what is counted: `words` (runs between spaces) or `characters` for scripts written without spaces.
    `per_unit`, `per_unit_low` and `per_unit_high` are tokens per unit. `source` says where they are from.
    """

    language: str
    unit: str
    per_unit: float
    per_unit_low: float
    per_unit_high: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCount:
    """Tokens of a text: the rule's figure with the span of its uncertainty, all whole tokens."""

    tokens: int
    tokens_low: int
    tokens_high: int
    units: int
    rule: TokenRule


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowFit:
    """Prompt plus answer against the context window; `remaining_tokens` is negative when it does not fit."""

    total_tokens: int
    fits: bool
    remaining_tokens: int


def count_tokens(units: int, rule: TokenRule) -> TokenCount:
    """Tokens of `units` words or characters: ceil(units · tokens per unit), tokens.

    A product that differs from a whole number only by rounding of floats counts as that whole number.

    Args:
        units: words or characters, ≥ 0.
        rule: the language's rule.

    Raises:
        InvalidInputError: units is negative.
    """
    if units < 0:
        raise InvalidInputError("units must not be negative", field="words")
    return TokenCount(
        tokens=_ceil(units * rule.per_unit),
        tokens_low=_ceil(units * rule.per_unit_low),
        tokens_high=_ceil(units * rule.per_unit_high),
        units=units,
        rule=rule,
    )


def window_fit(input_tokens: int, max_output_tokens: int, context_window_tokens: int) -> WindowFit:
    """Whether prompt plus answer stay within the window, tokens; the window is a budget for both.

    remaining = context_window − input − max_output
    """
    total = input_tokens + max_output_tokens
    return WindowFit(
        total_tokens=total, fits=total <= context_window_tokens, remaining_tokens=context_window_tokens - total
    )


_SPACE = re.compile(r"\S+")


def count_units(text: str, rule: TokenRule) -> int:
    """Words (runs without white space) or characters other than white space of a text, as the rule counts."""
    if rule.unit == "words":
        return sum(1 for _ in _SPACE.finditer(text))
    return sum(len(run) for run in _SPACE.findall(text))


def rule_for(language: str, rules: Mapping[str, TokenRule]) -> TokenRule | None:
    """The rule of a BCP 47 language tag: the tag itself, else its primary language; None when there is none."""
    tag = language.lower().replace("_", "-")
    return rules.get(tag) or rules.get(tag.split("-", 1)[0])


def _ceil(value: float) -> int:
    nearest = round(value)
    return nearest if math.isclose(value, nearest, rel_tol=1e-12, abs_tol=1e-12) else math.ceil(value)
