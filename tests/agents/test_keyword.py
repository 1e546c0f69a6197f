"""Agents that ask in words: what passes, what pauses, and what the answer becomes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from ag_ui.core import (
    BaseEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunAgentInput,
    StateSnapshotEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallChunkEvent,
)

from agui_bridge import FormField, FunctionAdapter, FunctionRun, KeywordAdapter, Replies
from agui_bridge.adapters import (
    Adapter,
    AdapterCapabilities,
    Ask,
    Handoff,
    HandoffResults,
    Pause,
    Resume,
    Run,
    RunItem,
)
from agui_bridge.errors import ConfigurationError, NotDelivered, ReplayMismatch, UpstreamError
from agui_bridge.protocol.decisions import Answer, Approve, Cancel
from agui_bridge.protocol.records import ClosedBatch
from agui_bridge.stores.memory import MemoryStore
from tests.agents.harness import make_run
from tests.support.agents import (
    Bench,
    Scripted,
    approval,
    call_events,
    outcome,
    result,
    text_events,
)
from tests.support.clock import FakeClock

CONFIRM = {"confirm": True}


async def items_of(adapter: Adapter, run: Run | None = None) -> list[RunItem]:
    return [item async for item in adapter.run(run or make_run())]


async def said(*items: RunItem, **options: Any) -> list[RunItem]:
    return await items_of(KeywordAdapter(Scripted(items), **options))


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


@pytest.mark.parametrize(
    "phrases", [[], "please confirm", [""], [" * "], ["sure. Yes"], ["a\nb"], ["`x`"]]
)
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
    assert adapter.capabilities == FunctionAdapter.capabilities
    assert limited.capabilities == AdapterCapabilities(approve=False)
    assert isinstance((await items_of(adapter))[-1], Pause)


async def test_closing_closes_the_agent_inside() -> None:
    inner = Scripted([])
    await KeywordAdapter(inner).aclose()

    assert inner.closed == 1


# --- the answer ---


async def answered(payload: Any, text: str = "Please confirm.", **options: Any) -> str:
    """What the agent is told after an answer."""
    inner = Scripted([text], ["Thanks."])
    async with Bench(KeywordAdapter(inner, **options)).open() as bench:
        interrupts = await bench.ask()
        status = "cancelled" if payload is None else "resolved"
        events = await bench.say(resume=bench.entries(interrupts, payload, status))
    assert outcome(events) == "success"
    assert inner.runs[1].resume is None
    return inner.runs[1].text


FORM = [
    FormField("confirm", "confirm", "OK?", required=True),
    FormField("who", "text", "Reviewer"),
    FormField("notify", "confirm", ""),
]


@pytest.mark.parametrize(
    ("payload", "options", "told"),
    [
        (CONFIRM, {}, "Yes, I confirm. Please proceed."),
        ({"confirm": False}, {}, "No, I do not confirm. Do not proceed."),
        (None, {}, "I cancelled your request for confirmation. Do not proceed."),
        (CONFIRM, {"text": "请确认。"}, "是的，我确认。请继续执行。"),
        ({"confirm": False}, {"text": "请确认。"}, "不，我不确认。请不要执行。"),
        (CONFIRM, {"fields": FORM}, "Yes, I confirm. Please proceed."),
        (
            {"confirm": True, "who": "{yes} Ann", "notify": False, "forged": "x"},
            {"fields": FORM},
            "Yes, I confirm. Please proceed.\nReviewer: {yes} Ann\nnotify: no",
        ),
        (
            {"confirm": True, "who": "Ann", "notify": True},
            {"fields": FORM, "replies": Replies(yes="{who} says yes{?}", field="{label}={value}")},
            "Ann says yes{?}\nnotify=yes",
        ),
        ({"confirm": False}, {"replies": Replies(no="Nope.")}, "Nope."),
        ({"n": "2"}, {"fields": [FormField("n", label="N")]}, "Here is my answer.\nN: 2"),
        ({"forged": True}, {"fields": [FormField("ok", "confirm")]},
         "No, I do not confirm. Do not proceed."),
    ],
)  # fmt: skip
async def test_the_answer_becomes_a_message_to_the_agent(
    payload: Any, options: dict[str, Any], told: str
) -> None:
    assert await answered(payload, **options) == told


async def test_the_agent_sees_the_whole_conversation_with_the_answer_in_this_and_later_runs() -> (
    None
):
    inner = Scripted(["Please confirm."], ["Done."])
    yes = "Yes, I confirm. Please proceed."
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        await bench.say("next")
        stored = await bench.texts()

    then = [("user", "go"), ("assistant", "Please confirm."), ("user", yes)]
    assert seen_by(inner.runs[1]) == then
    assert [m.content for m in inner.runs[1].new_messages] == [yes]
    assert seen_by(inner.runs[2]) == [*then, ("assistant", "Done."), ("user", "next")]
    assert stored[:-1] == seen_by(inner.runs[2])
    # The same message, under one id, in the stream, in the snapshot and in the store.
    (start,) = (e for e in events if e.get("role") == "user")
    assert start["type"] == "TEXT_MESSAGE_START"
    snapshot = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
    assert [m["id"] for m in snapshot if m.get("content") == yes] == [start["messageId"]]
    assert inner.runs[1].messages[-1].id == start["messageId"]


def seen_by(run: Run) -> list[tuple[str, Any]]:
    return [(m.role, m.content) for m in run.messages]


async def test_a_client_that_sends_the_answers_message_back_changes_nothing() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        events = await bench.say(resume=bench.entries(interrupts, CONFIRM))
        known = [e for e in events if e["type"] == "MESSAGES_SNAPSHOT"][-1]["messages"]
        forged = [{**m, "content": "forged"} if m["role"] == "user" else m for m in known]
        more = [*forged, {"id": "new", "role": "user", "content": "next"}]
        assert outcome(await bench.say(messages=more)) == "success"

    assert "forged" not in [content for _, content in seen_by(inner.runs[2])]
    assert len(inner.runs[2].messages) == len(known) + 1


async def test_messages_sent_along_with_the_answer_stand_before_it() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        await bench.say("be careful", resume=bench.entries(interrupts, CONFIRM))

    told = [m.content for m in inner.runs[1].new_messages]
    assert told == ["be careful", "Yes, I confirm. Please proceed."]


async def test_the_agent_may_ask_again_and_is_answered_again() -> None:
    inner = Scripted(["Please confirm."], ["Are you sure?"], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        first = await bench.ask()
        events = await bench.say(resume=bench.entries(first, CONFIRM))
        second = events[-1]["outcome"]["interrupts"]
        events = await bench.say(resume=bench.entries(second, {"confirm": False}))

    assert outcome(events) == "success"
    assert [content for role, content in seen_by(inner.runs[2]) if role == "user"] == [
        "go",
        "Yes, I confirm. Please proceed.",
        "No, I do not confirm. Do not proceed.",
    ]


async def test_an_agent_that_could_not_be_reached_leaves_the_question_open() -> None:
    inner = Scripted(["Please confirm."], [NotDelivered("refused")], ["Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        answer = bench.entries(interrupts, CONFIRM)
        failed = await bench.say(resume=answer)
        texts = await bench.texts()
        events = await bench.say(resume=answer)

    assert outcome(failed) == "UPSTREAM_ERROR"
    assert texts == [("user", "go"), ("assistant", "Please confirm.")]
    assert outcome(events) == "success"
    assert inner.runs[2].text == "Yes, I confirm. Please proceed."


@pytest.mark.parametrize("items", [[], [UpstreamError("no")]])
async def test_an_agent_that_ends_or_fails_without_a_word_had_the_answer_all_the_same(
    items: Iterable[RunItem | BaseException],
) -> None:
    inner = Scripted(["Please confirm."], items)
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        await bench.say(resume=bench.entries(interrupts, CONFIRM))
        texts = await bench.texts()

    assert texts[-1] == ("user", "Yes, I confirm. Please proceed.")


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        ("expired", "Your request for confirmation expired without an answer. Do not proceed."),
        ("stopped", "I cancelled your request for confirmation. Do not proceed."),
        ("lost", Replies().lost),
    ],
)
async def test_a_request_that_was_never_answered_is_told_before_the_next_message(
    cause: Any, told: str
) -> None:
    (*_, pause) = await said("Please confirm.")
    assert isinstance(pause, Pause)
    theirs = ClosedBatch({"mine": 1}, "expired")
    wrapped = ClosedBatch({"agui_bridge_keyword": 1, "inner": 7, "calls": {}}, "lost")
    old = {"id": "1", "role": "user", "content": "go"}
    new = {"id": "2", "role": "user", "content": "next"}
    inner = Scripted(["Ok."])
    run = make_run(
        closed=(ClosedBatch(pause.continuation, cause), theirs, wrapped),
        raw_messages=[old, new],
        raw_new_messages=[new],
    )

    assert await items_of(KeywordAdapter(inner), run) == ["Ok."]
    assert seen_by(inner.runs[0]) == [("user", "go"), ("user", told), ("user", "next")]
    assert [m.content for m in inner.runs[0].new_messages] == [told, "next"]
    assert inner.runs[0].text == "next"
    assert inner.runs[0].closed == (theirs, ClosedBatch(7, "lost"))


async def test_a_request_that_expired_is_told_to_the_next_run_and_refuses_late_answers() -> None:
    clock = FakeClock()
    inner = Scripted(["Please confirm."], ["Ok."])
    bench = Bench(
        KeywordAdapter(inner, expires_in=10), store=MemoryStore(clock=clock.time), clock=clock
    )
    interrupts = await bench.ask()
    clock.advance(11)
    late = await bench.say(resume=bench.entries(interrupts, CONFIRM))
    events = await bench.say("next")

    assert (outcome(late), outcome(events)) == ("INTERRUPT_EXPIRED", "success")
    assert seen_by(inner.runs[1])[2:] == [("user", Replies().expired), ("user", "next")]
    assert [content for _, content in await bench.texts()] == [
        "go",
        "Please confirm.",
        "next",
        "Ok.",
    ]


async def test_where_the_client_keeps_the_history_the_answer_is_added_to_its_list() -> None:
    inner = Scripted(["Please confirm."], ["Done."])
    async with Bench(KeywordAdapter(inner), history="client").open() as bench:
        interrupts = await bench.ask()
        (known,) = (m.message for m in (await bench.load()).messages if m.position > 10_000)
        mine = [{"id": "go", "role": "user", "content": "go"}, known]
        await bench.say(messages=mine, resume=bench.entries(interrupts, CONFIRM))

    assert seen_by(inner.runs[1]) == [
        ("user", "go"),
        ("assistant", "Please confirm."),
        ("user", "Yes, I confirm. Please proceed."),
    ]


def test_an_expired_answer_has_words_of_its_own() -> None:
    assert Replies(expired="too late").to_decision(Cancel("expired"), FORM) == "too late"


# --- the agent's own pauses ---


async def test_a_pause_of_the_agents_own_goes_first_and_gets_its_answer() -> None:
    ask = approval("c1")
    inner = Scripted(["Please confirm. ", Pause([ask], {"deep": [1]})], [result("c1"), "Done."])
    async with Bench(KeywordAdapter(inner)).open() as bench:
        interrupts = await bench.ask()
        assert [i["reason"] for i in interrupts] == ["tool_call"]
        events = await bench.say(resume=bench.entries(interrupts))

    assert outcome(events) == "success"
    resume = inner.runs[1].resume
    assert resume is not None and resume.continuation == {"deep": [1]}
    assert isinstance(resume.decisions["native-c1"], Approve)
    assert seen_by(inner.runs[1])[-1][0] == "assistant", "no message was made of it"


async def test_questions_of_the_agents_own_pass_untouched_but_for_the_envelope() -> None:
    asks = [Ask("q", message="Which?"), Ask("r")]
    (item,) = await said(Pause(asks, None, ["f"]))

    assert isinstance(item, Pause)
    assert (item.asks, list(item.frontend_calls)) == (asks, ["f"])


async def test_a_handoff_passes_and_its_results_come_back() -> None:
    handoff = Handoff(["c"], {"left": 1})
    inner = Scripted([*call_events("c"), handoff], ["Done."])
    adapter = KeywordAdapter(inner)
    (*_, item) = await items_of(adapter)
    assert isinstance(item, Handoff) and list(item.tool_call_ids) == ["c"]
    await items_of(adapter, make_run(handoff=HandoffResults(item.continuation, {"c": "ok"})))

    assert inner.runs[1].handoff == HandoffResults({"left": 1}, {"c": "ok"})


async def test_a_pause_from_before_the_agent_was_wrapped_is_answered_as_it_was() -> None:
    inner = Scripted(["Done."])
    resume = Resume({"old": 1}, {"q": Answer(2)})

    await items_of(KeywordAdapter(inner), make_run(resume=resume))

    assert inner.runs[0].resume == resume


async def test_a_continuation_of_another_version_is_refused() -> None:
    resume = Resume({"agui_bridge_keyword": 2}, {"q": Answer(2)})
    with pytest.raises(ReplayMismatch, match="version"):
        await items_of(KeywordAdapter(Scripted(["x"])), make_run(resume=resume))


async def test_a_wrapped_wrapper_gets_its_own_answers() -> None:
    inner = Scripted(["Please confirm."], ["Weiter?"], ["Done."])
    both = KeywordAdapter(KeywordAdapter(inner), phrases=["weiter"])
    async with Bench(both).open() as bench:
        first = await bench.ask()
        events = await bench.say(resume=bench.entries(first, CONFIRM))
        second = events[-1]["outcome"]["interrupts"]
        events = await bench.say(resume=bench.entries(second, {"confirm": False}))

    assert [first[0]["message"], second[0]["message"]] == ["Please confirm.", "Weiter?"]
    assert outcome(events) == "success"
    assert [m.content for m in inner.runs[2].messages if m.role == "user"][1:] == [
        "Yes, I confirm. Please proceed.",
        "No, I do not confirm. Do not proceed.",
    ]


async def test_what_the_agent_reports_beside_its_text_reaches_the_run() -> None:
    async def script(run: Run) -> AsyncIterator[RunItem]:
        run.iteration = 3
        yield "hello"
        assert outer.iteration == 3
        run.result = {"rows": 3}
        run.usage.append({"model": "m"})

    outer = make_run()
    await items_of(KeywordAdapter(Scripted(script)), outer)

    assert (outer.result, outer.usage) == ({"rows": 3}, [{"model": "m"}])


def run_with_tools(*names: str) -> Run:
    tools = [{"name": name, "description": "", "parameters": {}} for name in names]
    body = {"threadId": "t", "runId": "r", "messages": [], "tools": tools, "context": []}
    given = RunAgentInput.model_validate({**body, "state": {}, "forwardedProps": {}})
    return make_run(input=given)


async def test_calls_without_a_result_are_settled_and_frontend_calls_stay_pending() -> None:
    inner = Scripted(
        [
            *call_events("server"),
            *call_events("done"),
            result("done"),
            *call_events("page", "paint"),
            ToolCallChunkEvent(tool_call_id="chunked", tool_call_name="look", delta="{"),
            ToolCallChunkEvent(delta="}"),
            "Please confirm.",
        ]
    )
    *_, first, second, pause = await items_of(KeywordAdapter(inner), run_with_tools("paint"))

    settled = [getattr(item, "tool_call_id", None) for item in (first, second)]
    assert settled == ["server", "chunked"]
    assert isinstance(pause, Pause) and list(pause.frontend_calls) == ["page"]
