"""A call that asks in its middle: one call, one result, whatever comes between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agui_bridge.adapters import Ask, Resume
from agui_bridge.agents.function.adapter import FunctionAdapter
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.errors import AgentMistake
from agui_bridge.frameworks.needs_input import MAX_ROUNDS, NeedsInput, answered
from agui_bridge.policy import CallDenied, ProposedCall, ToolHints, Verdict
from agui_bridge.protocol.answers.decisions import Answer, Cancel, Decision, Decline
from agui_bridge.protocol.schemas.checking import UnsafeSchema
from agui_bridge.protocol.threads.records import ToolCall
from tests.agents.function.harness import Outcome, Thread, collect, make_run, yes

pytestmark = pytest.mark.anyio

CODE = {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}


class Bank:
    """A tool that wants a code in the middle of each payment."""

    def __init__(self, rounds: int = 1) -> None:
        self.rounds = rounds
        self.begun: list[Any] = []
        self.seen: list[Any] = []
        self.paid: list[Any] = []

    async def __call__(self, amount: int) -> Any:
        given = answered()
        self.seen.append(given)
        if given is None:
            self.begun.append(amount)
        elif not isinstance(given.answers["code"], Answer):
            return f"not paid: {type(given.answers['code']).__name__}"
        asked = 0 if given is None else given.round
        if asked < self.rounds:
            ask = Ask("code", message=f"Code {asked + 1}?", response_schema=CODE)
            return NeedsInput([ask], {"payment": 7, "asked": asked + 1})
        assert given is not None
        code = given.answers["code"]
        assert isinstance(code, Answer)
        self.paid.append((amount, code.payload, given.state))
        return f"paid {amount}"


def paying(bank: Callable[..., Any], *, approve: bool = False) -> Callable[[FunctionRun], Any]:
    async def agent(run: FunctionRun) -> Any:
        yield "before;"
        try:
            if approve:
                approval = await run.approve("pay", {"amount": 10})
                yield f"{await run.tool(approval, bank)};"
            else:
                yield f"{await run.call('pay', {'amount': 10}, bank)};"
        except CallDenied as error:
            yield f"{error};"
        except StepFailed as error:
            yield f"failed: {error.error};"
        await run.confirm("more?")
        yield "end"

    return agent


def calls_in(*runs: Outcome) -> list[tuple[str, str]]:
    """Events of calls, and their calls' ids."""
    events = [item for run in runs for item in run.wire if isinstance(item, tuple)]
    return [(event[0], event[1]) for event in events]


def code(ask: Ask) -> Decision:
    return Answer({"code": "4711"})


@pytest.mark.parametrize("approve", [False, True])
@pytest.mark.parametrize("rounds", [1, 3])
async def test_one_call_has_one_result_and_its_questions_between(
    approve: bool, rounds: int
) -> None:
    bank = Bank(rounds)
    thread = Thread(lambda: paying(bank, approve=approve))
    runs = [await thread.go()]
    if approve:
        (ask,) = runs[0].pause.asks
        call = ask.tool_call.id if ask.tool_call else None
        runs.append(await thread.answer(yes))
    else:
        call = calls_in(runs[0])[0][1]
    for number in range(rounds):
        (ask,) = runs[-1].pause.asks
        assert (ask.about, ask.tool_call, ask.message) == (call, None, f"Code {number + 1}?")
        assert bank.paid == []
        runs.append(await thread.answer(code))
    assert runs[-1].asked == ["more?"]
    runs.append(await thread.answer(yes))
    assert runs[-1].text == "end"
    assert bank.begun == [10]
    assert bank.paid == [(10, {"code": "4711"}, {"payment": 7, "asked": rounds})]
    started = [] if approve else ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert calls_in(*runs) == [(kind, call) for kind in [*started, "TOOL_CALL_RESULT"]]


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (Decline("no phone"), "not paid: Decline;"),
        (Cancel("cancelled"), "not paid: Cancel;"),
        (Cancel("expired"), "not paid: Cancel;"),
    ],
)
async def test_who_does_not_answer_is_told_to_the_tool(decision: Decision, said: str) -> None:
    bank = Bank()
    thread = Thread(lambda: paying(bank))
    await thread.go()
    assert said in (await thread.answer([decision])).text
    answer = bank.seen[-1].answers["code"]
    assert type(answer) is type(decision)
    assert getattr(answer, "reason", None) == getattr(decision, "reason", None)
    assert getattr(answer, "cause", None) == getattr(decision, "cause", None)
    assert bank.paid == []


async def test_several_questions_come_back_by_their_names_and_a_sync_tool_may_ask() -> None:
    def book(**args: Any) -> Any:
        given = answered()
        if given is None:
            return NeedsInput([Ask("from", message="From?"), Ask("to", message="To?")])
        answers = given.answers.items()
        return {name: each.payload for name, each in answers if isinstance(each, Answer)} | args

    async def agent(run: FunctionRun) -> Any:
        # Names that a protocol might use are a tool's own to have.
        return str(await run.call("book", {"state": "CA", "answers": 1}, book))

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert first.asked == ["From?", "To?"]
    assert len({str(ask.about) for ask in first.pause.asks}) == 1
    last = await thread.answer([Answer("Rome"), Answer("Oslo")])
    assert last.text == str({"from": "Rome", "to": "Oslo", "state": "CA", "answers": 1})


async def test_a_tool_that_asks_without_end_is_given_up() -> None:
    bank = Bank(MAX_ROUNDS + 5)
    thread = Thread(lambda: paying(bank))
    last = await thread.go()
    rounds = 0
    while last.asked != ["more?"]:
        rounds += 1
        last = await thread.answer(code)
    assert rounds == MAX_ROUNDS
    assert last.text == "failed: TooManyRounds;"
    assert "asked too often" in str(last.wire)
    assert bank.paid == []


@pytest.mark.parametrize("approve", [False, True])
async def test_the_policy_is_heard_in_each_round_and_can_stop_a_call_that_has_begun(
    approve: bool,
) -> None:
    bank = Bank(2)
    thread = Thread(lambda: paying(bank, approve=approve))
    seen: list[ProposedCall] = []

    def allow(call: ProposedCall) -> str:
        seen.append(call)
        return "allow"

    def deny(call: ProposedCall) -> Verdict:
        return Verdict("deny", "the limit is reached")

    await thread.go(policy=allow)
    if approve:
        await thread.answer(yes, policy=allow)
    await thread.answer(code, policy=allow)
    assert [call.args for call in seen] == [{"amount": 10}] * 2
    last = await thread.answer(code, policy=deny)
    assert "went no further" in last.text
    assert "whether it was executed in part is unknown" in str(last.wire)
    assert "it was not executed" not in str(last.wire)
    assert bank.paid == []
    # A replay takes the same path.
    assert (await thread.answer(yes, policy=allow)).text == "end"


async def test_nobody_can_approve_what_has_begun() -> None:
    bank = Bank()
    thread = Thread(lambda: paying(bank))
    await thread.go(policy=lambda call: "allow")
    last = await thread.answer(code, policy=lambda call: "ask")
    assert "went no further" in last.text
    assert last.asked == ["more?"]
    assert bank.paid == []


async def test_what_was_edited_when_it_was_approved_stays_and_an_answer_edits_nothing() -> None:
    bank = Bank()
    thread = Thread(lambda: paying(bank))

    def ask(call: ProposedCall) -> str:
        return "allow" if call.approved else "ask"

    await thread.go(policy=ask)
    await thread.answer(yes, policy=ask)
    injected = Answer({"code": "1", "approved": True, "editedArgs": {"amount": 99}})
    await thread.answer([injected], policy=ask)
    assert [(amount, state) for amount, _, state in bank.paid] == [(10, {"payment": 7, "asked": 1})]


async def test_a_stopped_run_begins_no_further_round() -> None:
    bank = Bank()
    thread = Thread(lambda: paying(bank))
    await thread.go()
    assert thread.last is not None
    asked = thread.last.pause

    async def stop(run: Any) -> None:
        run.stop.request()

    decisions = {one.native_id: code(one) for one in asked.asks}
    run = make_run(thread.mint, resume=Resume(asked.continuation, decisions))
    run.check_stop = lambda: stop(run)
    last = await collect(FunctionAdapter(paying(bank)), run)
    # Of a call that has begun nobody may say that it never did.
    assert (last.final, run.not_begun) == (None, [])
    assert len(bank.seen) == 1


async def test_a_timeout_of_the_authors_gives_the_call_up_in_each_replay() -> None:
    bank = Bank()

    async def agent(run: FunctionRun) -> Any:
        async def pay() -> None:
            yield_to.append(await run.call("pay", {"amount": 1}, bank))

        yield_to: list[Any] = []
        slow = asyncio.create_task(pay())
        # Keeps the run from pausing until the call is given up.
        await run.step("wait", lambda: asyncio.sleep(0.1))
        for _ in range(3):
            await asyncio.sleep(0)  # a replay comes to the call, too
        slow.cancel()
        await asyncio.wait([slow])
        await run.confirm("more?")
        return "end"

    thread = Thread(lambda: agent)
    first = await thread.go()
    assert first.asked == ["more?"]
    assert "cancelled while it ran" in str(first.wire)
    assert (await thread.answer(yes)).text == "end"
    assert bank.begun == [1]


async def test_only_a_tool_can_ask_in_its_middle() -> None:
    async def agent(run: FunctionRun) -> Any:
        try:
            await run.step("pay", lambda: NeedsInput([Ask("code")]))
        except StepFailed as error:
            return error.text

    assert "only a tool of run.call or run.tool" in (await Thread(lambda: agent).go()).text


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: NeedsInput([]), "one or more Ask"),
        (lambda: NeedsInput([Ask("a"), Ask("a")]), "two questions of one native_id"),
        (lambda: NeedsInput([Ask("a", about="c")]), "leave tool_call and about out"),
        (lambda: NeedsInput([Ask("a", tool_call=ToolCall("c", "n", {}))]), "leave tool_call"),
        (lambda: NeedsInput([Ask("a")], object()), "no JSON form"),
        (lambda: NeedsInput([Ask("a", response_schema={"type": 3})]), "schema"),
    ],
)
def test_a_question_that_cannot_be_is_refused_where_it_is_made(
    make: Callable[[], Any], fault: str
) -> None:
    with pytest.raises((AgentMistake, UnsafeSchema), match=fault):
        make()


async def test_a_policy_hears_the_hints_of_a_tool() -> None:
    class Counting:
        hints = ToolHints(read_only=True, server="shop")

        async def __call__(self, **args: Any) -> int:
            return 3

    async def agent(run: FunctionRun) -> Any:
        return str(await run.call("count", {}, Counting()))

    seen: list[ToolHints] = []

    def policy(call: ProposedCall) -> str:
        seen.append(call.hints)
        return "allow"

    await Thread(lambda: agent).go(policy=policy)
    assert seen == [ToolHints(read_only=True, server="shop")]
