"""Tools that ask in their middle beside LangGraph's own interrupts, and of every kind of LangChain.

What an adapter owes such tools whatever its framework stands in `tests.adapters.test_needs_input`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.callbacks import CallbackManagerForToolRun
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from agui_bridge import Answer, Answered, Ask, NeedsInput, ProposedCall, Verdict, answered
from agui_bridge_langgraph import LangGraphAdapter
from tests.adapters.cashiers import Cashier, by_place
from tests.adapters.cashiers.langgraph import CashierModel, LangGraph, LangGraphNodes
from tests.adapters.test_needs_input import House, asking, results

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

CODE: Final = NeedsInput([Ask("code", message="Code?")])


def code(given: Answered | None) -> Any:
    """What was answered; None in the first round."""
    found = given.answers["code"] if given is not None else None
    return found.payload if isinstance(found, Answer) else found


class Having(LangGraph):
    """An agent with one tool, whatever that is, and what is around it."""

    looks: Any = None
    around: tuple[Any, ...] = ()

    def tools(self, pay: Any, *others: Any) -> list[Any]:
        return [self.looks]

    def middleware(self) -> list[Any]:
        return [*self.around]


class HavingNodes(Having, LangGraphNodes):
    """The same, as a graph made by hand."""


def having(looks: Callable[[Cashier], Any], *around: Any, kind: type[Having] = Having) -> Having:
    cashier = kind(by_place, gated=False)
    cashier.looks, cashier.around = looks(cashier), around
    return cashier


both = pytest.mark.parametrize("kind", [Having, HavingNodes])
"""A task for each call, and one for all of a reply."""


# --- beside interrupts ---


@both
async def test_a_refusal_is_not_taken_for_a_yes(
    kind: type[Having], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def looks(cashier: Cashier) -> Any:
        @tool
        def look(to: str) -> Any:
            """Look somebody up."""
            files = interrupt("Delete the files too?")
            if answered() is None:
                return CODE
            if files:
                cashier.done.append("deleted")
            return "ok"

        return look

    cashier = having(looks, kind=kind)
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    ended = await house.answer(asked, False)
    assert ended.ending == "AGENT_ERROR", ended.asks
    assert "'look' asks by interrupt(), and by NeedsInput" in caplog.text
    assert (await house.say("thanks bob")).ending == "success"
    assert cashier.done == []


@both
async def test_an_answer_is_not_lost_to_an_interrupt(
    kind: type[Having], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def looks(cashier: Cashier) -> Any:
        @tool
        def look(to: str) -> Any:
            """Look somebody up."""
            cashier.done.append(code(answered()))
            return CODE if answered() is None else interrupt("Really?")

        return look

    cashier = having(looks, kind=kind)
    house = House(cashier, tmp_path)
    ended = await house.answer(await house.say("look bob"), "11")
    assert ended.ending == "AGENT_ERROR", ended.asks
    assert "'look' asks by interrupt(), and by NeedsInput" in caplog.text
    assert (await house.say("thanks bob")).ending == "success"
    assert cashier.done == [None, "11"]


@both
async def test_a_late_question_of_the_policy_takes_no_other_answer(
    kind: type[Having], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def looks(cashier: Cashier) -> Any:
        @tool
        def look(to: str) -> str:
            """Look somebody up."""
            amount = interrupt("How much?")
            cashier.done.append(amount)
            return str(amount)

        return look

    cashier = having(looks, kind=kind)
    house = House(cashier, tmp_path)
    house.says = ["allow"]
    asked = await house.say("look bob")
    house.says = ["ask"]
    ended = await house.answer(asked, "ten")
    assert ended.ending == "AGENT_ERROR"
    assert "'look' asks by interrupt(), and by NeedsInput or a policy" in caplog.text
    assert (results(ended), cashier.done) == (
        ["The run failed; whether this tool call was executed is unknown."],
        [],
    )


async def test_what_is_around_a_tool_asks_before_it_but_not_behind_it(tmp_path: Path) -> None:
    def looks(cashier: Cashier) -> Any:
        @tool
        def look(to: str) -> Any:
            """Look somebody up."""
            cashier.done.append(code(answered()))
            return CODE if answered() is None else "acted"

        return look

    @wrap_tool_call
    async def before(request: Any, handler: Any) -> Any:
        return await handler(request) if interrupt("Before?") == "yes" else None

    @wrap_tool_call
    async def behind(request: Any, handler: Any) -> Any:
        return [await handler(request), interrupt("Behind?")][0]

    early = having(looks, before)
    house = House(early, tmp_path)
    asked = await house.answer(await house.say("look bob"), "yes")
    assert results(await house.answer(asked, "11")) == ["acted"]
    assert early.done == [None, "11"]
    late = having(looks, behind)
    (tmp_path / "late").mkdir()
    house = House(late, tmp_path / "late")
    ended = await house.answer(await house.say("look bob"), "11")
    assert (ended.ending, late.done) == ("AGENT_ERROR", [None, "11"])


# --- every kind of tool ---


async def test_a_tool_of_its_own_class_keeps_its_state(tmp_path: Path) -> None:
    class Once(StructuredTool):
        used: int = 0

        def _run(
            self,
            *args: Any,
            config: RunnableConfig,
            run_manager: CallbackManagerForToolRun | None = None,
            **kwargs: Any,
        ) -> str:
            self.used += 1
            return "acted" if self.used == 1 else "refused"

    def look(to: str) -> None:
        """Look somebody up."""

    once = Once.from_function(func=look, name="look")
    house = House(having(lambda _: once), tmp_path)
    told = [results(await house.say("look bob")) for _ in range(3)]
    assert told == [["acted"], ["refused"], ["refused"]]


def of_own_class(cashier: Cashier) -> Any:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look somebody up."

        def _run(self, to: str) -> str | NeedsInput:
            cashier.done.append(code(answered()))
            return NeedsInput([Ask("code", message="Code?")]) if answered() is None else "acted"

    return Look()


def with_artifact(cashier: Cashier) -> Any:
    @tool(response_format="content_and_artifact")
    def look(to: str) -> Any:
        """Look somebody up."""
        cashier.done.append(code(answered()))
        return CODE if answered() is None else ("acted", {"to": to})

    return look


def in_the_loop(cashier: Cashier) -> Any:
    @tool
    async def look(to: str) -> Any:
        """Look somebody up."""
        cashier.done.append(code(answered()))
        return CODE if answered() is None else "acted"

    return look


@pytest.mark.parametrize("looks", [of_own_class, with_artifact, in_the_loop])
async def test_each_kind_of_tool_may_ask(looks: Callable[[Cashier], Any], tmp_path: Path) -> None:
    cashier = having(looks)
    house = House(cashier, tmp_path)
    asked = await house.say("look bob")
    ended = await house.answer(asked, "11")
    assert ended.ending == "success", ended.fault
    assert results(asked) + results(ended) == ["acted"]
    assert cashier.done == [None, "11"]


def in_a_list(cashier: Cashier) -> Any:
    @tool
    def look(to: str) -> Any:
        """Look somebody up."""
        return [NeedsInput([Ask("code", message="Code?")])]

    return look


def alike(cashier: Cashier) -> Any:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look somebody up."

        def _run(self, to: str) -> NeedsInput:
            made = [NeedsInput([Ask("code", message="Code?")], state) for state in (1, 2)]
            return made[0]

    return Look()


def made_before(cashier: Cashier) -> Any:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look somebody up."

        def _run(self, to: str) -> NeedsInput:
            return CODE

    return Look()


def own_artifact(cashier: Cashier) -> Any:
    class Look(BaseTool):
        name: str = "look"
        description: str = "Look somebody up."
        response_format: Any = "content_and_artifact"
        handle_tool_error: Any = True

        def _run(self, to: str) -> NeedsInput:
            return NeedsInput([Ask("code", message="Code?")])

    return Look()


def of_inner_agent(cashier: Cashier) -> Any:
    @tool
    def pay(to: str) -> Any:
        """Pay somebody."""
        return CODE

    inner = create_agent(CashierModel(cashier=cashier), [pay])

    @tool
    async def look(to: str) -> str:
        """Have an agent pay somebody."""
        told = await inner.ainvoke({"messages": [{"role": "user", "content": f"pay {to}"}]})
        return str(told["messages"][-1].text)

    return look


@pytest.mark.parametrize("looks", [in_a_list, alike, made_before, own_artifact, of_inner_agent])
async def test_no_question_is_told_as_a_result(
    looks: Callable[[Cashier], Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cashier = having(looks)
    ended = await House(cashier, tmp_path).say("look bob")
    assert ended.ending == "AGENT_ERROR"
    assert "returned NeedsInput where nobody can be asked" in caplog.text
    assert "Code?" not in str(ended.events)
    assert all(one.by != "tool" for heard in cashier.requests for one in heard)


async def test_no_question_is_told_to_the_code_of_a_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class ByCode(LangGraph):
        def adapter(self) -> LangGraphAdapter:
            async def think(state: Any) -> Any:
                found = await tool(self.look).ainvoke({"to": "bob"})
                return {"messages": [("ai", str(found))]}

            builder = StateGraph(MessagesState)
            builder.add_node("think", think)
            builder.add_edge(START, "think")
            return LangGraphAdapter(builder.compile(checkpointer=self.saver))

        def look(self, to: str) -> Any:
            """Look somebody up."""
            return CODE

    ended = await House(ByCode(by_place, gated=False), tmp_path).say("look bob")
    assert ended.ending == "AGENT_ERROR"
    assert "'look' returned NeedsInput where nobody can be asked" in caplog.text
    assert "Code?" not in str(ended.events)


async def test_a_tool_may_think_better_of_asking(tmp_path: Path) -> None:
    def looks(cashier: Cashier) -> Any:
        @tool
        def look(to: str) -> Any:
            """Look somebody up."""
            needed = NeedsInput([Ask("code", message="Code?")])
            return needed if to == "nobody" else "known"

        return look

    ended = await House(having(looks), tmp_path).say("look bob")
    assert (ended.ending, results(ended)) == ("success", ["known"])


@pytest.mark.parametrize("kind", [LangGraph, LangGraphNodes])
async def test_an_edit_is_told_whatever_was_asked_since(
    kind: type[Cashier], tmp_path: Path
) -> None:
    class Editing(House):
        def _judge(self, call: ProposedCall) -> Verdict:
            return Verdict("allow" if call.approved else "ask", reason="why", editable=True)

    cashier = asking(kind, gated=False)
    house = Editing(cashier, tmp_path)
    house.says = ["ask"]
    asked = await house.say("look bob")
    asked = await house.answer(asked, {"approved": True, "editedArgs": {"to": "ann"}})
    for one in ("11", "22"):
        asked = await house.answer(asked, one)
    assert asked.ending == "success", asked.fault
    (told,) = (one.text for one in cashier.requests[-1] if one.by == "tool")
    assert told.startswith("The person who approved this call changed it.")
    assert '{"to": "ann"}' in told
    assert told.endswith("look ann: 22")
