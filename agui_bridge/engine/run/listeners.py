"""Who wants to see a run's end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agui_bridge.engine.input.settings import DisconnectPolicy
from agui_bridge.engine.streaming.pipe import Pipe

__all__ = ["Listeners"]


class Listeners:
    """The client that began a run, and those who came later: they follow its stream, or wait.

    Args:
        pipe: of the first client.
        policy: what happens to the run once nobody listens.
        changed: called when somebody has left.
    """

    __slots__ = ("_changed", "_later", "_pipe", "_policy")

    def __init__(self, pipe: Pipe, policy: DisconnectPolicy, changed: Callable[[], None]) -> None:
        self._pipe = pipe
        self._policy = policy
        self._changed = changed
        self._later = 0

    @contextmanager
    def present(self) -> Iterator[None]:
        """Be one of them."""
        self._later += 1
        try:
            yield
        finally:
            self._later -= 1
            self._changed()

    @property
    def deserted(self) -> bool:
        """Whether the run is to stop, because the last one has left."""
        return self._policy == "stop" and self._pipe.detached and not self._later
