"""Who may let a tool of ADK run: its author, its model's caller, a plugin, a policy, a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.adk.apps import App
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from agui_bridge import Principal, ProposedCall, Verdict
from agui_bridge.testing import talk
from tests.adapters.adk.mailer import Mailer
from tests.adapters.adk.talking import YES, serving, talking

pytestmark = pytest.mark.anyio

# ADK's own way to run an agent in a tool.
OLD_FASHIONED = pytest.mark.filterwarnings("ignore:The `plugins` argument is deprecated")

DECLINED = "The user declined this tool call; it was not executed. Reason: not him"


async def test_what_was_edited_is_what_runs_and_what_the_model_reads_as_its_call() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("send bob")
        (ask,) = asked.asks
        schema = ask["responseSchema"]["properties"]["editedArgs"]
        assert set(schema["properties"]) == {"to", "body"}
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
    assert mailer.done == [{"to": "ann", "body": "edited"}]
    (call,) = [
        p.function_call for c in mailer.requests[-1] for p in c.parts or () if p.function_call
    ]
    assert call.args == {"to": "ann", "body": "edited"}


async def test_a_default_that_nobody_was_shown_is_the_tools_own() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        await one.answer(await one.say("send bob"), {**YES, "editedArgs": {"to": "ann"}})
    assert mailer.done == [{"to": "ann", "body": "Hi"}]


async def test_the_model_reads_why_a_person_declined_in_the_words_of_the_history() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        await one.answer(await one.say("send bob"), {"approved": False, "reason": "not him"})
        (kept,) = [m["content"] for m in await one.messages() if m["role"] == "tool"]
    assert mailer.results("send_email") == [{"error": DECLINED}]
    assert (kept, mailer.done) == (DECLINED, [])


async def test_a_result_that_a_person_gives_stands_for_the_tools() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("send bob")
        await one.answer(asked, {"approved": False, "respond": "by post"})
    assert mailer.results("send_email") == [{"result": "by post"}]
    assert mailer.done == []


async def test_the_tool_beside_a_paused_one_runs_once_and_is_told_before_the_answer() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("mixed bob")
        assert mailer.done == ["looked up bob"]
        assert "TOOL_CALL_RESULT" in {event["type"] for event in asked.events}
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == ["looked up bob", {"to": "bob", "body": "original"}]
    assert mailer.results("look_up") == [{"result": "bob is known"}]


async def test_a_rule_of_the_tool_decides_which_calls_are_asked_about() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        assert (await one.say("big small")).ending == "success"
        asked = await one.say("big bigbob")
        assert asked.ending == "interrupt"
        await one.answer(asked, YES)
    assert mailer.done == [{"to": "small"}, {"to": "bigbob"}]


async def test_a_tool_that_asks_by_itself_whether_it_may_is_approved_and_edited() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("itself bob")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("tool_call", "Really to bob?")
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann"}})
    assert mailer.done == [{"to": "ann"}]
    # The model is asked once before the question, once after it, and not beside it.
    assert len(mailer.requests) == 2


@pytest.mark.parametrize("payload", [None, False, 0, "", [], {"hour": 5}])
async def test_what_a_tool_asks_arrives_as_it_was_answered(payload: Any) -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("book friday")
        (ask,) = asked.asks
        assert (ask["reason"], ask["message"]) == ("adk:confirmation", "When on friday?")
        assert ask["metadata"]["payload"] == {"hour": 0}
        assert (await one.answer(asked, payload)).ending == "success"
    assert mailer.done == [payload]
    assert mailer.results("book") == [{"booked": payload}]


async def test_a_tool_whose_question_is_declined_is_not_entered_again() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        asked = await one.say("book friday")
        await one.answer(asked, {"declined": True, "reason": "never"})
    assert mailer.results("book") == [{"error": "The user declined to answer. Reason: never"}]


async def test_a_pause_outlives_the_process_and_is_answered_once(tmp_path: Path) -> None:
    store, done = f"sqlite:///{tmp_path}/agents.db", list[Any]()
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        asked = await one.say("twice bob")
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        again = await one.answer(asked, YES)
        assert again.ending == "interrupt"
        await one.answer(asked, YES)
    async with talk(serving(Mailer(done.append).agent), "mailer", store=store) as one:
        assert (await one.answer(again, YES)).ending == "success"
    assert [mail["to"] for mail in done] == ["bob", "second-bob"]


async def test_a_call_that_nobody_answered_is_never_executed_by_a_later_run() -> None:
    mailer = Mailer()
    async with talking(mailer.agent) as one:
        await one.say("send bob")
        await one.stop()
        assert (await one.say("hello")).text == "Hello."
    assert mailer.done == []
    assert len(mailer.results("send_email")) == 1


# --- around the tools ---


class Asking(BasePlugin):
    """A plugin of an application that has every look-up confirmed."""

    def __init__(self) -> None:
        super().__init__("asking")

    async def before_tool_callback(self, *, tool: Any, tool_args: Any, tool_context: Any) -> Any:
        if tool.name == "look_up" and tool_context.tool_confirmation is None:
            tool_context.request_confirmation(hint="Look?")
            return {"status": "asked"}
        return None


async def test_a_plugin_of_the_application_asks() -> None:
    mailer = Mailer()
    app = App(name="mails", root_agent=mailer.agent, plugins=[Asking()])
    async with talking(app) as one:
        asked = await one.say("look bob")
        assert asked.asks[0]["message"] == "Look?"
        assert (await one.answer(asked, YES)).ending == "success"
    assert mailer.done == ["looked up bob"]


async def test_what_people_were_shown_runs_whatever_an_agents_own_callback_makes_of_it() -> None:
    mailer = Mailer()

    def to_the_boss(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["to" if tool.name == "send_email" else "name"] = "boss"

    agent = mailer.make("mailer", before_tool_callback=to_the_boss)
    async with talking(agent) as one:
        asked = await one.say("send bob")
        assert mailer.done == []
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "edited"}})
        await one.answer(await one.say("send eve"), YES)
        await one.say("look bob")
    assert [mail["to"] for mail in mailer.done[:2]] == ["ann", "eve"]
    assert mailer.done[2] == "looked up boss"


async def test_a_policy_judges_what_an_agents_own_callback_makes_of_a_call() -> None:
    mailer, judged = Mailer(), list[Any]()

    def to_the_boss(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
        args["name"] = "boss"

    def policy(call: ProposedCall) -> Verdict:
        judged.append(dict(call.args))
        return Verdict("allow")

    bridge = serving(mailer.make("mailer", before_tool_callback=to_the_boss))
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        await one.say("look bob")
    assert judged == [{"name": "boss"}]


@OLD_FASHIONED
async def test_an_agent_in_a_tool_can_ask_nobody_and_its_tool_does_not_run() -> None:
    mailer = Mailer()
    helper = mailer.make("helper")
    agent = mailer.make("mailer", tools=[AgentTool(helper)])
    async with talking(agent) as one:
        assert (await one.say("delegate bob")).ending == "success"
    assert mailer.done == []
    heard = [n for n in range(len(mailer.requests)) if "make it a sub-agent" in mailer.told(n)]
    assert heard


async def test_an_agent_in_a_tool_that_would_be_out_of_reach_is_not_called() -> None:
    mailer = Mailer()
    helper = AgentTool(mailer.make("helper"), include_plugins=False)
    async with talking(mailer.make("mailer", tools=[helper])) as one:
        assert (await one.say("delegate bob")).ending == "AGENT_ERROR"
    assert len(mailer.requests) == 1


# --- policies ---


async def test_a_policy_denies_a_tool_that_needs_no_approval() -> None:
    mailer = Mailer()
    bridge = serving(mailer.agent)
    bridge.policy(lambda call: Verdict("deny", "not him"))
    async with talk(bridge, "mailer") as one:
        assert (await one.say("look bob")).ending == "success"
    told = "The policy denied this tool call; it was not executed. Reason: not him"
    assert (mailer.done, mailer.results("look_up")) == ([], [{"error": told}])


@OLD_FASHIONED
async def test_a_policy_judges_what_an_agent_in_a_tool_does() -> None:
    mailer, judged = Mailer(), list[str]()

    def policy(call: ProposedCall) -> Verdict:
        judged.append(call.name)
        return Verdict("deny" if call.name == "look_up" else "allow")

    bridge = serving(mailer.make("mailer", tools=[AgentTool(mailer.make("helper"))]))
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        assert (await one.say("delegatelook bob")).ending == "success"
    assert (judged, mailer.done) == (["helper", "look_up"], [])


async def test_a_policy_has_people_asked_and_learns_who_approved_what() -> None:
    mailer, seen = Mailer(), list[tuple[Any, ...]]()

    def policy(call: ProposedCall) -> Verdict:
        seen.append((dict(call.args), call.approved, call.approved_by))
        return Verdict("ask", "Look him up?", editable=True)

    bridge = serving(mailer.agent)
    bridge.policy(policy)
    async with talk(bridge, "mailer", principal=Principal("acme", "ann")) as one:
        asked = await one.say("look bob")
        assert asked.asks[0]["message"] == "Look him up?"
        assert mailer.done == []
        await one.answer(asked, {**YES, "editedArgs": {"name": "eve"}})
    assert mailer.done == ["looked up eve"]
    assert seen == [({"name": "bob"}, False, None), ({"name": "eve"}, True, "ann")]


async def test_a_tool_that_asks_something_is_asked_about_no_second_time_by_the_policy() -> None:
    mailer = Mailer()
    bridge = serving(mailer.agent)
    bridge.policy(lambda call: Verdict("ask"))
    async with talk(bridge, "mailer") as one:
        may_it = await one.say("book friday")
        when = await one.answer(may_it, YES)
        assert when.asks[0]["reason"] == "adk:confirmation"
        assert (await one.answer(when, {"hour": 5})).ending == "success"
    assert mailer.done == [{"hour": 5}]


async def test_a_policy_that_fails_leaves_the_question_open() -> None:
    mailer, failing = Mailer(), [False]

    def policy(call: ProposedCall) -> Verdict:
        if failing[0]:
            raise RuntimeError("down")
        return Verdict("allow")

    bridge = serving(mailer.agent)
    bridge.policy(policy)
    async with talk(bridge, "mailer") as one:
        asked = await one.say("send bob")
        failing[0] = True
        assert (await one.answer(asked, YES)).events[-1]["type"] == "RUN_ERROR"
        assert mailer.done == []
        failing[0] = False
        assert (await one.answer(asked, YES)).ending == "success"
    assert len(mailer.done) == 1


class _Open(BaseTool):
    """A tool that takes any arguments."""

    def __init__(self, done: list[Any]) -> None:
        super().__init__(name="send_email", description="Send an email.")
        self._done = done

    def _get_declaration(self) -> types.FunctionDeclaration:
        schema = {"type": "object", "properties": {"to": {"type": "string"}}}
        return types.FunctionDeclaration(name=self.name, parameters_json_schema=schema)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> str:
        self._done.append(dict(args))
        return "sent"


async def test_edited_arguments_that_the_tool_does_not_take_are_refused() -> None:
    mailer = Mailer()
    edited = {"to": "eve", "cc": "bob"}
    async with talking(mailer.agent) as one:
        asked = await one.say("send ann")
        refused = await one.answer(asked, {"approved": True, "editedArgs": edited})
        assert (refused.ending, mailer.done) == ("INVALID_RESUME_PAYLOAD", [])
        assert (await one.answer(asked, YES)).ending == "success"
    mailer.done.clear()
    bridge = serving(mailer.make("mailer", tools=[_Open(mailer.done)]))
    bridge.policy(lambda call: "allow" if call.approved else Verdict("ask", editable=True))
    async with talk(bridge, "mailer") as one:
        asked = await one.say("send ann")
        await one.answer(asked, {"approved": True, "editedArgs": edited})
    assert mailer.done == [edited]
