"""An endpoint's approvals in shapes of its own: who may answer, what goes back, what is unknown."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from agui_bridge import ApprovalRule, Bridge
from agui_bridge.approvals import Approvals, Match, Question, RuleList
from agui_bridge.protocol.answers.unexecuted import FAILED_AMID
from agui_bridge.protocol.threads.approval_rule import Remember
from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge_agui import AguiAdapter
from tests.adapters.agui.holding import Event, Holding, in_outcome
from tests.adapters.agui.upstream import APPROVAL, Talk, Upstream, finished, result, started, text
from tests.support.server import serve

DROP = {"table": "users"}
TEXT = {"type": "string"}
YES, NO = {"approved": True}, {"approved": False, "reason": "too late"}
NOBODY = RuleList([(Match(tool="drop_*"), ApprovalRule("dba", approvers=("dba",)))])


def obj(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


FLAG = {"type": "boolean"}
WORDS = {"type": "string", "enum": ["approve", "reject"]}
EDITABLE = {**APPROVAL, "properties": {**APPROVAL["properties"], "editedArgs": {"type": "object"}}}

MAPPED: dict[str, tuple[Any, Any, Any]] = {
    "AG2": ({"type": ["string", "boolean"], "title": "Approval"}, True, False),
    "a boolean": (FLAG, True, False),
    "a boolean or null": ({"anyOf": [FLAG, {"type": "null"}]}, True, False),
    "a boolean or a word": ({"oneOf": [FLAG, {"const": "always"}]}, True, False),
    "a boolean elsewhere": ({"$ref": "#/$defs/Flag", "$defs": {"Flag": FLAG}}, True, False),
    "two booleans": ({"enum": [False, True]}, True, False),
    "two words": (WORDS, "approve", "reject"),
    "three words": ({"enum": ["Yes", "No", "Always"]}, "Yes", "No"),
    "constants": (
        {"oneOf": [{"const": "allow_once"}, {"const": "reject_once"}, {"const": "allow_always"}]},
        "allow_once",
        "reject_once",
    ),
    "a member": (obj(["confirmed"], confirmed=FLAG), {"confirmed": True}, {"confirmed": False}),
    "a member that may be null": (
        obj([], approved={"type": ["boolean", "null"]}, remember=FLAG),
        {"approved": True},
        {"approved": False},
    ),
    "a member with a word": (
        {**obj(["verdict"], verdict={"$ref": "#/$defs/V"}), "$defs": {"V": WORDS}},
        {"verdict": "approve"},
        {"verdict": "reject"},
    ),
    "a member and a reason": (
        obj(["accept"], accept=FLAG, reason=TEXT),
        {"accept": True},
        {"accept": False, "reason": "too late"},
    ),
    "AG-UI's": (dict(APPROVAL), YES, NO),
    "AG-UI's with edits": (EDITABLE, YES, NO),
    "none": (None, YES, NO),
}
"""The schema of an endpoint's question about a call; what it gets for a yes, and for a no."""

UNMAPPED: dict[str, tuple[Any, Any]] = {
    "any text": (TEXT, "y"),
    "anything": ({}, "y"),
    "a member whose true is a no": (obj(["skip"], skip=FLAG), {"skip": False}),
    "a member that says nothing": (obj(["dry_run"], dry_run=FLAG), {"dry_run": False}),
    "two members": (obj(["allow", "pin"], allow=FLAG, pin=TEXT), {"allow": True, "pin": "1"}),
    "two that may mean it": (obj([], allow=FLAG, confirm=FLAG), {"allow": True}),
    "no certain no": ({"enum": ["approve", "cancel"]}, "approve"),
    "two yeses": ({"enum": ["yes", "approve", "no"]}, "approve"),
    "a yes alone": ({"type": "boolean", "enum": [True]}, True),
    "numbers": ({"enum": [0, 1]}, 1),
    "a schema of elsewhere": ({"$ref": "https://example.com/yes.json"}, "y"),
}
"""The same where neither is certain, and an answer that lets the call run."""

mapped = pytest.mark.parametrize(("schema", "yes", "no"), MAPPED.values(), ids=MAPPED)
unmapped = pytest.mark.parametrize(("schema", "yes"), UNMAPPED.values(), ids=UNMAPPED)
every = pytest.mark.parametrize(
    ("schema", "yes", "answer"),
    [(schema, yes, YES) for schema, yes, _ in MAPPED.values()]
    + [(schema, yes, yes) for schema, yes in UNMAPPED.values()],
    ids=[*MAPPED, *UNMAPPED],
)


def holding(schema: Any, yes: Any, no: Any = None, **members: Any) -> Holding:
    def reads(payload: Any) -> bool | None:
        if isinstance(payload, Mapping) and "remember" in payload:
            payload = {name: value for name, value in payload.items() if name != "remember"}
        same = type(payload) is type(yes) and payload == yes
        return True if same else False if payload == no else None

    return Holding(schema, reads, **members)


@contextlib.asynccontextmanager
async def talking(
    peer: Holding | Upstream, approvals: Approvals | None = None, **settings: Any
) -> AsyncIterator[Talk]:
    """A conversation with a bridge before the endpoint; its client keeps the list of messages."""
    async with serve(peer.app(), lifespan="off") as base:
        bridge = Bridge("memory:")
        if approvals is not None:
            bridge.approvals(approvals)
        bridge.add("agent", AguiAdapter(f"{base}/agent"), **settings)
        async with bridge.lifespan():
            yield Talk(bridge, "agent", keeps_list=True)


def results(talk: Talk) -> list[str]:
    return [event["content"] for event in talk.events if event["type"] == "TOOL_CALL_RESULT"]


async def statuses(talk: Talk) -> list[InterruptStatus]:
    rows = await (await talk._bridge.open()).store.list_interrupts("default")
    return [row.interrupt.status for row in rows]


# --- a yes and a no that are certain ---


@mapped
async def test_a_call_is_approved_in_the_endpoints_own_shape(
    schema: Any, yes: Any, no: Any
) -> None:
    asked: list[Question] = []
    peer = holding(schema, yes, no)
    async with talking(peer, lambda question: asked.append(question)) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["toolCallId"]) == ("tool_call", "call-1-0")
        assert ask["responseSchema"]["properties"]["approved"] == {"type": "boolean"}
        assert [(q.reason, q.tool, q.args) for q in asked] == [("tool_call", "drop_table", DROP)]
        assert await talk.answer(YES) == "Done."
        assert results(talk) == ["dropped"]
    assert (peer.got, peer.executed) == ([yes], ["call-1-0"])


@mapped
async def test_a_decline_is_the_endpoints_own_no(schema: Any, yes: Any, no: Any) -> None:
    peer = holding(schema, yes, no)
    async with talking(peer) as talk:
        await talk.say("go")
        assert await talk.answer(NO) == "Done."
        assert results(talk) == [
            "The user declined this tool call; it was not executed. Reason: too late"
        ]
    assert (peer.got, peer.executed) == ([no], [])


@mapped
async def test_edits_are_offered_where_the_endpoint_takes_them_alone(
    schema: Any, yes: Any, no: Any
) -> None:
    takes = schema is EDITABLE
    edited = {"approved": True, "editedArgs": {"table": "logs"}}
    peer = holding(schema, edited if takes else yes, no)
    async with talking(peer) as talk:
        await talk.say("go")
        assert ("editedArgs" in talk.asks[0]["responseSchema"]["properties"]) is takes
        await talk.answer(edited)
        assert talk.ending == ("success" if takes else "INVALID_RESUME_PAYLOAD")
    assert peer.got == ([edited] if takes else [])


@mapped
async def test_an_approval_is_remembered_by_its_tool(schema: Any, yes: Any, no: Any) -> None:
    rule = ApprovalRule("drops", remember=(Remember("thread"),))
    peer = holding(schema, yes, no)
    async with talking(peer, RuleList([(Match(tool="drop_table"), rule)])) as talk:
        await talk.say("go")
        assert await talk.answer({**YES, "remember": "thread"}) == "Done."
        assert await talk.say("again") == "Done."
    assert peer.executed == ["call-1-0", "call-2-0"]


# --- whatever its shape ---


@every
async def test_no_words_let_a_call_run(schema: Any, yes: Any, answer: Any) -> None:
    peer = holding(schema, yes)
    async with talking(peer, auto_resume="on") as talk:
        await talk.say("go")
        for word in ("yes", "approve", "y", "1"):
            await talk.say(word)
            assert talk.ending == "interrupt"
            assert talk.asks[0]["message"].startswith("A tool call is approved or declined expl")
    assert (peer.heard, peer.executed) == (1, [])


@every
async def test_a_rule_by_tool_says_who_may_answer(schema: Any, yes: Any, answer: Any) -> None:
    peer = holding(schema, yes)
    async with talking(peer, NOBODY) as talk:
        await talk.say("go")
        await talk.answer(answer)
        assert talk.ending == "NOT_AN_APPROVER"
    assert (peer.heard, peer.executed) == (1, [])


@every
async def test_a_turn_that_the_endpoint_has_lost_is_unknown_and_no_success(
    schema: Any, yes: Any, answer: Any
) -> None:
    peer = holding(schema, yes)
    async with talking(peer) as talk:
        await talk.say("go")
        peer.forget()
        await talk.answer(answer)
        assert talk.ending == "RUN_INDETERMINATE"
        assert "without a result of drop_table" in talk.message
        assert results(talk) == [FAILED_AMID]
        assert await statuses(talk) == [InterruptStatus.INDETERMINATE]
    assert peer.executed == []


@every
async def test_a_cancel_lets_no_call_run_and_is_no_failure(
    schema: Any, yes: Any, answer: Any
) -> None:
    peer = holding(schema, yes)
    async with talking(peer) as talk:
        await talk.say("go")
        await talk.answer(None)
        assert talk.ending == "success"
        assert await statuses(talk) == [InterruptStatus.CANCELLED]
    assert peer.executed == []


# --- a yes or a no that is not certain ---


@unmapped
async def test_what_can_not_be_told_is_asked_as_it_is_and_shows_the_call(
    schema: Any, yes: Any
) -> None:
    asked: list[Question] = []
    rule = ApprovalRule("drops", remember=(Remember("thread"),))

    def approvals(question: Question) -> ApprovalRule:
        asked.append(question)
        return rule

    peer = holding(schema, yes)
    async with talking(peer, approvals) as talk:
        for n, word in enumerate(("go", "again"), 1):
            await talk.say(word)
            (ask,) = talk.asks
            assert (ask["reason"], ask["toolCallId"]) == ("confirmation", f"call-{n}-0")
            assert ask["message"] == 'May I?\ndrop_table {"table": "users"}'
            assert ask.get("responseSchema") in (schema, None)
            assert [(q.tool, q.args) for q in asked] == [("drop_table", DROP)] * n
            assert await talk.answer(yes) == "Done."
            assert results(talk) == ["dropped"]
    assert peer.got == [yes, yes]


async def test_a_remembered_approval_answers_no_question_of_another_shape() -> None:
    rule = ApprovalRule("drops", remember=(Remember("thread"),))
    peer = holding(FLAG, True, False)
    async with talking(peer, RuleList([(Match(tool="drop_table"), rule)])) as talk:
        await talk.say("go")
        assert await talk.answer({**YES, "remember": "thread"}) == "Done."
        peer.schema = TEXT
        await talk.say("again")
        assert talk.ending == "interrupt"
    assert peer.executed == ["call-1-0"]


# --- calls of one turn, one after the other ---

TWO = (("drop_table", '{"table":"users"}'), ("drop_table", '{"table":"logs"}'))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("lost", [True, False])
async def test_what_was_approved_at_an_earlier_question_of_a_turn_counts_to_its_end(
    first: bool, second: bool, lost: bool
) -> None:
    peer = holding(FLAG, True, False, calls=TWO)
    async with talking(peer) as talk:
        await talk.say("go")
        await talk.answer({"approved": first})
        if lost:
            peer.forget()
        await talk.answer({"approved": second})
        unknown = lost and (first or second)
        assert talk.ending == ("RUN_INDETERMINATE" if unknown else "success")
        declined = "The user declined this tool call; it was not executed."
        said = FAILED_AMID if lost else "dropped"
        (*_, messages) = [e["messages"] for e in talk.events if e["type"] == "MESSAGES_SNAPSHOT"]
        told = {m["toolCallId"]: m["content"] for m in messages if m["role"] == "tool"}
        assert told == {
            "call-1-0": said if first else declined,
            "call-1-1": said if second else declined,
        }
    assert peer.executed == [
        f"call-1-{n}" for n, yes in enumerate((first, second)) if yes and not (lost and n)
    ]


# --- the other ways of asking ---


def _custom(**members: Any) -> Any:
    def asking(question: str, call_id: str, schema: Mapping[str, Any] | None) -> list[Event]:
        value = {"id": question, "toolCallId": call_id, "message": "May I?", **members}
        value["responseSchema"] = schema
        return [{"type": "CUSTOM", "name": "on_interrupt", "value": value}, finished()]

    return asking


def _drafted(question: str, call_id: str, schema: Mapping[str, Any] | None) -> list[Event]:
    proposal = {"tool": "drop_table", "args": DROP}
    payload: Event = {"proposal": proposal}
    if schema is not None:
        payload["responseSchema"] = schema
    asked = {"id": question, "reason": "human_approval", "payload": payload}
    return [{**finished(), "outcome": "interrupt", "interrupt": asked}]


def _of_command(body: Event) -> Event | None:
    command = body["forwardedProps"].get("command")
    return None if command is None else {"payload": command["resume"]}


WAYS: dict[str, Mapping[str, Any]] = {
    "the outcome": {},
    "LangGraph's event": {"asking": _custom(reason="tool_call"), "reads": _of_command},
    "the draft": {"asking": _drafted, "reads": lambda body: body.get("resume")},
}
ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@ways
@pytest.mark.parametrize("schema", [FLAG, MAPPED["AG2"][0]], ids=["a boolean", "AG2"])
async def test_each_way_of_asking_has_the_endpoints_own_shapes(
    way: Mapping[str, Any], schema: Any
) -> None:
    for answer, sent, executed in ((YES, True, ["call-1-0"]), (NO, False, [])):
        peer = holding(schema, True, False, **way)
        async with talking(peer, auto_resume="on") as talk:
            await talk.say("go")
            await talk.say("yes")
            assert (talk.ending, peer.heard) == ("interrupt", 1)
            assert talk.asks[0]["reason"] == "tool_call"
            assert await talk.answer(answer) == "Done."
        assert (peer.got, peer.executed) == ([sent], executed)


@ways
async def test_each_way_of_asking_keeps_to_the_rules_where_the_shape_is_unknown(
    way: Mapping[str, Any],
) -> None:
    peer = holding(TEXT, "y", **way)
    async with talking(peer, NOBODY, auto_resume="on") as talk:
        await talk.say("go")
        await talk.say("y")
        assert (talk.ending, peer.heard) == ("interrupt", 1)
        assert 'drop_table {"table": "users"}' in talk.asks[0]["message"]
        await talk.answer("y")
        assert talk.ending == "NOT_AN_APPROVER"
    peer = holding(TEXT, "y", **way)
    async with talking(peer) as talk:
        await talk.say("go")
        peer.forget()
        await talk.answer("y")
        assert talk.ending == "RUN_INDETERMINATE"


# --- approvals of calls that the stream does not tell ---

_ID = "0123456789abcdef0123456789abcdef"
_BATCH = {
    "action_requests": [{"name": "drop_table", "args": DROP}],
    "review_configs": [{"action_name": "drop_table", "allowed_decisions": ["approve", "reject"]}],
}
_HELD = {"originalFunctionCall": {"id": "x", "name": "drop_table", "args": DROP}}
UNSEEN: dict[str, list[Event]] = {
    "LangGraph's middleware": [
        {"type": "CUSTOM", "name": "on_interrupt", "value": _BATCH, "rawEvent": {"id": _ID}},
        finished(),
    ],
    "ADK's confirmation": [
        {"type": "TOOL_CALL_START", "toolCallId": "k", "toolCallName": "adk_request_confirmation"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "k", "delta": json.dumps(_HELD)},
        {"type": "TOOL_CALL_END", "toolCallId": "k"},
        finished(),
    ],
    "the draft's proposal": _drafted("q", "", None),
}


@pytest.mark.parametrize("asking", UNSEEN.values(), ids=UNSEEN)
async def test_an_approval_whose_call_the_stream_does_not_tell_keeps_to_the_rules(
    asking: list[Event],
) -> None:
    asked: list[Question] = []
    upstream = Upstream([started(), *asking], [started(), *text("Done."), finished()])

    def approvals(question: Question) -> ApprovalRule | None:
        asked.append(question)
        return NOBODY(question)

    async with talking(upstream, approvals, auto_resume="on") as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask.get("toolCallId")) == ("confirmation", None)
        assert [(q.tool, q.args) for q in asked] == [("drop_table", DROP)]
        await talk.say("yes")
        assert talk.ending == "interrupt"
        await talk.answer(YES)
        assert talk.ending == "NOT_AN_APPROVER"
    assert len(upstream.bodies) == 1


@pytest.mark.parametrize(
    "known", [True, False], ids=["arguments that are none", "a call of nobody's"]
)
async def test_an_approval_that_can_not_be_pinned_takes_no_words(known: bool) -> None:
    told = [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "drop_table"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "[1]"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]
    asking = in_outcome("q", "c", FLAG)
    upstream = Upstream(
        [started(), *(told if known else []), *asking],
        [started(), *([result("dropped", "c")] if known else []), *text("Done."), finished()],
    )
    asked: list[Question] = []
    async with talking(upstream, lambda q: asked.append(q), auto_resume="on") as talk:
        await talk.say("go")
        assert [(q.tool, q.args) for q in asked] == [("drop_table" if known else None, None)]
        await talk.say("yes")
        assert (talk.ending, len(upstream.bodies)) == ("interrupt", 1)
        assert await talk.answer(True) == "Done."
        assert talk.ending == "success"
