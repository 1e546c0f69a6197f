"""AG-UI's own interrupts: what an outcome asks, and `resume`, which answers it.

The endpoint's ids stay in the pause's continuation and its asks' native ids, which no client sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from ag_ui.core import Interrupt

from agui_bridge.adapters import Ask, Pause
from agui_bridge.errors import UpstreamError
from agui_bridge.protocol.answers.asks import own_words, with_call
from agui_bridge.protocol.answers.decisions import (
    APPROVE,
    DECLINE,
    EDIT,
    Cancel,
    Decision,
    approval_schema,
)
from agui_bridge.protocol.threads.records import Json
from agui_bridge_agui.pauses.answers import (
    Answers,
    Asked,
    Ended,
    call_of,
    payload_of,
    seconds_left,
)
from agui_bridge_agui.pauses.verdicts import verdicts_of

RESUME: Final = "resume"
"""The dialect of such a pause, in its continuation."""

_PROVES: Final = "ag2"
"""The member of AG2's metadata by which an answer proves that its question was asked here: it goes
back with the answer, and to no client."""


def resume_pause(ended: Ended) -> Pause | None:
    """The pause of a run that ended with interrupts, None if it did not."""
    if not ended.interrupts:
        return None
    asked = [asked_of(interrupt, ended) for interrupt in ended.interrupts]
    told = {interrupt.id: interrupt.metadata or {} for interrupt in ended.interrupts}
    proofs = {key: metadata[_PROVES] for key, metadata in told.items() if _PROVES in metadata}
    return keep(RESUME, asked, ended, **({"proofs": proofs} if proofs else {}))


def keep(dialect: str, asked: Sequence[Asked], ended: Ended, **more: Json) -> Pause:
    """A pause, and what its answers will need.

    Raises:
        UpstreamError: the questions can't be told apart.
    """
    asks = [one.ask for one in asked]
    if len({ask.native_id for ask in asks}) < len(asks):
        raise UpstreamError("Two questions of the upstream agent have the same id.")
    return Pause(asks, {**kept_of(dialect, asked), **more}, list(ended.frontend))


def kept_of(dialect: str, asked: Sequence[Asked]) -> dict[str, Json]:
    """What every continuation has."""
    asks = [one.ask for one in asked]
    return {
        "v": 1,
        "dialect": dialect,
        "ids": [ask.native_id for ask in asks],
        "calls": {ask.native_id: ask.tool_call.id for ask in asks if ask.tool_call is not None},
        "about": {ask.native_id: ask.about for ask in asks if isinstance(ask.about, str)},
        "verdicts": {
            one.ask.native_id: one.verdicts.to_json() for one in asked if one.verdicts is not None
        },
    }


def resume_answers(
    continuation: Json, decisions: Mapping[str, Decision], cancel_with: Json
) -> Answers:
    """The decisions as entries of `resume`."""
    return Answers([entry_of(key, d, continuation) for key, d in decisions.items()])


def entry_of(key: str, decision: Decision, continuation: Json) -> dict[str, Json]:
    """An entry of `resume`."""
    proof = continuation.get("proofs", {}).get(key)
    proves = {} if proof is None else {"metadata": {_PROVES: proof}}
    if isinstance(decision, Cancel):
        return {"interruptId": key, "status": "cancelled", **proves}
    payload = payload_of(key, decision, continuation)
    return {"interruptId": key, "status": "resolved", "payload": payload, **proves}


def asked_of(interrupt: Interrupt, ended: Ended) -> Asked:
    """An interrupt as a question.

    It is the approval of its call if its schema is that of one, or if it says that it is one and
    its schema has a certain yes and no.
    """
    call, schema = call_of(interrupt.tool_call_id, ended.calls), interrupt.response_schema
    verdicts = None
    if call is not None and not is_approval(schema):
        verdicts = verdicts_of(schema) if interrupt.reason == "tool_call" else None
        call, schema = (call if verdicts is not None else None), None
    if call is None:
        return Asked(question_of(interrupt, ended))
    edits = "editedArgs" in _properties(schema)
    ask = replace(
        _bare(interrupt, ended),
        message=own_words(interrupt.message, call.name, call.args),
        tool_call=call,
        # Unless it is told here, what its schema says of edits stands as it is.
        parameters=ended.tool_schemas.get(call.name),
        response_schema=schema,
        allowed=(APPROVE, DECLINE, EDIT) if edits else (APPROVE, DECLINE),
    )
    return Asked(ask, verdicts)


def question_of(interrupt: Interrupt, ended: Ended) -> Ask:
    """An interrupt as a question that is no approval, with the schema that it has.

    If it says that it is one, nobody can tell what its answers mean, or what is to be pinned: so
    people read which call the answer lets run.
    """
    call_id, schema = interrupt.tool_call_id, interrupt.response_schema
    known = ended.calls.get(call_id) if call_id is not None else None
    about = call_id if known is not None else None
    ask = replace(_bare(interrupt, ended), about=about, response_schema=schema)
    if interrupt.reason != "tool_call":
        return ask
    return replace(
        ask,
        reason="confirmation",
        message=with_call(ask.message, *known) if known is not None else ask.message,
        permits=True,
        response_schema=(schema if schema is not None else approval_schema(None, editable=False)),
    )


def _bare(interrupt: Interrupt, ended: Ended) -> Ask:
    subagent, told = interrupt.subagent_run_id, interrupt.metadata
    return Ask(
        native_id=interrupt.id,
        reason=interrupt.reason,
        message=interrupt.message,
        expires_in=seconds_left(interrupt.expires_at),
        subagent_run_id=subagent if subagent in ended.subagents else None,
        metadata=told and ({name: told[name] for name in told if name != _PROVES} or None),
    )


def is_approval(schema: Mapping[str, Any] | None) -> bool:
    """Whether the answer is `{"approved": true | false}`, as AG-UI has it for tool calls."""
    approved = _properties(schema).get("approved")
    return schema is None or (
        isinstance(approved, Mapping) and approved.get("type", "boolean") == "boolean"
    )


def _properties(schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    properties = (schema or {}).get("properties")
    return properties if isinstance(properties, Mapping) else {}
