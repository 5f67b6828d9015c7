"""What the letters of a text say about how to count it: scripts without spaces, and runs too long to be words."""

import re

_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_THAI = re.compile(r"[\u0e00-\u0e7f]")
_SPACE = re.compile(r"\s+")
# Words of the 28 spaced languages of the rules have 4 to 8 letters in the mean; twice the longest of them is no prose.
LONGEST_MEAN_WORD_CHARACTERS = 16


def unspaced_language(text: str) -> str | None:
    """Language of a text most of whose characters are of a script written without spaces: ja, zh or th; else None.

    Kana are written in Japanese alone; Han characters without a kana among ten are taken for Chinese.
    """
    characters = len(_SPACE.sub("", text))
    kana, han, thai = (len(script.findall(text)) for script in (_KANA, _HAN, _THAI))
    if 2 * (kana + han) > characters:
        return "ja" if 10 * kana > kana + han else "zh"
    return "th" if 2 * thai > characters else None


def mean_word_characters(text: str) -> float:
    """Mean characters of the runs between white space; 0 for an empty text."""
    words = text.split()
    return sum(map(len, words)) / len(words) if words else 0.0
