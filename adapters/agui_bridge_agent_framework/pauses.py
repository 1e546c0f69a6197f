"""Calls that the framework waits for, as questions; and decisions, as what it waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Final, Literal

from agent_framework import AgentSession, Content, Message

from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_agent_framework.guard import Guard
from agui_bridge_agent_framework.history import loaded

__all__ = ["PACKAGE", "Kept", "Waiting", "asks_of", "waiting_of"]

PACKAGE: Final = "agent-framework-core"

Kind = Literal["approval", "call", "frontend"]

_REQUEST: Final = "function_approval_request"

_WORDS: Final = ("message", "question", "prompt")
"""Arguments of a tool without a function that have words for people."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call that waits for a person or the application.

    Attributes:
        call: the tool call's id.
        kind: what is waited for: an approval, the call's result from a person or the application.
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
class Kept:
    """What is kept while calls wait.

    Attributes:
        session: the session, which has the calls.
        waiting: the calls.
        version: the framework's, which wrote it.
        actor: who began the run.
        late: what people said that the model has not been told yet.
    """

    session: dict[str, Any]
    waiting: list[Waiting]
    version: str
    actor: str
    late: list[Any]

    @classmethod
    def from_json(cls, kept: Any) -> Kept:
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
        requests = {w.call: deepcopy(w.content) for w in self.waiting if w.kind == "approval"}
        for one in self.waiting:
            decision = decisions.get(one.call)
            if isinstance(decision, Approve) and decision.edited:
                occurrence = (one.content.get("function_call") or {}).get("id")
                for place in (session, requests[one.call]):
                    _edit(place, one.call, occurrence, dict(decision.args))
        try:
            approvals: list[Any] = [
                Content.from_dict(request).to_function_approval_response(
                    isinstance(decisions[call], Approve)
                )
                for call, request in requests.items()
            ]
            return loaded(session), [Message("user", approvals)] if approvals else []
        except (KeyError, TypeError, ValueError) as error:
            raise self.refused(f"its session does not fit ({type(error).__name__}).") from error

    def results(self, decisions: Mapping[str, Decision], told: Mapping[str, Json]) -> list[Message]:
        """What the framework is told of calls whose results are given.

        Args:
            decisions: by tool call id.
            told: what the application gave back, by tool call id.
        """
        made: list[Any] = []
        for one in self.waiting:
            if one.kind == "approval":
                continue
            if one.kind == "frontend":
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
            f"{version(PACKAGE)} and the agent as it is now: {why}"
        )


def waiting_of(requests: Collection[Content], frontend: Collection[str]) -> Iterator[Waiting]:
    """What a run waits for that ended.

    Args:
        requests: what it said it waits for.
        frontend: names of the application's tools.

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
        if content.type != _REQUEST:
            kind = "frontend" if call.name in frontend else "call"
        args = dict(call.parse_arguments() or {})
        yield Waiting(call.call_id, kind, call.name or "", args, content.to_dict())


def asks_of(waiting: Collection[Waiting], guard: Guard) -> list[Ask]:
    """The questions about what waits for people."""
    asks = []
    for one in waiting:
        if one.kind == "approval":
            tool = guard.tools.get(one.name)
            asks.append(
                guard.asks.get(one.call)
                or Ask(
                    one.call,
                    "tool_call",
                    None,
                    ToolCall(one.call, one.name, one.args),
                    parameters=tool.parameters() if tool is not None else None,
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
