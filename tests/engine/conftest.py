"""Here all threads count as long: what a process keeps of one is compared with its store."""

from collections.abc import Sequence

import pytest

from agui_bridge.engine.input import kept_messages
from agui_bridge.engine.input.kept_messages import KeptMessages
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.messages.stored import StoredMessages
from agui_bridge.protocol.threads.records import ThreadKey

load = KeptMessages.load


async def load_and_compare(
    kept: KeptMessages,
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
    if "test_kept_messages" not in request.node.nodeid:
        monkeypatch.setattr(kept_messages, "_FEWEST", 1)
        monkeypatch.setattr(KeptMessages, "load", load_and_compare)
