"""The terminal chat with servers and texts that are not as one would like them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from typing import Any

import pytest

from agui_bridge.protocol.answers.decisions import approval_schema
from tests.cli.processes import ROOT, command, environment
from tests.cli.terminal import terminal
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
            chat.answer('b"}', "")
            chat.answer("[c]ancel > ", "/quit")
            assert chat.end() == 0
            return chat.shown

    async with raw_server(asking([ask], *calls("send\nfake", arguments)), path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert "\x9b" not in shown and "\u202e" not in shown
    assert "⚙ send fake(" in shown
    [entry] = server.bodies[1]["resume"]
    assert entry["payload"] == {"approved": True, "editedArgs": arguments}


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
            assert "  1  a b\n" in shown and "Choose $ rm -rf�[2J, a number > " in shown
            chat.type("1")
            chat.answer("a number > ", "/quit")
            assert chat.end() == 0

    async with raw_server(asking([ask]), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["resume"][0]["payload"] == {"o": "a\nb"}


async def test_long_arguments_are_shown_whole_once() -> None:
    arguments = {"text": "word " * 4_000}
    ask = {"id": "i1", "reason": "tool_call", "toolCallId": "c"}

    def talk(url: str) -> str:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("[c]ancel > ")
            chat.leave()
            return shown

    async with raw_server(asking([ask], *calls("send", arguments)), path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert 4_000 < shown.count("word") < 4_200


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
