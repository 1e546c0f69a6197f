"""What was not meant is not sent: keys that were for something else, and answers nobody gave."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminal import CTRL_C, Terminal, terminal
from tests.client.raw_server import asking, raw_server, sse
from tests.support.target import Target
from tests.support.waiting import wait_until

YES_NO = "[c]ancel > "
STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("accidents"))
    yield target
    target.close()


@pytest.fixture
def url(target: Target) -> str:
    return f"http://127.0.0.1:{target.port}"


def call(name: str, number: str, *, message: str | None = None) -> list[dict[str, Any]]:
    of = {} if message is None else {"parentMessageId": message}
    return [
        {"type": "TOOL_CALL_START", "toolCallId": number, "toolCallName": name, **of},
        {"type": "TOOL_CALL_ARGS", "toolCallId": number, "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": number},
    ]


def finished(**outcome: Any) -> dict[str, Any]:
    told = {"outcome": {"type": "success", **outcome}} if outcome else {}
    return {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **told}


def quit_at_once(chat: Terminal) -> None:
    chat.type("/quit")
    assert chat.end() == 0


def test_what_is_typed_while_an_editor_is_open_approves_nothing(
    target: Target, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is left without saving, as vim is by `:cq`.
    here, go_on = tmp_path / "here", tmp_path / "go on"
    os.mkfifo(go_on)
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\ntouch '{here}'\nread line < '{go_on}'\nexit 1\n")
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    with terminal("chat", url) as chat:
        chat.answer("you > ", f"send {'m' * 150}")
        chat.answer(YES_NO, "e")
        wait_until(here.exists)
        chat.type("x")
        go_on.write_text("\n", encoding="utf-8")
        chat.wait_for("back) > ")
        # The prefilled line, left as it is, is no answer either.
        chat.answer("}", "")
        chat.wait_for("Nothing is changed.")
        chat.answer(YES_NO, "/quit")
        assert chat.end() == 0
        assert "that is no JSON" not in chat.shown
    assert target.effects == []


def test_what_is_pasted_behind_a_line_that_means_nothing_approves_nothing(
    target: Target, url: str
) -> None:
    with terminal("chat", url) as chat:
        chat.answer("you > ", "send nora")
        chat.answer(YES_NO, "that is fine\nyes")
        chat.wait_for("Nothing was sent. Type [y]es")
        chat.answer(YES_NO, "/quit")
        assert chat.end() == 0
    assert target.effects == []


async def test_a_call_of_the_agents_own_is_no_pages_when_its_run_is_stopped() -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.wait_for("charge_card({})")
            chat.type(CTRL_C, enter=False)
            shown = chat.wait_for("\nyou > ")
            assert "stopped" in shown and "of a page" not in shown
            quit_at_once(chat)

    stream = sse(STARTED, *call("charge_card", "c"))
    async with raw_server(stream, hold=True, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "end", [[], [{"type": "RUN_ERROR", "message": "no"}]], ids=["cut", "failed"]
)
async def test_a_call_of_the_agents_own_is_no_pages_when_its_run_fails(
    end: list[Mapping[str, Any]],
) -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            assert "of a page" not in chat.wait_for("\nyou > ")
            quit_at_once(chat)

    stream = sse(STARTED, *call("charge_card", "c"), *end)
    async with raw_server(stream, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert len(server.bodies) == 1


async def test_each_call_that_waits_is_asked_about_and_no_other() -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            assert "pick_size is a tool of a page" in chat.wait_for("[s]kip > ")
            chat.type("s")
            assert "pick_colour is a tool of a page" in chat.wait_for("[s]kip > ")
            chat.type("s")
            # The bridge says which one waits.
            assert "pick_room is a tool of a page" in chat.wait_for("[s]kip > ")
            chat.type("s")
            # Who speaks on does not wait.
            chat.wait_for("It is done.")
            chat.wait_for("\nyou > ")
            quit_at_once(chat)

    said = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "It is done."}
    async with raw_server(
        sse(STARTED, *call("pick_size", "1"), *call("pick_colour", "2"), finished()),
        sse(
            STARTED,
            *call("look", "3", message="a"),
            *call("pick_room", "4", message="a"),
            finished(pendingToolCallIds=["4"]),
        ),
        sse(STARTED, *call("look", "5"), {**said, "role": "assistant"}, finished()),
        path="/agui",
    ) as server:
        await asyncio.to_thread(talk, server.url)
    told = [[m for m in body["messages"] if m["role"] == "tool"] for body in server.bodies]
    assert [[m["toolCallId"] for m in tools] for tools in told] == [[], ["1", "2"], ["1", "2", "4"]]


async def test_a_result_that_did_not_arrive_is_asked_for_again() -> None:
    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("[s]kip > ", "s")
            assert "503" in chat.wait_for("pick_size is a tool of a page")
            chat.answer("[s]kip > ", "s")
            chat.wait_for("\nyou > ")
            quit_at_once(chat)

    async with raw_server(
        sse(STARTED, *call("pick_size", "1"), finished()),
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        sse(STARTED, finished()),
        path="/agui",
    ) as server:
        await asyncio.to_thread(talk, server.url)
    tools = [m for m in server.bodies[-1]["messages"] if m["role"] == "tool"]
    assert [m["toolCallId"] for m in tools] == ["1"]


async def test_enter_takes_no_choice_that_is_empty_and_approves_nothing_by_default() -> None:
    schema = {
        "type": "object",
        "required": ["level", "approved"],
        "properties": {
            "level": {"enum": ["low", "", "a  b"]},
            "approved": {"type": "boolean", "default": True},
        },
    }

    def talk(url: str) -> None:
        with terminal("chat", f"{url}agui") as chat:
            chat.answer("you > ", "hello")
            shown = chat.wait_for("level, a number > ")
            assert '  2  ""\n  3  "a  b"\n' in shown
            chat.type("")
            chat.wait_for("a number from 1 to 3")
            chat.answer("level, a number > ", "3")
            chat.answer("approved [y]es, [n]o > ", "")
            chat.wait_for("y or n, or /cancel.")
            chat.answer("approved [y]es, [n]o > ", "n")
            chat.answer("a number > ", "/quit")
            assert chat.end() == 0

    ask = {"id": "i1", "reason": "input_required", "responseSchema": schema}
    async with raw_server(asking([ask]), path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert server.bodies[1]["resume"][0]["payload"] == {"level": "a  b", "approved": False}
