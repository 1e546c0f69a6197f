"""Threads and their rows for the tests of the stores."""

from itertools import count
from typing import Any

from agui_bridge.protocol.previews import DiffPreview
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation, Remember
from agui_bridge.protocol.threads.checkpoint import BegunAct, Checkpoint
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.record_parts import ChainHead, LeaseTerm, PauseHold, Watch
from agui_bridge.protocol.threads.records import (
    AuditEntry,
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    Receipt,
    RecordedAnswer,
    RunEnding,
    RunLease,
    StopRequest,
    ThreadKey,
    ThreadRecord,
    ThreadStatus,
    ToolCall,
    Vote,
)
from agui_bridge.stores.base import ABSENT, Change, Committed, Expected, Store

KEY = ThreadKey("scope", "agent", "thread")
OTHER = ThreadKey("scope", "agent", "other")
LEASE_SECONDS = 30.0
LEASE = Expected(lease="token")

ODD_JSON: dict[str, Any] = {
    "": "",
    "z first": 1,
    "a second": [],
    "int": 2**63 + 1,
    "negative": -(2**200),
    "floats": [0.1, 1e300, 5e-324, -0.0, 1.0, 1e16],
    "falsy": [None, False, 0, "", {}, []],
    "nested": {"deep": [[[{"x": [1, [2, {"y": None}]]}]]]},
    "text": "日本語 🏳️‍🌈 \u2028 \x00 \x7f \ud800 ' \" \\ \r\n\t",
    "ключ": {"b": 1, "a": 2},
}
"""Values that some database or JSON library would change."""

_write_ids = count()


def write_id() -> str:
    """A write id that no other write has."""
    return f"write-{next(_write_ids)}"


def message(id: str, position: int, **fields: Any) -> StoredMessage:
    """A user message."""
    return StoredMessage(id, position, {"id": id, "role": "user", "content": "hello", **fields})


def ask(id: str, batch: str = "batch", **fields: Any) -> Interrupt:
    """An open interrupt."""
    defaults: dict[str, Any] = {"position": 0, "native_id": f"native-{id}", "reason": "input"}
    return Interrupt(id=id, batch=batch, **defaults | fields)


def receipt(batch: str = "batch", **fields: Any) -> Receipt:
    """A receipt of a batch that was carried out."""
    defaults: dict[str, Any] = {"outcome": "finished", "at": 7.0}
    return Receipt(batch=batch, **defaults | fields)


def idle(key: ThreadKey = KEY, **fields: Any) -> ThreadRecord:
    """A thread that is doing nothing."""
    defaults: dict[str, Any] = {"version": 1000}
    return ThreadRecord(key=key, **defaults | fields)


def running(key: ThreadKey = KEY, token: str = "token", **fields: Any) -> ThreadRecord:
    """A thread with a lease; its end comes from the commit's `lease_seconds`."""
    lease = RunLease("run", token, 0.0, "ann")
    return idle(key, **{"status": ThreadStatus.RUNNING, "run": lease} | fields)


def interrupted(key: ThreadKey = KEY, batch: str = "batch", **fields: Any) -> ThreadRecord:
    """A thread that waits for the answers to a batch."""
    return idle(key, **{"status": ThreadStatus.INTERRUPTED, "batch": Batch(batch)} | fields)


async def put(
    store: Store, record: ThreadRecord, expected: Expected = ABSENT, **change: Any
) -> Committed:
    """Commit a record; a running one gets a lease of LEASE_SECONDS."""
    change = {"lease_seconds": LEASE_SECONDS} | change
    return await store.commit(record.key, Change(record, **change), expected, write_id())


def full_record() -> ThreadRecord:
    """A record in which no field has its default value, but for the store's own."""
    return ThreadRecord(
        key=ThreadKey("sco\u0440e", "ägent/ü", "线程 🧵'\"\\"),
        status=ThreadStatus.RUNNING,
        version=2**62,
        batch=Batch(
            "b-1", ODD_JSON, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "run-é"
        ),
        run=RunLease("run-1", "token", 123.456, "ann", "input-é"),
        state=ODD_JSON,
        closed=(ClosedBatch(ODD_JSON, "lost"), ClosedBatch(None, "expired")),
        pending_calls=("call-1", "call-2"),
        handoff=[ODD_JSON, 0],
        ended=RunEnding("token-0", "failed", 3, ODD_JSON),
        unheard=("message-1", "nachricht-é"),
        held_context=({"description": "who", "value": "é"}, {"description": "", "value": "2"}),
        rewound=("message-0",),
        gone_calls=("call-0", "aufruf-é"),
        begun_by="dörte",
        past=True,
        archived=("message-00", "nachricht-ä"),
        archived_until=2**53,
        returned=("call-3", "aufruf-ü"),
        kept=CompletedPart(20_000, ("call-1",)),
        memo={"session": "é", "at": [1, 1.0, None]},
        askers=("änn", "bob"),
        chain=ChainHead("write-é", 2**40, "ab12", "b-1", {"i-1": 3}),
        watch=Watch({"tasks": ["é"]}, 5.25, 90.5, ("änn", "bob"), 3),
        checkpoint=Checkpoint(
            {"runId": "input-é"},
            ("rôle",),
            ("message-2",),
            True,
            ODD_JSON,
            (BegunAct("run.step('é')", "ab12", "key-é", True),),
            2,
            7.5,
            ("token-0", "token-ü"),
        ),
        hold=PauseHold("hält", LeaseTerm(0.0)),
    )


def full_rule() -> ApprovalRule:
    """A rule in which no field has its default value."""
    return ApprovalRule(
        name="zwei Köpfe",
        approvers=("ann", "role:dba"),
        quorum=3,
        each_of=(("role:dba",), ("ann", "bob")),
        self_approval=False,
        declines="all",
        notify=("ops", "mail"),
        remind=(60.0, 3600.0),
        escalate=(Escalation(7200.0, ("role:boss",), ("mail",), 600.0), Escalation(9000.0)),
        remember=(Remember("thread"), Remember("actor", {"/amount": {"max": 5}}, 60.0, 3)),
        within=(("role:eu",),),
    )


def full_interrupt() -> Interrupt:
    """An interrupt in which no field has its default value."""
    return Interrupt(
        id="i-1",
        batch="b-1",
        position=3,
        native_id="native",
        reason="tool_call",
        status=InterruptStatus.CLAIMED,
        message="Löschen?",
        tool_call=ToolCall("call-1", "delete_rows", ODD_JSON),
        response_schema=ODD_JSON,
        allowed=("approve", "edit"),
        expires_at=1.7e9 + 0.123456,
        subagent_run_id="sub",
        about="call-about",
        about_tool="ask_user",
        about_tools=("ask_user", 'zwei\n"\\ Köpfe'),
        permits=True,
        metadata=ODD_JSON,
        answer=RecordedAnswer("resolved", ODD_JSON),
        audit=(
            AuditEntry(InterruptStatus.OPEN, 1.5, "bridge"),
            AuditEntry(InterruptStatus.OPEN, 2.0, "bob", "slack", "zwei Köpfe", "voted"),
            AuditEntry(InterruptStatus.CLAIMED, 2.5, "ann", "inbox", "zwei Köpfe"),
        ),
        asked_by="cäsar",
        joined_by=("dora",),
        rule=full_rule(),
        votes=(
            Vote("bob", frozenset({"dba", "ops"}), RecordedAnswer("resolved", ODD_JSON), "d1", 2.0),
            Vote("ann", frozenset(), RecordedAnswer("cancelled"), None, 2.5, "inbox"),
        ),
        preview=DiffPreview(
            ("Köpfe \x00\ud800.txt",),
            "@@ -1 +1 @@\n-\u202e\r\n+日本語 🏳️‍🌈\u2028\x7f\n",
            is_cut=True,
        ),
    )


def full_receipt() -> Receipt:
    """A receipt in which no field has its default value."""
    return Receipt(
        batch="b-1",
        outcome="failed",
        answers={
            "i-1": RecordedAnswer("resolved", ODD_JSON),
            "i-2": RecordedAnswer("cancelled"),
        },
        code="AGENT_ERROR",
        lease="token",
        at=1234.5678,
    )


def stop(token: str = "token", *, force: bool = False, until: float = 50.0) -> StopRequest:
    """A stop request."""
    return StopRequest(token, force, until, "ann")


async def full(store: Store, key: ThreadKey = KEY) -> None:
    """Store a thread that has everything, and is idle."""
    await put(store, running(key), lease_seconds=LEASE_SECONDS)
    await store.request_stop(key, stop())
    asks = (ask("a", expires_at=5.0), ask("b", status=InterruptStatus.ANSWERED))
    rows = (message("m", 1), message("n", 2))
    await put(store, interrupted(key), LEASE, interrupts=asks, receipts=(receipt(),), messages=rows)
    answered = ask("a", "other", status=InterruptStatus.ANSWERED, position=1)
    await put(store, idle(key), Expected(version=1001), interrupts=(answered,), superseded=("m",))
