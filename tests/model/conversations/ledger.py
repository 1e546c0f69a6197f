"""What was executed, said and acknowledged, noted outside of the stream; and what may not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final

from agui_bridge.protocol.contract.transitions import Change
from agui_bridge.protocol.threads.client_messages import GoingBackPolicy
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.loaded import Loaded
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import Committed, Expected
from agui_bridge.stores.memory import MemoryStore

__all__ = ["SENT_BY", "Act", "Ledger", "Sent", "WatchedStore", "words_of"]

LOOKS: Final = "peek"
"""The tool that is declared as read-only."""


@dataclass(frozen=True)
class Act:
    """A call that was executed.

    Attributes:
        tool: its name.
        words: of the message that it was made for.
        label: what was done: a message may want two payments.
    """

    tool: str
    words: str
    label: str


@dataclass(eq=False)
class Sent:
    """A request as its page made it; it may arrive twice, late, or never.

    Attributes:
        body: the members of its input.
        actor: who sends it.
        knew: ids of the messages that its page had before it made it.
        sign: the newest of them that it names, if it gives the sign.
        says: the words that are new in it.
        keeps_ids: whether its page keeps the ids of what it says.
        was_told: whether its page was ever told the whole thread. One that was not may know the
            newest message and none before it.
        claimed: whether a run was begun by it.
        lost: whether that run was.
        alone: whether it held nothing that the thread had, as of a client that keeps no list.
    """

    body: Mapping[str, Any]
    actor: str
    knew: Collection[str]
    sign: str | None = None
    says: str | None = None
    keeps_ids: bool = True
    was_told: bool = True
    claimed: bool = False
    lost: bool = False
    alone: bool = False

    @property
    def answers(self) -> bool:
        """Whether it answers a question."""
        return bool(self.body.get("resume"))

    @property
    def can_be_known(self) -> bool:
        """Whether anything tells it again: what somebody says, returns, or answers."""
        return self.answers or any(m["role"] in ("user", "tool") for m in self.body["messages"])


SENT_BY: ContextVar[Sent | None] = ContextVar("SENT_BY", default=None)
"""The request that the code at hand works for."""


@dataclass
class Ledger:
    """What came to pass.

    Attributes:
        policy: the agent's setting for lists without the sign.
        done: what was executed, each execution once.
        calls: the same by the call's id.
        licence: how often something may be executed.
        heard: words that an agent has taken up.
        acknowledged: words that a page was told are answered.
        unkept: words that pages without ids sent again with nothing behind them.
        begun_by: the request that began the last run.
        faults: promises that were broken.
        seen: how often what happened, so that a test can tell that it did.
    """

    policy: GoingBackPolicy = "text"
    done: list[str] = field(default_factory=list)
    calls: dict[str, Act] = field(default_factory=dict)
    licence: Counter[str] = field(default_factory=Counter)
    heard: set[str] = field(default_factory=set)
    acknowledged: set[str] = field(default_factory=set)
    unkept: set[str] = field(default_factory=set)
    begun_by: Sent | None = None
    faults: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def fault(self, what: str) -> None:
        """Note a broken promise."""
        self.faults.append(what)

    def execute(self, call: str, act: Act) -> None:
        """Note an execution, which may be one too many."""
        self.done.append(act.label)
        self.calls[call] = act
        self.seen["executed"] += 1
        if act.tool == LOOKS or self.done.count(act.label) <= self.licence[act.label]:
            return
        if act.words in self.unkept:
            # A client without ids whose reply was cut: nothing tells it from a new message.
            self.seen["said twice without ids"] += 1
            self.licence[act.label] += 1
        else:
            self.fault(f"{act.label} was executed twice")

    def claimed(
        self, sent: Sent, before: Loaded, had: Sequence[StoredMessage], change: Change
    ) -> None:
        """Judge what a claim does for the request that made it."""
        self.seen["claims"] += 1
        if sent.claimed and sent.can_be_known:
            self.fault(f"the request of {sent.body['runId']} was carried out again")
        sent.claimed, self.begun_by = True, sent
        sent.alone = bool(had) and not {m.id for m in had}.intersection(
            message["id"] for message in sent.body["messages"]
        )
        if not sent.keeps_ids:
            self._note_unkept(sent, had, change)
        gone = [m for m in before.messages if m.id in change.superseded]
        if gone:
            self.seen["went back"] += 1
            self._judge(sent, gone)

    def _note_unkept(self, sent: Sent, had: Sequence[StoredMessage], change: Change) -> None:
        ids = {m.id for m in had}
        stored = {words_of(m.message) for m in had if m.message["role"] == "user"}
        listed = [m["id"] for m in sent.body["messages"]]
        for message in change.messages:
            words = words_of(message.message)
            if message.message["role"] != "user" or message.id in ids or words not in stored:
                continue
            if not ids.intersection(listed[listed.index(message.id) :]):
                self.unkept.add(words)
            else:
                self.fault(f"{words} was stored again, with what was told behind it")

    def _judge(self, sent: Sent, gone: Sequence[StoredMessage]) -> None:
        results = {m.message["toolCallId"] for m in gone if m.message["role"] == "tool"}
        users = [m for m in gone if m.message["role"] == "user"]
        newest = sent.body["messages"][-1]["id"] if sent.body["messages"] else None
        wants_answer = newest in sent.knew and not users
        acts = [
            (message, self.calls[call["id"]])
            for message in gone
            for call in message.message.get("toolCalls") or ()
            if call["id"] in self.calls and call["id"] in results
        ]
        changing = [(message, act) for message, act in acts if act.tool != LOOKS]
        self.seen["looked up and taken back"] += len(acts) - len(changing)
        for message, act in changing:
            free = self.policy == "ungated" and wants_answer and act.tool != "pay"
            if sent.sign is not None and message.id not in sent.knew:
                self._taken_back_unseen(sent, act.label)
            elif sent.sign is None and self.policy != "always" and not free:
                self.fault(f"{act.label} left the context without a sign")
            self.seen["executed and taken back"] += 1
            self.licence[act.label] += 1
        for message in users:
            words = words_of(message.message)
            if message.id in sent.knew or words not in self.acknowledged:
                continue
            self.seen["said unseen and taken back"] += 1
            if (sent.sign is not None or changing) and self.policy != "always":
                self._taken_back_unseen(sent, words)

    def _taken_back_unseen(self, sent: Sent, what: str) -> None:
        if sent.sign is not None and not sent.was_told:
            # It spoke before it had the thread, and changed what it said.
            self.seen["taken back by a page that was never told"] += 1
        else:
            self.fault(f"{what} was taken back by a page that never saw it")

    def lost(self, kept: Sequence[StoredMessage]) -> None:
        """A process died: what it had not written down yet, nobody knows of."""
        self.seen["runs lost"] += 1
        if self.begun_by is not None:
            self.begun_by.lost = True
        known = {c["id"] for m in kept for c in m.message.get("toolCalls") or ()}
        for call in [call for call in self.calls if call not in known]:
            self.licence[self.calls.pop(call).label] += 1


class WatchedStore(MemoryStore):
    """The store in memory, with somebody who looks at every claim."""

    ledger: Ledger

    async def commit(
        self, key: ThreadKey, change: Change, expected: Expected, write_id: str
    ) -> Committed:
        """Take a change, and have it judged if it begins a run."""
        before, had = await self.load(key, messages=True), await self.history(key)
        done = await super().commit(key, change, expected, write_id)
        sent, record = SENT_BY.get(), before.record
        begins = change.record.run is not None and (record is None or record.run is None)
        if begins and sent is not None:
            self.ledger.claimed(sent, before, had, change)
        return done


def words_of(message: Mapping[str, Any]) -> str:
    """What a person said, without what agents are told beside it."""
    return str(message.get("content") or "").partition("\n\n[")[0]
