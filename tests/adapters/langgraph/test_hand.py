"""What the kit does not look at: decisions, questions, and what can't be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import MessagesState, StateGraph
from langgraph.types import Command

from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.langgraph.mailer import MODES, Mailer
from tests.adapters.langgraph.model import SIGNATURE, ScriptedModel, mails
from tests.adapters.langgraph.serving import BRIDGES, conversing, serving, talking
from tests.adapters.mails import YES, EditableMails

pytestmark = pytest.mark.anyio


class TestMails(EditableMails):
    bridges = BRIDGES
    signature = SIGNATURE
    tells_signature = True

    @pytest.fixture(params=MODES)
    def mailer(self, request: pytest.FixtureRequest) -> Mailer:
        return Mailer(mode=request.param)


# --- approvals ---


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


# --- what is no graph ---


def _without_checkpointer() -> Any:
    return create_agent(ScriptedModel(steps=mails), [])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"graph": 3}, "graph should be a compiled graph"),
        ({"graph": StateGraph(MessagesState)}, "should be compiled, with a checkpointer"),
        ({"graph": _without_checkpointer()}, "has no checkpointer"),
        ({"graph": Mailer().graph, "graph_context": 3}, "graph_context should be a function"),
        ({"graph": "no_such_module:graph"}, "There is no module"),
    ],
)
def test_what_can_not_be_used_is_told_where_it_is_given(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        LangGraphAdapter(**options)


def test_a_checkpointer_without_async_methods_is_told_with_the_one_to_take() -> None:
    with SqliteSaver.from_conn_string(":memory:") as saver:
        graph = create_agent(ScriptedModel(steps=mails), [], checkpointer=saver)
        with pytest.raises(ConfigurationError, match="take AsyncSqliteSaver"):
            LangGraphAdapter(graph)
