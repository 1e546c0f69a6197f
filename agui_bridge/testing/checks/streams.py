"""What a run yields: text, events in order, and a pause that can be kept and told apart."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from typing import Any

from ag_ui.core import BaseEvent

from agui_bridge.adapters import Ask, Handoff, Pause
from agui_bridge.protocol.json_values import canonical, same_json
from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing.case import Case
from agui_bridge.testing.check import Table
from agui_bridge.testing.conversation import Stream, expect
from agui_bridge.testing.scenario import strings_of

STREAMS = Table()


@STREAMS.check(hint="Yield the framework's text as str, piece by piece, and end by returning.")
async def text(case: Case) -> None:
    """A message that needs nobody's approval is answered in text, and the run succeeds."""
    async with case.process() as process:
        conversation = process.conversation()
        stream = await process.expect_success(conversation, case.scenario.text, of="the run")
        expect(bool(stream.text.strip()), "the run succeeded without a word")


@STREAMS.check(
    hint="Yield str, AG-UI content events, Pause or Handoff; START before CONTENT or ARGS, results "
    "only of calls that were started; RUN_* events are the engine's."
)
async def events(case: Case) -> None:
    """All that runs yield is text or content events, where the protocol allows them."""
    async with case.process() as process:
        conversation = process.conversation()
        for _ in range(3):
            stream = await conversation.say(case.scenario.text)
            for item in process.watched.runs[-1].items:
                known = isinstance(item, str | BaseEvent | Pause | Handoff)
                expect(known, f"it yielded a {type(item).__name__}")
            expect(stream.ending != "AGENT_PROTOCOL_ERROR", f"it was refused: {stream.fault}")


@STREAMS.check(
    hint="Return right after the Pause was yielded; whatever comes later is lost.", needs=("pause",)
)
async def pause_last(case: Case) -> None:
    """A pause is the last thing that a run yields."""
    async with case.paused(beyond=True) as paused:
        items = paused.process.watched.runs[0].items
        after = items[items.index(paused.pause) + 1 :]
        expect(not after, f"after its pause it yielded {[type(item).__name__ for item in after]}")


@STREAMS.check(
    hint="Take the framework's own unique ids, or run.mint(), for tool calls: a client keeps one "
    "card for one id.",
    needs=("approval",),
)
async def ids(case: Case) -> None:
    """Every tool call that is asked about has an id that no earlier call of the thread had."""
    seen: list[str] = []
    async with case.process() as process:
        conversation = process.conversation()
        for _ in range(2):
            paused = await case.pause(process, conversation, "approval")
            seen += [ask["toolCallId"] for ask in paused.asked.asks if "toolCallId" in ask]
            await paused.cancel()
    expect(len(seen) >= 2, "the question of `approval` names no tool call")
    expect(len(set(seen)) == len(seen), f"an id was used again: {seen}")


@STREAMS.check(
    hint="Put only dicts with str keys, lists, str, numbers, bool and None into it.",
    needs=("pause",),
)
async def continuation(case: Case) -> None:
    """The continuation is JSON, and comes back from the store as it was."""
    async with case.paused() as paused:
        kept = paused.pause.continuation
        await paused.agree()
        try:
            told = json.loads(json.dumps(kept, allow_nan=False))
        except (TypeError, ValueError) as error:
            expect(False, f"it is not JSON: {error}")
        expect(_same(kept, told), "it is something else once it was JSON")
        resumed = paused.process.watched.runs[1]
        back = resumed.run.resume
        expect(resumed.given == canonical(told), "another one came back")
        expect(
            back is not None and same_json(back.continuation, told),
            "the adapter changed the one that came back: copy what the framework writes into",
        )


@STREAMS.check(
    hint="Keep the framework's ids and tokens in the continuation alone: not in metadata, texts, "
    "CUSTOM or RAW events.",
    needs=("pause",),
)
async def secret(case: Case) -> None:
    """Nothing of the continuation is on the wire but the conversation, and what is asked."""
    scenario = case.scenario
    async with case.paused() as paused:
        streams = (paused.asked, await paused.agree())
        said = _said(await paused.conversation.messages())
    shown = {paused.conversation.thread, scenario.pause}
    shown |= {text for ask in paused.pause.asks for text in _shown(ask)}
    shown |= {e["toolCallName"] for e in paused.asked.events if e["type"] == "TOOL_CALL_START"}
    shown |= said
    shown |= {made for noted in paused.process.watched.runs for made in noted.minted}
    for private in set(scenario.private(paused.pause.continuation)) - shown:
        expect(not _holds(streams, private), f"a stream holds its {private!r:.60}")


def _shown(ask: Ask) -> Iterable[str]:
    """What a question shows by itself; metadata is the adapter's own, and may leak."""
    call = ask.tool_call
    if call is not None:
        yield from (call.id, call.name, *strings_of(dict(call.args)))
    yield from strings_of([ask.message, ask.response_schema, ask.parameters, ask.subagent_run_id])
    for schema in (ask.response_schema, ask.parameters):
        yield from (schema or {}).get("properties", {})


def _said(messages: Iterable[dict[str, Any]]) -> set[str]:
    """The texts of a conversation, each as a whole: a history that is kept consists of them."""
    texts: set[str] = set()
    for message in messages:
        texts.update((message["id"], *strings_of(message.get("content"))))
        for call in message.get("toolCalls") or ():
            function = call["function"]
            texts.update((call["id"], function["name"], function["arguments"]))
            with contextlib.suppress(ValueError):
                texts.update(strings_of(json.loads(function["arguments"])))
    return texts


def _holds(streams: Iterable[Stream], text: str) -> bool:
    return any(text in found for stream in streams for found in strings_of(stream.events))


def _same(kept: Any, told: Json) -> bool:
    """Whether a value is type for type what its JSON says; a tuple, for one, is not."""
    if type(kept) is not type(told):
        return False
    if isinstance(kept, dict):
        return kept.keys() == told.keys() and all(_same(kept[k], told[k]) for k in kept)
    if isinstance(kept, list):
        return len(kept) == len(told) and all(map(_same, kept, told))
    return bool(kept == told)
