"""Calls that the framework waits for, as questions; and decisions, as what it waits for."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from agent_framework import AgentSession, Content, Message

from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.frameworks.rounds import Rounds
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_agent_framework.arguments import parameters_of
from agui_bridge_agent_framework.guard import Guard, no_such_tool
from agui_bridge_agent_framework.history import loaded

PACKAGE: Final = "agent-framework-core"

Kind = Literal["approval", "call", "frontend", "unknown"]

_REQUEST: Final = "function_approval_request"

_WORDS: Final = ("message", "question", "prompt")
"""Arguments of a tool without a function that have words for people."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call that waits for a person or the application.

    Attributes:
        call: the tool call's id.
        kind: what is waited for: an approval, the call's result from a person or the application;
            of a tool that there is not, nothing.
        name: the tool.
        args: the call's arguments.
        content: what the framework waits with: a request for approval, or the call.
    """

    call: str
    kind: Kind
    name: str
    args: dict[str, Json]
    content: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while calls wait.

    Attributes:
        session: the session, which has the calls.
        waiting: the calls.
        version: the framework's, which wrote it.
        actor: who began the run.
        late: what people said that the model has not been told yet.
        done: results of calls that no model has read yet, by tool call id: another call of their
            reply waits on.
        named: the ids that models gave to calls whose ids are others here, by these.
        rounds: what calls asked in their middle.
    """

    session: dict[str, Any]
    waiting: list[Waiting]
    version: str
    actor: str
    late: list[Any]
    done: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**{**kept, "waiting": [Waiting(**one) for one in kept["waiting"]]})

    def to_json(self) -> Json:
        """Write a continuation."""
        return asdict(self)

    def approved(self, decisions: Mapping[str, Decision]) -> list[tuple[str, Mapping[str, Json]]]:
        """Name and arguments of each call that was approved.

        Args:
            decisions: by tool call id.
        """
        found = [(one.name, decisions.get(one.call)) for one in self.waiting]
        return [(name, made.args) for name, made in found if isinstance(made, Approve)]

    def arguments(self, decisions: Mapping[str, Decision]) -> dict[str, str]:
        """What calls were asked about with, as JSON, or what people made of it, by tool call id.

        Args:
            decisions: by tool call id.
        """
        found = [(one, decisions.get(one.call)) for one in self.waiting]
        return {
            one.call: json.dumps(
                dict(made.args) if isinstance(made, Approve) and made.edited else one.args
            )
            for one, made in found
        }

    def held(self, told: Mapping[str, Json]) -> list[Waiting]:
        """The calls of the application's whose results are not here yet: they wait on.

        Args:
            told: what the application gave back, by tool call id.
        """
        return [one for one in self.waiting if one.kind == "frontend" and one.call not in told]

    def restored(self, decisions: Mapping[str, Decision]) -> tuple[AgentSession, list[Message]]:
        """The session to go on in, and the approvals; edited calls have the edited arguments.

        The framework executes what its session says was asked about, whatever an answer holds.

        Args:
            decisions: by tool call id.

        Raises:
            NotDelivered: the installed version can't read them. Nothing was done, and the answer
                can be given again.
        """
        session = deepcopy(self.session)
        asked = [one for one in self.waiting if one.content.get("type") == _REQUEST]
        requests = {one.call: deepcopy(one.content) for one in asked}
        for one in self.waiting:
            decision = decisions.get(one.call)
            if isinstance(decision, Approve) and decision.edited:
                occurrence = (one.content.get("function_call") or {}).get("id")
                for place in (session, requests[one.call]):
                    _edit(place, one.call, occurrence, dict(decision.args))
        try:
            approvals: list[Any] = [
                Content.from_dict(request).to_function_approval_response(
                    isinstance(decisions.get(call), Approve)
                )
                for call, request in requests.items()
            ]
            return loaded(session), [Message("user", approvals)] if approvals else []
        except (KeyError, TypeError, ValueError) as error:
            raise self.refused(f"its session does not fit ({type(error).__name__}).") from error

    def results(self, decisions: Mapping[str, Decision], told: Mapping[str, Json]) -> list[Message]:
        """What the framework is told of calls whose results are given.

        It carries nothing out while a call of the reply has no result: one that waits on has a
        sentence for now, which `without_results` takes back.

        Args:
            decisions: by tool call id.
            told: what the application gave back, by tool call id.
        """
        made: list[Any] = []
        if self.session.get("service_session_id"):
            # A service keeps the conversation, and was not told of these yet.
            made += [Content.from_function_result(own, result=r) for own, r in self.done.items()]
        for one in self.waiting:
            if one.content.get("type") == _REQUEST:
                continue
            found: Json
            if one.kind == "unknown":
                found = no_such_tool(one.name)
            elif one.kind == "frontend":
                found = told.get(one.call, UNREPORTED)
            else:
                found = decisions[one.call].text
            result = text_of(found) if isinstance(found, list) else found
            made.append(
                Content.from_function_result(one.call, result=result, id=one.content.get("id"))
            )
        return [Message("tool", made)] if made else []

    def refused(self, why: str) -> NotDelivered:
        """What is raised where nothing was done with the answers, which can be given again."""
        return NotDelivered(
            f"This run was paused by {PACKAGE} {self.version} and can't go on with {PACKAGE} "
            f"{installed_version(PACKAGE)} and the agent as it is now: {why}"
        )


def waiting_of(
    requests: Collection[Content], frontend: Collection[str], tools: Collection[str] | None
) -> Iterator[Waiting]:
    """What a run waits for that ended.

    Args:
        requests: what it said it waits for.
        frontend: names of the application's tools.
        tools: names of those that the model has, the application's among them; None where it was
            not asked, and nothing new was called. Beside a call that waits the framework waits for
            what is no tool, too.

    Raises:
        UpstreamError: it is nothing that the bridge can give.
    """
    seen: set[str] = set()
    for content in requests:
        call: Any = content.function_call if content.type == _REQUEST else content
        if call is None or call.type != "function_call" or not call.call_id or call.hosted:
            raise UpstreamError(
                f"The agent waits for something that the bridge does not pass on "
                f"({content.type}). Let it need no approval at the provider, or no consent."
            )
        if call.call_id in seen:
            continue
        seen.add(call.call_id)
        kind: Kind = "approval"
        if tools is not None and call.name not in tools:
            kind = "unknown"
        elif content.type != _REQUEST:
            kind = "frontend" if call.name in frontend else "call"
        args = dict(call.parse_arguments() or {})
        yield Waiting(call.call_id, kind, call.name or "", args, content.to_dict())


def asks_of(waiting: Collection[Waiting], guard: Guard, rounds: Rounds | None = None) -> list[Ask]:
    """The questions about what waits for people."""
    asks: list[Ask] = []
    for one in waiting:
        if rounds is not None and one.call in rounds.asks:
            asks += rounds.asks[one.call]
        elif one.kind == "approval":
            tool = guard.tools.get(one.name)
            asks.append(
                guard.asks.get(one.call)
                or Ask(
                    one.call,
                    "tool_call",
                    None,
                    ToolCall(one.call, one.name, one.args),
                    parameters=parameters_of(tool) if tool is not None else None,
                )
            )
        elif one.kind == "call":
            asks.append(_question(one, guard.tools.get(one.name)))
    return asks


def _question(one: Waiting, tool: Any) -> Ask:
    """A call of a tool that has no function: a person gives its result."""
    words = next((one.args[name] for name in _WORDS if one.args.get(name)), None)
    own = (tool.additional_properties or {}) if tool is not None else {}
    schema = own.get("response_schema")
    about: dict[str, Json] = {"toolName": one.name, "args": one.args}
    return Ask(
        one.call,
        "agent_framework:call",
        words if isinstance(words, str) else None,
        about=one.call,
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata=about,
    )


def without_results(node: Any, calls: Collection[str]) -> Any:
    """A session as JSON without the results of some calls.

    Args:
        node: the session, or a part of it.
        calls: ids of the calls.
    """
    if isinstance(node, dict):
        made = {name: without_results(value, calls) for name, value in node.items()}
        if isinstance(made.get("messages"), list):
            made["messages"] = [one for one in made["messages"] if one.get("contents") != []]
        return made
    if isinstance(node, list):
        return [without_results(one, calls) for one in node if not _is_result(one, calls)]
    return node


def _is_result(node: Any, calls: Collection[str]) -> bool:
    is_result = isinstance(node, dict) and node.get("type") == "function_result"
    return is_result and node.get("call_id") in calls


def _edit(node: Any, call: str, occurrence: str | None, args: dict[str, Json]) -> None:
    """Give a call other arguments wherever it stands, and no other of the same id."""
    if isinstance(node, dict):
        is_it = node.get("type") == "function_call" and node.get("call_id") == call
        if is_it and (occurrence is None or node.get("id") in (occurrence, None)):
            node["arguments"] = args
        for value in node.values():
            _edit(value, call, occurrence, args)
    elif isinstance(node, list):
        for value in node:
            _edit(value, call, occurrence, args)
