"""The pauses, handoffs and calls of an agent that asks in words as well."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from ag_ui.core import RunAgentInput, ToolCallChunkEvent

from agui_bridge import KeywordAdapter
from agui_bridge.adapters import Ask, Handoff, HandoffResults, Pause, Resume, Run, RunItem
from agui_bridge.errors import ReplayMismatch
from agui_bridge.protocol.answers.decisions import Answer, Approve
from tests.agents.function.harness import items_of, make_run
from tests.agents.keyword.talk import CONFIRM, said, seen_by
from tests.support.agents import Bench, Scripted, approval, call_events, outcome, result


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


async def test_a_question_of_an_earlier_release_is_answered() -> None:
    field = {"name": "confirm", "type": "confirm", "label": "Confirm", "required": True}
    kept = {"agui_bridge_keyword": 1, "requested": {"language": "en", "fields": [field]}}
    inner = Scripted(["Done."])
    await items_of(
        KeywordAdapter(inner), make_run(resume=Resume(kept, {"request": Answer(CONFIRM)}))
    )
    assert seen_by(inner.runs[0]) == [("user", "Yes, I confirm. Please proceed.")]

    kept = {"agui_bridge_keyword": 1, "inner": {"left": 1}, "calls": {}}
    await items_of(KeywordAdapter(inner), make_run(resume=Resume(kept, {"q": Answer(2)})))
    assert inner.runs[1].resume == Resume({"left": 1}, {"q": Answer(2)})


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
