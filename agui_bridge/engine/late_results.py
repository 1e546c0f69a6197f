"""Results that arrive when their run is over: a thread that can't be killed, a server's last word.

The conversation says of such a call that nobody knows whether it was executed. Its result takes the
place of that sentence for as long as the thread is idle. Once a new run has begun it is dropped:
that run's agent has been told otherwise. So is the result of a run that lost its lease, which may
write nothing any more. Source: docs/contract.md, S9 and S10.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from agui_bridge.errors import Conflict, StoreError
from agui_bridge.protocol.answers.unexecuted import UNKNOWN
from agui_bridge.protocol.contract.end_transitions import late_result
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey, ThreadStatus
from agui_bridge.stores.base import Expected, Store

logger: Final = logging.getLogger("agui_bridge")


async def keep_late_result(
    store: Store,
    key: ThreadKey,
    token: str,
    call_id: str,
    content: str,
    asked: str | None,
    mint: Callable[[], str],
) -> bool:
    """Put a call's result in the place of "unknown"; whether it was kept.

    Args:
        store: where the thread lives.
        key: the thread.
        token: of the lease of the run that is over.
        call_id: the tool call.
        content: its result.
        asked: id of the interrupt about the call, if there was one.
        mint: makes write ids.
    """
    try:
        while True:
            loaded = await store.load(key, [asked] if asked is not None else (), messages=True)
            try:
                message = _stored_result(loaded, call_id)
                if message is not None and message.message["content"] == content:
                    return True
                if message is None or loaded.record is None or not _has_place(loaded, token):
                    break
                if message.message["content"] not in UNKNOWN:
                    break
                result = StoredMessage(
                    message.id,
                    message.position,
                    {**message.message, "content": clean_text(content)},
                )
                ask = loaded.interrupts.get(asked) if asked is not None else None
                expected = Expected(version=loaded.record.version)
                await store.commit(key, late_result(loaded, result, ask), expected, mint())
                logger.info("a tool call's result came after its run was over, and is kept")
                return True
            except Conflict:
                continue
    except StoreError:
        logger.warning("a tool call's late result is lost: the store does not answer")
        return False
    logger.warning("a tool call's result came too late: the thread has gone on; it is dropped")
    return False


def _has_place(loaded: Loaded, token: str) -> bool:
    """Whether nothing has begun on the thread since the run of a lease token stored its end."""
    ended = loaded.record.ended if loaded.record is not None else None
    if loaded.status is not ThreadStatus.IDLE or ended is None or ended.token != token:
        return False
    return ended.outcome != "lost"


def _stored_result(loaded: Loaded, call_id: str) -> StoredMessage | None:
    for stored in loaded.messages:
        if stored.message["role"] == "tool" and stored.message["toolCallId"] == call_id:
            return stored
    return None
