"""The adapter on the streams of the original server, over a real socket and in both its modes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.responses import JSONResponse, Response

from agui_bridge.protocol.threads.records import InterruptStatus
from agui_bridge.stores.base import Store
from agui_bridge_superagent import SuperAgentAdapter
from tests.adapters.superagent.original import RECORDED, OriginalServer
from tests.support.agents import Bench, outcome
from tests.support.server import serve
from tests.support.stopped_at_once import StoppedAtOnce

SAID = "Google ADK is\n\na framework.\n\n- for Go\n- for Python"
REASON = (
    "我将要删除以下过期用户数据：共 1,234 条记录 (created < 2024 & inactive)。\n\n"
    "Please confirm: 即将删除 1,234 条记录，此操作不可逆。"
)
FORM = {
    "type": "object",
    "required": ["confirm"],
    "properties": {"confirm": {"type": "boolean", "title": "Confirm action"}},
}
APPROVED_TEXT = "已收到您的确认。\n\n删除完成，共删除 1,234 条过期用户记录。"
both_modes = pytest.mark.parametrize("a2ui", [True, False], ids=["a2ui", "tokens"])


@contextlib.asynccontextmanager
async def behind(
    server: OriginalServer, *, a2ui: bool, store: Store | None = None
) -> AsyncIterator[Bench]:
    async with serve(server.app) as url:
        adapter = SuperAgentAdapter(url, "approval-agent", a2ui=a2ui)
        async with Bench(adapter, store=store).open() as bench:
            yield bench
        await adapter.aclose()


async def ask(bench: Bench) -> dict[str, Any]:
    events = await bench.say("interrupt")
    (asked,) = events[-1]["outcome"]["interrupts"]
    found: dict[str, Any] = asked
    return found


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")


async def status_of(bench: Bench, asked: dict[str, Any]) -> InterruptStatus:
    return (await bench.load(asked["id"])).interrupts[asked["id"]].status


@both_modes
async def test_a_chat_is_read_with_its_line_breaks(a2ui: bool) -> None:
    async with behind(OriginalServer(), a2ui=a2ui) as bench:
        events = await bench.say("chat")
    assert (text_of(events), outcome(events)) == (SAID, "success")


@both_modes
async def test_a_question_shows_its_sentence_and_the_form_that_answers_it(a2ui: bool) -> None:
    async with behind(OriginalServer(), a2ui=a2ui) as bench:
        asked = await ask(bench)
    assert (asked["message"], asked["responseSchema"]) == (REASON, FORM)


@both_modes
@pytest.mark.parametrize(
    ("confirm", "said"),
    [
        (True, APPROVED_TEXT),
        (False, "好的，没有删除任何记录。"),
    ],
    ids=["approve", "decline"],
)
async def test_an_answer_is_carried_out_once_and_its_reply_is_read(
    a2ui: bool, confirm: bool, said: str
) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui) as bench:
        entries = bench.entries([await ask(bench)], {"confirm": confirm})
        events = await bench.say(resume=entries)
        assert (text_of(events), outcome(events)) == (said, "success")
        assert outcome(await bench.say(resume=entries)) == "success"
    assert server.inputs == [{"confirm": confirm}]
    assert server.executed == ([{"confirm": True}] if confirm else [])


@both_modes
async def test_an_approval_that_is_stopped_before_it_is_sent_is_not_sent(a2ui: bool) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui, store=StoppedAtOnce()) as bench:
        entries = bench.entries([await ask(bench)], {"confirm": True})
        assert outcome(await bench.say(resume=entries)) == "cancelled"
        assert outcome(await bench.say("chat")) == "success"
    assert server.inputs == [] and server.executed == []


@both_modes
async def test_a_cancel_is_told_as_a_no_and_no_form_goes_there_empty(a2ui: bool) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui) as bench:
        entries = bench.entries([await ask(bench)], status="cancelled")
        assert outcome(await bench.say(resume=entries)) == "success"
    assert server.inputs == [{"confirm": False}]


@both_modes
async def test_a_question_that_expired_there_is_gone_here(a2ui: bool) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui) as bench:
        asked = await ask(bench)
        server.pending.clear()
        events = await bench.say(resume=bench.entries([asked], {"confirm": True}))
        assert outcome(events) == "INTERRUPT_EXPIRED"
        assert outcome(await bench.say("chat")) == "success"
    assert server.executed == []


APPROVED = (RECORDED / "tokens-approved.sse").read_bytes()
UNREADABLE: dict[str, bytes | Response] = {
    "cut off": APPROVED[: APPROVED.index(b"event", 30)],
    "no end": APPROVED.removesuffix(b"event: message\ndata: [DONE]\n\n"),
    "unknown control": b"event: message\ndata: \0NEWS:{}\n\nevent: message\ndata: [DONE]\n\n",
    "no JSON": b"event: text\ndata: {no\n\n",
    "its agent failed": (RECORDED / "tokens-failed.sse").read_bytes(),
    "its run failed": b'event: error\ndata: {"data":{"code":"X","message":"sk-secret"}}\n\n',
    "500": JSONResponse({"error": "sk-secret"}, 500),
    "502": Response("<html>", 502),
    "no stream": JSONResponse({"ok": True}),
}


@both_modes
@pytest.mark.parametrize("reply", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_that_the_server_took_is_unknown_whatever_its_reply_is_like(
    a2ui: bool, reply: bytes | Response
) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui) as bench:
        asked = await ask(bench)
        server.reply = reply
        entries = bench.entries([asked], {"confirm": True})
        first = await bench.say(resume=entries)
        again = await bench.say(resume=entries)
        assert (outcome(first), outcome(again)) == ("RUN_INDETERMINATE", "RUN_INDETERMINATE")
        for events in (first, again):
            told = events[-1]["message"]
            assert "unknown" in told and "carried out before" not in told
        assert "sk-secret" not in json.dumps([first, again])
        assert await status_of(bench, asked) is InterruptStatus.INDETERMINATE
        server.reply = None
        assert outcome(await bench.say("chat")) == "success"
    assert server.inputs == server.executed == [{"confirm": True}]


@both_modes
@pytest.mark.parametrize(("cut", "said"), [(0, ""), (40, ""), (len(APPROVED) - 3, APPROVED_TEXT)])
async def test_an_answer_whose_reply_is_cut_is_unknown_and_keeps_what_was_said(
    a2ui: bool, cut: int, said: str
) -> None:
    server = OriginalServer()
    async with behind(server, a2ui=a2ui) as bench:
        asked = await ask(bench)
        server.cut = cut
        events = await bench.say(resume=bench.entries([asked], {"confirm": True}))
        assert outcome(events) == "RUN_INDETERMINATE"
        assert await status_of(bench, asked) is InterruptStatus.INDETERMINATE
    assert server.executed == [{"confirm": True}]
    assert text_of(events) == said


async def test_a_server_that_has_not_begun_leaves_the_question_open() -> None:
    server = OriginalServer()
    async with behind(server, a2ui=True) as bench:
        entries = bench.entries([await ask(bench)], {"confirm": True})
        server.reply = JSONResponse({"error": "agent runtime not available"}, 503)
        events = await bench.say(resume=entries)
        assert (outcome(events), events[-2]["outcome"]["type"]) == ("UPSTREAM_ERROR", "interrupt")
        server.reply = None
        assert outcome(await bench.say(resume=entries)) == "success"
    assert server.executed == [{"confirm": True}]


@pytest.mark.parametrize(("a2ui", "case"), [(False, "failed"), (True, "failed"), (True, "error")])
async def test_an_agent_that_fails_there_is_an_error_without_its_words(
    a2ui: bool, case: str
) -> None:
    async with behind(OriginalServer(), a2ui=a2ui) as bench:
        events = await bench.say(case)
    assert (outcome(events), text_of(events)) == ("UPSTREAM_ERROR", "")
    assert "sk-secret" not in json.dumps(events)
