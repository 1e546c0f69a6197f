"""What a call is answered with: replies, questions in the client's window or on their page."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any, ClassVar

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from agui_bridge.mcp_server.conversations import read_conversation
from tests.mcp_server.agents import ADDRESS
from tests.mcp_server.asking import ACCEPTED, Person, request, retried
from tests.mcp_server.conftest import Asking, either
from tests.support.effects import Effects

MODERN = "2026-07-28"


def form(**content: Any) -> types.ElicitResult:
    """A filled form."""
    return types.ElicitResult(action="accept", content=content)


def text_of(result: types.CallToolResult) -> str:
    """The one text of a result."""
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


DECLINED = types.ElicitResult(action="decline")
CLOSED = types.ElicitResult(action="cancel")


@either
async def test_a_message_gets_the_reply_and_goes_on_with_its_thread(ask: Asking) -> None:
    async with ask() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == [
            *("broken", "dig", "echo", "ops", "route", "shop", "slow", "words"),
            "thread_status",
        ]
        first = await client.call_tool("echo", {"message": "one"})
        thread = first.structured_content["thread"]
        assert (text_of(first), first.is_error) == ("You said one.", False)
        second = await client.call_tool("echo", {"message": "two", "thread": thread})
        assert second.structured_content == {
            "thread": thread, "status": "done", "text": "You said two.",
        }  # fmt: skip
        listed = (await client.list_resources()).resources
        (shown,) = (await client.read_resource(listed[0].uri)).contents
        assert isinstance(shown, types.TextResourceContents)
        said = [(m["role"], m["content"]) for m in json.loads(shown.text)["messages"]]
    assert said == [
        *(("user", "one"), ("assistant", "You said one.")),
        *(("user", "two"), ("assistant", "You said two.")),
    ]


@either
@pytest.mark.parametrize(
    ("answer", "reply", "executed"),
    [
        (form(approved=True), "3 rows of users deleted", {"deleted users": 1}),
        (form(approved=False, reason="too many"), "Kept: too many.", {}),
        (DECLINED, "Kept: refused.", {}),
    ],
    ids=["approved", "refused", "declined"],
)
async def test_an_approval_shows_the_whole_call_and_its_answer_is_carried_out(
    ask: Asking, effects: Effects, answer: types.ElicitResult, reply: str, executed: dict[str, int]
) -> None:
    person = Person([answer])
    async with ask(person) as client:
        assert client.session.protocol_version == MODERN
        done = await client.call_tool("ops", {"message": "users"}, progress_callback=person.hear)
    (asked,) = person.asked
    call = 'delete_rows\n    {\n      "table": "users",\n      "limit": 3\n    }'
    assert asked.message == f"This would run:\n\n    {call}\n\nAsked for by: anonymous"
    assert (text_of(done), done.is_error) == (f"I will delete.\n\n{reply}", False)
    assert effects.counted == executed
    assert "calls delete_rows" in person.told


async def test_a_form_has_the_fields_of_a_flat_schema_and_a_wrong_one_is_shown_again(
    ask: Asking, effects: Effects
) -> None:
    person = Person([form(size="M", number="many"), form(size="M", number=2, gift=True)])
    async with ask(person) as client:
        done = await client.call_tool("shop", {"message": "go"})
    first, second = person.asked
    assert first.requested_schema == {
        "type": "object",
        "properties": {
            "size": {"type": "string", "enum": ["S", "M", "L"], "title": "Size"},
            "number": {"type": "integer", "title": "Number"},
            "gift": {"type": "boolean", "title": "Gift"},
        },
        "required": ["size", "number"],
    }
    assert first.message == "Asked for by: anonymous\n\nWhich one?"
    assert second.message.endswith(first.message) and "is refused" in second.message
    assert (text_of(done), effects.counted) == ("2 of M, gift: True.", {"ordered M": 1})


async def test_a_question_of_any_shape_is_answered_with_a_text(ask: Asking) -> None:
    async with ask(Person([form(value="pear")])) as client:
        assert text_of(await client.call_tool("words", {"message": "go"})) == "You said pear."


async def test_a_closed_window_answers_nothing_and_the_question_can_be_shown_again(
    ask: Asking, effects: Effects
) -> None:
    person = Person([CLOSED, form(approved=True)])
    async with ask(person) as client:
        closed = await client.call_tool("ops", {"message": "users"})
        thread = closed.structured_content["thread"]
        assert (closed.structured_content["status"], effects.counted) == ("waiting", {})
        assert f"Answer at: {ADDRESS}/inbox/" in text_of(closed)
        done = await client.call_tool("thread_status", {"agent": "ops", "thread": thread})
    assert text_of(done) == "I will delete.\n\n3 rows of users deleted"
    assert effects.counted == {"deleted users": 1}


@pytest.mark.parametrize(
    ("agent", "message"),
    [("ops", "salaries"), ("ops", "t" * 5000), ("ops", "t\n" * 5000), ("route", "go")],
    ids=["of certain people", "long", "long lines", "complex"],
)
async def test_what_the_window_can_not_ask_has_its_page_and_an_accept_decides_nothing(
    ask: Asking, effects: Effects, agent: str, message: str
) -> None:
    async with ask(Person()) as client:
        asked = await request(client, agent, message=message)
        ((id, one),) = (asked.input_requests or {}).items()
        assert isinstance(one, types.ElicitRequest)
        assert isinstance(one.params, types.ElicitRequestURLParams)
        assert one.params.url.startswith(f"{ADDRESS}/inbox/")
        for given in (CLOSED, form(approved=False), form(approved=True)):
            claimed = asyncio.ensure_future(retried(client, agent, asked, given, message=message))
            _, late = await asyncio.wait([claimed], timeout=1.0)
            claimed.cancel()
            assert bool(late) is (given.action == "accept"), "it waits for the page's answer"
        left = await retried(client, agent, asked, CLOSED, message=message)
    assert left.structured_content["status"] == "waiting"
    assert id and effects.counted == {}


@either
async def test_older_clients_and_those_that_show_nothing_are_told_where_people_answer(
    ask: Asking, effects: Effects
) -> None:
    for person, mode in ((Person(), "legacy"), (None, "auto")):
        async with ask(person, mode=mode) as client:
            told = await client.call_tool("ops", {"message": "users"})
            thread = told.structured_content["thread"]
            assert (told.structured_content["status"], told.is_error) == ("waiting", False)
            assert "a person has to answer" in text_of(told)
            assert f'thread_status with {{"agent": "ops", "thread": "{thread}"}}' in text_of(told)
            again = await client.call_tool("thread_status", {"agent": "ops", "thread": thread})
            assert again.content == told.content
            pressed = await client.call_tool("ops", {"message": "yes", "thread": thread})
            assert pressed.is_error and "The message was not sent" in text_of(pressed)
    assert effects.counted == {}


async def test_what_is_wrong_is_told_and_never_with_particulars_of_the_server(ask: Asking) -> None:
    async with ask(Person()) as client:
        for tool, arguments, said in (
            ("echo", {}, "message: is missing. (INVALID_INPUT)"),
            ("echo", {"message": ""}, "message: must be a text that is not empty. (INVALID_INPUT)"),
            ("echo", {"message": "go", "thread": ".."}, "thread: '..' can't be an id"),
            ("echo", {"message": "go", "thread": "a/stop"}, "thread: an id may not end in '/stop'"),
            ("thread_status", {"agent": "no", "thread": "t"}, "There is no agent 'no'"),
            ("thread_status", {"agent": "ops", "thread": "no"}, "There is no such thread."),
            ("broken", {"message": "go"}, "so far"),
        ):
            told = await client.call_tool(tool, arguments)
            assert told.is_error and said in text_of(told) and "secret" not in text_of(told)
        asked = await request(client, "ops", message="users")
        for state, tool, arguments in (
            ("nonsense", "ops", {"message": "users"}),
            (asked.request_state, "echo", {"message": "users"}),
            (asked.request_state, "ops", {"message": "users", "thread": "another"}),
            (None, "ops", {"message": "users"}),
        ):
            with pytest.raises(MCPError, match="requestState"):
                await client.session.call_tool(
                    tool,
                    arguments,
                    input_responses={"x": ACCEPTED},
                    request_state=state,
                    allow_input_required=True,
                )
        with pytest.raises(MCPError, match="There is no tool"):
            await client.call_tool("no", {"message": "go"})
        with pytest.raises(MCPError, match="no such conversation"):
            await client.read_resource("agui-bridge://agents/ops/threads/no")


class NoStore:
    """A bridge whose store is not to be asked, as PostgreSQL refuses texts with a NUL."""

    agents: ClassVar[dict[str, Any]] = {"ops": None}

    async def open(self) -> Any:
        raise AssertionError("the store is asked")


async def test_an_address_that_no_thread_can_have_is_told_as_unknown() -> None:
    service: Any = NoStore()
    caller: Any = SimpleNamespace(principal=SimpleNamespace(scope="default"))
    with pytest.raises(MCPError, match="no such conversation"):
        await read_conversation(service, caller, "agui-bridge://agents/ops/threads/a%00b")
