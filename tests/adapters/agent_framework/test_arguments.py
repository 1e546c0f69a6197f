"""An approved call runs once, with what the framework by itself makes of the approved arguments."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import pathlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
)
from pydantic import BaseModel, ConfigDict, SecretStr

from agui_bridge import Bridge, ProposedCall, Verdict
from agui_bridge.testing import talk
from agui_bridge_agent_framework import AgentFrameworkAdapter
from tests.adapters.agent_framework import flows
from tests.adapters.agent_framework.scripted import Call, Scripted
from tests.adapters.mails import YES

pytestmark = pytest.mark.anyio


class Kind(enum.Enum):
    """What a meeting is for."""

    WORK = "work"
    PLAY = "play"


class Size(enum.IntEnum):
    """How large something is."""

    SMALL = 1
    LARGE = 2


class Order(BaseModel):
    """What is ordered."""

    count: int
    kind: Kind


class Strict(BaseModel):
    """Arguments that take nothing else."""

    model_config = ConfigDict(extra="forbid")
    value: int


SCHEMA = {"type": "object", "properties": {"value": {"type": "integer"}}, "required": ["value"]}

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "a number as text": (int, {"value": "1"}),
    "a fraction as text": (float, {"value": "5.5"}),
    "a number for a fraction": (float, {"value": 5}),
    "a truth as text": (bool, {"value": "true"}),
    "a number for a truth": (bool, {"value": 1}),
    "one too many": (int, {"value": 1, "note": "x"}),
    "numbers as text in a list": (list[int], {"value": ["1", 2]}),
    "numbers as text in a dict": (dict[str, int], {"value": {"a": "1"}}),
    "null": (int | None, {"value": None}),
    "a literal": (Literal["work", "play"], {"value": "work"}),
    "a date": (datetime.date, {"value": "2026-11-23"}),
    "a time with an offset": (datetime.datetime, {"value": "2026-11-23T09:00:00+02:00"}),
    "a decimal": (decimal.Decimal, {"value": "1.00"}),
    "a decimal of a number": (decimal.Decimal, {"value": 1.5}),
    "an id": (uuid.UUID, {"value": "12345678123456781234567812345678"}),
    "bytes": (bytes, {"value": "abc"}),
    "an enum": (Kind, {"value": "work"}),
    "an enum and one too many": (Kind, {"value": "work", "note": "x"}),
    "an enum of numbers": (Size, {"value": 2}),
    "enums in a set": (set[Kind], {"value": ["work", "play", "work"]}),
    "an enum in a model": (Order, {"value": {"count": "3", "kind": "play"}}),
    "a path": (pathlib.Path, {"value": "a/b"}),
    "an address": (ipaddress.IPv4Address, {"value": "127.0.0.1"}),
    # What is no such value, the framework refuses, once.
    "no number": (int, {"value": "many"}),
    "no enum": (Kind, {"value": "sleep"}),
    "one missing": (int, {}),
    "one too many for a strict model": (Strict, {"value": 1, "note": "x"}),
    "a schema": (SCHEMA, {"value": 1}),
    "a schema, and a number as text": (SCHEMA, {"value": "1"}),
    "a schema, and one too many": (SCHEMA, {"value": 1, "note": "x"}),
    "a closed schema, and one too many": (
        {**SCHEMA, "additionalProperties": False},
        {"value": 1, "note": "x"},
    ),
}

NO_EDITS = {
    "one too many",
    "an enum and one too many",
    "a number as text",
    "a fraction as text",
    "a truth as text",
    "a number for a truth",
    "numbers as text in a list",
    "numbers as text in a dict",
    "an id",
    "enums in a set",
    "an enum in a model",
    "no number",
    "no enum",
    "one missing",
    "one too many for a strict model",
    "a schema, and a number as text",
    "a closed schema, and one too many",
}
"""What people can't make of arguments: the tool's schema does not allow it."""


class Actor:
    """An agent with one tool, which people approve.

    Args:
        kind: what the tool takes: the type of `value`, or a model or schema of all arguments.
        proposed: the arguments that the model proposes.
        agent: further arguments of `Agent`.

    Attributes:
        done: what the tool was called with.
        heard: what the model was told of its call.
    """

    def __init__(self, kind: Any, proposed: Mapping[str, Any], **agent: Any) -> None:
        self.done: list[Any] = []
        self.heard: list[Any] = []
        self._proposed = dict(proposed)

        async def act(value: Any) -> str:
            self.done.append((type(value), value))
            return "done"

        is_whole = isinstance(kind, dict) or (isinstance(kind, type) and kind is Strict)
        if not is_whole:
            act.__annotations__["value"] = kind
        self.tool = FunctionTool(
            name="act",
            description="Act.",
            approval_mode="always_require",
            func=act,
            input_model=kind if is_whole else None,
        )
        self.agent = Agent(Scripted(self._reply), name="actor", tools=[self.tool], **agent)

    async def _reply(
        self, messages: Sequence[Message], _: Mapping[str, Any]
    ) -> AsyncIterator[str | Call]:
        results = [c.result for m in messages for c in m.contents if c.type == "function_result"]
        if results:
            self.heard.append(results[-1])
            yield "Done."
        else:
            yield Call("act", self._proposed)

    async def alone(self) -> None:
        """Have the framework carry it out by itself, with an approval."""
        session = AgentSession()
        asked = await self.agent.run("go", session=session)
        (request,) = asked.user_input_requests
        approval = Message("user", [request.to_function_approval_response(True)])
        await self.agent.run(approval, session=session)


def serving(actor: Actor, checkpoints: pathlib.Path | None = None) -> Bridge:
    """A bridge with the actor, in a workflow where there is a folder for its checkpoints."""
    bridge = Bridge("memory:")

    def build(_: Any) -> Any:
        return flows.agents(actor.agent)

    if checkpoints is None:
        bridge.add("actor", actor.agent)
    else:
        bridge.add("actor", AgentFrameworkAdapter(build, checkpoints=checkpoints))
    return bridge


@pytest.mark.parametrize("in_workflow", [False, True])
@pytest.mark.parametrize("case", CASES)
async def test_what_is_approved_runs_as_the_framework_has_it_run(
    case: str, in_workflow: bool, tmp_path: pathlib.Path
) -> None:
    kind, args = CASES[case]
    alone, actor = Actor(kind, args), Actor(kind, args)
    await alone.alone()
    async with talk(serving(actor, tmp_path if in_workflow else None), "actor") as one:
        ended = await one.answer(await one.say("go"), YES)
        assert (ended.ending, ended.asks) == ("success", [])
        assert (await one.say("hello")).ending == "success"
    assert actor.done == alone.done
    assert actor.heard[0] == alone.heard[0]


@pytest.mark.parametrize("case", CASES)
async def test_what_a_policy_asks_about_runs_as_the_framework_has_it_run(case: str) -> None:
    kind, args = CASES[case]
    alone, actor = Actor(kind, args), Actor(kind, args)
    await alone.alone()
    actor.tool.approval_mode = "never_require"
    bridge = serving(actor)
    bridge.policy(lambda call: Verdict("allow" if call.approved else "ask", "Really?"))
    async with talk(bridge, "actor") as one:
        asked = await one.say("go")
        assert [ask["message"] for ask in asked.asks] == ["Really?"]
        ended = await one.answer(asked, YES)
        assert (ended.ending, ended.asks) == ("success", [])
    assert (actor.done, actor.heard) == (alone.done, alone.heard)


@pytest.mark.parametrize("case", CASES)
async def test_what_is_edited_runs_as_the_framework_has_it_run(case: str) -> None:
    kind, args = CASES[case]
    alone, actor = Actor(kind, args), Actor(kind, {"value": None})
    await alone.alone()
    async with talk(serving(actor), "actor") as one:
        asked = await one.say("go")
        ended = await one.answer(asked, {**YES, "editedArgs": args})
        if case in NO_EDITS:
            assert (ended.ending, actor.done) == ("INVALID_RESUME_PAYLOAD", [])
            return
        assert (ended.ending, ended.asks) == ("success", [])
    assert (actor.done, actor.heard) == (alone.done, alone.heard)


# --- what stands around the tool ---


class Watching(FunctionMiddleware):
    """Sees what a tool is to be called with, and may change it, or do without the tool."""

    def __init__(self, change: Any = None, result: str | None = None) -> None:
        self.seen: list[Any] = []
        self._change = change
        self._result = result

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        self.seen.append(dict(context.arguments))
        if self._change is not None:
            context.arguments = {"value": self._change}
        if self._result is not None:
            context.result = self._result
            return
        await call_next()


@pytest.mark.parametrize("in_workflow", [False, True])
async def test_middleware_sees_the_values_that_the_tool_is_called_with(
    in_workflow: bool, tmp_path: pathlib.Path
) -> None:
    watching = Watching()
    actor = Actor(Kind, {"value": "work"}, middleware=[watching])
    async with talk(serving(actor, tmp_path if in_workflow else None), "actor") as one:
        await one.answer(await one.say("go"), YES)
    assert watching.seen == [{"value": Kind.WORK}]
    assert actor.done == [(Kind, Kind.WORK)]


@pytest.mark.parametrize(
    ("kind", "proposed", "change", "expected"),
    [
        (Kind, "work", Kind.PLAY, (Kind, Kind.WORK)),
        (int, "1", 2, (int, 1)),
        (int, 1, True, (int, 1)),
        (float, 1.0, 1, (float, 1.0)),
        (list[int], [1], [2], (list, [1])),
    ],
)
async def test_middleware_that_changes_approved_arguments_changes_nothing(
    kind: Any, proposed: Any, change: Any, expected: Any
) -> None:
    actor = Actor(kind, {"value": proposed}, middleware=[Watching(change)])
    async with talk(serving(actor), "actor") as one:
        assert (await one.answer(await one.say("go"), YES)).ending == "success"
    assert actor.done == [expected]


@pytest.mark.parametrize(("kind", "value"), [(int, 1), (Kind, "work")])
async def test_middleware_may_do_without_the_tool(kind: Any, value: Any) -> None:
    actor = Actor(kind, {"value": value}, middleware=[Watching(result="not today")])
    async with talk(serving(actor), "actor") as one:
        assert (await one.answer(await one.say("go"), YES)).ending == "success"
    assert (actor.done, actor.heard) == ([], ["not today"])


@pytest.mark.parametrize(
    ("kind", "proposed", "judged"), [(int, "150", 150), (Kind, "work", "work"), (float, 2, 2.0)]
)
@pytest.mark.parametrize("action", ["allow", "deny"])
async def test_the_policy_judges_what_the_tool_is_called_with(
    kind: Any, proposed: Any, judged: Any, action: Any
) -> None:
    seen: list[Any] = []

    def policy(call: ProposedCall) -> Verdict:
        seen.append(dict(call.args))
        return Verdict(action, "not today")

    actor = Actor(kind, {"value": proposed, "note": "x"})
    bridge = serving(actor)
    bridge.policy(policy)
    async with talk(bridge, "actor") as one:
        assert (await one.answer(await one.say("go"), YES)).ending == "success"
    assert seen == [{"value": judged}]
    assert type(seen[0]["value"]) is type(judged)
    assert len(actor.done) == (action == "allow")


async def test_a_tool_finds_the_session_and_the_runs_values_beside_its_enum() -> None:
    found: list[Any] = []

    def act(value: Kind, ctx: FunctionInvocationContext) -> str:
        assert ctx.session is not None
        ctx.session.state["kept"] = value.value
        found.append((value, ctx.kwargs["who"]))
        return "done"

    actor = Actor(Kind, {"value": "work"})
    tool = FunctionTool(name="act", approval_mode="always_require", max_invocations=1, func=act)
    actor.agent.default_options["tools"] = [tool]
    bridge = Bridge("memory:")
    adapter = AgentFrameworkAdapter(actor.agent, kwargs=lambda run: {"who": run.principal.actor})
    bridge.add("actor", adapter)
    async with talk(bridge, "actor") as one:
        ended = await one.answer(await one.say("go"), YES)
        assert ended.ending == "success"
    assert found == [(Kind.WORK, "anonymous")]
    assert (tool.invocation_count, actor.heard) == (1, ["done"])
    assert actor.agent.default_options["tools"] == [tool]


async def test_a_value_that_json_does_not_hold_is_executed_in_no_other_form() -> None:
    actor = Actor(SecretStr, {"value": "1234"})
    async with talk(serving(actor), "actor") as one:
        ended = await one.answer(await one.say("go"), YES)
        assert (ended.ending, actor.done) == ("AGENT_ERROR", [])
        told = [e["content"] for e in ended.events if e["type"] == "TOOL_CALL_RESULT"]
        assert told == ["The run failed; this tool call was not executed."]
        assert (await one.say("hello")).ending == "success"
    assert actor.done == []
