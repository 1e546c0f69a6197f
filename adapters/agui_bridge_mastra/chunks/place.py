"""Where a chunk comes from: the agent itself, or one that it called, at any depth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a chunk comes from.

    Attributes:
        path: the tool calls that lead to it, outermost first; empty for the agent itself.
        subagent: run id of the sub-agent, None for the agent itself.
    """

    path: tuple[str, ...] = ()
    subagent: str | None = None

    def key(self, name: object) -> str:
        """A name that is unique within the run."""
        return "/".join((*self.path, str(name)))

    def holds(self, key: str) -> bool:
        """Whether `key` made this key, and no place further in."""
        before = self.key("")
        return key.startswith(before) and "/" not in key[len(before) :]
