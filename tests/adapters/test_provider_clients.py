"""Every framework with its clients of real providers: a call runs once, a word is told once.

The models are servers on 127.0.0.1. Their streams are written after the providers' documents, and a
request that the provider would refuse fails its test (tests/servers/model): nothing is recorded.
Executions are counted in the tools, whatever a stream tells of them.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

import pytest

from agui_bridge import Bridge
from agui_bridge.testing import Talk, talk
from agui_bridge.testing.conversation import Stream
from tests.adapters.cashiers import CASHIERS, Cashier, by_place
from tests.adapters.provider_clients import KINDS, Kind, Lab
from tests.servers.model.script import SIGNED, Reply, ToolUse
from tests.servers.model.server import ScriptedModel
from tests.support.folds import fold

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

YES = {"approved": True}
NO = {"approved": False, "reason": "too much"}

THINKING_KINDS: Final = {name: kind for name, kind in KINDS.items() if kind.thinks}

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
thinking_kinds = pytest.mark.parametrize("kind", THINKING_KINDS.values(), ids=THINKING_KINDS)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")


@asynccontextmanager
async def talking(
    kind: Kind, *scripts: Reply, thinks: bool = False
) -> AsyncIterator[tuple[Talk, Cashier, ScriptedModel]]:
    async with ScriptedModel(*scripts) as model, AsyncExitStack() as used:
        lab = Lab(model.base_url, thinks, used)
        cashier = CASHIERS[kind.cashier](by_place, model=kind.model(lab))
        bridge = Bridge("memory:")
        bridge.add("cashier", cashier.adapter())
        # The first request imports much of a provider's package, seconds of a core.
        async with talk(bridge, "cashier", patience=60) as one:
            yield one, cashier, model


def pay(to: str, own: str = "call_1") -> ToolUse:
    return ToolUse("pay", {"to": to}, own)


def look(to: str, own: str = "call_1") -> ToolUse:
    return ToolUse("look", {"to": to}, own)


async def is_told(one: Talk, *streams: Stream) -> list[tuple[str, str]]:
    """What the thread has but the user's words, as (role, text): the streams fold to the same."""
    history = fold(*(event for stream in streams for event in stream.events))
    told, kept = (
        [_said(message) for message in messages if message["role"] != "user"]
        for messages in (history.messages, await one.messages())
    )
    assert told == kept
    return kept


def asked_about(stream: Stream) -> list[str]:
    """The tools that a stream asks about, by the calls that it told."""
    starts = [event for event in stream.events if event["type"] == "TOOL_CALL_START"]
    names = {event["toolCallId"]: event["toolCallName"] for event in starts}
    assert len(names) == len(starts)
    return [names[ask["toolCallId"]] for ask in stream.asks]


def _said(message: Mapping[str, Any]) -> tuple[str, str]:
    functions = [call["function"] for call in message.get("toolCalls") or ()]
    calls = [f"[{one['name']} {json.loads(one['arguments'])['to']}]" for one in functions]
    return message["role"], "".join([message.get("content") or "", *calls])


def tokens_are_told(stream: Stream, requests: int) -> None:
    """A stream tells the tokens of so many requests."""
    counted = stream.events[-1]["usage"]
    names = ("inputTokens", "outputTokens", "totalTokens")
    told = [sum(usage[name] for usage in counted) for name in names]
    assert told == [each * requests for each in (4, 3, 7)]


@every_kind
async def test_a_text_is_told_once_with_its_tokens(kind: Kind) -> None:
    async with talking(kind, Reply(["He", "llo", "."]), Reply("Bye.")) as (one, _, _model):
        first = await one.say("hello")
        assert (first.ending, first.text) == ("success", "Hello.")
        tokens_are_told(first, 1)
        second = await one.say("bye")
        assert await is_told(one, first, second) == [("assistant", "Hello."), ("assistant", "Bye.")]


@every_kind
async def test_what_was_cached_and_thought_is_told_of_the_tokens(kind: Kind) -> None:
    thoughts = ["Hm."] if kind.thinks else []
    script = Reply("Hello.", thoughts=thoughts)
    async with talking(kind, script, thinks=kind.thinks) as (one, _, _model):
        (counted,) = (await one.say("hello")).events[-1]["usage"]
    names = ("cachedInputTokens", "reasoningTokens")
    assert tuple(counted.get(name, 0) for name in names) == kind.parts


@every_kind
@pytest.mark.parametrize("fragment", [0, 3], ids=["whole", "fragments"])
async def test_each_call_of_a_reply_runs_once(kind: Kind, fragment: int) -> None:
    calls = [look("ann", "call_1"), look("bob", "call_2")]
    fragment = fragment if kind.joins else 0
    scripts = Reply(["I ", "look. "], calls, fragment), Reply("Done."), Reply("Bye.")
    async with talking(kind, *scripts) as (one, cashier, _):
        ended = await one.say("look")
        assert (ended.ending, ended.text) == ("success", "I look. Done.")
        tokens_are_told(ended, 2)
        told = await is_told(one, ended)
        assert sorted(text for role, text in told if role == "tool") == ["saw ann", "saw bob"]
        assert told[0] == ("assistant", "I look. [look ann][look bob]")
        assert (await one.say("bye")).ending == "success"
    assert sorted(cashier.done) == ["look ann", "look bob"]


async def test_none_of_the_calls_runs_that_a_client_can_not_put_together() -> None:
    calls = [look("ann", "call_1"), look("bob", "call_2")]
    scripts = Reply("I look. ", calls, 3), Reply("Bye.")
    async with talking(KINDS["llama_index-chat"], *scripts) as (one, cashier, _):
        ended = await one.say("look")
        assert (ended.ending, ended.text) == ("UPSTREAM_ERROR", "I look. ")
        assert "None of the reply's calls ran." in str(ended.fault)
        assert (await one.say("bye")).ending == "success"
    assert cashier.done == []


@every_kind
async def test_an_approved_call_is_asked_about_once_and_runs_once(kind: Kind) -> None:
    scripts = Reply(["I ", "pay. "], [pay("ann")], 3), Reply("Paid."), Reply("Bye.")
    async with talking(kind, *scripts) as (one, cashier, _):
        asked = await one.say("pay")
        assert asked_about(asked) == ["pay"], asked.fault
        assert (asked.text, cashier.done) == ("I pay. ", [])
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.text, cashier.done) == ("success", "Paid.", ["pay ann"])
        assert await is_told(one, asked, ended) == [
            *(("assistant", "I pay. [pay ann]"), ("tool", "paid ann"), ("assistant", "Paid."))
        ]
        tokens_are_told(asked, 1)
        tokens_are_told(ended, 1)
        assert (await one.say("bye")).ending == "success"
    assert cashier.done == ["pay ann"]


@every_kind
async def test_a_declined_call_never_runs(kind: Kind) -> None:
    async with talking(kind, Reply((), [pay("ann")]), Reply("No."), Reply("Bye.")) as (
        one,
        cashier,
        model,
    ):
        ended = await one.answer(await one.say("pay"), NO)
        assert (ended.ending, ended.text) == ("success", "No.")
        assert "too much" in str(model.requests[1].body)
        assert (await one.say("bye")).ending == "success"
    assert cashier.done == []


@every_kind
@pytest.mark.parametrize(("answer", "fragment"), [(YES, 0), (NO, 3)], ids=["yes", "no"])
async def test_of_two_calls_that_which_nobody_has_to_approve_runs_once(
    kind: Kind, answer: Any, fragment: int
) -> None:
    calls = [pay("ann", "call_1"), look("bob", "call_2")]
    fragment = fragment if kind.joins else 0
    scripts = Reply("Two. ", calls, fragment), Reply("Done."), Reply("Bye.")
    async with talking(kind, *scripts) as (one, cashier, _):
        asked = await one.say("paylook")
        assert asked_about(asked) == ["pay"], asked.fault
        ended = await one.answer(asked, answer)
        assert (ended.ending, ended.text) == ("success", "Done.")
        told = await is_told(one, asked, ended)
        # Agno tells a call when it is about to run, and first those that nobody has to approve.
        assert told[0] in [
            ("assistant", f"Two. {calls}")
            for calls in ("[pay ann][look bob]", "[look bob][pay ann]")
        ]
        assert [text for role, text in told if role == "tool"].count("saw bob") == 1
        assert (await one.say("bye")).ending == "success"
    paid = ["pay ann"] if answer is YES else []
    assert sorted(cashier.done) == ["look bob", *paid]


@every_kind
async def test_a_call_that_nobody_answered_never_runs_and_has_a_result(kind: Kind) -> None:
    calls = [pay("ann", "call_1"), look("bob", "call_2")]
    async with talking(kind, Reply((), calls), Reply("Well."), Reply("Bye.")) as (one, cashier, _):
        assert (await one.say("paylook")).ending == "interrupt"
        await one.stop()
        assert (await one.say("never mind")).ending == "success"
        assert (await one.say("bye")).ending == "success"
    assert cashier.done in ([], ["look bob"])


@thinking_kinds
async def test_thoughts_are_told_and_the_provider_has_them_back(kind: Kind) -> None:
    thoughts = ["Hm. ", "Well."]
    scripts = (
        Reply("I look. ", [look("bob", "call_1")], 3, thoughts),
        Reply("I pay. ", [pay("ann", "call_2")], 3, thoughts),
        Reply("Paid.", thoughts=thoughts),
        Reply("Bye.", thoughts=thoughts),
    )
    async with talking(kind, *scripts, thinks=True) as (one, cashier, model):
        asked = await one.say("lookpay")
        assert asked.ending == "interrupt", asked.fault
        assert _thoughts_in(asked) == "Hm.Well." * 2
        assert _said_amid_thoughts(asked) == []
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.text) == ("success", "Paid."), ended.fault
        assert _thoughts_in(ended) == "Hm.Well."
        kept = [m["content"] for m in await one.messages() if m["role"] == "reasoning"]
        assert "".join("".join(kept).split()) == "Hm.Well." * 3
        if kind.signs:
            assert json.dumps(model.requests[2].body).count(SIGNED) == 2
        assert (await one.say("bye")).ending == "success"
    assert cashier.done == ["look bob", "pay ann"]


def _said_amid_thoughts(stream: Stream) -> list[str]:
    """What begins while a thought goes on: a page shows that the agent thinks until it ends."""
    began: list[str] = []
    thinks = False
    for event in stream.events:
        kind = event["type"]
        if kind in ("REASONING_MESSAGE_START", "REASONING_MESSAGE_END"):
            thinks = kind == "REASONING_MESSAGE_START"
        elif thinks and kind in ("TEXT_MESSAGE_START", "TOOL_CALL_START"):
            began.append(kind)
    return began


def _thoughts_in(stream: Stream) -> str:
    kind = "REASONING_MESSAGE_CONTENT"
    told = "".join(event["delta"] for event in stream.events if event["type"] == kind)
    # The parts of a summary are paragraphs, between which some frameworks leave a line.
    return "".join(told.split())
