"""The framework's orchestrations: what they ask can be read and answered, what ran is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Never

import pytest
from agent_framework import (
    Agent,
    Executor,
    Message,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    register_checkpoint_type,
    response_handler,
    tool,
)
from agent_framework.orchestrations import (
    ConcurrentBuilder,
    GroupChatBuilder,
    HandoffBuilder,
    MagenticBuilder,
    MagenticManagerBase,
    MagenticProgressLedger,
    MagenticProgressLedgerItem,
    SequentialBuilder,
)

from agui_bridge import Bridge
from agui_bridge.testing import talk
from agui_bridge.testing.conversation import Stream
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework.flows import below
from tests.adapters.agent_framework.scripted import Call, Scripted
from tests.adapters.mails import YES

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

REVIEW = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "feedback": {"type": "string"}},
    "required": ["approved"],
}


class Team:
    """Agents that say that they are done, the first of which may refund something before.

    Attributes:
        done: what was refunded.
        heard: what each request to a model had, by the agent.
        asks: whether refunds have to be approved.
    """

    def __init__(self) -> None:
        self.asks = True
        self.done: list[str] = []
        self.heard: list[tuple[str, list[str]]] = []

    def agent(self, name: str, *calls: Call, **options: Any) -> Agent[Any]:
        async def reply(messages: Sequence[Message], _: Any) -> AsyncIterator[Any]:
            self.heard.append((name, [one.text for one in messages]))
            answered = sum(one.role == "tool" for one in messages)
            if answered < len(calls):
                yield calls[answered]
            else:
                yield f"{name} is done. "

        return Agent(Scripted(reply), name=name, **options)

    def clerk(self, name: str, **options: Any) -> Agent[Any]:
        @tool(approval_mode="always_require" if self.asks else "never_require")
        def refund(order: str) -> str:
            """Refund an order."""
            self.done.append(order)
            return f"refunded {order}"

        return self.agent(name, Call("refund", {"order": "A"}), tools=[refund], **options)


def sequential(team: Team) -> Workflow:
    return SequentialBuilder(participants=[team.clerk("one"), team.agent("two")]).build()


def concurrent(team: Team) -> Workflow:
    return ConcurrentBuilder(participants=[team.clerk("one"), team.agent("two")]).build()


def group_chat(team: Team) -> Workflow:
    return GroupChatBuilder(
        participants=[team.clerk("one"), team.agent("two")],
        selection_func=lambda state: ["one", "two"][state.current_round % 2],
        max_rounds=2,
    ).build()


def nested(team: Team) -> Workflow:
    return below(sequential(team))


def reviewed(team: Team) -> Workflow:
    participants = [team.agent("one"), team.agent("two")]
    return SequentialBuilder(participants=participants).with_request_info().build()


def handoff(team: Team) -> Workflow:
    kept: Mapping[str, Any] = {"require_per_service_call_history_persistence": True}
    first = team.agent("first", Call("handoff_to_second"), **kept)
    second = team.clerk("second", **kept)
    built = HandoffBuilder(name="desk", participants=[first, second])
    return built.with_start_agent(first).build()


class Manager(MagenticManagerBase):
    """A manager that plans without a model, and is content once somebody has spoken."""

    async def plan(self, _: Any) -> Message:
        return Message("assistant", ["Ask one."])

    async def replan(self, magentic_context: Any) -> Message:
        return Message("assistant", [f"Ask one; {magentic_context.chat_history[-1].text}."])

    async def create_progress_ledger(self, magentic_context: Any) -> MagenticProgressLedger:
        said = any(one.text.startswith("one") for one in magentic_context.chat_history)

        def item(answer: str | bool) -> MagenticProgressLedgerItem:
            return MagenticProgressLedgerItem("because", answer)

        return MagenticProgressLedger(
            item(said), item(False), item(True), item("one"), item("Do it.")
        )

    async def prepare_final_answer(self, _: Any) -> Message:
        return Message("assistant", ["All is done."])


def magentic(team: Team) -> Workflow:
    return MagenticBuilder(
        participants=[team.clerk("one")], manager=Manager(), enable_plan_review=True
    ).build()


def serving(build: Callable[[], Workflow], folder: Path) -> Bridge:
    bridge = Bridge("memory:")
    bridge.add("flow", AgentFrameworkAdapter(lambda run: build(), checkpoints=folder))
    return bridge


def results(ended: Stream) -> list[str]:
    return [one["content"] for one in ended.events if one["type"] == "TOOL_CALL_RESULT"]


@pytest.mark.parametrize("build", [sequential, concurrent, group_chat])
async def test_what_an_agent_carried_out_is_told_with_its_result(
    build: Callable[[Team], Workflow], tmp_path: Path
) -> None:
    team = Team()
    async with talk(serving(lambda: build(team), tmp_path), "flow") as one:
        ended = await one.answer(await one.say("go"), YES)
        assert (ended.ending, team.done, results(ended)) == ("success", ["A"], ["refunded A"])
        told = [m["content"] for m in await one.messages() if m["role"] == "tool"]
        assert told == ["refunded A"]


@pytest.mark.parametrize("build", [sequential, concurrent, group_chat, nested])
async def test_what_an_agent_carries_out_without_a_question_is_told_though_it_yields_nothing(
    build: Callable[[Team], Workflow], tmp_path: Path
) -> None:
    team = Team()
    team.asks = False
    async with talk(serving(lambda: build(team), tmp_path), "flow") as one:
        ended = await one.say("go")
        assert (ended.ending, team.done, results(ended)) == ("success", ["A"], ["refunded A"])
        (call,) = (c for m in await one.messages() for c in m.get("toolCalls") or ())
        assert call["function"] == {"name": "refund", "arguments": '{"order": "A"}'}


async def test_a_review_shows_what_the_agent_said_and_goes_round_with_feedback(
    tmp_path: Path,
) -> None:
    team = Team()
    async with talk(serving(lambda: reviewed(team), tmp_path), "flow") as one:
        asked = await one.say("go")
        (ask,) = asked.asks
        assert (ask["message"], ask["responseSchema"]) == ("one is done. ", REVIEW)
        again = await one.answer(asked, {"approved": False, "feedback": "Shorter!"})
        assert [name for name, _ in team.heard] == ["one", "one"]
        assert team.heard[-1][1][-1] == "Shorter!"
        last = await one.answer(again, YES)
        assert last.asks[0]["message"] == "two is done. "
        ended = await one.answer(last, YES)
        assert (ended.ending, ended.text) == ("success", "two is done. ")


async def test_a_plan_is_what_people_read_and_a_no_without_feedback_is_asked_again(
    tmp_path: Path,
) -> None:
    team = Team()
    async with talk(serving(lambda: magentic(team), tmp_path), "flow") as one:
        asked = await one.say("go")
        assert (asked.asks[0]["message"], asked.asks[0]["responseSchema"]) == ("Ask one.", REVIEW)
        assert asked.asks[0]["metadata"]["data"]["plan"] == "Ask one."
        again = await one.answer(asked, {"approved": False})
        assert "`feedback` does not say" in str(again.fault)
        assert again.asks == asked.asks
        better = await one.answer(again, {"approved": False, "feedback": "be kind"})
        assert better.asks[0]["message"] == "Ask one; be kind."
        call = await one.answer(better, YES)
        assert (call.ending, call.asks[0]["reason"], team.done) == ("interrupt", "tool_call", [])
        ended = await one.answer(call, YES)
        assert (ended.ending, team.done, results(ended)) == ("success", ["A"], ["refunded A"])


async def test_in_a_handoff_the_person_reads_the_agents_words_and_answers_with_a_text(
    tmp_path: Path,
) -> None:
    team = Team()
    async with talk(serving(lambda: handoff(team), tmp_path), "flow") as one:
        call = await one.say("my order broke")
        asked = await one.answer(call, YES)
        assert (team.done, results(asked)) == (["A"], ["refunded A"])
        (ask,) = asked.asks
        assert (ask["message"], ask["responseSchema"]["type"]) == ("second is done. ", "string")
        more = await one.answer(asked, "and the next one")
        assert team.heard[-1][0] == "second"
        assert "and the next one" in team.heard[-1][1]
        assert (await one.answer(more, "")).ending == "success"
    assert team.done == ["A"]


class Wanting(Executor):
    """Asks for a response of a type.

    Args:
        kind: the type.
        got: told of what came.
    """

    def __init__(self, kind: Any, got: Callable[[Any], None]) -> None:
        super().__init__(id="wanting")
        self._kind = kind
        self._got = got

    @handler
    async def begin(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Ask."""
        await ctx.request_info({"question": "Which?"}, self._kind)

    @response_handler(request=dict, response=list)
    async def end(self, asked: Any, answer: Any, ctx: WorkflowContext[Never, str]) -> None:
        """Be done."""
        self._got(answer)
        await ctx.yield_output("Thanks.")


async def test_a_list_is_waited_for_in_a_folder_and_one_that_does_not_fit_is_asked_again(
    tmp_path: Path,
) -> None:
    got: list[Any] = []

    def build() -> Workflow:
        return WorkflowBuilder(start_executor=Wanting(list[str], got.append), name="w").build()

    async with talk(serving(build, tmp_path), "flow") as one:
        asked = await one.say("go")
        schema = asked.asks[0]["responseSchema"]
        assert schema == {"type": "array", "items": {"type": "string"}}
        assert (await one.answer(asked, ["a", "b"])).ending == "success"
    assert got == [["a", "b"]]


class Odd:
    """A type that no JSON is made into."""


register_checkpoint_type(Odd)


async def test_an_answer_that_the_framework_refuses_does_not_use_the_question_up(
    tmp_path: Path,
) -> None:
    got: list[Any] = []

    def build() -> Workflow:
        return WorkflowBuilder(start_executor=Wanting(list[Odd], got.append), name="w").build()

    async with talk(serving(build, tmp_path), "flow") as one:
        asked = await one.say("go")
        again = await one.answer(asked, "nothing")
        assert "can't go on with this" in str(again.fault)
        assert again.asks == asked.asks
    assert got == []
