"""What a peer is known by, what is asked in its words, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.unexecuted import FAILED_AMID
from agui_bridge_agui import AguiAdapter
from tests.adapters.agui.upstream import (
    Talk,
    Upstream,
    before,
    call,
    finished,
    interrupt,
    result,
    started,
    text,
)

ID = "a95d870ded8e28c65f4ef451fc99acde"
OTHER = "34d22fbe7516da0b6975ef79b3d077c2"
YES: dict[str, Any] = {"approved": True}
DONE = [started(), result("deleted"), *text("Done.", "m2"), finished()]
RAW = {"type": "RAW", "event": {}, "source": "agno"}
SCHEMAS = {
    "delete": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
}


def custom(value: Any, key: str = ID, schema: Any = None) -> dict[str, Any]:
    raw = {"value": value, "id": key, "response_schema": schema}
    return {"type": "CUSTOM", "name": "on_interrupt", "value": json.dumps(value), "rawEvent": raw}


def resumed(upstream: Upstream) -> Any:
    return upstream.bodies[1]["forwardedProps"]["command"]["resume"]


def results(talk: Talk) -> list[str]:
    return [e["content"] for e in talk.events if e["type"] == "TOOL_CALL_RESULT"]


# --- what was approved and never reported ---


async def test_an_approved_call_whose_result_never_comes_is_unknown_and_the_run_an_error() -> None:
    asking = [started(), *call(), finished(interrupt())]
    async with before(Upstream(asking, [started(), *text("Done.", "m2"), finished()])) as talk:
        await talk.say("go")
        await talk.answer(YES)
        assert talk.ending == "RUN_INDETERMINATE"
        assert "without a result of delete, which was approved" in talk.message
        assert results(talk) == [FAILED_AMID]


async def test_a_result_that_only_a_snapshot_has_counts_wherever_it_stands() -> None:
    asking = [started(), *call(), finished(interrupt())]
    told = {"id": "r1", "role": "tool", "toolCallId": "call-1", "content": "deleted"}
    last = {"id": "m2", "role": "assistant", "content": "Done."}
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [told, last]}
    answer = [started(), *text("Done.", "m2"), snapshot, finished()]
    async with before(Upstream(asking, answer)) as talk:
        await talk.say("go")
        await talk.answer(YES)
        assert (talk.ending, results(talk)) == ("success", ["deleted"])


async def test_a_result_that_a_snapshot_has_before_the_last_words_counts_in_the_first_run() -> None:
    told = {"id": "r1", "role": "tool", "toolCallId": "call-1", "content": "deleted"}
    last = {"id": "m2", "role": "assistant", "content": "Done."}
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [told, last]}
    acting = [started(), *call(), *text("Done.", "m2"), snapshot, finished()]
    upstream = Upstream(acting, [started(), *text("Hello.", "m3"), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        assert (talk.ending, results(talk)) == ("success", ["deleted"])
        await talk.say("hello")
        said = [(m["role"], m.get("content")) for m in upstream.bodies[1]["messages"]]
        # Providers refuse a result that does not follow its call.
        assert said[-4:] == [
            ("assistant", None),
            ("tool", "deleted"),
            ("assistant", "Done."),
            ("user", "hello"),
        ]


# --- LangGraph ---


def batch(*allowed: str) -> dict[str, Any]:
    request = {"name": "delete", "args": {"n": 1}, "description": "Delete 1?"}
    return {
        "action_requests": [request],
        "review_configs": [{"action_name": "delete", "allowed_decisions": list(allowed)}],
    }


@pytest.mark.parametrize(
    ("payload", "decision"),
    [
        (YES, {"type": "approve"}),
        ({"approved": False, "reason": "no"}, {"type": "reject", "message": "no"}),
        ({"approved": False}, {"type": "reject"}),
        (
            {"approved": True, "editedArgs": {"n": 2}},
            {"type": "edit", "edited_action": {"name": "delete", "args": {"n": 2}}},
        ),
        (
            None,
            {
                "type": "reject",
                "message": "The approval was cancelled; this tool call was not executed.",
            },
        ),
    ],
)
@pytest.mark.parametrize("shape", ["batched", "per_call"])
async def test_the_middleware_is_told_in_its_own_decisions(
    shape: str, payload: Any, decision: Any
) -> None:
    value = batch("approve", "edit", "reject")
    if shape == "per_call":
        value = {
            "type": "tool_approval",
            "tool_call_id": "call-1",
            **value["action_requests"][0],
        }
    upstream = Upstream([started(), *call(), custom(value), finished()], DONE)
    async with before(upstream, tool_schemas=SCHEMAS) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["message"]) == ("tool_call", "Delete 1?")
        assert ask["toolCallId"] == "call-1"
        await talk.answer(payload)
        assert talk.ending == "success"
    whole = {"decisions": [decision]} if shape == "batched" else decision
    assert resumed(upstream) == {ID: whole}


@pytest.mark.parametrize("shape", ["batched", "per call"])
@pytest.mark.parametrize(
    ("begins", "told"),
    [("Tool execution requires approval", None), ("", None), ("Look twice.", "Look twice.")],
)
async def test_a_call_that_the_middleware_repeats_is_not_told_as_the_agents_words(
    shape: str, begins: str, told: str | None
) -> None:
    value = batch("approve", "reject")
    value["action_requests"][0]["description"] = f"{begins}\n\nTool: delete\nArgs: {{'n': 1}}"
    if shape == "per call":
        request = value["action_requests"][0]
        value = {"type": "tool_approval", "tool_call_id": "call-1", **request}
    upstream = Upstream([started(), *call(), custom(value), finished()], DONE)
    async with before(upstream, tool_schemas=SCHEMAS) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert ask.get("message") == told


async def test_edits_are_offered_where_the_middleware_allows_them_and_they_can_be_checked() -> None:
    constants = {"oneOf": [{"properties": {"type": {"const": "approve"}}}]}
    value = {"type": "tool_approval", "tool_call_id": "call-1", "name": "delete", "args": {"n": 1}}
    asking = [started(), *call(), custom(value, schema=constants), finished()]
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"tool_schemas": SCHEMAS}, asking),
        ({}, [started(), *call(), custom(batch("approve", "edit")), finished()]),
    ]
    for options, events in cases:
        async with before(Upstream(events), **options) as talk:
            await talk.say("go")
            (ask,) = talk.asks
            assert "editedArgs" not in ask["responseSchema"]["properties"]


async def test_a_call_that_only_a_reply_can_end_is_a_question() -> None:
    upstream = Upstream([started(), *call(), custom(batch("respond")), finished()], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert ask["reason"] == "input_required"
        await talk.answer({"message": "three"})
    assert resumed(upstream) == {ID: {"decisions": [{"type": "respond", "message": "three"}]}}


async def test_what_was_not_told_as_a_call_is_shown_with_the_question() -> None:
    """Nobody shall approve what they were not shown."""
    upstream = Upstream([started(), *call(args='{"n": 2}'), custom(batch()), finished()], DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert ask["reason"] == "confirmation"
        assert ask["message"] == 'Delete 1?\ndelete {"n": 1}'
        await talk.answer(YES)
    assert resumed(upstream) == {ID: {"decisions": [{"type": "approve"}]}}


async def test_several_questions_of_any_shape_are_answered_by_langgraphs_ids() -> None:
    asking = [started(), custom("Go on?"), custom({"question": "How many?"}, OTHER), finished()]
    upstream = Upstream(asking, [started(), *text("Done.", "m2"), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        assert [ask["message"] for ask in talk.asks] == ["Go on?", "How many?"]
        await talk.answer(None, 0)
        assert talk.ending == "success"
    assert resumed(upstream) == {ID: None, OTHER: 0}


async def test_arguments_that_come_with_the_name_of_a_call_are_shown() -> None:
    begin, _, end = call()
    pieces = [{"id": "call-1", "name": "delete", "args": '{"n": 1}', "index": 0}]
    raw = {"event": "on_chat_model_stream", "data": {"chunk": {"tool_call_chunks": pieces}}}
    asking = [started(), {**begin, "rawEvent": raw}, end, finished(interrupt())]
    async with before(Upstream(asking)) as talk:
        await talk.say("go")
        (told,) = [e["delta"] for e in talk.events if e["type"] == "TOOL_CALL_ARGS"]
    assert json.loads(told) == {"n": 1}


# --- agno ---

SAID = text("I have tools to execute, but I need confirmation.", "m1")
BELOW = [{**call()[0], "parentMessageId": "m1"}, *call()[1:]]


async def test_calls_left_open_ask_only_where_agno_signs_or_is_named() -> None:
    quiet = [started(), *call(), finished()]
    cases: list[tuple[dict[str, Any], Any, str]] = [
        ({}, quiet, "success"),
        ({}, [started(), RAW, *SAID, *BELOW, finished()], "interrupt"),
        ({}, [started(), RAW, *call(), finished()], "success"),
        ({}, [started(), *SAID, *BELOW, finished()], "success"),
        ({"peer": "agno"}, quiet, "interrupt"),
        ({"peer": "pydantic-ai"}, [started(), RAW, *SAID, *BELOW, finished()], "success"),
    ]
    for options, events, ending in cases:
        async with before(Upstream(events), **options) as talk:
            await talk.say("go")
            assert talk.ending == ending


async def test_agnos_other_pauses_are_an_error_and_not_an_approval() -> None:
    said = text("I have tools to execute, but I need user input.", "m1")
    async with before(Upstream([started(), RAW, *said, *BELOW, finished()])) as talk:
        await talk.say("go")
        assert talk.ending == "UPSTREAM_ERROR"
        assert "waits for more than a confirmation" in talk.message


# --- ADK ---


def confirmation(args: str = '{"n": 1}') -> list[dict[str, Any]]:
    original = {"id": "call-1", "name": "delete", "args": json.loads(args)}
    asked = {"originalFunctionCall": original, "toolConfirmation": {"hint": "Really?"}}
    return call("adk-1", "adk_request_confirmation", json.dumps(asked))


async def test_an_application_that_shows_adks_confirmations_itself_goes_on_doing_so() -> None:
    upstream = Upstream([started(), *confirmation(), finished()])
    tool = {"name": "adk_request_confirmation", "description": "", "parameters": {}}
    async with before(upstream) as talk:
        await talk.say("go", tools=[tool])
        assert talk.events[-1]["outcome"]["pendingToolCallIds"] == ["adk-1"]


async def test_a_confirmation_of_other_arguments_than_were_told_shows_them() -> None:
    upstream = Upstream([started(), *call(), *confirmation('{"n": 2}'), finished()])
    async with before(upstream) as talk:
        await talk.say("go")
        (ask,) = talk.asks
        assert (ask["reason"], ask["message"]) == ("confirmation", 'Really?\ndelete {"n": 2}')


async def test_calls_of_adks_own_are_not_in_the_conversation() -> None:
    snapshot = {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [
            {
                "id": "a1",
                "role": "assistant",
                "toolCalls": [
                    {"id": "adk-1", "type": "function", "function": {"name": "x", "arguments": ""}}
                ],
            }
        ],
    }
    placeholder = result("This tool call requires confirmation, please approve or reject.")
    asking = [started(), *call(), *confirmation(), placeholder, snapshot, finished()]
    upstream = Upstream(asking, DONE)
    async with before(upstream) as talk:
        await talk.say("go")
        assert "adk" not in json.dumps(talk.events)
        await talk.answer(YES)
        assert (talk.ending, results(talk)) == ("success", ["deleted"])


# --- the option ---


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="peer can't be 'autogen'"):
        AguiAdapter("http://x/", peer="autogen")  # type: ignore[arg-type]  # none, on purpose
