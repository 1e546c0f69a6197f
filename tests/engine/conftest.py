"""Here all threads count as long: what a process keeps of one is compared with its store."""

from collections.abc import Sequence

import pytest

from agui_bridge.engine.input import past
from agui_bridge.engine.input.past import MessageCache
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.archived import StoredMessages
from agui_bridge.protocol.threads.records import ThreadKey

load = MessageCache.load


async def load_and_compare(
    kept: MessageCache,
    key: ThreadKey,
    interrupt_ids: Sequence[str] = (),
    receipt: str | None = None,
) -> Loaded:
    """Load a thread; where the store was not asked for its messages, ask it."""
    was_kept = key in kept.threads
    given = await load(kept, key, interrupt_ids, receipt)
    if was_kept and given.record is not None:
        whole = await kept._store.load(key, interrupt_ids, messages=True)
        if whole.record is not None and whole.record.write_id == given.record.write_id:
            ours, theirs = StoredMessages.of(given.messages), StoredMessages(whole.messages)
            assert ours == theirs
            assert (ours.by_id, ours.carriers) == (theirs.by_id, theirs.carriers)
            assert ours.calls == theirs.calls
            assert ours.size >= theirs.size
    return given


@pytest.fixture(autouse=True)
def compare_what_is_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "test_message_cache" not in request.node.nodeid:
        monkeypatch.setattr(past, "_FEWEST", 1)
        monkeypatch.setattr(MessageCache, "load", load_and_compare)
