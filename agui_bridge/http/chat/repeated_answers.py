"""An answer that names no question, sent twice: the second is not one to the question after it.

The first press on a button has the run go on to another question. The second comes when that one
waits, and would answer what nobody has read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from agui_bridge.engine.engine import Engine
from agui_bridge.http.chat.frames import payload_of
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import (
    Interrupt,
    InterruptStatus,
    Json,
    RecordedAnswer,
    ThreadKey,
)
from agui_bridge.stores.base import InterruptRow, QuestionFilter

_SECONDS: Final = 2.0
"""After a question has come up, in which an equal answer is taken for the last one's."""

_PAGE: Final = 1000
_MOST_TOLD: Final = 10_000

_TOLD: Final[WeakKeyDictionary[Engine, OrderedDict[ThreadKey, str]]] = WeakKeyDictionary()
"""By session the question that somebody has been told who asked for it."""


class _Given(NamedTuple):
    at: float
    ask: Interrupt
    answer: RecordedAnswer


def note_told(engine: Engine, key: ThreadKey, ask: Interrupt) -> None:
    """Note that a session's question was told to whoever asked for it, or sent a message.

    Args:
        engine: where the session is.
        key: its thread.
        ask: the question.
    """
    told = _TOLD.setdefault(engine, OrderedDict())
    told[key] = ask.id
    told.move_to_end(key)
    if len(told) > _MOST_TOLD:
        told.popitem(last=False)


async def is_repeated(
    engine: Engine, key: ThreadKey, loaded: Loaded, ask: Interrupt, values: Mapping[str, Json]
) -> bool:
    """Whether an answer may be that to the question before, sent again.

    Args:
        engine: where the session is.
        key: its thread.
        loaded: the thread.
        ask: the question that waits.
        values: the filled form, which names no question.

    Raises:
        StoreUnavailable: the store did not answer.
    """
    if values.get("approved") is False or _told(engine, key) == ask.id:
        return False
    since, beside = loaded.now - _SECONDS, list(_given(loaded.asks))
    came_up = ask.audit[0].at if ask.audit else 0.0
    if came_up <= since and all(one.at <= since for one in beside):
        return False
    given = [*beside, *await _before(engine, key, loaded)]
    if not given:
        return False
    last = max(given, key=lambda one: one.at)
    return (
        max(last.at, came_up) > since
        and last.ask.id != ask.id
        and last.answer.payload == payload_of(last.ask, values)
    )


def _told(engine: Engine, key: ThreadKey) -> str | None:
    told = _TOLD.get(engine)
    return told.get(key) if told is not None else None


async def _before(engine: Engine, key: ThreadKey, loaded: Loaded) -> list[_Given]:
    """The answers with which the run began that asks now."""
    which = QuestionFilter(key.agent, thread=key.thread, status=InterruptStatus.RESOLVED)
    rows: list[InterruptRow] = []
    while not len(rows) % _PAGE:
        after = rows[-1].place if rows else None
        page = await engine.store.list_interrupts(key.scope, which, after=after, limit=_PAGE)
        if not page:
            break
        rows += page
    found = list(_given(row.interrupt for row in rows))
    if not found or loaded.record is None or loaded.record.ended is None:
        return []
    batch = max(found, key=lambda one: one.at).ask.batch
    answered = [one for one in found if one.ask.batch == batch]
    receipt = (await engine.store.load(key, [answered[0].ask.id])).receipts.get(batch)
    return answered if receipt and receipt.lease == loaded.record.ended.token else []


def _given(asks: Iterable[Interrupt]) -> Iterator[_Given]:
    """When each answer and vote was given, and to which question."""
    for ask in asks:
        for vote in ask.votes:
            yield _Given(vote.at, ask, vote.answer)
        if ask.answer is not None and len(ask.changes) > 1:
            yield _Given(ask.changes[1].at, ask, ask.answer)
