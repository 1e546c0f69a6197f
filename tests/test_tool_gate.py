"""The gate before a tool: each row of its order, and what a stop and a fault come to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import pytest

from agui_bridge import (
    Approve,
    AskFirst,
    Cancel,
    Decision,
    Decline,
    Execute,
    Principal,
    ProposedCall,
    Refuse,
    Resume,
    Run,
    ToolCall,
    ToolGate,
    Verdict,
)
from agui_bridge.errors import Fenced
from agui_bridge.policy import PolicyFailed
from agui_bridge.tool_gate import CutOff, GoingOn
from tests.agents.function.harness import make_run

pytestmark = pytest.mark.anyio

ARGS = {"table": "users"}


def resumed(decisions: Mapping[str, Decision], **changes: Any) -> Run:
    return make_run(resume=Resume(None, decisions), **changes)


async def judged(run: Run, call_id: str = "c", **gate: Any) -> Any:
    return await ToolGate(run, **gate).before(call_id, "delete", ARGS)


class Judge:
    """A policy that notes what it was asked."""

    def __init__(self, says: Verdict | str = "allow") -> None:
        self.says = says
        self.seen: list[ProposedCall] = []

    def __call__(self, call: ProposedCall) -> Verdict | str:
        self.seen.append(call)
        return self.says


# --- the order ---


async def test_a_call_that_nothing_forbids_is_executed_with_its_arguments() -> None:
    assert await judged(make_run()) == Execute(ARGS)


async def test_a_stop_comes_before_all_else() -> None:
    policy = Judge()
    run = resumed({"c": Approve(ARGS)}, policy=policy)
    run.stop.request()
    verdict = await judged(run)
    assert (verdict.by, policy.seen) == ("stop", [])
    assert verdict.text == "The run was stopped; this tool call was not executed."


async def test_a_stop_that_another_process_took_is_looked_for() -> None:
    run = make_run()

    async def look() -> None:
        run.stop.request()

    run.check_stop = look
    assert (await judged(run)).by == "stop"


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (
            Decline("not today"),
            "The user declined this tool call; it was not executed. Reason: not today",
        ),
        (Cancel(), "The approval was cancelled; this tool call was not executed."),
        (Cancel("expired"), "The time to approve this tool call is over; it was not executed."),
    ],
)
async def test_a_call_that_nobody_approved_is_refused_in_the_engines_words(
    decision: Decision, text: str
) -> None:
    policy = Judge()
    assert await judged(resumed({"c": decision}, policy=policy)) == Refuse(text, "person")
    assert not policy.seen


async def test_what_was_approved_is_executed_edits_included() -> None:
    edited = Approve({"table": "logs"}, edited=True)
    assert await judged(resumed({"c": edited}), approve={"delete"}) == Execute(
        {"table": "logs"}, edited=True
    )


async def test_an_approval_is_found_under_the_name_that_it_was_asked_under() -> None:
    policy = Judge()
    run = make_run(
        resume=Resume(None, {"native": Approve(ARGS)}, actors={"native": "bob"}), policy=policy
    )
    gate = ToolGate(run, approve={"delete"}, actor="alice")
    assert await gate.before("c", "delete", {}, native_id="native") == Execute(ARGS)
    assert [(c.approved, c.approved_by, c.principal.actor) for c in policy.seen] == [
        (True, "bob", "alice")
    ]


async def test_an_approval_counts_once() -> None:
    gate = ToolGate(resumed({"c": Approve(ARGS)}), approve={"delete"})
    assert isinstance(await gate.before("c", "delete", ARGS), Execute)
    assert isinstance(await gate.before("c", "delete", ARGS), AskFirst)


async def test_the_policy_judges_the_arguments_that_would_be_executed() -> None:
    policy = Judge()
    run = resumed(
        {"c": Approve({"table": "logs"}, edited=True)},
        policy=policy,
        principal=Principal(actor="ann"),
    )
    await judged(run)
    (seen,) = policy.seen
    assert (seen.args, seen.approved, seen.approved_by) == ({"table": "logs"}, True, "ann")


async def test_what_a_policy_does_to_the_arguments_is_not_executed() -> None:
    def policy(call: ProposedCall) -> str:
        call.args["table"] = "all"  # type: ignore[index]
        return "allow"

    assert await judged(make_run(policy=policy)) == Execute(ARGS)


@pytest.mark.parametrize("decisions", [{}, {"c": Approve(ARGS)}])
async def test_what_the_policy_denies_is_refused_though_it_was_approved(
    decisions: dict[str, Decision],
) -> None:
    run = resumed(decisions, policy=Judge(Verdict("deny", "frozen")))
    assert await judged(run) == Refuse(
        "The policy denied this tool call; it was not executed. Reason: frozen", "policy"
    )


async def test_the_policy_has_people_asked() -> None:
    run = make_run(policy=Judge(Verdict("ask", "Sure?", editable=True, expires_in=60)))
    verdict = await ToolGate(run).before("c", "delete", ARGS, parameters={"type": "object"})
    ask = verdict.ask  # type: ignore[union-attr]
    assert (ask.native_id, ask.reason, ask.message, ask.expires_in) == (
        *("c", "tool_call", "Sure?"),
        60,
    )
    assert ask.tool_call == ToolCall("c", "delete", ARGS)
    assert (ask.parameters, ask.allowed) == ({"type": "object"}, None)


async def test_what_the_policy_does_not_offer_can_not_be_edited() -> None:
    run = make_run(policy=Judge("ask"))
    verdict = await ToolGate(run).before("c", "delete", ARGS, parameters={"type": "object"})
    ask = verdict.ask  # type: ignore[union-attr]
    assert (ask.parameters, ask.allowed) == (None, ("approve", "decline", "respond"))
    assert ask.message == "The policy asks for an approval of 'delete'."


async def test_what_was_approved_is_not_asked_about_again() -> None:
    run = resumed({"c": Approve(ARGS)}, policy=Judge("ask"))
    assert await judged(run, approve={"delete"}) == Execute(ARGS)


@pytest.mark.parametrize("rule", [{"delete"}, lambda call: call.args["table"] == "users"])
async def test_the_adapters_own_rule_has_people_asked(rule: Any) -> None:
    verdict = await judged(make_run(policy=Judge()), approve=rule)
    assert verdict.ask.tool_call == ToolCall("c", "delete", ARGS)


@pytest.mark.parametrize("rule", [{"other"}, lambda call: False])
async def test_what_the_rule_leaves_out_is_executed(rule: Any) -> None:
    assert await judged(make_run(), approve=rule) == Execute(ARGS)


async def test_an_adapter_around_it_hears_of_all_that_was_said_before_the_tool_begins() -> None:
    order: list[str] = []

    async def taken() -> None:
        order.append("taken")

    run = make_run(before_act=lambda: order.append("before act"))
    assert isinstance(await judged(run, taken=taken), Execute)
    assert order == ["taken", "before act"]


async def test_nothing_is_brought_before_an_adapter_around_it_that_is_not_executed() -> None:
    order: list[str] = []
    run = make_run(before_act=lambda: order.append("before act"), policy=Judge("deny"))
    await judged(run)
    assert not order


async def test_an_adapter_around_it_keeps_a_tool_from_beginning() -> None:
    run = make_run()
    run.before_act = run.stop.request
    gate = ToolGate(run)
    assert (await gate.before("c", "delete", ARGS)).by == "stop"  # type: ignore[union-attr]
    assert not gate.begun


async def test_a_stop_while_the_policy_thinks_keeps_a_tool_from_beginning() -> None:
    run = make_run()

    async def policy(call: ProposedCall) -> str:
        run.stop.request()
        return "allow"

    run.policy = policy
    assert (await judged(run)).by == "stop"


async def test_an_approval_that_a_stop_kept_from_running_is_not_noted_as_begun() -> None:
    run = resumed({"c": Approve(ARGS)})
    run.stop.request()
    gate = ToolGate(run)
    await gate.before("c", "delete", ARGS)
    assert not gate.begun


# --- what ends the run ---


def lost() -> None:
    raise Fenced("another process has the run")


async def test_without_the_lease_nothing_is_executed_and_nothing_after_it() -> None:
    run = make_run(check_lease=lost)
    gate = ToolGate(run)
    with pytest.raises(Fenced):
        await gate.before("c", "delete", ARGS)
    run.check_lease = lambda: None
    # A framework that took it for a tool's error goes on, and comes here again.
    with pytest.raises(Fenced):
        await gate.before("d", "delete", ARGS)
    with pytest.raises(Fenced):
        gate.raise_fault()
    assert not gate.begun


def broken(call: ProposedCall) -> str:
    raise ValueError("no such table")


@pytest.mark.parametrize("policy", [broken, lambda call: "perhaps"])
async def test_a_policy_that_fails_ends_the_run(policy: Callable[[ProposedCall], str]) -> None:
    gate = ToolGate(make_run(policy=policy))
    with pytest.raises(PolicyFailed):
        await gate.before("c", "delete", ARGS)
    assert isinstance(gate.fault, PolicyFailed)


async def test_a_gate_without_a_fault_raises_none() -> None:
    gate = ToolGate(make_run())
    await gate.before("c", "delete", ARGS)
    gate.raise_fault()


# --- what runs, and a stop ---


async def test_a_graceful_stop_waits_for_the_tool_that_runs() -> None:
    run = make_run()
    gate = ToolGate(run)
    async with gate.acting("c", "delete", ARGS) as verdict:
        assert verdict == Execute(ARGS)
        assert gate.running_tools == 1
        run.stop.request()
        waiting = asyncio.create_task(gate.stopped())
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
    await asyncio.wait_for(waiting, 10)
    assert gate.begun == {"c"}


async def test_who_is_cancelled_as_the_last_tool_ends_does_not_go_on() -> None:
    run = make_run()
    gate = ToolGate(run)
    run.stop.request()
    async with gate.running("c"):
        waiting = asyncio.create_task(gate.stopped())
        await asyncio.sleep(0.02)
    waiting.cancel()
    await asyncio.wait({waiting}, timeout=10)
    assert waiting.cancelled()


async def test_a_forced_stop_waits_for_no_tool() -> None:
    run = make_run()
    gate = ToolGate(run)
    async with gate.running("c"):
        run.stop.request()
        waiting = asyncio.create_task(gate.stopped())
        run.stop.request(force=True)
        await asyncio.wait_for(waiting, 10)


async def test_a_call_that_is_refused_does_not_run() -> None:
    run = make_run(policy=Judge("deny"))
    gate = ToolGate(run)
    async with gate.acting("c", "delete", ARGS) as verdict:
        assert isinstance(verdict, Refuse)
        assert gate.running_tools == 0
    assert not gate.begun


async def test_a_tool_that_fails_runs_no_more() -> None:
    gate = ToolGate(make_run())
    with pytest.raises(ZeroDivisionError):
        async with gate.acting("c", "delete", ARGS):
            raise ZeroDivisionError
    assert gate.running_tools == 0


# --- tools that are cancelled ---


async def from_inside(begun: asyncio.Event) -> None:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


async def from_outside(begun: asyncio.Event) -> None:
    begun.set()
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("tool", "is_stopped", "is_fault"),
    [(from_inside, False, True), (from_inside, True, False), (from_outside, False, False)],
)
async def test_only_a_tool_that_nobody_cancelled_is_a_fault(
    tool: Callable[[asyncio.Event], Coroutine[Any, Any, None]], is_stopped: bool, is_fault: bool
) -> None:
    run, begun, failed = make_run(), asyncio.Event(), list[bool]()
    gate = ToolGate(run)
    gate.failed = lambda: failed.append(True)
    if is_stopped:
        run.stop.request()

    async def carry_out() -> None:
        async with gate.running("c"):
            await tool(begun)

    working = asyncio.create_task(carry_out())
    if tool is from_outside:
        await asyncio.wait_for(begun.wait(), 10)
        working.cancel()
    await asyncio.wait([working], timeout=10)
    assert working.cancelled()
    assert (isinstance(gate.fault, CutOff), len(failed)) == (is_fault, is_fault)


# --- a call that has begun, and asked in its middle ---


@pytest.mark.parametrize(
    ("says", "approvers", "goes_on"),
    [
        ("allow", (), True),
        ("allow", ("ann",), True),
        ("ask", ("ann",), True),
        ("ask", (), False),
        ("deny", ("ann",), False),
    ],
)
async def test_a_policy_lets_a_begun_call_go_on_or_ends_it(
    says: str, approvers: tuple[str, ...], goes_on: bool
) -> None:
    policy = Judge(says)
    gate = ToolGate(
        make_run(policy=policy), approve={"delete"}, going_on={"c": GoingOn(ARGS, approvers)}
    )
    verdict = await gate.before("c", "delete", {"table": "another"})
    if goes_on:
        assert verdict == Execute(ARGS)
        assert gate.executed["c"] == GoingOn(ARGS, approvers)
    else:
        assert isinstance(verdict, Refuse)
        assert "executed in part is unknown" in verdict.text
    (heard,) = policy.seen
    assert (heard.args, heard.approvers) == (ARGS, approvers)
    assert gate.begun == {"c"}


async def test_a_begun_call_goes_on_once() -> None:
    gate = ToolGate(make_run(), approve={"delete"}, going_on={"c": GoingOn(ARGS)})
    assert await gate.before("c", "delete", ARGS) == Execute(ARGS)
    assert isinstance(await gate.before("c", "delete", ARGS), AskFirst)


async def test_of_a_begun_call_a_stop_never_says_that_it_did_not_begin() -> None:
    run = make_run()
    run.stop.request()
    gate = ToolGate(run, going_on={"c": GoingOn(ARGS)})
    verdict = await gate.before("c", "delete", ARGS)
    assert isinstance(verdict, Refuse)
    assert verdict.by == "stop"
    assert gate.begun == {"c"}


async def test_a_begun_call_goes_on_under_its_lease_alone() -> None:
    def lost() -> None:
        raise Fenced("lost")

    run = make_run()
    run.check_lease = lost
    gate = ToolGate(run, going_on={"c": GoingOn(ARGS)})
    with pytest.raises(Fenced):
        await gate.before("c", "delete", ARGS)
    assert gate.begun == set()


async def test_a_call_that_goes_on_has_its_values_made_again() -> None:
    made: list[Mapping[str, Any]] = []

    def validated(args: Mapping[str, Any]) -> Mapping[str, Any]:
        made.append(args)
        return args

    gate = ToolGate(make_run(), going_on={"c": GoingOn(ARGS, ("ann",), edited=True)})
    verdict = await gate.before("c", "delete", {}, validated=validated)
    assert verdict == Execute(ARGS, edited=True)
    assert made == [ARGS]


async def test_a_call_that_was_to_go_on_leaves_no_approval() -> None:
    policy = Judge("deny")
    run = resumed({"c": Approve(ARGS)}, policy=policy)
    gate = ToolGate(run, approve={"delete"}, going_on={"c": GoingOn(ARGS)})
    assert isinstance(await gate.before("c", "delete", ARGS), Refuse)
    policy.says = "allow"
    assert isinstance(await gate.before("c", "delete", ARGS), AskFirst)
