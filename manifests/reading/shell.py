"""Words of shell commands: quotes, continued lines, comments, here-documents, several commands in a row.

Nothing is run and nothing is looked up: a command substitution stays as the word that it is written as.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from manifests.reading.words import ManifestError, Word

MOST_WORDS = 4000
_ENDS = ("&&", "||", ";", "|", "&", "(", ")", "{", "}")
_REDIRECT = re.compile(r"\d*(>>|>\||>&|<<<|<&|>|<|&>>|&>)")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1")


def commands(text: str, first_line: int = 1) -> list[list[Word]]:
    """The commands of a script, each as its words.

    Args:
        text: the script.
        first_line: the line of the file that it begins on.

    Raises:
        ManifestError: a quote that is not closed, or more words than any start has.
    """
    lexer = _Lexer(text, first_line)
    while lexer.place < len(text):
        lexer.step()
    lexer.end_command()
    return lexer.found


@dataclass
class _Lexer:
    text: str
    line: int
    place: int = 0
    found: list[list[Word]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    count: int = 0
    bodies: list[str] = field(default_factory=list)

    def step(self) -> None:
        char = self.text[self.place]
        if char == "\n":
            self.place += 1
            self.line += 1
            self.end_command()
            self._skip_bodies()
        elif char in " \t\r":
            self.place += 1
        elif self.text.startswith(("\\\n", "\\\r\n"), self.place):
            self.place = self.text.index("\n", self.place) + 1
            self.line += 1
        elif char == "#":
            end = self.text.find("\n", self.place)
            self.place = len(self.text) if end < 0 else end
        elif here := _HEREDOC.match(self.text, self.place):
            self.bodies.append(here[2])
            self.place = here.end()
        elif redirect := _REDIRECT.match(self.text, self.place):
            self.place = redirect.end()
            self._skip_target()
        else:
            self._word_or_end()

    def _word_or_end(self) -> None:
        mark = next((one for one in _ENDS if self.text.startswith(one, self.place)), None)
        if mark is None or (mark in "{}" and self._in_word()):
            self._word()
        else:
            self.place += len(mark)
            self.end_command()

    def _in_word(self) -> bool:
        """Whether a brace begins a word: JSON without quotes, as YAML lists hold it."""
        return self.text[self.place] == "{" and self.text[self.place + 1 : self.place + 2] not in (" ", "\n", "")

    def end_command(self) -> None:
        if self.words:
            self.found.append(self.words)
            self.words = []

    def _skip_target(self) -> None:
        while self.place < len(self.text) and self.text[self.place] in " \t":
            self.place += 1
        if self.place < len(self.text) and self.text[self.place] not in "\n;&|":
            self._read_word()

    def _skip_bodies(self) -> None:
        for delimiter in self.bodies:
            end = re.compile(rf"^\t*{re.escape(delimiter)}[ \t\r]*$", re.MULTILINE).search(self.text, self.place)
            stop = end.end() if end else len(self.text)
            self.line += self.text.count("\n", self.place, stop)
            self.place = stop
        self.bodies = []

    def _word(self) -> None:
        line, text = self.line, self._read_word()
        self.words.append(Word(text, line))
        self.count += 1
        if self.count > MOST_WORDS:
            raise ManifestError(f"The command has more than {MOST_WORDS:,} words.", line)

    def _read_word(self) -> str:
        parts: list[str] = []
        while self.place < len(self.text):
            char = self.text[self.place]
            if char in " \t\r\n;|&" or (char in "()" and not parts):
                break
            if self.text.startswith(("\\\n", "\\\r\n"), self.place):
                self.place = self.text.index("\n", self.place) + 1
                self.line += 1
                continue
            parts.append(_READERS.get(char, _Lexer._plain)(self))
        return "".join(parts)

    def _plain(self) -> str:
        self.place += 1
        return self.text[self.place - 1]

    def _single(self) -> str:
        return self._until("'", escapes=False)

    def _double(self) -> str:
        return self._until('"', escapes=True)

    def _until(self, quote: str, *, escapes: bool) -> str:
        begun = self.line
        parts: list[str] = []
        self.place += 1
        while self.place < len(self.text):
            char = self.text[self.place]
            if char == quote:
                self.place += 1
                return "".join(parts)
            if escapes and char == "\\" and self.text[self.place + 1 : self.place + 2] in ('"', "\\", "$", "`", "\n"):
                self.place += 1
                char = "" if self.text[self.place] == "\n" else self.text[self.place]
                self.line += self.text[self.place] == "\n"
            elif char == "\n":
                self.line += 1
            parts.append(char)
            self.place += 1
        raise ManifestError("A quote is not closed.", begun)

    def _escape(self) -> str:
        self.place += 2
        return self.text[self.place - 1 : self.place]

    def _dollar(self) -> str:
        """`$(…)`, `${…}` and backquotes as they are written."""
        opening = self.text[self.place + 1 : self.place + 2]
        closing = {"(": ")", "{": "}"}.get(opening)
        if closing is None:
            return self._plain()
        depth, begun = 0, self.place
        for at in range(self.place + 1, len(self.text)):
            depth += (self.text[at] == opening) - (self.text[at] == closing)
            if depth == 0:
                self.place = at + 1
                self.line += self.text.count("\n", begun, at)
                return self.text[begun : at + 1]
        raise ManifestError(f"A {opening} is not closed.", self.line)


_READERS: dict[str, Callable[[_Lexer], str]] = {
    "'": _Lexer._single,
    '"': _Lexer._double,
    "\\": _Lexer._escape,
    "$": _Lexer._dollar,
}
