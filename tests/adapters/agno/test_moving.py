"""Who moves here from Agno's own AG-UI server keeps state, events and dependencies."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from ag_ui.core import CustomEvent as PageEvent
from agno.agent import Agent
from agno.exceptions import CheckTrigger, InputCheckError, OutputCheckError
from agno.guardrails import PIIDetectionGuardrail
from agno.models.base import Model
from agno.run import RunContext
from agno.run.agent import CustomEvent
from agno.team import Team
from agno.team.mode import TeamMode
from agno.tools import tool

from agui_bridge import Bridge
from agui_bridge.errors import ConfigurationError
from agui_bridge.testing import talk
from agui_bridge_agno import AgnoAdapter, guard
from examples.agno.offline import Call, OfflineModel
from tests.adapters.agno.mailer import Mailer
from tests.adapters.agno.talking import talking
from tests.adapters.mails import YES
from tests.docs.pages import Conversation

pytestmark = pytest.mark.anyio

NO = {"approved": False, "reason": "not her"}


def conversing(agent: Any, **options: Any) -> Any:
    bridge = Bridge("memory:")
    bridge.add("x", AgnoAdapter(agent, **options))
    return talk(bridge, "x")


def of(events: list[Any], kind: str) -> list[Any]:
    return [event for event in events if event["type"] == kind]


class Cashier:
    """Payments, and models that make calls one after the other.

    Attributes:
        done: who was paid.
        read: the tool results that the models of leaders read last.
    """

    def __init__(self) -> None:
        self.done: list[str] = []
        self.read: list[str] = []

        @tool(requires_confirmation=True)
        async def pay(to: str) -> str:
            """Pay."""
            self.done.append(to)
            return f"paid {to}"

        @tool(requires_confirmation=True, stop_after_tool_call=True)
        async def finish(to: str) -> str:
            """Pay, and say nothing else."""
            self.done.append(to)
            return f"paid {to}"

        self.pay, self.finish = pay, finish

    def model(self, *replies: Any, leads: bool = True) -> Any:
        """A model with these replies, of text, a call, or a list of calls."""

        async def reply(messages: Any, names: Any) -> AsyncIterator[Any]:
            said = max(n for n, one in enumerate(messages) if one.role == "user")
            results = [str(one.content) for one in messages if one.role == "tool"]
            if leads:
                self.read[:] = results
            place = sum(one.role == "assistant" for one in messages[said:])
            made = replies[place] if place < len(replies) else "Done."
            for one in made if isinstance(made, list) else [made]:
                yield one(results) if callable(one) else one

        return OfflineModel(reply=reply)

    def clerk(self, name: str = "clerk") -> Agent:
        model = self.model(Call("pay", {"to": "ann"}), "Ann is paid.", leads=False)
        return Agent(name=name, id=name, model=model, tools=[self.pay], telemetry=False)

    def team(self, model: Any, **options: Any) -> Team:
        options.setdefault("members", [self.clerk()])
        return Team(name="office", model=model, telemetry=False, **options)


ASK_CLERK = Call("delegate_task_to_member", {"member_id": "clerk", "task": "pay ann"})
ASK_ALL = Call("delegate_task_to_members", {"task": "pay ann"})
OWN = Call("pay", {"to": "own"})


def _execute(results: list[str]) -> Call:
    task = re.search(r"\[(.*?)\]", results[0])
    assert task is not None
    return Call("execute_task", {"task_id": task[1], "member_id": "clerk"})


CREATE = Call("create_task", {"title": "a", "description": "pay", "assignee": "clerk"})


@pytest.mark.parametrize(
    ("replies", "options", "result", "paid"),
    [
        ([OWN, ASK_CLERK], {"own": True}, "Ann is paid.", ["own", "ann"]),
        ([[OWN, ASK_CLERK]], {"own": True}, "Ann is paid.", ["ann", "own"]),
        ([ASK_CLERK], {"mode": TeamMode.route}, "Ann is paid.", ["ann"]),
        (
            [CREATE, _execute, Call("mark_all_complete", {"summary": "fine"})],
            {"mode": TeamMode.tasks},
            "Ann is paid.",
            ["ann"],
        ),
        (
            [ASK_ALL],
            {"mode": TeamMode.broadcast, "both": True},
            "Agent clerk: Ann is paid.Agent aide: Ann is paid.",
            ["ann", "ann"],
        ),
    ],
    ids=["before", "beside", "route", "tasks", "broadcast"],
)
async def test_a_delegation_that_waited_has_what_the_member_said_as_its_result(
    replies: list[Any], options: dict[str, Any], result: str, paid: list[str]
) -> None:
    cashier = Cashier()
    own, both = options.pop("own", False), options.pop("both", False)
    if own:
        options["tools"] = [cashier.pay]
    if both:
        options["members"] = [cashier.clerk(), cashier.clerk("aide")]
    team = cashier.team(cashier.model(*replies), **options)
    async with conversing(team) as one:
        asked = await one.say("go")
        while asked.asks:
            asked = await one.answer(asked, *[YES for _ in asked.asks])
        assert asked.ending == "success"
        thread = await one.messages()
    assert cashier.done == paid
    assert result in cashier.read
    assert result in [m["content"] for m in thread if m["role"] == "tool"]
    assert "human input" not in str(thread) + str(cashier.read)


async def test_members_that_a_function_makes_are_asked_about_as_others() -> None:
    cashier = Cashier()
    team = cashier.team(cashier.model(ASK_CLERK), members=lambda: [cashier.clerk()])
    for answer, paid, said in ((NO, [], "Ann is paid."), (YES, ["ann"], "Ann is paid.")):
        async with conversing(team) as one:
            asked = await one.say("go")
            assert (await one.answer(asked, answer)).ending == "success"
        assert (cashier.done, cashier.read) == (paid, [said])


async def test_a_tool_that_ends_the_run_ends_it_after_an_approval_too() -> None:
    cashier = Cashier()
    model = cashier.model(Call("finish", {"to": "ann"}), "The model was asked.")
    agent = Agent(name="a", model=model, tools=[cashier.finish], telemetry=False)
    async with conversing(agent) as one:
        ended = await one.answer(await one.say("go"), YES)
        assert (ended.ending, ended.text, cashier.done) == ("success", "paid ann", ["ann"])
        # Who declines ends nothing: the model is told why.
        ended = await one.answer(await one.say("go"), NO)
        assert (ended.text, cashier.done) == ("The model was asked.", ["ann"])


@pytest.mark.parametrize("is_team", [False, True])
async def test_a_check_of_the_agent_ends_the_run_in_its_own_words(is_team: bool) -> None:
    def check(run_input: Any) -> None:
        if "homework" in run_input.input_content_string():
            raise InputCheckError("We do no homework.", check_trigger=CheckTrigger.OFF_TOPIC)

    def judge(run_output: Any) -> None:
        if "secret" in str(run_output.content):
            raise OutputCheckError("No secrets.", check_trigger=CheckTrigger.OUTPUT_NOT_ALLOWED)

    heard: list[str] = []

    async def reply(messages: Any, names: Any) -> AsyncIterator[Any]:
        heard.extend(str(one.content) for one in messages)
        said = str(messages[-1].content).splitlines()
        yield "A secret." if "tell" in said[-1] else "Hello."

    options: Any = {
        "name": "a",
        "model": OfflineModel(reply=reply),
        "pre_hooks": [check],
        "post_hooks": [judge],
        "telemetry": False,
    }
    agent = Team(members=[], **options) if is_team else Agent(**options)
    async with conversing(agent) as one:
        refused = await one.say("my homework")
        (error,) = of(refused.events, "RUN_ERROR")
        assert error["code"] == "AGENT_REFUSED"
        assert "We do no homework." in error["message"]
        assert (await one.say("hi")).text == "Hello."
        refused = await one.say("tell me")
        assert "No secrets." in refused.fault
        assert (await one.say("hi")).text == "Hello."
        # People keep what no model reads any more.
        assert "my homework" in str(await one.messages())
    assert "my homework" not in str(heard)
    assert "secret" not in str(heard)


@pytest.mark.parametrize("is_team", [False, True])
async def test_checks_look_at_what_the_user_said_and_nobody_reads_the_dependencies(
    is_team: bool,
) -> None:
    looked: list[str] = []
    heard: list[Any] = []

    def look(run_input: Any) -> None:
        looked.append(run_input.input_content_string())

    async def reply(messages: Any, names: Any) -> AsyncIterator[Any]:
        heard.append([one.content for one in messages if one.role == "user"][-1])
        yield "Hello."

    options: Any = {
        "name": "a",
        "model": OfflineModel(reply=reply),
        "pre_hooks": [look, PIIDetectionGuardrail()],
        "telemetry": False,
    }
    agent = Team(members=[], **options) if is_team else Agent(**options)
    async with conversing(agent, dependencies=lambda run: {"token": "secret"}) as one:
        assert (await one.say("hi")).text == "Hello."
        assert "PII" in (await one.say("I am a@b.com")).fault
        assert (await one.say("my {token}")).text == "Hello."
    assert heard == ["hi", "my {token}"]
    assert looked[0] == "hi"
    assert "my {token}" in looked[-1]


@dataclass
class Progress(CustomEvent):
    percent: int = 0


async def test_what_a_tool_yields_and_makes_of_the_state_is_told_while_the_run_goes_on() -> None:
    seen: dict[str, Any] = {}

    @tool
    async def work(run_context: RunContext, what: str) -> AsyncIterator[Any]:
        """Work."""
        seen.update(dependencies=run_context.dependencies, user=run_context.user_id)
        state: Any = run_context.session_state
        state["worked"] = what
        state.pop("ui", None)
        yield Progress(percent=50)
        yield PageEvent(name="page", value=1)
        yield f"worked on {what}"

    cashier = Cashier()
    agent = Agent(
        name="a",
        model=cashier.model(Call("work", {"what": "it"}), Call("work", {"what": "more"})),
        tools=[work],
        telemetry=False,
    )
    async with conversing(agent, dependencies=lambda run: {"own": 1}) as one:
        one.context = [{"description": "open", "value": '{"id": 7}'}]
        ended = await one.say("go", state={"ui": "dark", "base": 1})
        assert ended.ending == "success"
        customs = [(e["name"], e["value"]) for e in of(ended.events, "CUSTOM")]
        assert sorted(name for name, _ in customs) == ["Progress", "Progress", "page", "page"]
        assert {value["percent"] for name, value in customs if name == "Progress"} == {50}
        kinds = [event["type"] for event in ended.events]
        first = kinds.index("STATE_DELTA")
        assert first < len(kinds) - 1 - kinds[::-1].index("TOOL_CALL_START")
        assert await one.state() == {"base": 1, "worked": "more"}
        results = [e["content"] for e in of(ended.events, "TOOL_CALL_RESULT")]
        # Agno puts its own events into the result, too.
        assert results[0].endswith("worked on it")
        assert results[1].endswith("worked on more")
        assert "PageEvent" not in str(results)
    assert seen == {"dependencies": {"open": {"id": 7}, "own": 1}, "user": "anonymous"}


@pytest.mark.parametrize("of", ["agent", "member"])
async def test_what_a_page_shows_stands_in_place_of_no_dependency_of_an_agent(of: str) -> None:
    seen: list[Any] = []

    @tool
    async def work(run_context: RunContext) -> str:
        """Work."""
        seen.append(run_context.dependencies)
        return "worked"

    cashier = Cashier()
    own: dict[str, Any] = {"tenant": "acme"}
    agent = Agent(
        name="clerk",
        id="clerk",
        model=cashier.model(Call("work", {})),
        tools=[work],
        dependencies=own,
        telemetry=False,
    )
    delegating = Call("delegate_task_to_member", {"member_id": "clerk", "task": "go"})
    team = Team(name="t", members=[agent], model=cashier.model(delegating), telemetry=False)
    async with conversing(agent if of == "agent" else team) as one:
        one.context = [
            {"description": "tenant", "value": "another"},
            {"description": "page", "value": "7"},
        ]
        assert (await one.say("go")).ending == "success"
    assert seen == [{"tenant": "acme", "page": 7}]


@pytest.mark.parametrize("trusted", [False, True])
async def test_the_client_says_for_whom_agno_works_only_where_it_is_trusted(trusted: bool) -> None:
    seen: list[Any] = []

    @tool
    async def work(run_context: RunContext) -> str:
        """Work."""
        seen.append(run_context.user_id)
        return "worked"

    agent = Agent(name="a", model=Cashier().model(Call("work")), tools=[work], telemetry=False)
    bridge = Bridge("memory:")
    bridge.add("x", AgnoAdapter(agent, client_user_id=trusted))
    async with bridge.lifespan():
        await Conversation(bridge, "x", props={"user_id": "u7"}).say("go")
    assert (seen == ["u7"]) is trusted


async def test_edits_that_the_tool_does_not_take_are_refused_before_anything_runs() -> None:
    mailer = Mailer()
    async with talking(mailer) as one:
        asked = await one.say("send bob")
        edited = {"to": "ann", "body": "b", "bcc": "eve"}
        refused = await one.answer(asked, {**YES, "editedArgs": edited})
        assert ("'bcc' is not among" in refused.fault, mailer.done) == (True, [])
        await one.answer(asked, {**YES, "editedArgs": {"to": "ann", "body": "b"}})
    assert mailer.done == [{"to": "ann", "body": "b"}]


@pytest.mark.parametrize("name", [one.name for one in guard._CHANGED])
def test_an_agno_without_a_method_that_is_changed_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As before anything was changed, in this process.
    changed: Any = Model.arun_function_call
    monkeypatch.setattr(Model, "arun_function_call", changed.__wrapped__)
    held = getattr(Model, name)
    monkeypatch.delattr(Model, name)
    monkeypatch.setattr(Model, f"{name}_renamed", held, raising=False)
    with pytest.raises(ConfigurationError, match=name):
        AgnoAdapter(Mailer().agent)
