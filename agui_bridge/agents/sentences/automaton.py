"""Many texts looked for at once, one character at a time: an Aho-Corasick automaton."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from agui_bridge.agents.sentences.spelling import UNSPACED

__all__ = ["Automaton"]


class Automaton:
    """The automaton of some texts; made once, shared by all who look for them.

    Attributes:
        longest: length of the longest text.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """Build it: time and space grow with the texts' total length."""
        self.longest: int = max(map(len, texts), default=0)
        self._next: list[dict[str, int]] = [{}]
        self._ends: list[list[tuple[int, int]]] = [[]]
        self._depth, self._last = [0], [""]
        for number, text in enumerate(texts):
            state = 0
            for char in text:
                if char not in self._next[state]:
                    self._next[state][char] = len(self._next)
                    self._next.append({})
                    self._ends.append([])
                    self._depth.append(self._depth[state] + 1)
                    self._last.append(char)
                state = self._next[state][char]
            if text and not self._ends[state]:
                self._ends[state].append((len(text), number))
        self._fall = [0] * len(self._next)
        self._apart = [0] * len(self._next)
        queue = deque(self._next[0].values())
        while queue:
            state = queue.popleft()
            self._apart[state] = self._depth_apart(state)
            for char, child in self._next[state].items():
                self._fall[child] = self.step(self._fall[state], char) if state else 0
                self._ends[child] += self._ends[self._fall[child]]
                queue.append(child)

    def step(self, state: int, char: str) -> int:
        """The state after one more character; the first state is 0."""
        while state and char not in self._next[state]:
            state = self._fall[state]
        return self._next[state].get(char, 0)

    def ends(self, state: int) -> list[tuple[int, int]]:
        """The texts that end here, as length and number, the longest first."""
        return self._ends[state]

    def depth(self, state: int) -> int:
        """Length of the longest beginning of a text that ends here."""
        return self._depth[state]

    def depth_apart(self, state: int) -> int:
        """The same of those that may go on after the end of a word; 0 when there is none."""
        return self._apart[state]

    def _depth_apart(self, state: int) -> int:
        following = self._next[state]
        if self._last[state] >= UNSPACED:
            goes_on = bool(following)
        else:
            goes_on = any(char == " " or char >= UNSPACED for char in following)
        return self._depth[state] if goes_on else self._apart[self._fall[state]]
