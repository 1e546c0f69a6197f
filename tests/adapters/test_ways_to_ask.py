"""A tool that returns `NeedsInput`, and what may go wrong with it in one framework's own way."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest
from agent_framework import Agent as AFAgent, tool as af_tool
from google.adk.tools.tool_context import ToolContext as AdkContext
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import AfterValidator
from pydantic_ai import Agent, ApprovalRequired, RunContext
from pydantic_ai.models.function import FunctionModel
from strands import ToolContext as StrandsContext, tool as strands_tool
from strands.hooks import AfterToolCallEvent

from agui_bridge import Adapter, Ask, NeedsInput, answered
from agui_bridge_agent_framework import AgentFrameworkAdapter
from agui_bridge_pydantic_ai import PydanticAIAdapter
from agui_bridge_strands import StrandsAdapter
from tests.adapters.agent_framework.scripted import Scripted
from tests.adapters.cashiers import CASHIERS, Cashier, by_place
from tests.adapters.cashiers.adk import Adk
from tests.adapters.cashiers.agent_framework import AgentFramework
from tests.adapters.cashiers.llama_index import LlamaIndex
from tests.adapters.cashiers.pydantic_ai import PydanticAI
from tests.adapters.cashiers.strands import Strands
from tests.adapters.test_needs_input import House, results

pytestmark = pytest.mark.timeout(120)

YES = {"approved": True}


def code(state: Any = None) -> NeedsInput:
    return NeedsInput([Ask("code", message="Code?")], state)


def rounds_of(cashier: Cashier) -> int | None:
    """Note a round of a tool, and give how often it has asked."""
    given = answered()
    cashier.done.append("begun" if given is None else f"round {given.round}")
    return None if given is None else given.round


# --- approvals ---


class AsksForApproval(PydanticAI):
    """Its tool wants an approval by itself: before it asks anything else, or after that."""

    first = False

    def adapter(self) -> Adapter:
        agent = Agent(FunctionModel(stream_function=self._stream))
        cashier = self

        @agent.tool
        def look(ctx: RunContext[Any], to: str) -> Any:
            """Look somebody up."""
            if cashier.first and not ctx.tool_call_approved:
                raise ApprovalRequired
            if rounds_of(cashier) is None:
                return code()
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            cashier.done.append("acted")
            return "saw"

        return PydanticAIAdapter(agent, **self.options)


async def test_an_answer_is_no_approval(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    cashier = AsksForApproval(by_place, gated=False)
    house = House(cashier, tmp_path)
    ended = await house.answer(await house.say("look bob"), "11")
    assert ended.ending == "AGENT_ERROR"
    assert "Ask one way in a tool" in caplog.text
    assert cashier.done == ["begun", "round 1"]


async def test_an_approval_holds_in_each_round(tmp_path: Path) -> None:
    cashier = AsksForApproval(by_place, gated=False)
    cashier.first = True
    house = House(cashier, tmp_path)
    asked = await house.answer(await house.say("look bob"), YES)
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    assert cashier.done == ["begun", "round 1", "acted"]


# --- two ways in one call ---


class AdkAfter(Adk):
    def look(self, to: str, tool_context: AdkContext) -> Any:  # type: ignore[override]
        """Look somebody up."""
        if rounds_of(self) is None:
            return code()
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Really?")
            return {"status": "waiting"}
        self.done.append("acted")
        return "saw"


class AdkBefore(Adk):
    def look(self, to: str, tool_context: AdkContext) -> Any:  # type: ignore[override]
        """Look somebody up."""
        if tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Really?")
            return {"status": "waiting"}
        if rounds_of(self) is None:
            return code()
        self.done.append("acted")
        return "saw"


class StrandsAfter(Strands):
    def tools(self, pay: Any, *others: Any) -> list[Any]:
        cashier = self

        @strands_tool(context=True)
        def look(to: str, tool_context: StrandsContext) -> Any:
            """Look somebody up."""
            if rounds_of(cashier) is None:
                return code()
            tool_context.interrupt("really", reason="Really?")
            cashier.done.append("acted")
            return "saw"

        return [pay, look]


class LlamaIndexAfter(LlamaIndex):
    first = False

    async def look(self, ctx: Context, to: str) -> Any:  # type: ignore[override]
        """Look somebody up."""
        if self.first:
            await self.wait(ctx)
        if rounds_of(self) is None:
            return code()
        await self.wait(ctx)
        self.done.append("acted")
        return "saw"

    # LlamaIndex reads the class itself, and no name of it.
    look.__annotations__["ctx"] = Context

    async def wait(self, ctx: Context) -> None:
        asked = InputRequiredEvent(prefix="Really?")
        await ctx.wait_for_event(HumanResponseEvent, asked, "w")


class LlamaIndexBefore(LlamaIndexAfter):
    first = True


@pytest.mark.parametrize(
    ("kind", "answers", "done"),
    [
        (AdkAfter, ["11"], ["begun", "round 1"]),
        (AdkBefore, [YES], ["begun"]),
        (StrandsAfter, ["11"], ["begun", "round 1"]),
        (LlamaIndexAfter, ["11"], ["begun", "round 1"]),
        (LlamaIndexBefore, ["yes"], ["begun"]),
    ],
)
async def test_a_call_that_asks_in_two_ways_fails_and_begins_no_more(
    kind: type[Cashier],
    answers: list[Any],
    done: list[str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cashier = kind(by_place, gated=False)
    house = House(cashier, tmp_path)
    stream = await house.say("look bob")
    for answer in answers:
        assert stream.ending == "interrupt", stream.fault
        stream = await house.answer(stream, answer)
    assert stream.ending == "AGENT_ERROR"
    assert "Ask one way in a tool" in caplog.text
    assert cashier.done == done
    assert all(one.by != "tool" for heard in cashier.requests for one in heard)


# --- what came back ---


def making(kind: type[Cashier], make: Callable[[], Any]) -> Any:
    """A cashier whose tool makes more than it returns."""

    class Making(kind):  # type: ignore[valid-type, misc]
        def look(self, to: str) -> Any:
            """Look somebody up."""
            return make() if rounds_of(self) is None else "saw"

    return Making(by_place, gated=False)


def the_first_of_two() -> NeedsInput:
    first = code()
    NeedsInput([Ask("other", message="Other?")])
    return first


def one_of_two_alike() -> NeedsInput:
    first = code("one")
    code("two")
    return first


def another_thing() -> str:
    return f"<{code()}>"


texts = pytest.mark.parametrize("kind", [CASHIERS["agent_framework"], CASHIERS["strands"]])


@texts
async def test_of_several_that_are_made_the_one_returned_is_asked(
    kind: type[Cashier], tmp_path: Path
) -> None:
    cashier = making(kind, the_first_of_two)
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    assert [one["message"] for one in asked.asks] == ["Code?"]
    assert results(await house.answer(asked, "11")) == ["saw"]
    assert cashier.done == ["begun", "round 1"]


async def fails_untold(cashier: Any, tmp_path: Path, log: pytest.LogCaptureFixture) -> None:
    ended = await House(cashier, tmp_path).say("look bob")
    assert ended.ending == "AGENT_ERROR"
    assert "Return it as it is" in log.text
    assert "NeedsInput(" not in str(ended.events)
    assert cashier.done == ["begun"]
    assert all(one.by != "tool" for heard in cashier.requests for one in heard)


@texts
@pytest.mark.parametrize("make", [one_of_two_alike, another_thing])
async def test_a_question_that_is_not_found_again_is_no_result(
    kind: type[Cashier],
    make: Callable[[], Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await fails_untold(making(kind, make), tmp_path, caplog)


class Parsed(AgentFramework):
    """Its tool's results pass a parser of the author's."""

    def adapter(self) -> Adapter:
        cashier = self

        @af_tool(result_parser=lambda result: f"R:{result}", approval_mode="never_require")
        def look(to: str) -> Any:
            """Look somebody up."""
            return code() if rounds_of(cashier) is None else "saw"

        return AgentFrameworkAdapter(AFAgent(Scripted(self._stream), name="c", tools=[look]))


async def test_a_parsed_question_is_no_result(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await fails_untold(Parsed(by_place, gated=False), tmp_path, caplog)


# --- arguments of the next round ---


class Validated(AgentFramework):
    """Its tool's arguments pass a validator of the author's."""

    validator: Callable[[Any], Any]

    def adapter(self) -> Adapter:
        cashier = self
        approval: Any = "always_require" if self.gated else "never_require"

        def look(to: Any = "everybody") -> Any:
            """Look somebody up."""
            cashier.done.append(to)
            return code() if answered() is None else "saw"

        look.__annotations__["to"] = Annotated[str | set[int], AfterValidator(cashier.validator)]
        tool = af_tool(look, approval_mode=approval)
        return AgentFrameworkAdapter(AFAgent(Scripted(self._stream), name="c", tools=[tool]))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("edited", [False, True])
async def test_a_validator_makes_the_same_value_of_each_round(
    gated: bool, edited: bool, tmp_path: Path
) -> None:
    cashier = Validated(by_place, gated=gated)
    cashier.validator = lambda to: f"the {to}"
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    if gated:
        asked = await house.answer(asked, {**YES, "editedArgs": {"to": "ann"}} if edited else YES)
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    assert cashier.done == ["the ann" if gated and edited else "the bob"] * 2


async def test_a_set_of_another_order_is_no_lost_argument(tmp_path: Path) -> None:
    cashier = Validated(by_place, gated=False)
    # Another process hashes texts otherwise; of these numbers the first one stays so.
    orders = itertools.cycle([(0, 8), (8, 0)])
    cashier.validator = lambda to: set(next(orders))
    assert [*cashier.validator("")] != [*cashier.validator("")]
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    begun: list[Any] = cashier.done
    assert begun == [{0, 8}, {0, 8}]


# --- another try ---


class TriedAgain(Strands):
    """A hook has Strands try once more what failed."""

    def adapter(self) -> Adapter:
        adapter: Any = super().adapter()
        agent = adapter._agent

        def again(event: AfterToolCallEvent) -> None:
            event.retry = "boom" in str(event.result)

        agent.hooks.add_callback(AfterToolCallEvent, again)
        return StrandsAdapter(agent, **self.options)

    def look(self, to: str) -> Any:
        """Look somebody up."""
        if rounds_of(self) is None:
            return code()
        raise ValueError("boom")


async def test_a_round_with_answers_is_tried_once(tmp_path: Path) -> None:
    cashier = TriedAgain(by_place, gated=False)
    house = House(cashier, tmp_path)
    ended = await house.answer(await house.say("look bob"), "11")
    assert ended.ending == "success", ended.fault
    assert results(ended) == ["Error: boom"]
    assert cashier.done == ["begun", "round 1"]
