"""Agents with the framework's approval middleware: its rules approve, people all the rest."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from agent_framework import (
    Agent,
    Content,
    MiddlewareBundle,
    ToolApprovalMiddleware,
    create_harness_agent,
    tool,
)

from agui_bridge import Bridge, ProposedCall, Verdict
from agui_bridge.testing import Talk, talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import agents as flow, below
from tests.adapters.agent_framework.scripted import Call, Scripted

pytestmark = pytest.mark.filterwarnings("ignore:.* is experimental and may change")

YES, NO = {"approved": True}, {"approved": False}
DECLINED: Final = "The user declined this tool call; it was not executed."


class Colour(enum.Enum):
    """One that the framework can't compare with what was approved."""

    RED = "red"


class Payer:
    """An agent whose author lets it pay small sums, and what it did."""

    def __init__(self, *calls: Call) -> None:
        self.done: list[Any] = []
        self.open: list[set[str]] = []
        self._calls = calls
        self.client = Scripted(self._reply)
        self.tools = [
            tool(self.pay, approval_mode="always_require"),
            tool(self.paint, approval_mode="always_require"),
            tool(self.look),
        ]

    async def pay(self, to: str, amount: int) -> str:
        """Pay."""
        self.done.append((to, amount))
        return f"paid {to}"

    async def paint(self, colour: Colour) -> str:
        """Paint."""
        self.done.append(colour)
        return f"painted {colour.value}"

    async def look(self, to: str) -> str:
        """Look."""
        self.done.append(to)
        return f"saw {to}"

    async def _reply(self, messages: Sequence[Any], options: Any) -> Any:
        contents = [content for message in messages for content in message.contents]
        called = {str(c.call_id) for c in contents if c.type == "function_call"}
        self.open.append(called - {c.call_id for c in contents if c.type == "function_result"})
        last = [message.text for message in messages if message.role == "user" and message.text]
        if last[-1] != "go" or messages[-1].role != "user":
            yield "Done."
            return
        for call in self._calls:
            yield call


def small(call: Content) -> bool:
    """Whether the author approves a call."""
    args: Any = call.parse_arguments() or {}
    return call.name == "paint" or int(args.get("amount", 0)) < 10


def middleware() -> ToolApprovalMiddleware:
    """What has the rule."""
    return ToolApprovalMiddleware(auto_approval_rules=[small])


def harness(payer: Payer) -> Agent[Any]:
    """A harness, which brings the middleware itself."""
    return create_harness_agent(
        payer.client,
        name="payer",
        tools=payer.tools,
        disable_file_memory=True,
        disable_web_search=True,
        auto_approval_rules=[small],
    )


def with_middleware(payer: Payer, *own: Any) -> Agent[Any]:
    """An agent with this middleware."""
    return Agent(payer.client, name="payer", tools=payer.tools, middleware=own)


AGENTS: Final[dict[str, Callable[[Payer], Any]]] = {
    "middleware": lambda payer: with_middleware(payer, middleware()),
    "a bundle": lambda payer: with_middleware(payer, MiddlewareBundle([middleware()])),
    "a harness": harness,
}
WORKFLOWS: Final[dict[str, Callable[[Any], Any]]] = {
    "a workflow": flow,
    "one in another": lambda agent: below(flow(agent)),
}
SMALL, LARGE = Call("pay", {"to": "ann", "amount": 1}), Call("pay", {"to": "bob", "amount": 99})
OTHER: Final = Call("pay", {"to": "eve", "amount": 50})
LOOK, PAINT = Call("look", {"to": "cat"}), Call("paint", {"colour": "red"})


@dataclass(frozen=True)
class Case:
    """What a model calls, what people answer, and what comes of it."""

    calls: tuple[Call, ...]
    answers: tuple[dict[str, Any], ...]
    done: list[Any]


CASES: Final = {
    "a rule": Case((SMALL,), (), [("ann", 1)]),
    "a rule, beside a call of nobody's": Case((SMALL, LOOK), (), [("ann", 1), "cat"]),
    "an argument that is an Enum": Case((PAINT,), (), [Colour.RED]),
    "people": Case((LARGE, OTHER), (YES, NO), [("bob", 99)]),
    "both": Case((SMALL, LARGE, PAINT), (YES,), [("ann", 1), ("bob", 99), Colour.RED]),
    "both, and people decline": Case((LARGE, SMALL), (NO,), [("ann", 1)]),
}


async def finished(one: Talk, payer: Payer, case: Case) -> None:
    """Have a conversation as the case has it, and look at what came of it."""
    asked = await one.say("go")
    assert len(asked.asks) == len(case.answers)
    if case.answers:
        assert payer.done == [], "what a rule approved waits for the calls beside it"
        asked = await one.answer(asked, *case.answers)
    assert (asked.ending, sorted(map(str, payer.done))) == (
        "success",
        sorted(map(str, case.done)),
    )
    told = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert len(told) == len(case.calls)
    assert told.count(DECLINED) == case.answers.count(NO)
    assert (await one.say("hello")).ending == "success"
    assert payer.open[-1] == set()


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("case", CASES.values(), ids=[*CASES])
async def test_a_rule_approves_and_people_are_asked_about_the_rest_at_once(
    kind: str, case: Case
) -> None:
    payer = Payer(*case.calls)
    bridge = Bridge("memory:")
    bridge.add("payer", AGENTS[kind](payer))
    async with talk(bridge, "payer") as one:
        await finished(one, payer, case)


@pytest.mark.parametrize("kind", WORKFLOWS)
@pytest.mark.parametrize("case", CASES.values(), ids=[*CASES])
async def test_so_do_the_rules_of_agents_in_workflows(
    kind: str, case: Case, tmp_path: Path
) -> None:
    payer = Payer(*case.calls)
    agent = with_middleware(payer, middleware())
    bridge = Bridge("memory:")
    bridge.add(
        "payer", AgentFrameworkAdapter(lambda _: WORKFLOWS[kind](agent), checkpoints=tmp_path)
    )
    async with talk(bridge, "payer") as one:
        await finished(one, payer, case)


@pytest.mark.parametrize("answer", [YES, NO], ids=["yes", "no"])
@pytest.mark.parametrize("calls", [(SMALL,), (SMALL, LARGE), (PAINT,)], ids=["one", "two", "enum"])
async def test_a_policy_may_have_people_asked_about_what_a_rule_approves(
    calls: tuple[Call, ...], answer: dict[str, Any]
) -> None:
    payer = Payer(*calls)
    bridge = Bridge("memory:")
    bridge.add("payer", with_middleware(payer, middleware()))

    def policy(call: ProposedCall) -> Verdict:
        return Verdict(
            "allow" if call.approved or call.args.get("amount") == 99 else "ask", "Sure?"
        )

    bridge.policy(policy)
    async with talk(bridge, "payer") as one:
        told = await one.say("go")
        if LARGE in calls:
            told = await one.answer(told, YES)
        assert [ask["message"] for ask in told.asks] == ["Sure?"]
        assert (await one.answer(told, answer)).ending == "success"
    executed = len(calls) if answer is YES else len(calls) - 1
    assert len(payer.done) == executed


async def test_a_policy_may_deny_what_a_rule_approves() -> None:
    payer = Payer(SMALL)
    bridge = Bridge("memory:")
    bridge.add("payer", with_middleware(payer, middleware()))
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "payer") as one:
        assert (await one.say("go")).ending == "success"
        (told,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert (payer.done, told.startswith("The policy denied")) == ([], True)


async def test_what_a_rule_approved_never_runs_once_its_neighbour_was_stopped() -> None:
    payer = Payer(SMALL, LARGE)
    bridge = Bridge("memory:")
    bridge.add("payer", with_middleware(payer, middleware()))
    async with talk(bridge, "payer") as one:
        assert len((await one.say("go")).asks) == 1
        await one.stop()
        assert (await one.say("hello")).ending == "success"
    assert payer.done == []
    assert payer.open[-1] == set()


async def test_what_a_rule_approved_waits_in_the_store_for_the_answer(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/bridge.db"
    done: list[Any] = []
    asked: Any = None
    for _ in range(2):
        payer = Payer(SMALL, LARGE, PAINT)
        payer.done = done
        bridge = Bridge("memory:")
        bridge.add("payer", harness(payer))
        async with talk(bridge, "payer", store=store) as one:
            asked = await one.answer(asked, YES) if asked else await one.say("go")
    assert asked.ending == "success"
    assert sorted(map(str, done)) == sorted(map(str, [("ann", 1), ("bob", 99), Colour.RED]))


async def test_outside_of_the_bridge_the_middleware_does_what_it_does_by_itself(
    tmp_path: Path,
) -> None:
    payer = Payer(LARGE, OTHER)
    agent = with_middleware(payer, middleware())
    bridge = Bridge("memory:")
    bridge.add("flow", AgentFrameworkAdapter(lambda _: flow(agent), checkpoints=tmp_path))
    async with talk(bridge, "flow") as one:
        assert len((await one.say("go")).asks) == 2
    alone = await agent.run("go", session=agent.create_session())
    assert len(alone.user_input_requests) == 1, "it asks about one call at a time"
