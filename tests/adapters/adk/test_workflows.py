"""Workflows: they run, ask, go on in another process, and are stopped."""

from __future__ import annotations

import asyncio
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents.context import Context
from google.adk.apps import App
from google.adk.events import RequestInput
from google.adk.tools.function_tool import FunctionTool
from google.adk.workflow import FunctionNode, JoinNode, RetryConfig, Workflow, _tool_node
from google.adk.workflow.utils import _workflow_hitl_utils

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.answers.unexecuted import FAILED_AMID, UNTOLD
from agui_bridge.testing import talk
from tests.adapters.adk.flows import Flows
from tests.adapters.adk.talking import YES, names_of, serving, talking

_GATED = [int(part) for part in version("google-adk").split(".")[:2]] >= [2, 13]

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

gated = pytest.mark.skipif(not _GATED, reason="only on google-adk 2.13 and later")


@pytest.mark.skipif(_GATED, reason="only on google-adk before 2.13")
def test_a_workflow_whose_tools_nothing_can_hold_back_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="nothing could hold them back"):
        Bridge("memory:").add("flow", Flows().time_off())


@gated
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (_tool_node, "_ToolNode"),
        (getattr(_tool_node, "_ToolNode", None), "_run_tool_with_plugin_callbacks"),
        (_workflow_hitl_utils, "confirmation_interrupt_id"),
    ],
)
def test_a_workflow_is_refused_where_what_holds_its_tools_back_is_gone(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = Flows().time_off()
    monkeypatch.delattr(owner, name)
    with pytest.raises(ConfigurationError, match="nothing could hold them back"):
        Bridge("memory:").add("flow", flow)


@gated
@pytest.mark.parametrize("wrapped", [False, True])
async def test_the_official_sample_asks_its_manager_each_time_also_in_another_process(
    tmp_path: Path, wrapped: bool
) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()

    def bridge() -> Bridge:
        flow, made = Flows(done).time_off(), Bridge("memory:")
        made.add("flow", App(name="flow", root_agent=flow) if wrapped else flow)
        return made

    async with talk(bridge(), "flow", store=store) as one:
        first = await one.say("three days, I am sick")
        (ask,) = first.asks
        assert ask["message"] == "Please review this time off request."
        assert ask["metadata"]["payload"] == {"days": 3, "reason": "sick"}
        assert (await one.answer(first, {"approved": "perhaps"})).ending == "INVALID_RESUME_PAYLOAD"
        assert first.text == ""  # what a model says by a schema is data
        assert done == []
    async with talk(bridge(), "flow", store=store) as one:
        ended = await one.answer(first, {"approved": True, "approved_days": 2})
        assert (ended.ending, ended.text) == ("success", "Approved: 2 of 3 days.")
        assert (await one.state())["request"] == {"days": 3, "reason": "sick"}
        second = await one.say("three more")
        denied = await one.answer(second, {"approved": False})
        assert (denied.ending, denied.text) == ("success", "Denied.")
        assert (await one.say("one day")).text == "Approved: 1 of 1 days."
    assert done == [(True, 2), (False, 3), (True, 1)]


@gated
async def test_a_cancelled_question_ends_its_workflow_and_the_next_message_begins_it_anew() -> None:
    flows = Flows()
    async with talking(flows.time_off()) as one:
        ended = await one.cancel(await one.say("three days"))
        assert (ended.ending, flows.done) == ("success", [])
        told = names_of(ended.events, "TOOL_CALL_RESULT", "content")
        assert told == ["The question was cancelled; nobody answered it."]
        assert (await one.say("one day")).text == "Approved: 1 of 1 days."


@gated
async def test_a_tool_of_a_node_is_approved_edited_and_declined() -> None:
    flows = Flows()
    async with talking(flows.of(flows.payment())) as one:
        asked = await one.say("go")
        (ask,) = asked.asks
        assert (ask["reason"], flows.done) == ("tool_call", [])
        assert names_of(asked.events, "TOOL_CALL_START", "toolCallName") == ["pay"]
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.text) == ("success", "Got ann has it.")
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ["ann has it"]
        edited = await one.say("again")
        ended = await one.answer(edited, {"approved": True, "editedArgs": {"to": "eve"}})
        assert ended.text == "Got eve has it."
        declined = await one.answer(await one.say("again"), {"approved": False, "reason": "no"})
        assert "declined" in declined.text
        given = await one.answer(await one.say("again"), {"approved": False, "respond": "by post"})
        assert given.text == "Got by post."
    assert flows.done == ["paid ann", "paid eve"]


@gated
async def test_a_tool_of_a_node_asks_for_a_policy_and_is_told_without() -> None:
    flows, free = Flows(), Flows()
    async with talking(free.of(free.payment(gated=False))) as one:
        ended = await one.say("go")
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ["ann has it"]
    bridge = serving(flows.of(flows.payment(gated=False)))
    bridge.policy(lambda call: "allow" if call.approved else "ask")
    async with talk(bridge, "mailer") as one:
        asked = await one.say("go")
        assert (asked.ending, flows.done) == ("interrupt", [])
        await one.answer(asked, YES)
        await one.answer(asked, YES)
    assert (free.done, flows.done) == (["paid ann"], ["paid ann"])


@gated
async def test_a_tool_that_a_function_runs_as_a_node_of_its_own_is_approved_first() -> None:
    flows = Flows()
    payment = flows.payment()

    async def pay_both(ctx: Context, node_input: Any) -> str:
        return " ".join([str(await ctx.run_node(payment, {"to": to})) for to in ("ann", "bob")])

    async with talking(flows.of(FunctionNode(func=pay_both, rerun_on_resume=True))) as one:
        first = await one.say("go")
        assert flows.done == []
        second = await one.answer(first, YES)
        assert (second.ending, flows.done) == ("interrupt", ["paid ann"])
        ended = await one.answer(second, YES)
        assert (ended.ending, ended.text) == ("success", "Got ann has it bob has it.")
    assert flows.done == ["paid ann", "paid bob"]


@gated
async def test_what_a_nodes_tool_asks_itself_is_answered() -> None:
    flows = Flows()
    async with talking(flows.of(FunctionTool(flows.book))) as one:
        asked = await one.say("go")
        assert asked.asks[0]["message"] == "When?"
        ended = await one.answer(asked, {"hour": 7})
        assert (ended.ending, ended.text) == ("success", "Got booked.")
    assert flows.done == [("booked", {"hour": 7})]


@gated
@pytest.mark.parametrize("policy", [None, "deny"])
async def test_a_function_that_has_to_be_approved_runs_once_it_is(policy: Any) -> None:
    flows = Flows()
    bridge = serving(flows.of(flows.dropping()))
    if policy:
        bridge.policy(lambda call: policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("go")
        (ask,) = asked.asks
        assert (ask["reason"], flows.done) == ("tool_call", [])
        declined = await one.answer(asked, {"approved": False, "reason": "not now"})
        assert declined.ending == "success"
        (told,) = names_of(declined.events, "TOOL_CALL_RESULT", "content")
        assert "not now" in told
        assert flows.done == []
        ended = await one.answer(await one.say("go"), YES)
        assert ended.ending == "success"
        (told,) = names_of(ended.events, "TOOL_CALL_RESULT", "content")
        assert (told == "dropped") == (policy is None)
    assert flows.done == ([] if policy else ["dropped ann"])


@gated
@pytest.mark.parametrize("retried", ["function", "workflow", "tool"])
async def test_an_approval_is_of_one_try_where_the_workflow_tries_again(retried: str) -> None:
    flows, again = Flows(), RetryConfig(max_attempts=3, initial_delay=0.001)
    node: Any = flows.dropping(flows.fail_once)
    if retried == "function":
        node = flows.dropping(flows.fail_once, retry_config=again)
    elif retried == "workflow":
        node = Workflow(name="inner", edges=[("START", node)], retry_config=again)
    else:
        tool = FunctionTool(flows.fail_once, require_confirmation=True)
        node = _tool_node._ToolNode(tool=tool, retry_config=again)
    async with talking(flows.of(node)) as one:
        ended = await one.answer(await one.say("go"), YES)
        told = names_of(ended.events, "TOOL_CALL_RESULT", "content")
        assert flows.done == ["tried"]
        if retried != "tool":
            assert (ended.ending, told) == ("AGENT_ERROR", [FAILED_AMID])
            return
        assert (ended.ending, told) == ("interrupt", [UNTOLD])
        ended = await one.answer(ended, YES)
        assert names_of(ended.events, "TOOL_CALL_RESULT", "content") == ["done"]
    assert flows.done == ["tried", "tried"]


@gated
async def test_a_function_gets_what_was_approved_though_the_page_has_changed_the_state() -> None:
    flows = Flows()

    def drop(table: str, node_input: Any) -> str:
        flows.done.append(table)
        return "dropped"

    async with talking(flows.of(flows.dropping(drop))) as one:
        asked = await one.say("go", state={"table": "drafts"})
        assert '"drafts"' in names_of(asked.events, "TOOL_CALL_ARGS", "delta")[0]
        resume = asked.entries(YES)
        assert (await one.begin(resume=resume, state={"table": "mails"}).rest()).ending == "success"
        assert await one.state() == {"table": "mails"}
    assert flows.done == ["drafts"]


@gated
async def test_a_function_gets_what_was_approved_though_a_node_beside_it_changes_the_state() -> (
    None
):
    flows = Flows()

    def change(ctx: Context) -> str:
        ctx.state["table"] = "mails"
        return "changed"

    def drop(table: str, ctx: Context) -> str:
        flows.done += [table, ctx.state["table"]]
        return "dropped"

    join = JoinNode(name="join")
    both = flows.dropping(change), flows.dropping(drop)
    edges: Any = [("START", both, join)]
    async with talking(Workflow(name="flow", edges=edges)) as one:
        asked = await one.say("go", state={"table": "drafts"})
        assert (await one.answer(asked, YES, YES)).ending == "success"
        assert (await one.state())["table"] == "mails"
    assert flows.done == ["drafts", "mails"]


@gated
async def test_a_stop_does_not_wait_for_a_tool_of_a_node_that_has_asked() -> None:
    flows = Flows()
    whom = flows.whom
    edges: Any = [("START", (whom, flows.wait)), (whom, FunctionTool(flows.book))]
    async with talking(Workflow(name="flow", edges=edges)) as one:
        stream = one.begin("go")
        await asyncio.wait_for(flows.begun.wait(), 30)
        for _ in range(100):
            await asyncio.sleep(0)
        await asyncio.wait_for(one.stop(timeout=100), 20)
        assert (await stream.rest()).ending == "cancelled"
    assert flows.done == []


@gated
@pytest.mark.parametrize("of", ["function", "tool", "free tool", "question"])
async def test_what_a_node_is_given_need_be_no_json(of: str) -> None:
    flows = Flows()

    def pay(to: str, due: date) -> str:
        """Pay somebody."""
        flows.done.append(f"paid {to}, {due}")
        return "paid"

    def ask(node_input: Any) -> RequestInput:
        return RequestInput(message="Really?", payload=node_input)

    gated = of == "tool"
    tool = FunctionTool(pay, require_confirmation=gated)
    node: Any = {"function": flows.dropping(), "question": ask}.get(of, tool)
    async with talking(flows.of(node, due=date(2026, 1, 2))) as one:
        asked = await one.say("go")
        if of == "question":
            assert asked.asks[0]["metadata"]["payload"] == {"to": "ann", "due": "2026-01-02"}
        else:
            assert "2026-01-02" in names_of(asked.events, "TOOL_CALL_ARGS", "delta")[0]
        if of != "free tool":
            assert (asked.ending, flows.done) == ("interrupt", [])
            asked = await one.answer(asked, "yes" if of == "question" else YES)
        assert asked.ending == "success"
    assert len(flows.done) == (of != "question")


@gated
async def test_agents_at_once_ask_in_one_pause_and_are_joined() -> None:
    flows = Flows()
    async with talking(flows.at_once()) as one:
        asked = await one.say("go")
        assert len(asked.asks) == 2
        ended = await one.answer(asked, YES, {"approved": False, "reason": "once"})
        assert ended.ending == "success"
        assert ended.text.endswith("Both: 2.")
        assert (await one.say("again")).ending == "interrupt"
    assert len(flows.done) == 1


@gated
async def test_nodes_at_once_get_each_its_own_answer() -> None:
    flows = Flows()
    async with talking(flows.questions_at_once()) as one:
        asked = await one.say("go")
        answers = {"Which colour?": {"shade": "5"}, "Which size?": "7"}
        ended = await one.answer(asked, *(answers[ask["message"]] for ask in asked.asks))
        assert (ended.ending, ended.text) == ("success", "Thanks.")
    assert flows.done == [{"colour": {"shade": "5"}, "size": "7"}]


@gated
async def test_an_agent_in_a_graph_reads_the_context_and_gets_its_tools_answer() -> None:
    flows = Flows()
    async with talking(flows.of(flows.payer("payer", "bob"))) as one:
        one.context = [{"description": "page", "value": "INV-1"}]
        ended = await one.answer(await one.say("go"), YES)
        assert (ended.ending, ended.text) == ("success", "payer is done.Got payer is done..")
        assert names_of(ended.events, "STEP_STARTED", "stepName") == ["payer"]
    assert all("INV-1" in told for told in flows.read)
    assert flows.done == ["paid bob"]


@gated
async def test_a_workflow_is_stopped_and_begins_anew_with_the_next_message() -> None:
    flows = Flows()
    async with talking(flows.of(flows.wait)) as one:
        stream = one.begin("go")
        await asyncio.wait_for(flows.begun.wait(), 30)
        await one.stop(force=True)
        assert (await stream.rest()).ending == "cancelled"
        assert flows.done == []
        flows.finish.set()
        assert (await one.say("go")).text == "Got waited."
    assert flows.done == ["waited"]


@gated
@pytest.mark.parametrize("of", ["function", "tool"])
async def test_a_node_that_is_cancelled_from_within_is_no_success(of: str) -> None:
    flows = Flows()

    def cut_off(to: str) -> None:
        raise asyncio.CancelledError

    node: Any = flows.cut_off if of == "function" else FunctionTool(cut_off)
    async with talking(flows.of(node)) as one:
        ended = await one.say("go")
        assert ended.ending == "AGENT_ERROR"
        told = names_of(ended.events, "TOOL_CALL_RESULT", "content")
        assert told == ([] if of == "function" else [FAILED_AMID])


@gated
async def test_what_a_workflow_gives_is_its_result() -> None:
    flows = Flows()

    def give(node_input: Any) -> dict[str, int]:
        return {"total": 3}

    flow = flows.of()
    edges: Any = [("START", give)]
    async with talking(type(flow)(name="flow", edges=edges)) as one:
        ended = await one.say("go")
        assert ended.events[-1]["result"] == {"total": 3}


@gated
@pytest.mark.parametrize("of", ["tool", "function", "agent", "agent's tool"])
async def test_a_question_is_open_while_its_node_is_gone_and_works_once_it_is_back(
    tmp_path: Path, of: str
) -> None:
    store, flows = f"sqlite:///{tmp_path}/agents.db", Flows()

    def bridge(is_gone: bool = False) -> Bridge:
        payer = flows.payer("payer", "ann")
        if is_gone and of == "agent's tool":
            payer.tools = []
        node = {"tool": flows.payment(), "function": flows.dropping()}.get(of, payer)
        nodes = [] if is_gone and of != "agent's tool" else [node]
        return serving(flows.of(*nodes))

    async with talk(bridge(), "mailer", store=store) as one:
        asked = await one.say("go")
    async with talk(bridge(is_gone=True), "mailer", store=store) as one:
        refused = await one.answer(asked, YES)
        assert (refused.ending, flows.done) == ("UPSTREAM_ERROR", [])
    async with talk(bridge(), "mailer", store=store) as one:
        assert (await one.answer(asked, YES)).ending == "success"
    assert len(flows.done) == 1
