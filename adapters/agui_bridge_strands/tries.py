"""Calls that ran, and that a hook has Strands carry out once more.

To Strands all tries are one call, and the last one's result is its result. If people are asked
about another try, clients are told that try as a call of its own: whatever becomes of it, what ran
before keeps its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Tries:
    """Those of one run.

    Args:
        shown: under which id clients know the newest try, by tool call id, where it is another.
        results: what the try before returned, which clients have been told.

    Attributes:
        shown: the same, now.
        results: what the try before returned, by tool call id, while there is a newer one.
    """

    def __init__(self, shown: Mapping[str, str], results: Mapping[str, str]) -> None:
        self.shown: dict[str, str] = dict(shown)
        self.results: dict[str, str] = dict(results)
        self._told = set(results)

    def id(self, call: str) -> str:
        """Under which id clients know the newest try of a call."""
        return self.shown.get(call, call)

    def note(self, call: str, text: str) -> None:
        """Note what a try returned after which there is another one."""
        self.results[call] = text
        self._told.discard(call)

    def untold(self) -> Iterator[tuple[str, str]]:
        """Results that clients have not been told, by tool call id; they count as told then."""
        for call, text in self.results.items():
            if call not in self._told:
                self._told.add(call)
                yield call, text

    def refused(self, call: str, text: str) -> tuple[str, str]:
        """What the model reads of a call whose newest try was not carried out, and clients do.

        Args:
            call: the call.
            text: why not.
        """
        before = self.results.get(call)
        if before is None:
            return text, text
        both = f"{before}\n\nIt was to be tried again, and was not: {text}"
        return both, text if call in self._told else both
