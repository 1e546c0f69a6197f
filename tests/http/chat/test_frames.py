"""The two output modes, byte by byte, and what of the text is held back for how long."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence

import pytest
from ag_ui.core import (
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)
from hypothesis import given, strategies as st

from agui_bridge import FunctionRun, KeywordAdapter
from agui_bridge.adapters import Ask, Pause, Run, RunItem
from agui_bridge.agents.keyword.phrases import PHRASES
from agui_bridge.agents.sentences.phrase_table import PhraseTable
from agui_bridge.agents.sentences.scanner import SentenceScanner
from agui_bridge.http.chat.frames import A2UIFrames, LegacyFrames
from agui_bridge.http.chat.reply import SpokenText
from agui_bridge.protocol.wire.sse import Decoder
from tests.agents.function.effects import Effects
from tests.http.chat.cleaner import ASK, QUESTION, cleaner
from tests.http.chat.conftest import Serving
from tests.support.agents import Scripted, call_events, eventually, result, text_events

TABLE = PhraseTable(PHRASES)
STATE = {
    "session_id": "session-123",
    "agent_name": "approval-agent",
    "reason": QUESTION,
    "fields": [{"name": "confirm", "type": "confirm", "label": "确认删除", "required": True}],
    "timestamp": 1746000000,
    "checkpoint_id": "approval-agent_session-123_1746000000000000000",
}


def test_a_legacy_stream_is_byte_by_byte_the_seeds() -> None:
    frames = LegacyFrames()
    stream = frames.text("我将要删除", 0) + frames.text("以下过期用户数据:共 1,234 条记录。", 0)
    assert (stream + frames.interrupt(STATE)).decode() == (
        "data: 我将要删除\n\n"
        "data: 以下过期用户数据:共 1,234 条记录。\n\n"
        'data: \0INTERRUPT:{"session_id":"session-123","agent_name":"approval-agent",'
        '"reason":"Please confirm: 即将删除 1,234 条记录,此操作不可逆。",'
        '"fields":[{"name":"confirm","type":"confirm","label":"确认删除","required":true}],'
        '"timestamp":1746000000,'
        '"checkpoint_id":"approval-agent_session-123_1746000000000000000"}\n\n'
    )
    frames = LegacyFrames()
    resumed = frames.text("已收到您的确认。正在执行删除操作...", 0)
    assert (resumed + frames.done(0, stopped=False, failed=False)).decode() == (
        "data: 已收到您的确认。正在执行删除操作...\n\ndata: [DONE]\n\n"
    )


def test_an_a2ui_stream_is_byte_by_byte_the_seeds() -> None:
    frames = A2UIFrames()
    stream = frames.text("我将要删除", 1746000000.9) + frames.text("以下数据。", 1746000001)
    assert (stream + frames.interrupt(STATE)).decode() == (
        "event: text\n"
        'data: {"type":"text","timestamp":1746000000,'
        '"data":{"content":"我将要删除","delta":"我将要删除"}}\n\n'
        "event: text\n"
        'data: {"type":"text","timestamp":1746000001,'
        '"data":{"content":"我将要删除以下数据。","delta":"以下数据。"}}\n\n'
        "event: interrupt\n"
        'data: {"type":"interrupt","timestamp":1746000000,'
        '"data":{"reason":"Please confirm: 即将删除 1,234 条记录,此操作不可逆。",'
        '"fields":[{"name":"confirm","type":"confirm","label":"确认删除","required":true}]}}\n\n'
    )


@pytest.mark.soak
@given(st.lists(st.text(min_size=1)))
def test_tokens_come_back_as_they_were_but_for_line_ends(deltas: list[str]) -> None:
    deltas = [delta.replace("\0", "") for delta in deltas]
    frames, decoder = LegacyFrames(), Decoder()
    raw = b"".join(frames.text(delta, 0) for delta in deltas)
    tokens = [frame.data for frame in decoder.feed(raw)]
    assert not decoder.close()
    assert "[DONE]" not in tokens
    text = "".join(deltas).replace("\r\n", "\n").replace("\r", "\n")
    assert "".join(tokens) == text


@pytest.mark.parametrize("text", ["a\u2028b\u2029c", "line\nline\r\n", "\ud800 half", "\\ \" '"])
def test_a_frame_is_one_line_of_json_that_a_pattern_finds(text: str) -> None:
    frame = A2UIFrames().text(text, 0).decode()
    # As JavaScript's `.`, which stops at four line ends.
    match = re.search("^data: ([^\n\r\u2028\u2029]+)$", frame, re.MULTILINE)
    assert match is not None
    assert json.loads(match[1])["data"]["delta"] == text.replace("\ud800", "\ufffd")


async def test_only_the_current_sentence_is_held_back(serving: Serving) -> None:
    hold, go_on = asyncio.Event(), asyncio.Event()

    async def agent(run: Run) -> AsyncIterator[str]:
        yield "First this. And the"
        await hold.wait()
        yield "n that. Please"
        await go_on.wait()
        yield " confirm: x?\nBye."

    adapter = KeywordAdapter(Scripted(agent))
    async with serving(adapter) as site, site.chat().listening() as stream:
        await stream.until("First this. ")
        assert stream.frames.text == "First this. "
        hold.set()
        await stream.until("And then that. ")
        assert stream.frames.text == "First this. And then that. "
        go_on.set()
        ended = await stream.rest()
    assert ended.text == "First this. And then that. \nBye."
    assert ended.interrupt is not None and ended.interrupt["reason"] == "Please confirm: x?"


async def test_nothing_is_held_back_of_an_agent_that_does_not_ask_in_words(
    serving: Serving,
) -> None:
    hold = asyncio.Event()

    async def agent(run: Run) -> AsyncIterator[str]:
        yield "Please conf"
        await hold.wait()
        yield "irm."

    async with serving(Scripted(agent)) as site, site.chat().listening() as stream:
        await stream.until("Please conf")
        hold.set()
        assert (await stream.rest()).text == "Please confirm."


@pytest.mark.parametrize("a2ui", [True, False])
async def test_keep_alives_come_while_the_agent_is_silent(serving: Serving, a2ui: bool) -> None:
    hold = asyncio.Event()

    async def agent(run: Run) -> AsyncIterator[str]:
        yield "A held sentence"
        await hold.wait()

    adapter = KeywordAdapter(Scripted(agent))
    async with (
        serving(adapter, keep_alive=0.05) as site,
        site.chat(a2ui=a2ui).listening() as stream,
    ):

        async def kept() -> bool:
            await stream.step()
            return stream.frames.raw.count(b": keep-alive") >= 3

        await eventually(kept)
        hold.set()
        assert (await stream.rest()).text == "A held sentence"


def thought(text: str) -> list[RunItem]:
    return [
        ReasoningMessageStartEvent(message_id="r", role="reasoning"),
        ReasoningMessageContentEvent(message_id="r", delta=text),
        ReasoningMessageEndEvent(message_id="r"),
    ]


async def test_only_what_the_agent_says_to_the_user_is_text(serving: Serving) -> None:
    items = [
        *thought("Hm."),
        *text_events("m1", "I look."),
        *call_events("c1"),
        result("c1"),
        TextMessageStartEvent(message_id="u", role="user"),
        TextMessageContentEvent(message_id="u", delta="not the agent's"),
        TextMessageEndEvent(message_id="u"),
        *text_events("m2", "Found."),
    ]
    async with serving(Scripted(items)) as site:
        said = await site.chat().say()
    assert said.text == "I look.\n\nFound."


async def test_a_request_that_was_not_asked_is_told_as_text(serving: Serving) -> None:
    # The agent's own pause goes first.
    inner = Scripted(["Please confirm: x. ", Pause([Ask("own", "confirmation", "Really?")])])
    async with serving(KeywordAdapter(inner)) as site:
        asked = await site.chat().say()
    assert asked.interrupt is not None and asked.interrupt["reason"] == "Really?"
    assert "Please confirm: x." in asked.text


async def test_several_requests_are_one_question_and_none_stands_in_the_text(
    serving: Serving,
) -> None:
    inner = Scripted(["Hi. Are you sure? Well. Shall I proceed with it? Bye."])
    async with serving(KeywordAdapter(inner)) as site:
        asked = await site.chat().say()
    assert asked.interrupt is not None
    assert asked.interrupt["reason"] == "Are you sure?\nShall I proceed with it?"
    assert asked.text.split() == ["Hi.", "Well.", "Bye."]


async def test_a_question_that_is_asked_after_all_stands_in_the_text_as_it_was_said(
    serving: Serving,
) -> None:
    effects = Effects()

    async def agent(run: FunctionRun) -> AsyncIterator[str]:
        yield "I looked. The job was waiting for your confirmation. "
        await run.call("delete", {"what": "rows"}, effects.act)
        yield "Deleted."

    async with serving(KeywordAdapter(agent)) as site:
        chat = site.chat()
        asked = await chat.say()
        assert asked.interrupt is not None and effects.done == []
        assert asked.interrupt["reason"] == "The job was waiting for your confirmation."
        assert asked.text.strip() == "I looked. The job was waiting for your confirmation."
        answered = await chat.answer(confirm=True)

    assert answered.done is not None and answered.text.endswith("Deleted.")
    assert effects.done == ["rows"]


async def test_a_request_over_two_lines_is_one_question_and_stands_not_in_the_text(
    serving: Serving,
) -> None:
    inner = Scripted(["Hi.\nPlease", "\ncon", "firm: delete it.\nBye."])
    async with serving(KeywordAdapter(inner)) as site:
        asked = await site.chat().say()
    assert asked.interrupt is not None
    assert asked.interrupt["reason"] == "Please confirm: delete it."
    assert asked.text.split() == ["Hi.", "Bye."]


async def test_a_question_too_long_to_be_shown_whole_stands_in_the_text(serving: Serving) -> None:
    question = f"Please confirm {'this and ' * 400}that."
    async with serving(KeywordAdapter(Scripted([question]))) as site:
        asked = await site.chat().say()
    assert asked.interrupt is not None and len(asked.interrupt["reason"]) == 2000
    assert question in asked.text


async def test_a_burst_is_one_frame(serving: Serving) -> None:
    async with serving(Scripted([f"{n} " for n in range(1000)])) as site:
        said = await site.chat().say()
    assert said.text.split() == [str(n) for n in range(1000)]
    # `content` grows with every frame: a thousand of them would be a thousand times as much.
    assert len(said.kinds) < 100


SENTENCES = st.sampled_from(
    [
        "Please confirm: rm -rf. ",
        "Nothing here. ",
        "`are you sure` ",
        "```\nplease confirm\n```\n",
        "v2.0 e.g. this? [y/n] ",
        "请确认:删除。",
        "\n",
        "`open ",
        "Are you **sure**?! ",
    ]
)


def fed(pieces: Sequence[str]) -> tuple[str, list[str]]:
    spoken = SpokenText(lambda: SentenceScanner(TABLE))
    events = [{"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}]
    events += [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": p} for p in pieces]
    events += [{"type": "TEXT_MESSAGE_END", "messageId": "m"}]
    return "".join(spoken.hear(event) for event in events), spoken.withheld


@given(st.lists(SENTENCES), st.data())
def test_what_passes_and_what_is_withheld_are_the_whole_text_however_it_is_split(
    sentences: list[str], data: st.DataObject
) -> None:
    text = "".join(sentences)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    passed, withheld = fed(pieces)
    assert (passed, withheld) == fed([text] if text else [])
    scanner = SentenceScanner(TABLE)
    scanner.feed(text)
    scanner.end()
    assert withheld == [request.sentence for request in scanner.requests]
    rest = text
    for request in reversed(scanner.requests):
        end = request.start + len(request.sentence)
        assert text[request.start : end] == request.sentence
        rest = rest[: request.start] + rest[end:]
    assert passed == rest


async def test_the_seeds_stream_over_a_real_server(serving: Serving) -> None:
    async with serving(cleaner()) as site:
        legacy = await site.chat("a", a2ui=False).say(ASK)
        a2ui = await site.chat("b").say(ASK)
    assert legacy.interrupt is not None and a2ui.interrupt is not None
    assert list(legacy.interrupt) == list(STATE)
    assert set(a2ui.interrupt) == {"reason", "fields"}
    assert a2ui.kinds[-1] == "interrupt" and set(a2ui.kinds[:-1]) == {"text"}
    assert b"[DONE]" not in legacy.raw and b"done" not in a2ui.raw
