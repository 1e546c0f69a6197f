"""Long threads: which they are, and how much of one scope's is in hand at once.

To compare an input with a thread, and to show that, takes several times its size for a moment. What
waits for its turn keeps what it has loaded. So of one scope's threads only so many bytes are loaded
at once; what comes beyond that waits before it loads. How long a thread is, is known once it was
loaded: that look is thrown away, and another one taken when there is room.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractAsyncContextManager
from typing import Final

from agui_bridge.engine.input.weight import is_long_thread
from agui_bridge.engine.scope_queue import ScopeQueue
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.stored import StoredMessages
from agui_bridge.protocol.threads.records import ThreadKey

__all__ = ["LongThreads"]

_REMEMBERED: Final = 10_000
"""Threads that were long when they were read last."""

_MESSAGE: Final = 700
"""Bytes that a message takes besides its text, about."""


class LongThreads:
    """Knows the threads that were long when they were read last.

    Args:
        most_bytes: of one scope's long threads that are in hand at once; one alone may be larger.
    """

    def __init__(self, most_bytes: int) -> None:
        self._queue = ScopeQueue(most_bytes)
        self._sizes: OrderedDict[ThreadKey, int] = OrderedDict()

    def __contains__(self, key: ThreadKey) -> bool:
        return key in self._sizes

    def hold(self, key: ThreadKey) -> AbstractAsyncContextManager[None]:
        """Have a thread in hand for the length of a block, once there is room for it.

        One that is not known to be long never waits.
        """
        return self._queue.hold(key.scope, self._sizes.get(key, 0))

    def note(self, key: ThreadKey, loaded: Loaded) -> bool:
        """Take note of how long a thread is; whether it is, and was not known to be."""
        known = self._sizes.pop(key, None)
        if not is_long_thread(loaded):
            return False
        messages = StoredMessages.of(loaded.messages)
        self._sizes[key] = messages.size + _MESSAGE * len(messages)
        if len(self._sizes) > _REMEMBERED:
            self._sizes.popitem(last=False)
        return known is None
