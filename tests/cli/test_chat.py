"""The terminal chat in a terminal: typed into, against a real server's process."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import CTRL_C, CTRL_D, CTRL_U, terminal
from tests.client.raw_server import asking, raw_server, sse
from tests.support.target import Target

YES_NO = "[c]ancel > "


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("chat"))
    yield target
    target.close()


@pytest.fixture
def url(target: Target) -> str:
    return f"http://127.0.0.1:{target.port}"


def executed(target: Target, name: str) -> list[str]:
    """The bodies that were sent to somebody."""
    return [line["body"] for line in target.effects if line["to"].startswith(f"{name}-")]


@pytest.mark.feature("terminal", "approve", "deny", "edit", "cancel")
def test_approve_decline_edit_and_cancel(target: Target, url: str) -> None:
    with terminal("chat", url) as chat:
        chat.answer("you > ", "hello")
        assert "You said: hello" in chat.wait_for("\nyou > ")
        chat.type("send ann")
        shown = chat.wait_for(YES_NO)
        assert "May this run?" in shown
        assert '"to": "ann-0@example.com"' in shown
        chat.type("y")
        assert "→ sent to ann-0@example.com" in chat.wait_for("you > ")
        chat.type("send ben")
        chat.answer(YES_NO, "n")
        chat.answer("no reason) > ", "not today")
        assert "not today" in chat.wait_for("you > ")
        chat.type("send cid")
        chat.answer(YES_NO, "e")
        # The arguments stand there to be changed; what is wrong is told at once.
        chat.wait_for('back) > {"to": "cid-0@example.com", "body": "original"}')
        chat.type("oops")
        chat.wait_for("that is no JSON")
        chat.wait_for("oops")
        chat.type(CTRL_U, enter=False)
        chat.type('{"to": 7, "body": "changed"}')
        chat.wait_for("must be a string, not 7")
        chat.wait_for('"changed"}')
        chat.type(CTRL_U, enter=False)
        chat.type('{"to": "cid-1", "body": "changed"}')
        chat.wait_for("Outcome: sent to cid-1.")
        chat.answer("you > ", "send dan")
        chat.answer(YES_NO, "c")
        chat.wait_for("Outcome: not sent.")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert [executed(target, name) for name in ("ann", "ben", "cid", "dan")] == [
        ["original"],
        [],
        ["changed"],
        [],
    ]


@pytest.mark.feature("terminal", "several", "form")
def test_parallel_questions_a_form_and_a_confirmation(target: Target, url: str) -> None:
    with terminal("chat", url, "--agent", "target") as chat:
        chat.answer("you > ", "both eve")
        chat.wait_for("1 of 2")
        chat.answer(YES_NO, "y")
        chat.wait_for("2 of 2")
        chat.answer(YES_NO, "n")
        chat.answer("no reason) > ", "")
        chat.wait_for("Outcomes: sent to eve-0@example.com, not sent.")
        chat.answer("you > ", "form Fay")
        chat.answer("a number > ", "7")
        chat.wait_for("a number from 1 to 4")
        chat.answer("a number > ", "2")
        chat.answer("Year > ", "twenty")
        # The schema is heeded field by field: what fits is not asked for again.
        assert "a number" not in chat.wait_for("must be a whole number")
        chat.answer("Year > ", "2026")
        chat.wait_for("Quarter: Q2 2026.")
        chat.answer("you > ", "form Hal")
        chat.answer("a number > ", "/quit")
        assert chat.end() == 0
        assert "To go on: add --thread " in chat.shown
    assert executed(target, "eve") == ["original"]


def test_a_confirmation_is_asked_until_it_is_understood(url: str) -> None:
    with terminal("chat", url, "--agent", "target") as chat:
        chat.answer("you > ", "confirm Gus")
        chat.answer("[n]o > ", "maybe")
        chat.answer("[n]o > ", "y")
        chat.wait_for("Confirmed.")
        chat.answer("you > ", CTRL_D)


def test_ctrl_c_stops_the_run_and_the_chat_goes_on(url: str) -> None:
    with terminal("chat", url) as chat:
        chat.answer("you > ", "slow 2000")
        chat.wait_for("2 3 4")
        chat.type(CTRL_C, enter=False)
        chat.wait_for("stopping")
        chat.wait_for("stopped")
        chat.answer("you > ", "hello")
        chat.wait_for("You said: hello")
        chat.wait_for("you > ")
        chat.type(CTRL_D, enter=False)
        assert chat.end() == 0
        assert "To go on: add --thread " in chat.shown


@pytest.mark.feature("terminal", "reload")
def test_a_thread_is_gone_on_with_and_its_open_question_asked(target: Target, url: str) -> None:
    with terminal("chat", url, "--thread", "kept") as chat:
        chat.answer("you > ", "send hal")
        chat.wait_for(YES_NO)
        assert chat.leave() == 130
    assert executed(target, "hal") == []
    with terminal("chat", url, "--thread", "kept") as chat:
        shown = chat.wait_for(YES_NO)
        assert "you > send hal" in shown
        assert "hal-0@example.com" in shown
        chat.type("y")
        chat.wait_for("Outcome: sent to hal-0@example.com.")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert executed(target, "hal") == ["original"]


def test_a_run_that_goes_on_is_followed_from_where_it_is(target: Target, url: str) -> None:
    with terminal("chat", url, "--thread", "long") as first:
        first.answer("you > ", "slow 200")
        first.wait_for("2 3 4")
        with terminal("chat", url, "--thread", "long") as second:
            shown = second.wait_for("20 21 22")
            assert "you > slow 200" in shown
            assert "0 1 2 3" in shown
            second.type(CTRL_C, enter=False)
            second.wait_for("stopped")
            first.wait_for("stopped")
            second.answer("you > ", "/quit")
            assert second.end() == 0
        # What was streamed is not shown again by the snapshots.
        assert second.shown.count("0 1 2 3") == 1
        first.answer("you > ", "/quit")
        assert first.end() == 0


def test_a_thread_that_nobody_knows_is_begun(url: str) -> None:
    with terminal("chat", url, "--thread", "brand-new") as chat:
        chat.wait_for("your first message begins it")
        chat.answer("you > ", "hello")
        chat.wait_for("You said: hello")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0


@pytest.mark.parametrize("dialect", ["0.x", "langgraph", "draft"])
def test_other_dialects_ask_one_question_after_the_other(
    target: Target, url: str, dialect: str
) -> None:
    name = f"ida{dialect.replace('.', '')}"
    with terminal("chat", url, "--dialect", dialect) as chat:
        chat.answer("you > ", f"both {name}")
        for number in (0, 1):
            assert f"{name}-{number}@example.com" in chat.wait_for(YES_NO)
            chat.type("y")
        chat.wait_for("Outcomes:")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert executed(target, name) == ["original"] * 2


async def test_any_endpoint_will_do_and_none_steers_the_terminal() -> None:
    text = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "red\x1b[31m\x07 \u202eend"}
    body = sse(
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r"},
        text,
        {"type": "RUN_ERROR", "message": "broken\x1b[2J", "code": "OOPS"},
    )

    def talk(url: str) -> str:
        with terminal("chat", url + "agui", "--header", "X-Key: 7") as chat:
            chat.answer("you > ", "hello")
            chat.wait_for("OOPS: broken\\u001b[2J")
            chat.answer("you > ", "/quit")
            assert chat.end() == 0
            return chat.shown

    async with raw_server(body, path="/agui") as server:
        shown = await asyncio.to_thread(talk, server.url)
    assert "red\\u001b[31m\\u0007 \\u202eend" in shown
    assert "x-key: 7" in server.heads[-1].lower()


async def test_an_expired_question_that_can_not_be_cancelled_is_not_sent_again_and_again() -> None:
    asked = {"id": "i1", "reason": "input_required", "expiresAt": "2020-01-01T00:00:00Z"}
    body = asking([asked])

    def talk(url: str) -> None:
        with terminal("chat", url + "agui") as chat:
            chat.answer("you > ", "hello")
            chat.answer("cancel it > ", "")
            # Only Enter cancels it.
            chat.answer("cancel it > ", "no")
            chat.answer("cancel it > ", "/quit")
            assert chat.end() == 0

    async with raw_server(body, path="/agui") as server:
        await asyncio.to_thread(talk, server.url)
    assert [body.get("resume") for body in server.bodies] == [
        None,
        [{"interruptId": "i1", "status": "cancelled"}],
    ]


def test_what_can_be_mended_is_told() -> None:
    for args, told in (
        (("chat", "localhost:1"), "Begin it with http://"),
        (("chat", "http://127.0.0.1:no"), "Write it like http://127.0.0.1:8787"),
        (("chat", "http://[::1"), "Write it like http://127.0.0.1:8787"),
        (("inbox", "list", "http://127.0.0.1:no"), "Write it like http://127.0.0.1:8787"),
        (("chat", "http://127.0.0.1:9/x", "--header", "X: é"), "one line of ASCII characters"),
        (("chat", "http://127.0.0.1:9/x", "--header", "X Y: a"), "and no blanks"),
        (("chat", "http://127.0.0.1:9"), "can't be reached"),
        (("chat", "http://a..b"), "can't be reached"),
        (("chat", f"http://{'a' * 300}.com"), "can't be reached"),
        (("chat", "http://127.0.0.1:9/x", "--thread", "t"), "can't be reached"),
        (("chat", "http://127.0.0.1:9/x", "--header", "nonsense"), "Name: value"),
    ):
        with terminal(*args) as chat:
            assert chat.end() == 2
            assert told in chat.shown


def test_a_key_that_means_nothing_is_told_so(target: Target, url: str) -> None:
    with terminal("chat", url) as chat:
        chat.answer("you > ", "send ida")
        chat.answer(YES_NO, "ok")
        assert "Nothing was sent. Type [y]es, [n]o, [e]dit" in chat.wait_for(YES_NO)
        chat.type("/help")
        assert "/cancel answers a question" in chat.wait_for(YES_NO)
        chat.type("n")
        # A mistyped command is no reason that reaches the agent.
        chat.answer("no reason) > ", "/cancle")
        assert "Nothing was sent. Did you mean /cancel?" in chat.wait_for("no reason) > ")
        chat.type("/waiting")
        assert "works at the prompt you >" in chat.wait_for("no reason) > ")
        chat.type("/cancel")
        chat.wait_for("Outcome: not sent.")
        chat.answer("you > ", "/cancel")
        assert "Nothing was sent. /cancel works at a question." in chat.wait_for("you > ")
        chat.type("/cancel")
        chat.wait_for("You said: /cancel")
        chat.answer("\nyou > ", "/Quit")
        assert "Did you mean /quit?" in chat.wait_for("\nyou > ")
        chat.type("send ida")
        chat.wait_for(YES_NO)
        chat.type("n")
        chat.answer("no reason) > ", "")
        chat.wait_for("Outcome: not sent.")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert executed(target, "ida") == []


@pytest.mark.feature("terminal", "page tool")
@pytest.mark.parametrize(
    ("typed", "told"),
    [(["x", "r", "page 1 is shown"], "page 1 is shown"), (["s"], "Not carried out")],
)
def test_a_tool_of_a_page_is_asked_about(url: str, typed: list[str], told: str) -> None:
    with terminal("chat", url) as chat:
        chat.answer("you > ", "frontend one")
        chat.wait_for("show_page is a tool of a page")
        for line in typed:
            chat.answer(" > ", line)
        assert told in chat.wait_for("\nyou > ")
        chat.type("/quit")
        assert chat.end() == 0


def test_what_waits_on_other_threads_is_listed(url: str) -> None:
    with terminal("chat", url, "--thread", "left-open") as first:
        first.answer("you > ", "send joe")
        first.wait_for(YES_NO)
        first.leave()
    with terminal("chat", url, width=120) as second:
        second.answer("you > ", "/waiting")
        shown = second.wait_for("--thread THREAD.")
        assert "left-open" in shown and 'send_email {"to": "joe-0@example.com"' in shown
        assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", shown)
        second.answer("you > ", "/quit")
        assert second.end() == 0
    with terminal("chat", url, "--thread", "left-open") as third:
        third.answer(YES_NO, "c")
        third.wait_for("Outcome: not sent.")


def test_long_arguments_open_in_the_editor(
    target: Target, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/original/edited/ "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    name = "k" * 150
    with terminal("chat", url) as chat:
        chat.answer("you > ", f"send {name}")
        chat.answer(YES_NO, "e")
        chat.wait_for("Outcome: sent to")
        chat.answer("you > ", "/quit")
        assert chat.end() == 0
    assert executed(target, name) == ["edited"]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("editor", "told"),
    [
        # Older versions of click leave it to a shell, which says why.
        (
            "vim 'unclosed",
            r"error: .*vim 'unclosed.* (can't be started: No closing|Editing failed)",
        ),
        ("{folder}/editor --wait", "error: what the editor saved is not UTF-8"),
        ("{folder}/none", r"error: .*/none: Editing failed"),
        ("sh -c 'rm $1' x", "error: the editor left no file: No such file or directory."),
    ],
)
def test_an_editor_that_fails_is_told_and_the_line_is_edited_in_the_terminal(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editor: str, told: str
) -> None:
    script = tmp_path / "editor"
    script.write_text("#!/bin/sh\nprintf '\\377' > \"$2\"\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", editor.format(folder=tmp_path))
    with terminal("chat", url, width=1000) as chat:
        chat.answer("you > ", f"send {'l' * 150}")
        chat.answer(YES_NO, "e")
        assert re.search(told, chat.wait_for("back) > "))
        chat.leave()


def test_an_agent_that_is_not_there_is_told_before_anything_is_typed(url: str) -> None:
    with terminal("chat", url, "--agent", "nobody") as chat:
        told = chat.wait_for("Choose one with --agent: ")

    assert "has no agent 'nobody'" in told
