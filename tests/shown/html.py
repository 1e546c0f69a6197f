"""A page of the inbox as it is read: arguments, the asker, and what the call would do."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from tests.text.reading import value_of, word_of

__all__ = ["ArgumentsRead"]


class ArgumentsRead(HTMLParser):
    """The first list of arguments of a page, or of one question of a list, as it is seen.

    The end of a line is a blank where no `pre` is, and none behind its start; what is folded is not
    seen.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pairs: list[list[str]] = []
        self.asked_by: str | None = None
        self.preview: list[str] = []
        self._in_preview = False
        self._lists = self._folded = 0
        self._inside: str | None = None
        self._pre = self._begins = False
        self._words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._in_preview = self._in_preview or (tag, given.get("class")) == ("div", "preview")
        self._lists += tag == "dl"
        if tag == "details" and "open" not in given:
            self._folded += 1
        if tag in ("dt", "dd") and self._lists == 1:
            self._inside, self._words, self._pre = tag, [], False
        if tag == "pre":
            self._pre, self._begins, self._words = True, True, []
        if tag == "b" and self.asked_by is None and self._words[-1:] == ["Asked by"]:
            self._inside, self._words = "b", []
        elif tag == "span":
            self._words = [] if self._inside is None else self._words

    def handle_endtag(self, tag: str) -> None:
        self._folded -= tag == "details" and self._folded > 0
        self._lists += 9 * (tag == "dl")
        self._in_preview = self._in_preview and tag != "div"
        if tag != self._inside:
            return
        text = "".join(self._words)
        text = text if self._pre else " ".join(re.split("[ \t\n\f\r]+", text)).strip(" ")
        if tag == "dt":
            self.pairs.append([text, ""])
        elif tag == "dd":
            self.pairs[-1][1] = text
        else:
            self.asked_by = text
        self._inside, self._words, self._pre = None, [], False

    def handle_data(self, data: str) -> None:
        if self._in_preview and not self._folded:
            self.preview.append(data)
            return
        if self._begins:
            data = data.removeprefix("\n")
        self._begins = False
        if not self._folded and (self._inside or data.strip()):
            self._words.append(data)

    @property
    def args(self) -> dict[str, Any]:
        """The arguments, as they are read."""
        return {word_of(name): value_of(value) for name, value in self.pairs}
