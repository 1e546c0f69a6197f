"""What the kit does not look at: edits, history, questions, frontend tools, stops, policies."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import StateGraph
from langgraph.types import Command
from pydantic import BaseModel

from agui_bridge import Bridge, Principal, ProposedCall, Run, Verdict
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.testing import Talk, talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import MODES, Mailer
from tests.adapters.langgraph.model import SIGNATURE, ScriptedModel, mails
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio

YES = {"approved": True}
COLOUR_TOOL = {
    "name": "set_colour",
    "description": "Colour the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}


def serving(mailer: Mailer, store: str = "memory:", **options: Any) -> Bridge:
    bridge = Bridge(store)
    bridge.add("mailer", LangGraphAdapter(mailer.graph, **options))
    return bridge


@asynccontextmanager
async def talking(mailer: Mailer, **options: Any) -> AsyncIterator[Talk]:
    async with talk(serving(mailer, **options), "mailer") as one:
        yield one


@asynccontextmanager
async def conversing(bridge: Bridge, **options: Any) -> AsyncIterator[Conversation]:
    async with bridge.lifespan():
        yield Conversation(bridge, "mailer", **options)


# --- approvals ---


@pytest.mark.parametrize("mode", MODES)
async def test_what_was_edited_is_what_runs_and_the_card_offers_the_tools_own_schema(
    mode: str,
) -> None:
    mailer = Mailer(mode=mode)
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        (ask,) = asked.asks
        schema = ask["responseSchema"]["properties"]["editedArgs"]
        assert set(schema["properties"]) == {"to", "body"}
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
    assert mailer.done == [{"to": "ann", "body": "edited"}]


@pytest.mark.parametrize("mode", MODES)
async def test_the_neighbour_of_a_paused_call_runs_once(mode: str) -> None:
    mailer = Mailer(mode=mode)
    async with talking(mailer) as one:
        asked = await one.say("mixed bob")
        # LangChain asks for a whole batch before any call of it begins.
        assert mailer.done == (["looked up bob"] if mode == "per_call" else [])
        assert (await one.answer(asked, YES)).ending == "success"
    assert sorted(map(str, mailer.done)) == sorted(
        map(str, ["looked up bob", {"to": "bob", "body": "original"}])
    )


@pytest.mark.parametrize("mode", MODES)
async def test_a_resumed_run_pauses_again(mode: str) -> None:
    mailer = Mailer(mode=mode)
    async with talking(mailer) as one:
        first = await one.say("twice bob")
        second = await one.answer(first, YES)
        assert [done["to"] for done in mailer.done] == ["bob"]
        assert (await one.answer(second, YES)).ending == "success"
    assert [done["to"] for done in mailer.done] == ["bob", "second-bob"]


@pytest.mark.parametrize("mode", MODES)
async def test_the_model_and_the_history_read_why_a_person_declined(mode: str) -> None:
    mailer = Mailer(mode=mode)
    async with talking(mailer) as one:
        await one.answer(await one.say("send bob"), {"approved": False, "reason": "not him"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert kept == "The user declined this tool call; it was not executed. Reason: not him"
    (told,) = mailer.results("send_email")
    # LangChain puts words of its own before a batch's.
    assert told == kept if mode == "per_call" else told.endswith(kept)
    assert mailer.done == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("reviewed", [("approve",), ("edit",), ("approve", "edit")])
async def test_where_no_refusal_is_provided_for_nothing_runs_unanswered(
    mode: str, reviewed: tuple[str, ...]
) -> None:
    mailer = Mailer(mode=mode, reviewed=reviewed)
    async with conversing(serving(mailer)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "cancelled"}
        await one._send(resume=[entry])
        assert one.events[-1]["outcome"]["type"] == "success"
        await one.say("send ann")
        await one.answer(YES)
    assert mailer.done == [{"to": "ann", "body": "original"}]
    assert "not executed" in mailer.told(1)


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_may_be_the_tool(mode: str) -> None:
    mailer = Mailer(mode=mode, reviewed=("respond",))
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        (ask,) = asked.asks
        assert (ask["reason"], ask["metadata"]["toolName"]) == ("input_required", "send_email")
        assert ask["toolCallId"]
        await one.answer(asked, {"message": "sent by hand"})
    assert (mailer.results("send_email"), mailer.done) == (["sent by hand"], [])


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_may_give_the_result_in_place_of_the_tool(mode: str) -> None:
    mailer = Mailer(mode=mode, reviewed=("approve", "reject", "respond"))
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        done = await one.answer(asked, {"approved": False, "respond": "sent by hand"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert (done.ending, mailer.done) == ("success", [])
    assert mailer.results("send_email") == [kept] == ["sent by hand"]


async def test_a_pause_outlives_the_process_and_is_answered_once(tmp_path: Path) -> None:
    store, file = f"sqlite:///{tmp_path}/agents.db", str(tmp_path / "graph.db")
    done: list[Any] = []
    async with (
        AsyncSqliteSaver.from_conn_string(file) as saver,
        talk(serving(Mailer(done.append, saver=saver)), "mailer", store=store) as one,
    ):
        asked = await one.say("send bob")
    async with AsyncSqliteSaver.from_conn_string(file) as saver:
        again = Mailer(done.append, saver=saver)
        async with talk(serving(again), "mailer", store=store) as one:
            assert (await one.answer(asked, YES)).ending == "success"
            await one.answer(asked, YES)
    assert done == [{"to": "bob", "body": "original"}]
    assert "send bob" in again.told()


async def test_an_answer_that_came_behind_the_bridges_back_is_told_and_runs_once() -> None:
    mailer = Mailer(mode="batched")
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        saver: Any = mailer.graph.checkpointer
        (thread,) = {one.config["configurable"]["thread_id"] for one in saver.list(None)}
        config: Any = {"configurable": {"thread_id": thread}}
        await mailer.graph.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        late = await one.answer(asked, YES)
    assert "does not wait for these answers any more" in late.events[-1]["message"]
    assert len(mailer.done) == 1


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_nobody_answered_is_never_executed_by_a_later_run(mode: str) -> None:
    mailer = Mailer(mode=mode)
    async with talking(mailer) as one:
        await one.say("send bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []
    assert len(mailer.results("send_email")) == 1


# --- questions ---


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {}])
async def test_an_answer_arrives_as_it_is(payload: Any) -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("ask anything")
        assert asked.asks[0]["message"] == "Which anything?"
        starts = [e["toolCallId"] for e in asked.events if e["type"] == "TOOL_CALL_START"]
        assert [asked.asks[0]["toolCallId"]] == starts
        assert (await one.answer(asked, payload)).ending == "success"
    assert mailer.done == [payload]
    assert mailer.results("ask_user") == [f"answered {payload!r}"]


async def test_several_questions_at_once_get_each_its_own_answer() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("asks one+two+three")
        answers = {ask["message"]: ask["message"].upper() for ask in asked.asks}
        assert len(answers) == 3
        await one.answer(asked, *[answers[ask["message"]] for ask in asked.asks])
    told = [f"answered 'WHICH {number}?'" for number in ("ONE", "TWO", "THREE")]
    assert mailer.results("ask_user") == told


# --- the conversation ---


async def test_a_message_sent_along_with_the_answer_comes_after_what_it_answers() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("send bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 1
    kinds = [m.type for m in mailer.requests[-1]]
    assert kinds == ["human", "ai", "tool", "ai", "human"]


async def test_a_message_sent_along_waits_for_the_next_answer_too() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("twice bob")
        entry = {"interruptId": one.asks[0]["id"], "status": "resolved", "payload": YES}
        await one.say("hello again", resume=[entry])
        assert "hello again" not in mailer.told()
        await one.answer(YES)
        assert one.events[-1]["outcome"]["type"] == "success"
    assert len(mailer.done) == 2
    assert mailer.told().count("hello again") == 1


async def test_reasoning_ends_where_it_ends_and_what_the_provider_wants_back_is_kept() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        thought = await one.say("think trees")
        await one.say("hello")
        await one.say("hello")
    kinds = [event["type"] for event in thought.events]
    assert kinds.index("REASONING_MESSAGE_END") < kinds.index("TEXT_MESSAGE_START")
    assert SIGNATURE in mailer.told()
    assert SIGNATURE.encode() not in thought.raw
    assert mailer.told().count("think trees") == 1


async def test_an_answer_that_is_asked_anew_is_not_remembered() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("hello")
        (own,) = [e["messageId"] for e in one.events if e["type"] == "TEXT_MESSAGE_START"]
        first = [
            {"id": "u1", "role": "user", "content": "hello"},
            {"id": own, "role": "assistant", "content": "Hello."},
        ]
        await one.say("think trees")
        await one._send(messages=[*first, {"id": "u2", "role": "user", "content": "think trees"}])
        assert len(mailer.requests) == 3
        assert "I thought of trees." not in mailer.told()
        assert [m.type for m in mailer.requests[-1]] == ["human", "ai", "human"]
        edited = {"id": "u9", "role": "user", "content": "think stones"}
        await one._send(messages=[*first, edited])
    assert "trees" not in mailer.told()
    assert mailer.told().count("think stones") == 1


async def test_what_the_graphs_author_put_into_the_conversation_stays() -> None:
    class Summary(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if any(message.id == "s" for message in state["messages"]):
                return None
            return {"messages": [HumanMessage("A summary.", id="s")]}

    mailer = Mailer(middleware=[Summary()])
    async with conversing(serving(mailer)) as one:
        await one.say("hello")
        await one.say("hello")
        await one.say("hello")
    assert [m.type for m in mailer.requests[-1]].count("human") == 4


async def test_the_next_turn_has_the_text_that_a_stop_cut_off() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        await one.say("think trees")
        stream = one.begin("slow")
        assert await stream.until("TEXT_MESSAGE_CONTENT")
        await one.stop()
        assert (await stream.rest()).ending == "cancelled"
        await one.say("hello")
        assert "Working. " in mailer.told()
        assert SIGNATURE in mailer.told()
        await one.say("hello")
    assert mailer.told().count("Working. ") == 1


async def test_images_reach_the_model_now_and_in_the_history() -> None:
    mailer = Mailer()
    image = {
        "type": "image",
        "source": {"type": "data", "value": "iVBORw==", "mimeType": "image/png"},
    }
    message = {"id": "u1", "role": "user", "content": [{"type": "text", "text": "hello"}, image]}
    async with conversing(serving(mailer)) as one:
        await one._send(messages=[message])
        one._sent = 1
        await one.say("hello")
    for request in mailer.requests:
        (found,) = [b for m in request for b in m.content_blocks if b["type"] == "image"]
        assert (found["base64"], found["mime_type"]) == ("iVBORw==", "image/png")


async def test_a_failed_call_is_told_to_the_next_turn_and_not_carried_out_again() -> None:
    def fail(effect: Any) -> None:
        done.append(effect)
        raise RuntimeError

    done: list[Any] = []
    mailer = Mailer(fail)
    async with talking(mailer) as one:
        assert (await one.answer(await one.say("send bob"), YES)).ending == "AGENT_ERROR"
        assert (await one.say("hello")).text == "Hello."
    assert len(done) == 1
    assert "whether this tool call was executed is unknown" in mailer.results("send_email")[0]


# --- what a run gives ---


class Report(BaseModel):
    sent: int


async def test_tokens_arguments_and_results_are_told_as_they_come() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = await one.say("look bob")
    kinds = [event["type"] for event in stream.events]
    assert kinds.count("TEXT_MESSAGE_CONTENT") >= 5
    assert kinds.count("TOOL_CALL_ARGS") == 2
    assert kinds.index("TOOL_CALL_END") < kinds.index("TOOL_CALL_RESULT")
    steps = [(e["type"], e["stepName"]) for e in stream.events if "STEP" in e["type"]]
    assert steps[:2] == [("STEP_STARTED", "model"), ("STEP_FINISHED", "model")]
    assert ("STEP_STARTED", "tools") in steps
    assert stream.events[-1]["usage"][0]["outputTokens"] == 3


class Themed(AgentState[Any]):
    theme: str
    notes: Annotated[list[str], operator.add]


async def test_state_goes_both_ways() -> None:
    @tool
    def set_theme(theme: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Set the theme."""
        message = ToolMessage("set", tool_call_id=tool_call_id)
        return Command(update={"theme": theme, "notes": [theme], "messages": [message]})

    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("set_theme", {"theme": rest})]] if verb == "theme" else mails(verb, rest)

    model = ScriptedModel(steps=steps)
    graph = create_agent(model, [set_theme], state_schema=Themed, checkpointer=InMemorySaver())
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    async with conversing(bridge) as one:
        await one.say("theme dark", state={"theme": "light", "notes": ["first"], "mine": 1})
        shown = [e["snapshot"] for e in one.events if e["type"] == "STATE_SNAPSHOT"]
        assert shown[0]["theme"] == "light"
        assert shown[-1]["theme"] == "dark"
        assert shown[-1]["notes"] == ["first", "dark"]
        await one.say("theme blue", state={"theme": "red", "notes": ["only"]})
        shown = [e["snapshot"] for e in one.events if e["type"] == "STATE_SNAPSHOT"]
    assert shown[-1] == {"theme": "blue", "notes": ["only", "blue"]}


async def test_a_structured_output_is_the_runs_result() -> None:
    def steps(verb: str, rest: str) -> list[list[Any]]:
        return [[("Report", {"sent": 1})]]

    model = ScriptedModel(steps=steps)
    graph = create_agent(
        model, [], response_format=ToolStrategy(Report), checkpointer=InMemorySaver()
    )
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    async with talk(bridge, "mailer") as one:
        stream = await one.say("report")
    assert stream.events[-1]["result"] == {"sent": 1}


async def test_the_context_is_made_of_who_asks() -> None:
    seen = list[str]()

    class See(AgentMiddleware[Any, Any, Any]):
        def before_model(self, state: Any, runtime: Any) -> None:
            seen.append(runtime.context)

    mailer = Mailer(middleware=[See()])

    async def context(run: Run) -> str:
        return f"for {run.principal.actor}"

    bridge = serving(mailer, context=context)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        await one.say("hello")
    assert seen == ["for ann"]


async def test_an_agent_without_streaming_is_told_whole() -> None:
    mailer = Mailer()
    mailer.model.disable_streaming = True
    async with talking(mailer) as one:
        asked = await one.say("mixed bob")
        done = await one.answer(asked, YES)
    assert (asked.text, done.text) == ("I will do it. ", "Done with 2 calls.")
    names = [e["toolCallName"] for e in asked.events if e["type"] == "TOOL_CALL_START"]
    assert names == ["look_up", "send_email"]
    assert not [e for e in done.events if e["type"] == "TOOL_CALL_START"]


# --- frontend tools ---


async def test_the_application_carries_its_own_tools_out() -> None:
    mailer = Mailer()
    async with conversing(serving(mailer)) as one:
        await one.say("colour red", tools=[COLOUR_TOOL])
        assert await one.hand_back("it is red") == "Done with 1 calls."
        results = [e for e in one.events if e["type"] == "TOOL_CALL_RESULT"]
    assert mailer.results("set_colour") == ["it is red"]
    assert results == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("first", ["the answer", "both"])
async def test_an_approval_beside_a_frontend_tool_takes_both_answers(mode: str, first: str) -> None:
    mailer = Mailer(mode=mode)
    async with conversing(serving(mailer)) as one:
        await one.say("colourandsend red", tools=[COLOUR_TOOL])
        (ask,) = one.asks
        starts = [e for e in one.events if e["type"] == "TOOL_CALL_START"]
        (call,) = [e["toolCallId"] for e in starts if e["toolCallName"] == "set_colour"]
        messages = [{"id": "f1", "role": "tool", "toolCallId": call, "content": "it is red"}]
        resume = [{"interruptId": ask["id"], "status": "resolved", "payload": YES}]
        if first == "both":
            await one._send(messages=messages, resume=resume, tools=[COLOUR_TOOL])
        else:
            await one._send(resume=resume)
            await one._send(messages=messages)
        assert one.events[-1]["outcome"]["type"] == "success"
    told = ["it is red"] if first != "the answer" or mode == "batched" else [UNREPORTED]
    assert mailer.results("set_colour") == told
    assert mailer.done == [{"to": "red", "body": "original"}]


async def test_the_agents_own_tools_go_before_those_of_the_application() -> None:
    mailer = Mailer()
    theirs = [{**COLOUR_TOOL, "name": "look_up"}, COLOUR_TOOL]
    async with conversing(serving(mailer)) as one:
        await one.say("look bob", tools=theirs)
    assert mailer.done == ["looked up bob"]
    names = [getattr(t, "name", None) or t["function"]["name"] for t in mailer.model.offered]
    assert names.count("look_up") == 1
    assert "set_colour" in names


# --- stops and policies ---


async def test_a_stop_lets_the_tool_that_runs_finish_and_begins_nothing_more() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("wait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        stopping = asyncio.create_task(one.stop())
        await asyncio.wait([stopping], timeout=0.2)
        mailer.finish.set()
        await stopping
        assert (await stream.rest()).ending == "cancelled"
        assert mailer.done == ["waited"]
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert (await one.say("hello")).ending == "success"
    assert len(mailer.requests) == 2
    assert (kept, mailer.results("wait")) == ("it is done", ["it is done"])


async def test_a_forced_stop_waits_for_no_tool() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        stream = one.begin("wait")
        await asyncio.wait_for(mailer.begun.wait(), 10)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
    assert mailer.done == []


async def test_a_forced_stop_leaves_behind_what_runs_in_a_thread() -> None:
    begun, finish = threading.Event(), threading.Event()

    @tool
    def look_up_slowly(name: str) -> str:
        """Look somebody up, in no hurry."""
        begun.set()
        finish.wait(30)
        return name

    model = ScriptedModel(steps=mails)
    graph = create_agent(model, [look_up_slowly], checkpointer=InMemorySaver())
    bridge = Bridge("memory:")
    bridge.add("mailer", graph)
    try:
        async with talk(bridge, "mailer") as one:
            stream = one.begin("slowly bob")
            assert await asyncio.to_thread(begun.wait, 10)
            await one.stop(force=True)
            assert (await stream.rest()).ending == "cancelled"
            finish.set()
            assert (await one.say("hello")).ending == "success"
            (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    finally:
        finish.set()
    assert "whether this tool call was executed is unknown" in kept


async def test_a_policy_denies_a_tool_that_needs_no_approval() -> None:
    mailer = Mailer()
    bridge = serving(mailer)
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "mailer") as one:
        assert (await one.say("look bob")).ending == "success"
    assert mailer.done == []
    assert mailer.results("look_up") == [
        "The policy denied this tool call; it was not executed. Reason: not him"
    ]


async def test_a_policy_has_people_asked_and_learns_who_approved_what() -> None:
    mailer, seen = Mailer(), list[tuple[Any, ...]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((dict(call.args), call.approved, call.approved_by))
        return Verdict("ask", "Look him up?", editable=True)

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        asked = await one.say("look bob")
        assert asked.asks[0]["message"] == "Look him up?"
        assert mailer.done == []
        await one.answer(asked, {**YES, "editedArgs": {"name": "eve"}})
    assert mailer.done == ["looked up eve"]
    assert seen == [({"name": "bob"}, False, None), ({"name": "eve"}, True, "ann")]


async def test_a_tool_that_asks_is_approved_once_however_often_it_begins_again() -> None:
    mailer, seen = Mailer(), list[bool]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append(call.approved)
        return Verdict("allow") if call.approved else Verdict("ask", "Ask them?")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        approval = await one.say("ask colour")
        question = await one.answer(approval, YES)
        assert question.asks[0]["message"] == "Which colour?"
        assert (await one.answer(question, {"answer": "blue"})).ending == "success"
    assert mailer.done == [{"answer": "blue"}]
    assert seen == [False, True, True]


async def test_a_policy_that_fails_leaves_the_question_open() -> None:
    mailer, verdicts = Mailer(), [True, False, True]

    def policy(call: ProposedCall) -> Verdict:
        if not verdicts.pop(0):
            raise RuntimeError
        return Verdict("allow")

    bridge = serving(mailer)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("ask colour")
        assert (await one.answer(asked, {"answer": "red"})).ending == "UPSTREAM_ERROR"
        assert (await one.answer(asked, {"answer": "blue"})).ending == "success"
    assert mailer.done == [{"answer": "blue"}]


# --- what is no graph ---


def _without_checkpointer() -> Any:
    return create_agent(ScriptedModel(steps=mails), [])


def _with_sync_checkpointer() -> Any:
    return create_agent(ScriptedModel(steps=mails), [], checkpointer=SqliteSaver(None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"graph": 3}, "graph should be a compiled graph"),
        ({"graph": StateGraph(Themed)}, "should be compiled, with a checkpointer"),
        ({"graph": _without_checkpointer()}, "has no checkpointer"),
        ({"graph": _with_sync_checkpointer()}, "take AsyncSqliteSaver"),
        ({"graph": Mailer().graph, "context": 3}, "context should be a function"),
        ({"graph": "no_such_module:graph"}, "There is no module"),
    ],
)
def test_what_can_not_be_used_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        LangGraphAdapter(**options)
