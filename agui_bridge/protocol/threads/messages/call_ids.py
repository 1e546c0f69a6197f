"""The ids of tool calls: each unique in its thread, whatever a model calls its calls.

Many servers count the calls of each reply from nought (`functions.pay:0`), or name them by their
tool. To people the second one would be the same call, and an approval or a result of one would be
taken for one of the other. So an adapter gives each new call an id of its own, best before its
framework sees it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

_NUMBERED: Final = re.compile(r"(.*?)([0-9]{1,9})", re.DOTALL)


class CallIds:
    """Gives ids to the new calls of one run.

    Args:
        taken: ids that calls of its thread have, or had.
        mint: makes an id of nothing.
    """

    def __init__(self, taken: Iterable[str], mint: Callable[[], str]) -> None:
        self._taken = set(taken)
        self._mint = mint

    def is_taken(self, own: str) -> bool:
        """Whether a call of the thread has an id, or had it.

        Args:
            own: the id.
        """
        return own in self._taken

    def new(self, native: str | None) -> str:
        """The id of a new call: the one that its model gave it, where no other call has that.

        Else one of the same shape, with the next free number: some models want theirs back in the
        shape that they know.

        Args:
            native: the model's id; a call without any gets one.

        Returns:
            The id, which is taken from now on.
        """
        own = self._free(native) if native else self._mint()
        self._taken.add(own)
        return own

    def _free(self, native: str) -> str:
        if native not in self._taken:
            return native
        numbered = _NUMBERED.fullmatch(native)
        stem, number = numbered.groups() if numbered else (f"{native}-", "1")
        following = int(number) + 1
        while (own := f"{stem}{following:0{len(number)}d}") in self._taken:
            following += 1
        return own


class ReplyIds:
    """The ids of the calls of one reply that a framework tells twice: in pieces, and whole.

    Args:
        new: gives the id of a new call, as `CallIds.new` does.
    """

    def __init__(self, new: Callable[[str | None], str]) -> None:
        self._new = new
        self._begun: dict[object, tuple[str, str]] = {}

    @property
    def has_begun(self) -> bool:
        """Whether a piece has come."""
        return bool(self._begun)

    def piece(self, place: object, native: str) -> str:
        """The id of a call of which a piece has come.

        Args:
            place: tells the reply's calls apart.
            native: the model's id.
        """
        known = self._begun.get(place)
        if known is None or known[0] != native:
            known = self._begun[place] = (native, self._new(native))
        return known[1]

    def whole(self, natives: Iterable[str]) -> list[str]:
        """The ids of all calls of the reply, in order; of those that came in pieces the same.

        Args:
            natives: the model's ids.
        """
        left = list(self._begun.values())
        own: list[str] = []
        for native in natives:
            found = next((one for one in left if one[0] == native), None)
            if found is not None:
                left.remove(found)
            own.append(found[1] if found is not None else self._new(native))
        return own
