"""What a question offers besides yes and no, in the terminal chat."""

from __future__ import annotations

import asyncio

from agui_bridge.protocol.answers.decisions import approval_schema, declinable
from tests.cli.terminal import terminal
from tests.client.raw_server import asking, raw_server


async def test_a_result_is_given_in_place_of_the_tools_and_a_question_is_declined() -> None:
    approval = approval_schema(None, editable=False, respond=True)
    colour = {"type": "object", "properties": {"colour": {"type": "string"}}}
    asked = [
        {"id": "i1", "reason": "tool_call", "toolCallId": "c", "responseSchema": approval},
        {"id": "i2", "reason": "input_required", "toolCallId": "c", "responseSchema": colour},
        {"id": "i3", "reason": "input_required", "responseSchema": declinable(None)},
    ]
    body = asking(
        asked,
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "send"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    )

    def talk(url: str) -> None:
        with terminal("chat", url + "agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("[y]es, [n]o, [r]espond, [c]ancel > ", "r")
            chat.answer("back) > ", "")
            chat.answer("[r]espond, [c]ancel > ", "respond")
            chat.answer("back) > ", "Sent by hand.")
            # It belongs to a call, and is none of its approval.
            assert "A question 2 of 3" in chat.wait_for("colour (Enter: nothing) > ")
            chat.type("blue")
            chat.answer("[a]nswer, [d]ecline, [c]ancel > ", "d")
            chat.answer("no reason) > ", "private")
            chat.wait_for("1 of 3")
            chat.answer("[c]ancel > ", "/quit")
            assert chat.end() == 0

    async with raw_server(body, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert [entry["payload"] for entry in server.bodies[1]["resume"]] == [
        {"approved": False, "respond": "Sent by hand."},
        {"colour": "blue"},
        {"declined": True, "reason": "private"},
    ]


async def test_a_form_beside_a_decline_is_checked_field_by_field_with_all_it_refers_to() -> None:
    name = {"type": "string", "minLength": 3}
    form = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"$ref": "#/$defs/Name"}, "nick": {"$ref": "#/properties/name"}},
        "$defs": {"Name": name},
    }
    asked = {"id": "i1", "reason": "input_required", "responseSchema": declinable(form)}
    body = asking([asked])

    def talk(url: str) -> None:
        with terminal("chat", url + "agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("[a]nswer, [d]ecline, [c]ancel > ", "a")
            chat.answer("name > ", "Al")
            assert "error: must have at least 3 characters" in chat.wait_for("name > ")
            chat.type("Alice")
            chat.answer("nick (Enter: nothing) > ", "Ali")
            chat.answer("[c]ancel > ", "/quit")
            assert chat.end() == 0

    async with raw_server(body, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    [entry] = server.bodies[1]["resume"]
    assert entry["payload"] == {"name": "Alice", "nick": "Ali"}


async def test_who_agrees_with_others_agrees_to_the_arguments_that_they_have_changed() -> None:
    approval = approval_schema({"type": "object"}, editable=True)
    agreed = {"limit": 10}
    metadata = {"agui_bridge": {"approval": {"quorum": 2, "votes": 1, "editedArgs": agreed}}}
    asked = {
        "id": "i1",
        "reason": "tool_call",
        "toolCallId": "c",
        "responseSchema": approval,
        "metadata": metadata,
    }
    body = asking(
        [asked],
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "delete"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": '{"limit": 1234}'},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    )

    def talk(url: str) -> None:
        with terminal("chat", url + "agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("[y]es, [n]o, [e]dit, [c]ancel > ")
            assert "changed by whoever has agreed so far" in shown and '"limit": 10' in shown
            chat.type("y")
            chat.answer("[c]ancel > ", "/quit")
            assert chat.end() == 0

    async with raw_server(body, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    [entry] = server.bodies[1]["resume"]
    assert entry["payload"] == {"approved": True, "editedArgs": agreed}
