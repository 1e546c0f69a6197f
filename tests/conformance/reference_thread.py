"""The threads of the reference agent: what it asked, what was answered, and what counts.

A second implementation of the contract, in memory, that shares nothing with the engine. `flaws`
names what is broken on purpose.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Ask", "Process", "Refusal", "Store", "Thread", "admit"]

Json = Any

APPROVAL: Mapping[str, Json] = {
    "type": "object",
    "required": ["approved"],
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object", "required": ["to", "body"]},
    },
}
CONFIRMATION: Mapping[str, Json] = {
    "type": "object",
    "required": ["confirm"],
    "properties": {"confirm": {"type": "boolean"}},
}
FORM: Mapping[str, Json] = {
    "type": "object",
    "required": ["year"],
    "properties": {"year": {"type": "integer"}},
}


@dataclass
class Ask:
    """A question, and its answer once it has one.

    Attributes:
        lasts: seconds that it may be answered for, from when it is first told.
        expires: when that ends; None before it is told, or for ever.
    """

    kind: str
    args: dict[str, str]
    lasts: float | None = None
    expires: float | None = None
    subagent: str | None = None
    owner: object = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    call: str = field(default_factory=lambda: f"call-{uuid.uuid4().hex}")
    status: str = "open"
    answer: dict[str, Json] | None = None

    def tell(self) -> None:
        """A slow machine would end it in the run that asks it, if its time began there."""
        if self.lasts is not None and self.expires is None:
            self.expires = time.time() + self.lasts

    @property
    def is_expired(self) -> bool:
        return self.expires is not None and time.time() >= self.expires

    def accepts(self, payload: Json, flaws: frozenset[str]) -> bool:
        """Whether a payload is what its schema says."""
        if self.kind == "falsy":
            return isinstance(payload, bool) and (payload or "falsy-is-missing" not in flaws)
        if self.kind in ("form", "amid"):
            year = payload.get("year") if isinstance(payload, dict) else None
            return type(year) is int or "unchecked-form" in flaws
        if not isinstance(payload, dict):
            return False
        if self.kind == "confirmation":
            return isinstance(payload.get("confirm"), bool)
        if "truthy" not in flaws and not isinstance(payload.get("approved"), bool):
            return False
        edited = payload.get("editedArgs", {"to": "", "body": ""})
        if "unchecked-edits" in flaws:
            return isinstance(edited, dict)
        keys = ("to", "body")
        return isinstance(edited, dict) and all(isinstance(edited.get(k), str) for k in keys)


@dataclass
class Thread:
    """A conversation.

    Attributes:
        inputs: the run's id and the newest message of every input that began a run.
    """

    id: str
    messages: list[dict[str, Json]] = field(default_factory=list)
    asks: dict[str, Ask] = field(default_factory=dict)
    pending_calls: list[str] = field(default_factory=list)
    stop: bool = False
    locked: bool = False
    busy: asyncio.Event | None = None
    inputs: set[tuple[str, str]] = field(default_factory=set)

    @property
    def open(self) -> list[Ask]:
        return [ask for ask in self.asks.values() if ask.status == "open"]


@dataclass
class Store:
    """What survives a restart: threads by principal and id, and the effects of the tool."""

    threads: dict[tuple[str, str], Thread] = field(default_factory=dict)
    effects: list[str] = field(default_factory=list)

    def thread(self, who: str, thread: str) -> Thread:
        return self.threads.setdefault((who, thread), Thread(thread))


@dataclass
class Process:
    """What one process alone knows.

    Attributes:
        flaws: what is broken.
        claims: ids of asks whose answer it carries out.
    """

    store: Store
    flaws: frozenset[str] = frozenset()
    claims: set[str] = field(default_factory=set)

    def has(self, flaw: str) -> bool:
        return flaw in self.flaws


class Refusal(Exception):
    """The input is refused; nothing has changed."""


async def admit(
    process: Process, thread: Thread, body: Mapping[str, Json], text: str | None
) -> Sequence[Ask] | str:
    """What to do with an input: `start`, `replay`, or the asks to go on with.

    Raises:
        Refusal: nothing.
    """
    entries = body.get("resume")
    if entries == [] and process.has("empty-approves") and thread.open:
        return _answer(process, thread.open, [{"payload": {"approved": True}}] * len(thread.open))
    if not entries:
        return _admit_message(process, thread, body, text)
    given = _entries_by_id(process, thread, body, entries)
    while thread.busy is not None and not process.has("late-claim"):
        if set(given) & process.claims or not process.has("claim-in-process"):
            await thread.busy.wait()
        else:
            break
    if all(_is_recorded(process, thread.asks[i], entry) for i, entry in given.items()):
        if process.has("replay-is-error"):
            raise Refusal("INTERRUPT_ALREADY_ANSWERED")
        if not _executes_replay(process, thread, given, body):
            return "replay"
    _refuse_closed(process, thread, given)
    asks = [ask for ask in thread.asks.values() if ask.id in given]
    left_out = [a for a in thread.open if a.id not in given and not a.is_expired]
    if left_out and not process.has("partial-accepted"):
        raise Refusal("INTERRUPT_NOT_COVERED")
    for ask in left_out:
        ask.status = "abandoned"
    for ask in asks:
        _check(process, ask, given[ask.id])
    if process.has("by-position"):
        return _answer(process, asks, entries)
    return _answer(process, asks, [given[ask.id] for ask in asks])


def _admit_message(
    process: Process, thread: Thread, body: Mapping[str, Json], text: str | None
) -> Sequence[Ask] | str:
    if _brings_nothing(process, thread, body):
        return "replay"
    if thread.locked:
        raise Refusal("RUN_IN_PROGRESS")
    if process.has("message-approves") and thread.open and (text or "").startswith("yes"):
        return _answer(process, thread.open, [{"payload": {"approved": True}}] * len(thread.open))
    if any(not ask.is_expired for ask in thread.open):
        if process.has("message-drops"):
            for ask in thread.open:
                ask.status, ask.answer = "dropped", {}
        raise Refusal("INTERRUPT_PENDING")
    for ask in thread.open:
        ask.status = "expired"
    thread.inputs.add(_key_of(body))
    return "start"


def _key_of(body: Mapping[str, Json]) -> tuple[str, str]:
    users = [m["id"] for m in body["messages"] if m["role"] == "user"]
    return body["runId"], users[-1] if users else ""


def _brings_nothing(process: Process, thread: Thread, body: Mapping[str, Json]) -> bool:
    """Whether it came before, or everything in it is known already."""
    messages = body["messages"]
    if _key_of(body) in thread.inputs:
        return not process.has("repeats-run") and not process.has("repeats-execute")
    known = {message["id"] for message in thread.messages}
    users = {message["id"] for message in messages if message["role"] == "user"}
    results = {message.get("toolCallId") for message in messages}
    if not known or users - known or results.intersection(thread.pending_calls):
        return False
    ends_with_user = bool(messages) and messages[-1]["role"] == "user"
    return not process.has("answers-again" if ends_with_user else "acts-on-nothing")


def _entries_by_id(
    process: Process, thread: Thread, body: Mapping[str, Json], entries: list[dict[str, Json]]
) -> dict[str, dict[str, Json]]:
    given: dict[str, dict[str, Json]] = {}
    for entry in entries:
        wanted = entry["interruptId"]
        if wanted in given and not process.has("last-entry-wins"):
            raise Refusal("INTERRUPT_DUPLICATE")
        if wanted not in thread.asks:
            wanted = _elsewhere(process, thread, body, wanted)
        ask = thread.asks[wanted]
        if process.has("asks-in-process") and ask.owner is not process:
            raise Refusal("INTERRUPT_NOT_FOUND")
        given[wanted] = entry
    if process.has("needs-history") and not body["messages"]:
        raise Refusal("INTERRUPT_NOT_FOUND")
    return given


def _elsewhere(process: Process, thread: Thread, body: Mapping[str, Json], wanted: str) -> str:
    """An ask that a careless server would take for the one that is meant."""
    if process.has("any-id") and thread.open:
        return thread.open[0].id
    if process.has("global-ids"):
        for other in process.store.threads.values():
            if wanted in other.asks:
                thread.asks[wanted] = other.asks[wanted]
                return wanted
    if process.has("trusts-calls"):
        for message in body["messages"]:
            for call in message.get("toolCalls", ()):
                args = json.loads(call["function"]["arguments"])
                made = Ask("approval", args, id=wanted, call=call["id"])
                thread.asks[wanted] = made
                return wanted
    raise Refusal("INTERRUPT_NOT_FOUND")


def _is_recorded(process: Process, ask: Ask, entry: Mapping[str, Json]) -> bool:
    if ask.answer is None or ask.status == "open":
        return ask.status == "expired" and entry["status"] == "cancelled"
    if process.has("compares-approval"):
        both = (entry.get("payload"), ask.answer.get("payload"))
        return all(isinstance(p, dict) and p.get("approved") is True for p in both)
    return all(entry.get(k) == ask.answer.get(k) for k in ("status", "payload"))


def _executes_replay(
    process: Process, thread: Thread, given: Mapping[str, Json], body: Mapping[str, Json]
) -> bool:
    asks = [thread.asks[i] for i in given]
    if process.has("receipts-in-process") and any(i not in process.claims for i in given):
        return _reopen(asks)
    if process.has("replay-executes"):
        return _reopen(asks)
    if process.has("history-replay"):
        done = {m.get("toolCallId") for m in body["messages"]}
        if body["messages"] and not done & {ask.call for ask in asks}:
            return _reopen(asks)
    return False


def _reopen(asks: Sequence[Ask]) -> bool:
    for ask in asks:
        ask.status, ask.answer = "open", None
    return True


def _refuse_closed(process: Process, thread: Thread, given: Mapping[str, Json]) -> None:
    for wanted, entry in given.items():
        ask = thread.asks[wanted]
        if ask.status == "open":
            continue
        answer = ask.answer or {}
        reopened = (
            process.has("deny-reopens") and answer.get("payload") == {"approved": False},
            process.has("cancel-reopens") and answer.get("status") == "cancelled",
        )
        if any(reopened) or (
            process.has("receipts-in-process")
            and wanted not in process.claims
            and ask.status == "carried-out"
        ):
            _reopen([ask])
        elif process.has("conflict-accepted") and entry.get("payload") == {"approved": False}:
            raise ReplayedAnyway
        else:
            raise Refusal("INTERRUPT_EXPIRED" if ask.is_expired else "INTERRUPT_ALREADY_ANSWERED")


class ReplayedAnyway(Exception):
    """A flawed server answers a conflict as if it were a replay."""


def _check(process: Process, ask: Ask, entry: Mapping[str, Json]) -> None:
    cancelled = entry["status"] == "cancelled"
    if ask.is_expired:
        if cancelled and process.has("expired-is-dead"):
            raise Refusal("INTERRUPT_EXPIRED")
        if not cancelled and not process.has("no-expiry"):
            raise Refusal("INTERRUPT_EXPIRED")
    if not cancelled and not ask.accepts(entry.get("payload"), process.flaws):
        if process.has(f"garbage-burns-{ask.kind}s"):
            ask.status = "burned"
        raise Refusal("INVALID_RESUME_PAYLOAD")


def _answer(
    process: Process, asks: Sequence[Ask], entries: Sequence[dict[str, Json]]
) -> Sequence[Ask]:
    """Claim them, at once and for all processes unless that is what is broken."""
    for ask, entry in zip(asks, entries, strict=False):
        ask.answer = {"status": entry.get("status", "resolved"), "payload": entry.get("payload")}
        process.claims.add(ask.id)
        if not process.has("late-claim") and not process.has("claim-in-process"):
            ask.status = "carried-out"
    return list(asks)
