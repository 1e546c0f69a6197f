"""The tool loop against a scripted model: its calls and the tools' executions are counted."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable

import pytest

from tests.examples.conftest import Serving
from tests.examples.served import Served
from tests.servers.model.chat_completions import ChatReply
from tests.servers.model.script import Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.agents import eventually

HOURS = ToolUse("free_hours", {"day": "monday"}, id="call_h")
MAIL = {"to": "ann@example.com", "subject": "Hours", "body": "09:00"}
SEND = ToolUse("send_email", MAIL, id="call_m")
KEY = "sk-very-secret"

Secretary = Callable[..., contextlib.AbstractAsyncContextManager[tuple[Served, ScriptedModel]]]


@pytest.fixture
def secretary(example: Serving, monkeypatch: pytest.MonkeyPatch) -> Secretary:
    """Serves the agent, with a model that is scripted."""

    @contextlib.asynccontextmanager
    async def start(*scripts: Reply) -> AsyncIterator[tuple[Served, ScriptedModel]]:
        async with ScriptedModel(*scripts) as model:
            monkeypatch.setenv("NO_PROXY", "127.0.0.1")
            monkeypatch.setenv("OPENAI_BASE_URL", model.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", KEY)
            monkeypatch.setenv("MODEL", "scripted")
            async with example("llm_tools.agent", "secretary") as served:
                yield served, model

    return start


def executed(served: Served) -> list[tuple[str, dict[str, str]]]:
    """Every execution of a tool, in all processes."""
    return [call for module in served.imported("examples.llm_tools.tools") for call in module.CALLS]


async def test_text_is_streamed_while_the_model_still_writes(secretary: Secretary) -> None:
    hold = asyncio.Event()
    async with secretary(Reply(text=["Hel", "lo", "\u2028."], hold=hold)) as (served, model):
        async with served.listening("hi") as stream:
            assert (await stream.until("TEXT_MESSAGE_CONTENT"))["delta"] == "Hel"
            hold.set()
            await stream.rest()
        said = "".join(e["delta"] for e in stream.events if e["type"] == "TEXT_MESSAGE_CONTENT")
        assert said == "Hello\u2028."
        (request,) = model.requests
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.body["model"] == "scripted"
        assert [tool["function"]["name"] for tool in request.body["tools"]] == [
            "free_hours",
            "send_email",
            "ask_user",
        ]
        assert [message["role"] for message in request.messages] == ["system", "user"]


async def test_a_client_that_leaves_ends_the_models_stream(secretary: Secretary) -> None:
    hold = asyncio.Event()
    async with secretary(Reply(text=["Hel", "lo"], hold=hold)) as (served, model):
        async with served.listening("hi") as stream:
            await stream.until("TEXT_MESSAGE_CONTENT")
        await eventually(lambda: model.cut_off == 1)


@pytest.mark.parametrize("fragment", [0, 1, 7])
async def test_safe_and_risky_calls_of_one_reply_are_put_together_from_fragments(
    secretary: Secretary, fragment: int
) -> None:
    replies = (
        Reply(text=["I look, ", "and write. "], calls=[HOURS, SEND], fragment=fragment),
        Reply(text="All done."),
    )
    async with secretary(*replies) as (served, model):
        assert await served.say("write to ann") == "I look, and write. "
        assert executed(served) == [("free_hours", {"day": "monday"})]
        (ask,) = served.asks
        assert ask["message"] == "Allow send_email?"
        assert len(model.requests) == 1

        await served.restart()
        assert await served.answer({"approved": True}) == "All done."
        assert executed(served) == [("free_hours", {"day": "monday"}), ("send_email", MAIL)]
        assert len(model.requests) == 2
        asked, hours, sent = model.requests[1].messages[-3:]
        assert asked["content"] == "I look, and write. "
        assert [json.loads(c["function"]["arguments"]) for c in asked["tool_calls"]] == [
            HOURS.args,
            MAIL,
        ]
        assert [c["id"] for c in asked["tool_calls"]] == [m["tool_call_id"] for m in (hours, sent)]
        assert [m["content"] for m in (hours, sent)] == [
            '["09:00", "14:00"]',
            "sent to ann@example.com",
        ]

        # The response was lost, and the client asks again: nothing is done or said a second time.
        assert await served.send_again() == ""
        await served.restart()
        assert await served.send_again() == ""
        assert len(model.requests) == 2
        assert len(executed(served)) == 2
        said = [m["content"] for m in (await served.thread())["messages"] if m.get("content")]
        assert said.count("I look, and write. ") == said.count("All done.") == 1


async def test_parallel_risky_calls_are_asked_together_and_answered_each_its_own_way(
    secretary: Secretary,
) -> None:
    mails = [{**MAIL, "to": f"{name}@example.com"} for name in ("ann", "bob", "cem", "dan")]
    calls = [ToolUse("send_email", mail, id=f"call_{n}") for n, mail in enumerate(mails)]
    async with secretary(Reply(calls=calls, fragment=5), Reply(text="So be it.")) as (
        served,
        model,
    ):
        assert await served.say("write to all") == ""
        assert len(served.asks) == 4
        edited = {**mails[2], "subject": "Edited"}
        said = await served.answer(
            {"approved": True},
            {"approved": False, "reason": "bob left"},
            {"approved": True, "editedArgs": edited},
            None,
        )
        assert said == "So be it."
        assert sorted(call[1]["to"] for call in executed(served)) == [
            "ann@example.com",
            "cem@example.com",
        ]
        assert ("send_email", edited) in executed(served)
        results = [m["content"] for m in model.requests[1].messages[-4:]]
        assert results[0] == "sent to ann@example.com"
        assert results[1].startswith("The user declined") and results[1].endswith("bob left")
        assert results[2].startswith('The user changed the arguments, which were {"to": "cem@')
        assert results[3] == "The approval was cancelled; this tool call was not executed."


async def test_the_model_is_called_once_for_each_reply_over_several_pauses(
    secretary: Secretary,
) -> None:
    replies = (
        Reply(text="First. ", calls=[SEND]),
        Reply(text="Second. ", calls=[SEND, HOURS]),
        Reply(text="Third. "),
    )
    async with secretary(*replies) as (served, model):
        assert await served.say("write twice") == "First. "
        assert await served.answer({"approved": True}) == "Second. "
        await served.restart()
        assert await served.answer({"approved": False}) == "Third. "
        assert len(model.requests) == 3
        assert sorted(name for name, _ in executed(served)) == ["free_hours", "send_email"]


async def test_the_next_message_finds_a_history_that_chat_completions_accept(
    secretary: Secretary,
) -> None:
    replies = (Reply(text="Both. ", calls=[HOURS, SEND]), Reply(text="Done."), Reply(text="Bye."))
    async with secretary(*replies) as (served, model):
        await served.say("write")
        await served.answer({"approved": False})
        assert await served.say("thanks") == "Bye."
        messages = model.requests[2].messages
        assert [m["role"] for m in messages] == [
            *("system", "user", "assistant", "tool", "tool", "assistant", "user")
        ]
        asked, *results = messages[2:5]
        assert [call["id"] for call in asked["tool_calls"]] == [m["tool_call_id"] for m in results]
        assert asked["content"] == "Both. "
        assert "declined" in results[1]["content"]
        assert messages[5]["content"] == "Done."


async def test_a_call_that_makes_no_sense_is_told_to_the_model_and_to_nobody_else(
    secretary: Secretary,
) -> None:
    calls = [
        ToolUse("send_email", '{"to": "ann', id="call_1"),
        ToolUse("send_email", {"to": 5}, id="call_2"),
        ToolUse("delete_everything", {}, id="call_3"),
        ToolUse("free_hours", {"day": "monday"}, id="call_4"),
        ToolUse("free_hours", {"day": "monday"}, id=None),
    ]
    async with secretary(Reply(calls=calls), Reply(text="Sorry.")) as (served, model):
        assert await served.say("go") == "Sorry."
        results = [m["content"] for m in model.requests[1].messages[-5:]]
        asked = model.requests[1].messages[-6]["tool_calls"]
        assert [call["function"]["arguments"] for call in asked[:2]] == ["{}", '{"to": 5}']
        assert len({call["id"] for call in asked}) == 5
        assert results[0].startswith("The arguments don't fit")
        assert results[1].startswith("The arguments don't fit")
        assert results[2] == "There is no tool 'delete_everything'."
        assert results[3] == results[4] == '["09:00", "14:00"]'
        assert len(executed(served)) == 2


async def test_the_loop_ends_after_its_last_round(secretary: Secretary) -> None:
    async with secretary(*[Reply(calls=[HOURS])] * 8) as (served, model):
        said = await served.say("go on for ever")
        assert said == "I stop here: 8 replies with tool calls were not enough."
        assert len(model.requests) == len(executed(served)) == 8


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Reply(status=401, body=f'{{"error": "bad {KEY}"}}'), "answered 401. Check OPENAI_API_KEY"),
        (Reply(status=404, body="no model"), "answered 404. Check OPENAI_BASE_URL and the model"),
        (Reply(status=400, body=f"trace: {KEY}"), "answered 400."),
        (Reply(text="Hel", breaks_off=True), "broke off"),
        (ChatReply(text="Hel", fails={"message": KEY}), "broke off"),
        (ChatReply(text="Hel", fails=f"<html>{KEY}"), "broke off"),
        (ChatReply(text="Hel", fails=f'["{KEY}"]'), "broke off"),
    ],
)
async def test_a_failing_model_ends_the_run_with_what_to_do_and_no_secrets(
    secretary: Secretary, reply: Reply, told: str
) -> None:
    async with secretary(reply, Reply(text="Hello.")) as (served, _):
        await served.say("hi")
        assert served.error == "UPSTREAM_ERROR"
        assert told in served.events[-1]["message"]
        assert KEY not in str(served.events)
        assert await served.say("again") == "Hello."


async def test_a_model_that_fails_after_an_approval_leaves_the_tool_executed_once(
    secretary: Secretary,
) -> None:
    async with secretary(Reply(calls=[SEND]), Reply(status=400), Reply(text="Sent.")) as (
        served,
        _,
    ):
        await served.say("write")
        await served.answer({"approved": True})
        assert served.error == "UPSTREAM_ERROR"
        await served.send_again()
        assert served.error == "UPSTREAM_ERROR"
        assert await served.say("and?") == "Sent."
        assert executed(served) == [("send_email", MAIL)]


async def test_a_server_that_ends_without_done_is_understood(secretary: Secretary) -> None:
    async with secretary(ChatReply(text="Hello.", says_done=False)) as (served, _):
        assert await served.say("hi") == "Hello."
