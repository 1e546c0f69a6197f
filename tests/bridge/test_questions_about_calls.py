"""Questions that belong to a tool call: rules by tool cover them, and words answer few of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agui_bridge import ApprovalRule, Bridge
from agui_bridge.adapters import AdapterCapabilities, Ask, Pause, Run, RunItem
from agui_bridge.approvals import Match, Question, RuleList
from agui_bridge.protocol.threads.approval_rule import Escalation, Remember
from agui_bridge.protocol.threads.records import Interrupt, InterruptStatus, ToolCall
from agui_bridge.stores.base import QuestionFilter
from tests.docs.pages import Conversation
from tests.processes.conftest import STORES
from tests.support.agents import call_events, result

ARGS = {"amount": 9}
CALL = ToolCall("c1", "wire_money", ARGS)
OTHER = ToolCall("c9", "look_up", {"name": "bob"})
FLAG = {"type": "boolean"}
OWNER = ApprovalRule(
    "owner",
    approvers=("owner",),
    notify=("mail",),
    escalate=(Escalation(60.0, ("boss",), ("mail",)),),
)
BY_TOOL = RuleList([(Match(tool="wire_*"), OWNER)])

ABOUT: dict[str, tuple[Sequence[Ask], str, Any]] = {
    "a call that was shown": ([Ask("q", "To whom?", about="c1")], '{"amount":9}', ARGS),
    "a call without arguments": ([Ask("q", about="c1")], "", {}),
    "a call whose arguments are no object": ([Ask("q", about="c1")], "[9]", None),
    "a call that is shown with it": (
        [Ask("q", about="c2"), Ask("a", "tool_call", tool_call=replace(CALL, id="c2"))],
        "{}",
        ARGS,
    ),
    "several calls": ([Ask("q", about=["c1", replace(CALL, id="c2")])], '{"amount":9}', ARGS),
    "a call that is nobody's": ([Ask("q", about=replace(CALL, id="theirs"))], "{}", ARGS),
}
"""What is asked, the arguments of the call that was shown, and those that a rule hears of."""


class Asking:
    """Shows a call, asks, and tells what it was answered as the call's result."""

    capabilities = AdapterCapabilities()

    def __init__(self, *asks: Ask, shown: str = '{"amount":9}') -> None:
        self.asks = asks
        self.shown = shown
        self.answered = 0

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        if run.resume is None:
            call = f"c1-{len(run.raw_messages)}"
            for event in call_events(call, "wire_money", self.shown):
                yield event
            yield Pause([_of(ask, call) for ask in self.asks], call)
            return
        self.answered += 1
        yield result(run.resume.continuation, "Done.")

    async def aclose(self) -> None:
        pass


def _of(ask: Ask, call: str) -> Ask:
    """The same about the call of this run."""
    if ask.tool_call is not None and ask.tool_call.id == "c1":
        return replace(ask, tool_call=replace(ask.tool_call, id=call))
    if ask.tool_call is not None:
        return ask
    about = [call if one == "c1" else one for one in ask.calls]
    return replace(ask, about=about if len(about) > 1 else about[0]) if about else ask


class Asker(Conversation):
    """A conversation with it, whose client keeps the list of messages."""

    @property
    def ending(self) -> str:
        last = self.events[-1]
        return str(last["code"] if last["type"] == "RUN_ERROR" else last["outcome"]["type"])

    async def stored(self, **filters: Any) -> list[Interrupt]:
        store, which = (await self._bridge.open()).store, QuestionFilter(**filters)
        return [row.interrupt for row in await store.list_interrupts("default", which)]


def talk_to(adapter: Asking, url: str = "memory:", rule: Any = None, **settings: Any) -> Asker:
    bridge = Bridge(url)
    if rule is not None:
        bridge.approvals(rule)
    bridge.add("agent", adapter, **settings)
    return Asker(bridge, "agent", keeps_list=True)


@pytest.mark.parametrize(("asks", "shown", "args"), ABOUT.values(), ids=ABOUT)
async def test_a_rule_hears_of_the_call_that_a_question_is_about(
    asks: Sequence[Ask], shown: str, args: Any
) -> None:
    asked: list[Question] = []
    talk = talk_to(Asking(*asks, shown=shown), rule=lambda question: asked.append(question))
    async with talk._bridge.lifespan():
        await talk.say("go")
        assert talk.ending == "interrupt"
        assert {(q.tool, str(q.args)) for q in asked} == {("wire_money", str(args))}


@pytest.mark.parametrize("store", ["memory", *STORES])
@pytest.mark.parametrize(
    "ask", [Ask("q", about="c1"), Ask("q", about=CALL)], ids=["by its id", "as a call"]
)
async def test_a_rule_by_tool_covers_a_question_about_its_call(
    ask: Ask, store: str, tmp_path: Path
) -> None:
    url = "memory:" if store == "memory" else STORES[store](tmp_path)
    adapter = Asking(ask)
    talk = talk_to(adapter, url, BY_TOOL)
    async with talk._bridge.lifespan():
        await talk.say("go")
        await talk.answer("ann")
        assert (talk.ending, adapter.answered) == ("NOT_AN_APPROVER", 0)
        (stored,) = await talk.stored(tool="wire_money")
        assert (stored.rule, stored.tool) == (OWNER, "wire_money")
        assert await talk.stored(tool="other") == []


@pytest.mark.parametrize("store", ["memory", *STORES])
async def test_a_question_about_several_tools_is_found_by_each_and_has_the_strictest_rule(
    store: str, tmp_path: Path
) -> None:
    tools = [f"tool{n}" for n in range(7)]
    calls = [replace(CALL, id=tool, name=tool) for tool in tools]
    url = "memory:" if store == "memory" else STORES[store](tmp_path)
    talk = talk_to(Asking(Ask("q", about=[*calls[:3], "c1", *calls[3:]])), url, BY_TOOL)
    async with talk._bridge.lifespan():
        await talk.say("go")
        await talk.answer("ann")
        assert talk.ending == "NOT_AN_APPROVER"
        for tool in ("wire_money", *tools):
            for status in (None, InterruptStatus.OPEN):
                (stored,) = await talk.stored(tool=tool, status=status)
                assert stored.rule == OWNER
        assert stored.tool == "tool0, tool1, tool2, wire_money, tool3, …"
        assert await talk.stored(tool="tool") == []


WORDS: dict[str, tuple[Ask, Any, str]] = {
    "a question of nobody's call": (Ask("q", message="Go?"), None, ""),
    "the same with a rule": (Ask("q", message="Go?"), ApprovalRule("all"), ""),
    "a question about a call": (Ask("q", message="Go?", about="c1"), None, ""),
    "the same with a rule by tool": (Ask("q", message="Go?", about="c1"), BY_TOOL, "rule"),
    "the same with a rule for everything": (
        Ask("q", message="Go?", about="c1"),
        ApprovalRule("all"),
        "rule",
    ),
    "the same, narrowed by the agent": (
        Ask("q", message="Go?", about="c1", approvers=("anonymous",)),
        None,
        "rule",
    ),
    "a question about a call as such, with a rule": (
        Ask("q", message="Go?", about=CALL),
        BY_TOOL,
        "rule",
    ),
    "a question about several calls": (Ask("q", message="Go?", about=["c1", OTHER]), None, ""),
    "the same with a rule by one tool": (
        Ask("q", message="Go?", about=["c1", OTHER]),
        BY_TOOL,
        "rule",
    ),
    "an answer that lets a tool run": (Ask("q", message="Go?", permits=True), None, "approved"),
    "what is called one": (Ask("q", "tool_call", "Go?", about="c1"), None, "approved"),
    "an approval": (Ask("q", "tool_call", "Go?", CALL), None, "approved"),
}
"""A question, the rule, and what is said to words that don't answer it."""


@pytest.mark.parametrize(("ask", "rule", "refused"), WORDS.values(), ids=WORDS)
async def test_words_answer_what_no_tool_waits_for(ask: Ask, rule: Any, refused: str) -> None:
    own = ask if ask.tool_call is not None else replace(ask, response_schema=FLAG)
    adapter = Asking(own)
    found = rule if rule is None or callable(rule) else lambda _: rule
    talk = talk_to(adapter, rule=found, auto_resume="on")
    async with talk._bridge.lifespan():
        said = await talk.say("go")
        assert said == ("" if refused else "Go?"), "said as a message where words answer it"
        await talk.say("yes")
        assert talk.ending == ("interrupt" if refused else "success")
        assert adapter.answered == (0 if refused else 1)
        if refused:
            assert refused in talk.asks[0]["message"]


async def test_a_question_about_several_calls_wants_what_the_rules_of_all_want() -> None:
    wire = ApprovalRule("wire", approvers=("anonymous", "owner"))
    log = ApprovalRule("log", approvers=("auditor",), quorum=2)
    rules = {"wire_money": wire, "look_up": log}
    talk = talk_to(
        Asking(Ask("q", about=[CALL, OTHER, CALL])), rule=lambda q: rules.get(q.tool or "")
    )
    async with talk._bridge.lifespan():
        await talk.say("go")
        assert talk.ending == "AGENT_ERROR", "nobody could ever answer it"
        rules["look_up"] = replace(log, approvers=("owner", "auditor"), quorum=1)
        await talk.say("again")
        assert "toolCallId" not in talk.asks[0]
        await talk.answer("ann")
        assert talk.ending == "NOT_AN_APPROVER", "the other rule leaves them out"
        (stored,) = await talk.stored(status=InterruptStatus.OPEN)
        assert stored.tool == "wire_money, look_up"
        assert stored.rule is not None and stored.rule.name == "wire and log"


async def test_a_remembered_approval_answers_no_question_about_its_tool() -> None:
    rule = ApprovalRule("pay", remember=(Remember("thread"),))
    adapter = Asking(Ask("a", "tool_call", tool_call=CALL))
    talk = talk_to(adapter, rule=lambda _: rule)
    async with talk._bridge.lifespan():
        await talk.say("go")
        await talk.answer({"approved": True, "remember": "thread"})
        await talk.say("again")
        assert (talk.ending, adapter.answered) == ("success", 2), "the approval is remembered"
        for ask in (Ask("q", about="c1"), Ask("q", about=CALL, permits=True)):
            adapter.asks = (replace(ask, response_schema={"type": "object"}),)
            await talk.say("more")
            assert talk.ending == "interrupt"
            await talk.answer({"approved": True, "remember": "thread"})
        assert adapter.answered == 4
