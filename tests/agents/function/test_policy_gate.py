"""A policy judges every tool call before it is executed, whatever the agent says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import pytest

from agui_bridge.adapters import Resume
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.errors import AgentMistake, NotDelivered
from agui_bridge.policy import CallDenied, ProposedCall, Verdict
from agui_bridge.protocol.answers.decisions import Approve, Cancel, Decision, Decline
from agui_bridge.protocol.threads.records import Principal
from tests.agents.function.harness import Thread, make_run, show, yes

pytestmark = pytest.mark.anyio


class Tool:
    """Counts what is executed."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    async def __call__(self, **args: Any) -> str:
        self.done.append(args)
        return f"did {args}"


def calling(tool: Tool) -> Callable[[FunctionRun], Any]:
    """An agent that calls a tool and says what became of it."""

    async def agent(run: FunctionRun) -> Any:
        yield "before;"
        try:
            yield f"{await run.call('delete', {'table': 'users'}, tool)};"
        except CallDenied as error:
            yield f"denied by {error.by}: {error.reason} {error.cause};"
        await run.confirm("more?")
        yield "end"

    return agent


async def test_an_allowed_call_is_executed_without_a_question() -> None:
    tool, seen = Tool(), list[ProposedCall]()

    def policy(call: ProposedCall) -> str:
        seen.append(call)
        return "allow"

    thread = Thread(lambda: calling(tool))
    first = await thread.go(policy=policy)
    assert first.asked == ["more?"]
    assert (await thread.answer(yes, policy=policy)).text == "end"
    assert tool.done == [{"table": "users"}]
    (call,) = seen
    assert (call.agent, call.thread_id, call.name) == ("a", "t", "delete")
    assert (call.args, call.approved) == ({"table": "users"}, False)


async def test_a_denied_call_is_on_the_wire_and_never_executed() -> None:
    tool = Tool()

    def deny(call: ProposedCall) -> Verdict:
        return Verdict("deny", "not on Fridays")

    thread = Thread(lambda: calling(tool))
    first = await thread.go(policy=deny)
    kinds = [item[0] for item in first.wire if isinstance(item, tuple)]
    assert kinds == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]
    assert "denied this tool call; it was not executed. Reason: not on Fridays" in str(first.wire)
    assert first.text == "before;denied by policy: not on Fridays None;"
    # A replay takes the same path, whatever the policy says by then.
    assert (await thread.answer(yes, policy=lambda call: "allow")).text == "end"
    assert tool.done == []


async def test_an_asked_call_is_executed_once_after_its_approval() -> None:
    tool = Tool()

    def ask(call: ProposedCall) -> Verdict:
        return Verdict("ask", "Really delete?", editable=True, expires_in=60)

    thread = Thread(lambda: calling(tool))
    first = await thread.go(policy=ask)
    (question,) = first.pause.asks
    assert question.tool_call is not None
    assert (question.tool_call.name, question.tool_call.args) == ("delete", {"table": "users"})
    assert (question.message, question.expires_in) == ("Really delete?", 60)
    # Edits are offered where parameters are known, and of this tool they are not.
    assert (question.allowed, question.parameters) == (None, None)
    assert tool.done == []
    second = await thread.answer(yes, policy=ask)
    (result,) = [item for item in second.wire if isinstance(item, tuple)]
    assert result[:2] == ("TOOL_CALL_RESULT", question.tool_call.id)
    assert (await thread.answer(yes, policy=ask)).text == "end"
    assert tool.done == [{"table": "users"}]


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decline("too risky"), "denied by person: too risky None;"),
        (Cancel("cancelled"), "denied by person: None cancelled;"),
        (Cancel("expired"), "denied by person: None expired;"),
    ],
)
async def test_what_nobody_approved_is_not_executed_even_if_the_policy_allows_it_by_then(
    decision: Decision, said: str
) -> None:
    tool = Tool()
    thread = Thread(lambda: calling(tool))
    await thread.go(policy=lambda call: "ask")
    assert (await thread.answer([decision], policy=lambda call: "allow")).text == said
    assert (await thread.answer(yes)).text == "end"
    assert tool.done == []


async def test_edited_arguments_are_judged_before_they_are_executed() -> None:
    tool, seen = Tool(), list[tuple[Any, bool]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((dict(call.args), call.approved))
        return Verdict("deny", "no prod") if call.args["table"] == "prod" else Verdict("ask")

    thread = Thread(lambda: calling(tool))
    await thread.go(policy=policy)
    edited = Approve({"table": "prod"}, {"approved": True}, edited=True)
    second = await thread.answer([edited], policy=policy)
    assert second.text == "denied by policy: no prod None;"
    assert (await thread.answer(yes, policy=policy)).text == "end"
    assert tool.done == []
    assert seen == [({"table": "users"}, False), ({"table": "prod"}, True)]


async def test_an_approved_tool_is_judged_too_and_an_ask_is_satisfied_by_the_approval() -> None:
    def agent(tool: Tool) -> Callable[[FunctionRun], Any]:
        async def ops(run: FunctionRun) -> Any:
            approval = await run.approve("delete", {"table": "users"})
            try:
                yield await run.tool(approval, tool)
            except CallDenied as error:
                yield str(error)
            await run.confirm("more?")
            yield "end"

        return ops

    for verdict, done, text in (
        ("ask", [{"table": "users"}], "did {'table': 'users'}"),
        ("deny", [], "The tool call 'delete' was not executed: the policy refused it."),
    ):
        tool = Tool()
        thread = Thread(lambda tool=tool: agent(tool))  # type: ignore[misc]  # mypy infers no lambda with a default
        await thread.go(policy=lambda call, verdict=verdict: verdict)
        second = await thread.answer(yes, policy=lambda call, verdict=verdict: verdict)
        assert second.text == text
        (result,) = [item for item in second.wire if isinstance(item, tuple)]
        assert result[0] == "TOOL_CALL_RESULT"
        assert (await thread.answer(yes)).text == "end"
        assert tool.done == done


async def test_a_policy_that_fails_or_talks_nonsense_lets_nothing_through() -> None:
    def fail(call: ProposedCall) -> str:
        raise RuntimeError("secret")

    for policy, message in ((fail, "The policy failed on 'delete'"), (lambda c: True, "said True")):
        tool = Tool()
        with pytest.raises(AgentMistake, match=message):
            await Thread(lambda tool=tool: calling(tool)).go(policy=policy)  # type: ignore[misc]  # mypy infers no lambda with a default
        assert tool.done == []


async def test_an_async_policy_asks_about_parallel_calls_in_one_batch() -> None:
    tool = Tool()

    async def policy(call: ProposedCall) -> str:
        await asyncio.sleep(0)
        return "ask" if call.args["n"] else "allow"

    async def agent(run: FunctionRun) -> Any:
        got = await asyncio.gather(
            *(run.call("delete", {"n": n}, tool) for n in range(3)), return_exceptions=True
        )
        return [type(item).__name__ for item in got]

    thread = Thread(lambda: agent)
    first = await thread.go(policy=policy)
    assert first.asked == ["delete", "delete"]
    assert tool.done == [{"n": 0}]
    last = await thread.answer([Approve({"n": 1}, {"approved": True}), Decline("no")])
    assert last.run.result == ["str", "str", "CallDenied"]
    assert tool.done == [{"n": 0}, {"n": 1}]


async def test_the_policy_can_not_change_what_is_executed() -> None:
    tool = Tool()

    def policy(call: ProposedCall) -> str:
        with pytest.raises(TypeError, match="read-only"):
            call.args["table"] = "other"  # type: ignore[index]  # refused at run time too
        return "allow"

    await Thread(lambda: calling(tool)).go(policy=policy)
    assert tool.done == [{"table": "users"}]


async def test_a_failed_policy_fails_the_run_even_when_the_agent_catches_it() -> None:
    tool = Tool()

    def fail(call: ProposedCall) -> str:
        raise RuntimeError("down")

    async def agent(run: FunctionRun) -> Any:
        try:
            await run.call("pay", {}, tool)
        except Exception:
            yield "caught"
        await run.confirm("Nothing was paid?")

    with pytest.raises(AgentMistake, match="The policy failed on 'pay'"):
        await Thread(lambda: agent).go(policy=fail)
    assert tool.done == []


async def test_a_call_that_timed_out_while_it_was_judged_is_never_executed() -> None:
    tool = Tool()

    async def slow(call: ProposedCall) -> str:
        await asyncio.sleep(60)
        return "allow"

    async def agent(run: FunctionRun) -> Any:
        try:
            async with asyncio.timeout(0.01):
                await run.call("pay", {}, tool)
        except TimeoutError:
            yield "Could not pay. "
        await run.confirm("Nothing was paid?")
        yield "Told."

    thread = Thread(lambda: agent)
    assert (await thread.go(policy=slow)).text == "Could not pay. "
    # By now the policy answers at once; the call is over all the same.
    assert (await thread.answer(yes, policy=lambda call: "allow")).text == "Told."
    assert tool.done == []


async def test_an_approved_call_whose_policy_fails_has_certainly_not_begun() -> None:
    tool = Tool()

    def fail(call: ProposedCall) -> str:
        raise RuntimeError("down")

    async def agent(run: FunctionRun) -> Any:
        approval = await run.approve("pay", {})
        yield "Paying. "
        await run.tool(approval, tool)

    thread = Thread(lambda: agent)
    first = await thread.go()
    (ask,) = first.pause.asks
    items: list[Any] = []
    run = make_run(
        thread.mint,
        policy=fail,
        resume=Resume(first.pause.continuation, {ask.native_id: yes(ask)}),
    )
    with pytest.raises(AgentMistake, match="The policy failed"):
        async for item in FunctionAdapter(agent).run(run):
            items.append(item)  # kept also when it raises
    assert [show(item) for item in items[1:]] == []
    assert (list(run.not_begun), tool.done) == ([ask.native_id], [])


@pytest.mark.parametrize("together", [False, True])
async def test_answers_stay_open_when_the_policy_fails_before_anything_is_done(
    together: bool,
) -> None:
    tool = Tool()

    async def fail(call: ProposedCall) -> str:
        # The second is being judged still when the first fails.
        await asyncio.sleep(0 if call.args["n"] == 1 else 60)
        raise RuntimeError("down")

    async def agent(run: FunctionRun) -> Any:
        approvals = await asyncio.gather(*(run.approve("pay", {"n": n}) for n in (1, 2)))
        if together:
            await asyncio.gather(*(run.tool(approval, tool) for approval in approvals))
        else:
            for approval in approvals:
                await run.tool(approval, tool)

    thread = Thread(lambda: agent)
    paused = await thread.go()
    with pytest.raises(NotDelivered, match="The policy failed on 'pay'"):
        await thread.answer(yes, policy=fail)
    assert tool.done == []
    thread.last = paused
    await thread.answer(yes, policy=lambda call: "allow")
    assert tool.done == [{"n": 1}, {"n": 2}]


async def test_answers_are_spent_when_the_policy_fails_after_a_call_was_carried_out() -> None:
    tool = Tool()

    def second_fails(call: ProposedCall) -> str:
        return "allow" if call.args["n"] == 1 else "?"

    async def agent(run: FunctionRun) -> Any:
        for approval in await asyncio.gather(*(run.approve("pay", {"n": n}) for n in (1, 2))):
            await run.tool(approval, tool)

    thread = Thread(lambda: agent)
    await thread.go()
    with pytest.raises(AgentMistake, match="The policy said"):
        await thread.answer(yes, policy=second_fails)
    assert tool.done == [{"n": 1}]


async def test_sys_exit_in_a_policy_fails_the_run_only_whatever_task_asks_it() -> None:
    tool = Tool()

    def leave(call: ProposedCall) -> str:
        sys.exit(3)

    async def agent(run: FunctionRun) -> Any:
        await asyncio.gather(*(run.call("pay", {"n": n}, tool) for n in (1, 2)))

    with pytest.raises(AgentMistake, match="The policy failed on 'pay'"):
        await Thread(lambda: agent).go(policy=leave)
    assert tool.done == []


async def test_the_policy_judges_whoever_began_the_run_and_is_told_who_approved() -> None:
    tool, seen = Tool(), list[tuple[str, str | None]]()

    def policy(call: ProposedCall) -> str:
        seen.append((call.principal.actor, call.approved_by))
        return "allow" if call.principal.actor == "admin" else "ask"

    async def agent(run: FunctionRun) -> Any:
        await run.call("pay", {"amount": 1}, tool)
        await run.call("pay", {"amount": 1_000_000}, tool)

    thread = Thread(lambda: agent)
    bob, admin = Principal("team", "bob"), Principal("team", "admin")
    await thread.go(policy=policy, principal=bob)
    second = await thread.answer(yes, policy=policy, principal=admin)
    assert second.asked == ["pay"], "what admin did not see is asked about"
    assert tool.done == [{"amount": 1}]
    assert seen == [("bob", None), ("bob", "admin"), ("bob", None)]


async def test_calls_are_asked_about_together_however_long_each_is_judged() -> None:
    tool = Tool()

    async def policy(call: ProposedCall) -> str:
        for _ in range(call.args["n"] * 40):
            await asyncio.sleep(0)
        return "ask"

    async def agent(run: FunctionRun) -> Any:
        await asyncio.gather(*(run.call("pay", {"n": n}, tool) for n in range(3)))

    thread = Thread(lambda: agent)
    assert (await thread.go(policy=policy)).asked == ["pay"] * 3


async def test_arguments_may_have_any_name() -> None:
    tool = Tool()

    async def agent(run: FunctionRun) -> Any:
        await run.call("t", {"fn": 1, "self": 2, "args": 3}, lambda **args: tool.done.append(args))

    await Thread(lambda: agent).go()
    assert tool.done == [{"fn": 1, "self": 2, "args": 3}]
