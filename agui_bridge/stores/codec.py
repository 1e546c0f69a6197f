"""Records as JSON text and back, the same text in every backend.

Text is ASCII without NUL: whatever characters a value holds, every database takes it. NaN and
values that are not JSON raise `ValueError` or `TypeError` before anything is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, Final

from agui_bridge.frozen import replace
from agui_bridge.protocol.grants import Grant
from agui_bridge.protocol.previews import read_preview
from agui_bridge.protocol.threads.approval_rule import ApprovalRule, Escalation, Remember
from agui_bridge.protocol.threads.checkpoint import BegunAct, Checkpoint
from agui_bridge.protocol.threads.completed_part import CompletedPart
from agui_bridge.protocol.threads.record_parts import ChainHead, LeaseTerm, PauseHold, Watch
from agui_bridge.protocol.threads.records import (
    RECORD_FORMAT,
    AuditEntry,
    Batch,
    ClosedBatch,
    Interrupt,
    InterruptStatus,
    Json,
    Receipt,
    RecordedAnswer,
    RunEnding,
    RunLease,
    ThreadKey,
    ThreadRecord,
    ToolCall,
    Vote,
)

# An encoder is kept, because `json.dumps` builds a new one for every call with separators.
encode: Callable[[Json], str] = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
"""Any JSON value as text."""

decode: Callable[[str], Json] = json.JSONDecoder().decode
"""The value of a text that `encode` wrote."""


_FORMAT: Final = re.compile(r'\{"format":(\d{1,9}),')

_POINT: Final = tuple(field.name for field in fields(Checkpoint))

_RULE_FIELDS: Final = frozenset(field.name for field in fields(ApprovalRule))


def encode_thread(record: ThreadRecord) -> str:
    """Write what a record says beyond its key, status, stop and the store's own fields."""
    batch, run, ended = record.batch, record.run, record.ended
    return encode(
        {
            # First, so that it is read without the rest. An earlier version leaves it out.
            "format": RECORD_FORMAT,
            "batch": batch and [batch.id, batch.continuation, batch.trace, batch.run_id],
            "run": run and [run.run_id, run.token, run.ends_at, run.actor],
            # Apart, because a process of an earlier version takes the list as it is.
            "receipt": run and run.receipt,
            "state": record.state,
            "closed": [[closed.continuation, closed.cause] for closed in record.closed],
            "pending_calls": record.pending_calls,
            "handoff": record.handoff,
            "ended": ended and [ended.token, ended.outcome],
            # Apart, because a process of an earlier version takes the list as it is.
            "iteration": ended and ended.iteration,
            "result": ended and ended.result,
            "unheard": record.unheard,
            "held_context": [dict(entry) for entry in record.held_context],
            "rewound": record.rewound,
            "gone_calls": record.gone_calls,
            "begun_by": record.begun_by,
            "past": record.past,
            "archived": record.archived,
            "archived_until": record.archived_until,
            "returned": record.returned,
            "kept": record.kept and [record.kept.until, record.kept.open_calls],
            "memo": record.memo,
            "askers": record.askers,
            "chain": (head := record.chain)
            and [head.chain, head.seq, head.mac, head.batch, dict(head.sealed)],
            "watch": (left := record.watch)
            and [left.note, left.at, left.until, left.askers, left.looks],
            "hold": record.hold and record.hold.token,
            # Few threads have one: the others take no room for it.
            **({"checkpoint": _point(point)} if (point := record.checkpoint) is not None else {}),
        }
    )


def decode_thread(text: str, key: ThreadKey) -> ThreadRecord:
    """Read what `encode_thread` wrote; the caller fills in the rest."""
    data = decode(text)
    return ThreadRecord(
        key=key,
        batch=Batch(*data["batch"]) if data["batch"] else None,
        run=_lease(data) if data["run"] else None,
        state=data["state"],
        closed=tuple(ClosedBatch(*closed) for closed in data["closed"]),
        pending_calls=tuple(data["pending_calls"]),
        handoff=data["handoff"],
        ended=_ending(data),
        unheard=tuple(data.get("unheard", ())),
        held_context=tuple(data.get("held_context", ())),
        rewound=tuple(data.get("rewound", ())),
        gone_calls=tuple(data.get("gone_calls", ())),
        begun_by=data.get("begun_by"),
        past=data.get("past"),
        archived=tuple(data.get("archived", ())),
        archived_until=data.get("archived_until"),
        returned=tuple(data.get("returned", ())),
        kept=CompletedPart(kept[0], tuple(kept[1])) if (kept := data.get("kept")) else None,
        memo=data.get("memo"),
        askers=tuple(data.get("askers", ())),
        chain=ChainHead(*chain) if (chain := data.get("chain")) else None,
        watch=_watch(left) if (left := data.get("watch")) else None,
        checkpoint=_checkpoint(point) if (point := data.get("checkpoint")) else None,
        hold=PauseHold(held, LeaseTerm(0.0)) if (held := data.get("hold")) else None,
        format=data.get("format", 0),
    )


def _point(point: Checkpoint) -> dict[str, Json]:
    written = {name: getattr(point, name) for name in _POINT}
    return written | {"input": dict(point.input), "begun": [asdict(act) for act in point.begun]}


def _checkpoint(written: dict[str, Any]) -> Checkpoint:
    lists = {name: tuple(written[name]) for name in ("roles", "brought", "tokens")}
    return Checkpoint(**written | lists | {"begun": tuple(BegunAct(**a) for a in written["begun"])})


def _watch(written: list[Any]) -> Watch:
    note, at, until, askers, looks = written
    return Watch(note, at, until, tuple(askers), looks)


def format_of(beginning: str) -> int:
    """The format of a record, from the first 40 characters of what `encode_thread` wrote."""
    found = _FORMAT.match(beginning)
    return int(found[1]) if found is not None else 0


def _lease(data: Json) -> RunLease:
    return replace(RunLease(*data["run"]), receipt=data.get("receipt"))


def _ending(data: Json) -> RunEnding | None:
    if not data["ended"]:
        return None
    token, outcome = data["ended"]
    # Records of earlier versions have none.
    return RunEnding(token, outcome, data.get("iteration"), data.get("result"))


def encode_interrupt(interrupt: Interrupt) -> str:
    """Write a whole interrupt."""
    call = interrupt.tool_call
    return encode(
        {
            "id": interrupt.id,
            "batch": interrupt.batch,
            "position": interrupt.position,
            "native_id": interrupt.native_id,
            "reason": interrupt.reason,
            "status": interrupt.status,
            "message": interrupt.message,
            "tool_call": call and [call.id, call.name, dict(call.args)],
            # Here, where stores look for the tools: what the agent says stands behind them.
            "about_tool": interrupt.about_tool,
            "about_tools": _lines(interrupt.about_tools),
            "response_schema": _plain(interrupt.response_schema),
            "allowed": interrupt.allowed,
            "expires_at": interrupt.expires_at,
            "subagent_run_id": interrupt.subagent_run_id,
            "metadata": _plain(interrupt.metadata),
            "answer": interrupt.answer and _answer(interrupt.answer),
            "audit": [[entry.status, entry.at, entry.actor] for entry in interrupt.audit],
            # Apart, because a process of an earlier version takes the list as it is.
            "audited": [[entry.via, entry.rule, entry.event] for entry in interrupt.audit],
            "about": interrupt.about,
            "permits": interrupt.permits,
            "asked_by": interrupt.asked_by,
            "joined_by": interrupt.joined_by,
            "rule": interrupt.rule and asdict(interrupt.rule),
            "votes": [_vote(vote) for vote in interrupt.votes],
            "preview": interrupt.preview and interrupt.preview.to_json(),
        }
    )


def line_of(tool: str) -> str:
    """What stands in the text of an interrupt about several tools if one of them is this one."""
    return encode(_lines((tool,)))[1:-1]


def _lines(tools: Sequence[str]) -> str:
    """Names as one text, each on a line of its own, so that one is found in it by a text."""
    return "\n".join(["", *map(encode, tools), ""]) if tools else ""


def decode_interrupt(text: str) -> Interrupt:
    """Read what `encode_interrupt` wrote."""
    data: dict[str, Any] = decode(text)
    return Interrupt(
        id=data["id"],
        batch=data["batch"],
        position=data["position"],
        native_id=data["native_id"],
        reason=data["reason"],
        status=InterruptStatus(data["status"]),
        message=data["message"],
        tool_call=ToolCall(*data["tool_call"]) if data["tool_call"] else None,
        response_schema=data["response_schema"],
        allowed=tuple(data["allowed"]),
        expires_at=data["expires_at"],
        subagent_run_id=data["subagent_run_id"],
        metadata=data["metadata"],
        answer=RecordedAnswer(*data["answer"]) if data["answer"] else None,
        audit=tuple(_audit(data)),
        # Records of earlier versions have none.
        about=data.get("about"),
        about_tool=data.get("about_tool"),
        about_tools=tuple(map(decode, data.get("about_tools", "").split("\n")[1:-1])),
        permits=data.get("permits", False),
        asked_by=data.get("asked_by"),
        joined_by=tuple(data.get("joined_by", ())),
        rule=_decode_rule(rule) if (rule := data.get("rule")) else None,
        votes=tuple(map(_decode_vote, data.get("votes", ()))),
        preview=read_preview(preview) if (preview := data.get("preview")) else None,
    )


def _audit(data: Mapping[str, Any]) -> Iterator[AuditEntry]:
    more: list[list[Any]] = data.get("audited") or [[] for _ in data["audit"]]
    for (status, at, actor), added in zip(data["audit"], more, strict=True):
        yield AuditEntry(InterruptStatus(status), at, actor, *added)


def _vote(vote: Vote) -> list[Json]:
    roles = sorted(vote.roles)
    return [vote.actor, roles, _answer(vote.answer), vote.args_digest, vote.at, vote.via]


def _decode_vote(written: list[Any]) -> Vote:
    actor, roles, answer, digest, at, via = written
    return Vote(actor, frozenset(roles), RecordedAnswer(*answer), digest, at, via)


def _decode_rule(written: dict[str, Any]) -> ApprovalRule:
    """Read a rule; what a later version has added to it is left out."""
    known = {name: written[name] for name in _RULE_FIELDS & written.keys()}
    known["escalate"] = [
        Escalation(step["after"], tuple(step["approvers"]), tuple(step["notify"]), step["extend"])
        for step in known["escalate"]
    ]
    known["remember"] = [Remember(**offer) for offer in known["remember"]]
    return ApprovalRule(**known)


def encode_receipt(receipt: Receipt) -> str:
    """Write a whole receipt."""
    return encode(
        {
            "batch": receipt.batch,
            "outcome": receipt.outcome,
            "answers": {id: _answer(answer) for id, answer in receipt.answers.items()},
            "code": receipt.code,
            "lease": receipt.lease,
            "at": receipt.at,
        }
    )


def decode_receipt(text: str) -> Receipt:
    """Read what `encode_receipt` wrote."""
    data: dict[str, Any] = decode(text)
    answers = {id: RecordedAnswer(*answer) for id, answer in data.pop("answers").items()}
    return Receipt(answers=answers, **data)


def _answer(answer: RecordedAnswer) -> list[Json]:
    return [answer.status, answer.payload]


def _plain(mapping: Mapping[str, Json] | None) -> dict[str, Json] | None:
    return None if mapping is None else dict(mapping)


_MEMBERS = (
    *("id", "scope", "agent", "tool", "rule", "holder", "held_by", "args", "matchers"),
    *("granted_by", "created_at", "expires_at", "max_uses"),
)


def encode_grant(grant: Grant) -> str:
    """Write what never changes of a decision."""
    values = {name: getattr(grant, name) for name in _MEMBERS}
    values |= {"args": dict(grant.args), "matchers": dict(grant.matchers)}
    return encode(values)


def decode_grant(
    text: str, uses: int = 0, revoked_at: float | None = None, revoked_by: str | None = None
) -> Grant:
    """Read what `encode_grant` wrote, with what has changed since."""
    data = decode(text)
    grant = Grant(**{name: data[name] for name in _MEMBERS})
    return replace(grant, uses=uses, revoked_at=revoked_at, revoked_by=revoked_by)
