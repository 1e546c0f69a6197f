"""The terminal chat with servers and texts that are not as one would like them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from typing import Any

import pytest

from agui_bridge.protocol.answers.decisions import approval_schema
from tests.cli.processes import ROOT, command, environment
from tests.cli.terminal import BACKSPACE, terminal
from tests.client.raw_server import asking, raw_server, sse

CLEARS = "\x9b2J"
"""C1 controls are one character of Unicode, and terminals heed them."""


def says(text: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": text}


def calls(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    given = json.dumps(arguments, ensure_ascii=False)
    return [
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": name},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": given},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
    ]


DONE = sse(
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r2"},
    {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c", "content": "over"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r2", "outcome": {"type": "success"}},
)


async def test_arguments_that_are_edited_steer_no_terminal_and_stay_what_they_are() -> None:
    arguments = {"text": f"a{CLEARS}\x7f\u202eb"}
    ask = {
        "id": "i1",
        "reason": "tool_call",
        "toolCallId": "c",
        "responseSchema": approval_schema({"type": "object"}, editable=True),
    }

    def talk(url: str) -> str:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("[c]ancel > ", "e")
            chat.wait_for("back) > ")
            # As it is, it is no edit, and nobody has approved it.
            chat.answer('b"}', "")
            chat.wait_for("Nothing is changed.")
            chat.answer("[c]ancel > ", "e")
            chat.answer('b"}', f'{BACKSPACE * 2}c"}}')
            chat.answer("[c]ancel > ", "/quit")
            assert chat.end() == 0
            return chat.shown

    async with raw_server(asking([ask], *calls("send\nfake", arguments)), path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert "\x9b" not in shown and "\u202e" not in shown
    assert "⚙ send fake(" in shown
    [entry] = server.bodies[1]["resume"]
    assert entry["payload"] == {"approved": True, "editedArgs": {"text": arguments["text"] + "c"}}


async def test_a_reason_and_the_names_of_fields_and_options_have_one_line() -> None:
    schema = {
        "type": "object",
        "required": ["o"],
        "properties": {"o": {"title": "Choose\n$ rm -rf\x1b[2J", "enum": ["a\nb", "c"]}},
    }
    ask = {"id": "i1", "reason": "own\n╰─\nyou > yes", "responseSchema": schema}

    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("a number > ")
            assert "╭─ A question (own ╰─ you > yes)" in shown
            assert '  1  "a\\nb"\n' in shown and "Choose $ rm -rf\\u001b[2J, a number > " in shown
            chat.type("1")
            chat.answer("a number > ", "/quit")
            assert chat.end() == 0

    async with raw_server(asking([ask]), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["resume"][0]["payload"] == {"o": "a\nb"}


@pytest.mark.parametrize(("said", "approved"), [("y", True), ("n", False)])
async def test_long_arguments_are_shown_whole_once_before_a_yes_is_taken(
    said: str, approved: bool
) -> None:
    arguments = {"text": "word " * 4_000}
    ask = {"id": "i1", "reason": "tool_call", "toolCallId": "c"}

    def talk(url: str) -> str:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("Enter: go on, [n]o, [c]ancel > ")
            chat.type(said)
            if approved:
                chat.wait_for("Nothing was sent: there is more to read.")
                screens = chat.read_on("[y]es, ")
                assert all(len(screen.splitlines()) <= 50 for screen in screens)
                shown += "\n".join(["", *screens])
                chat.answer("[c]ancel > ", said)
            else:
                chat.answer("no reason) > ", "")
            chat.wait_for("you > ")
            chat.leave()
            return shown

    async with raw_server(asking([ask], *calls("send", arguments)), DONE, path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    [entry] = server.bodies[1]["resume"]
    assert entry["payload"] == {"approved": approved}
    lines = [
        line[2:].removeprefix("↪ ") for line in re.split("[\r\n]+", shown) if line.startswith("│ ")
    ]
    assert ("".join(lines).count("word") == 4_000) is approved


async def test_a_text_in_pieces_is_one_text() -> None:
    pieces = ["one\r", "\ntwo \ud83d", "\ude00 three\r"]
    told = [{"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": piece} for piece in pieces]

    def talk(url: str) -> str:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("you > ")
            chat.leave()
            return shown

    async with raw_server(
        asking([], {**told[0], "role": "assistant"}, *told[1:]), path="/agui"
    ) as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert "one\ntwo 😀 three\n" in shown


HOSTILE = "A\x1b]52;c;aGk=\x07\x9b2J\u202eB"


@pytest.mark.parametrize("agents", [["a", HOSTILE], [1, 2]])
async def test_names_of_agents_steer_no_terminal_and_end_nothing(agents: list[Any]) -> None:
    def talk(url: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command("chat", url), cwd=ROOT, env=environment(), capture_output=True, timeout=60
        )

    body = json.dumps({"agents": [{"name": name} for name in agents]}).encode()
    async with raw_server(body, kind="application/json", gets="/agents") as server:
        ended = await asyncio.to_thread(talk, server.url)
    assert ended.returncode == 2 and b"has 2 agents" in ended.stderr
    assert b"\x1b" not in ended.stderr and "\x9b".encode() not in ended.stderr


async def test_events_that_are_none_are_told_once_and_steer_no_terminal() -> None:
    odd = {"type": f"ODD {HOSTILE}"}

    def talk(url: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command("chat", f"{url}agui"),
            cwd=ROOT,
            env=environment(),
            input=b"hello\n",
            capture_output=True,
            timeout=60,
        )

    async with raw_server(asking([], odd, says("text"), odd), path="/agui") as server:
        ended = await asyncio.to_thread(talk, server.url)
    assert ended.stderr == b"" and b"\x1b]52" not in ended.stdout
    assert ended.stdout.count(b"ODD A") == 1


@pytest.mark.parametrize("properties", [None, 5, [], "approved"])
async def test_a_question_whose_schema_is_none_is_asked_all_the_same(properties: Any) -> None:
    schema = {"type": "object", "properties": properties}
    ask = {"id": "i1", "reason": "tool_call", "toolCallId": "c", "responseSchema": schema}

    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer(" > ", '{"approved": false}')
            chat.answer(" > ", "/quit")
            assert chat.end() == 0

    async with raw_server(asking([ask], *calls("send", {})), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["resume"][0]["payload"] == {"approved": False}


async def test_arguments_that_no_one_can_read_are_shown_as_they_are() -> None:
    for given in ("[" * 100_000, '{"limit": 1, "limit": 99}'):
        ask = {"id": "i1", "reason": "tool_call", "toolCallId": "c"}
        said = calls("send", {})
        said[1]["delta"] = given

        def talk(url: str, given: str = given) -> None:
            with terminal("chat", f"{url}agui") as chat:
                chat.answer("you > ", "hello")
                assert given[:60] in chat.wait_for("[c]ancel > ")
                chat.leave()

        async with raw_server(asking([ask], *said), path="/agui") as server:
            await asyncio.to_thread(talk, server.url)


@pytest.mark.parametrize(
    "listed",
    [
        {"interrupts": [{"threadId": "t", "reason": "x"}], "count": 1, "cursor": None},
        {"interrupts": 5},
        {"interrupts": []},
    ],
)
async def test_a_list_that_is_none_is_told_so(listed: Any) -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agents/ops") as chat:
            chat.answer("you > ", "/waiting")
            assert "lists something else than questions" in chat.wait_for("\nyou > ")
            chat.type("/quit")
            assert chat.end() == 0

    body = json.dumps(listed).encode()
    async with raw_server(body, kind="application/json", gets="/interrupts") as server:
        await asyncio.to_thread(talk, server.url)


@pytest.mark.soak
@pytest.mark.parametrize("locale", ["ascii", "latin-1", "utf-8"])
async def test_no_character_ends_the_chat(locale: str) -> None:
    body = asking([], says("half \ud83d of a pair, ⚙ 漢字"))

    def talk(url: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command("chat", f"{url}agui"),
            cwd=ROOT,
            env=environment(PYTHONIOENCODING=locale),
            input=b"caf\xe9\nagain\n",
            capture_output=True,
            timeout=60,
        )

    async with raw_server(body, path="/agui") as server:
        ended = await asyncio.to_thread(talk, server.url)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count(b"of a pair") == 2 and b"Traceback" not in ended.stderr
    assert [body["messages"][-1]["content"] for body in server.bodies][1:] == ["again"]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ("401 Unauthorized", "Begin again with a token: --header"),
        ("404 Not Found", "Check the address"),
        ("301 Moved Permanently", "redirects to another address"),
        ("200 OK", "Check the address"),
    ],
)
async def test_a_refusal_says_what_to_do(status: str, told: str) -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            assert told in chat.wait_for("\nyou > ")
            chat.type("/quit")
            assert chat.end() == 0
            # The prompt's line ends before something else is said.
            assert "you > /quit\n" in chat.shown

    async with raw_server(b"<html>", kind="text/html", status=status, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)


async def test_where_a_stream_breaks_off_it_is_told_how_to_see_what_became_of_it() -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui", "--thread", "t") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("\nyou > ")
            assert "half of it" in shown and "begin again with --thread t" in shown
            chat.type("/quit")
            assert chat.end() == 0

    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    async with raw_server(sse(started, says("half of it")), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)


async def test_what_was_typed_before_a_call_of_a_page_stood_there_does_not_skip_it() -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            # Before the call are more words than a terminal holds back: this is typed before it.
            chat.type("s")
            chat.answer("[s]kip > ", "r")
            chat.answer("back) > ", "done")
            chat.answer("\nyou > ", "/quit")
            assert chat.end() == 0

    said = [says("word " * 10_000), *calls("show_page", {"page": "a"})]
    started = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    async with raw_server(sse(started, *said, finished), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["messages"][-1]["content"] == "done"
