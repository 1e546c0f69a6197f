"""What was told of one thing that is streamed, and what is news of it.

Clients stream a text in pieces, and some repeat it whole at its end (`merge_mode="replace"`): the
one of OpenAI's Responses does so for each part of a text or thought, and for each call's arguments.
What was told is not told again. What was told otherwise is taken back.
"""

from __future__ import annotations

__all__ = ["Streamed"]


class Streamed:
    """One text as far as it has come: parts that are whole, and the one that may be replaced."""

    __slots__ = ("_before", "_is_whole", "_part")

    def __init__(self) -> None:
        self._before = ""
        self._part: list[str] = []
        self._is_whole = False

    @property
    def text(self) -> str:
        """All of it."""
        return self._before + "".join(self._part)

    def add(self, piece: str) -> str:
        """Take the next piece, perhaps the first one of another part; all of it is news."""
        if self._is_whole:
            self._before, self._part, self._is_whole = self.text, [], False
        self._part.append(piece)
        return piece

    def replace(self, whole: str, *, all_parts: bool = False) -> str | None:
        """Take what stands in place of the last part, and give what of it is news.

        Args:
            whole: the part, or all of the text.
            all_parts: whether it stands in place of all parts.

        Returns:
            None where `whole` says something else than what was told.
        """
        told = self.text if all_parts else "".join(self._part)
        if all_parts:
            self._before = ""
        self._part, self._is_whole = [whole], True
        return whole.removeprefix(told) if whole.startswith(told) else None

    def repeats(self, whole: str) -> bool:
        """Whether the last part is this."""
        return "".join(self._part) == whole
