"""Agents that ask in words: what passes, and what pauses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    StateSnapshotEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
)

from agui_bridge import FormField, FunctionAdapter, FunctionRun, KeywordAdapter
from agui_bridge.adapters import Adapter, AdapterCapabilities, Pause, Run, RunItem
from agui_bridge.errors import ConfigurationError
from tests.agents.function.harness import items_of, make_run
from tests.agents.keyword.talk import said
from tests.support.agents import Bench, Scripted, call_events, outcome, result, text_events


async def messages_of(*items: RunItem, **options: Any) -> list[str | None]:
    """The questions of the keyword agent's own pause."""
    last = (await said(*items, **options))[-1:]
    return [ask.message for item in last if isinstance(item, Pause) for ask in item.asks]


def sub_text(text: str) -> list[BaseEvent]:
    return [
        SubagentStartedEvent(subagent_run_id="s", name="sub"),
        TextMessageStartEvent(message_id="sm", role="assistant", subagent_run_id="s"),
        TextMessageContentEvent(message_id="sm", delta=text),
        TextMessageEndEvent(message_id="sm"),
        SubagentFinishedEvent(subagent_run_id="s"),
    ]


# --- what passes ---


async def test_everything_passes_at_once_and_as_it_is() -> None:
    seen: list[RunItem] = []

    async def script(run: Run) -> AsyncIterator[RunItem]:
        for number, item in enumerate(given):
            assert seen == given[:number], "the token before has passed already"
            yield item

    given: list[RunItem] = ["Please ", "con", "firm ", *text_events("m", "a", "b"), "`x", ""]
    async for item in KeywordAdapter(Scripted(script)).run(make_run()):
        seen.append(item)  # the script looks at it meanwhile

    assert all(a is b for a, b in zip(seen, given, strict=False))
    assert isinstance(seen[-1], Pause) and len(seen) == len(given) + 1


async def test_what_is_no_item_at_all_is_left_to_the_engine() -> None:
    async with Bench(KeywordAdapter(Scripted([{"type": "x"}]))).open() as bench:  # type: ignore[list-item]  # no event, on purpose
        assert outcome(await bench.say("go")) == "AGENT_PROTOCOL_ERROR"


async def test_without_a_request_the_run_just_ends() -> None:
    given: list[RunItem] = ["Say `please confirm`.", *call_events("c"), result("c"), "Done."]

    assert await said(*given) == given


# --- what pauses ---


async def test_the_sentence_becomes_a_confirmation() -> None:
    (*_, pause) = await said("I found rows. Please confirm: delete 3", " rows. I wait.")

    assert isinstance(pause, Pause)
    (ask,) = pause.asks
    assert (ask.reason, ask.message) == ("confirmation", "Please confirm: delete 3 rows.")
    assert ask.response_schema == {
        "type": "object",
        "required": ["confirm"],
        "properties": {"confirm": {"type": "boolean", "title": "Confirm"}},
    }


async def test_several_sentences_are_all_shown_and_none_twice() -> None:
    text = "Are you sure? Do you want me to drop it? Are you sure?"

    assert await messages_of(text) == ["Are you sure?\nDo you want me to drop it?"]


async def test_a_very_long_question_keeps_the_part_with_the_phrase() -> None:
    (ahead,) = await messages_of(f"Please confirm {'x' * 5000}")
    (behind,) = await messages_of(f"{'x' * 5000} please confirm it all")
    (between,) = await messages_of(f"{'x' * 5000} please confirm {'y' * 5000}")

    assert ahead is not None and behind is not None and between is not None
    assert ahead.startswith("Please confirm xx") and ahead.endswith("x…")
    assert behind.startswith("…xx") and behind.endswith("x please confirm it all")
    assert between.startswith("…xx") and between.endswith("yy…")
    assert between.count("y") > 2 * between.count("x"), "what is asked for follows the phrase"
    assert len(ahead) == len(behind) == len(between) == 2000


async def test_a_request_after_a_very_long_one_is_shown_too() -> None:
    tidy = f"Please confirm that I tidy {'the logs and ' * 200}all."
    (message,) = await messages_of(f"{tidy}\nDo you want me to DROP PRODUCTION?")

    assert message is not None and len(message) == 2000
    first, second = message.split("\n")
    assert first.startswith("Please confirm that I tidy the logs") and first.endswith("…")
    assert second == "Do you want me to DROP PRODUCTION?"


@pytest.mark.parametrize(
    "request_",
    ["please **confirm** that I DROP PRODUCTION.", "please \u00a0 confirm that I DROP PRODUCTION."],
)
@pytest.mark.parametrize("before", ["very long story " * 200, "İ" * 2500, "`a b` and " * 400])
async def test_the_part_with_the_phrase_is_found_as_it_was_said(before: str, request_: str) -> None:
    (message,) = await messages_of(f"Regarding the {before} {request_}")

    assert message is not None and message.endswith(request_)


@pytest.mark.parametrize(
    "items",
    [
        ["Please ", "confirm."],
        text_events("m", "Please ", "confirm."),
        text_events("m", "Please confirm", end=False),
        [TextMessageStartEvent(message_id="m", role="assistant"), "Please ", "confirm."],
        [TextMessageContentEvent(message_id="m", delta="Please confirm.")],
        [
            TextMessageChunkEvent(message_id="m", delta="Please "),
            TextMessageChunkEvent(delta="confirm."),
        ],
        ["Please ", StateSnapshotEvent(snapshot={}), "confirm."],
        ["Please ", *sub_text("x. y\n"), "confirm."],
        [
            TextMessageStartEvent(message_id="m", role="assistant"),
            TextMessageChunkEvent(message_id="m", delta="Please confirm."),
        ],
        [*text_events("m", "Hello"), *text_events("n", "Please confirm.")],
        [*text_events("m", "Let me see", end=False), *call_events("c"), result("c"),
         TextMessageContentEvent(message_id="m", delta="Please confirm.")],
    ],
)  # fmt: skip
async def test_text_is_scanned_in_every_form(items: list[RunItem]) -> None:
    (message,) = await messages_of(*items)

    assert str(message).rstrip(".") == "Please confirm"


@pytest.mark.parametrize(
    "items",
    [
        [*text_events("m", "please"), *text_events("n", "confirm")],
        [*text_events("m", "please"), "confirm"],
        ["please", *call_events("c"), "confirm"],
        [
            TextMessageChunkEvent(message_id="m", delta="please "),
            TextMessageChunkEvent(message_id="n", delta="confirm"),
        ],
        [
            ReasoningMessageStartEvent(message_id="r", role="reasoning"),
            ReasoningMessageContentEvent(message_id="r", delta="Please confirm"),
            ReasoningMessageEndEvent(message_id="r"),
        ],
        [
            TextMessageStartEvent(message_id="m", role="user"),
            TextMessageContentEvent(message_id="m", delta="Please confirm"),
        ],
        [
            TextMessageStartEvent(message_id="m", role="user"),
            TextMessageChunkEvent(message_id="m", delta="Please confirm"),
        ],
        sub_text("Please confirm."),
        [
            SubagentStartedEvent(subagent_run_id="s", name="sub"),
            TextMessageContentEvent(message_id="m", delta="Please confirm", subagent_run_id="s"),
            TextMessageChunkEvent(message_id="n", delta="Please confirm", subagent_run_id="s"),
        ],
        [*call_events("c", args='{"text":"Please confirm"}'), result("c", "Please confirm")],
    ],
)  # fmt: skip
async def test_what_the_agent_does_not_say_itself_or_not_in_one_go_is_no_request(
    items: list[RunItem],
) -> None:
    assert await said(*items) == items


async def test_phrases_label_fields_and_expiry_are_the_authors_choice() -> None:
    fields = [
        FormField("choice", "select", "Which?", required=True, options=("a", "b")),
        FormField("why", "text", "Why?"),
    ]
    (*_, pause) = await said("Take it? [y/n]", phrases=["[y/n]"], fields=fields, expires_in=9)
    (*_, labelled) = await said("请确认", label="确认删除")

    assert isinstance(pause, Pause) and isinstance(labelled, Pause)
    assert pause.asks[0].expires_in == 9
    schema: Any = pause.asks[0].response_schema
    assert list(schema["properties"]) == ["choice", "why"]
    assert schema["properties"]["choice"]["enum"] == ["a", "b"]
    named: Any = labelled.asks[0].response_schema
    assert named["properties"]["confirm"]["title"] == "确认删除"
    assert await messages_of("Please confirm", phrases=["ok"]) == []


@pytest.mark.parametrize("phrases", [[], "please confirm", [""], [" * "], ["sure? Yes"], ["`x`"]])
def test_a_phrase_that_can_never_be_found_is_refused_at_once(phrases: Any) -> None:
    with pytest.raises(ConfigurationError, match="phrase"):
        KeywordAdapter(Scripted([]), phrases=phrases)


def test_a_form_without_fields_and_an_agent_that_is_none_are_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="field"):
        KeywordAdapter(Scripted([]), fields=[])
    with pytest.raises(ConfigurationError, match="not async"):
        KeywordAdapter(Scripted)  # type: ignore[arg-type]  # no adapter, on purpose
    with pytest.raises(ConfigurationError, match="not async"):
        KeywordAdapter(lambda run: None)  # type: ignore[arg-type]  # no generator, on purpose


async def test_a_function_is_wrapped_directly_and_capabilities_are_those_of_the_agent() -> None:
    async def agent(run: FunctionRun) -> str:
        return "Are you sure?"

    adapter = KeywordAdapter(agent)
    limited = KeywordAdapter(Scripted([], approve=False, answer=False, cancel=False, stop=False))

    assert isinstance(adapter.inner, FunctionAdapter) and isinstance(adapter, Adapter)
    assert adapter.capabilities == replace(FunctionAdapter.capabilities, checkpoints=False)
    assert limited.capabilities == AdapterCapabilities(approve=False)
    assert isinstance((await items_of(adapter))[-1], Pause)


async def test_closing_closes_the_agent_inside() -> None:
    inner = Scripted([])
    await KeywordAdapter(inner).aclose()

    assert inner.closed == 1
