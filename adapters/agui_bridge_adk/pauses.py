"""Calls that ADK waits for, as questions; and decisions, as the responses that it waits for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Literal
from uuid import uuid4

from google.adk.events import Event
from google.adk.workflow import BaseNode
from google.genai import types
from pydantic import ValidationError

from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    APPROVE,
    DECLINE,
    Answer,
    Approve,
    Decision,
)
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_adk.content import response_of
from agui_bridge_adk.history import loaded
from agui_bridge_adk.nodes import INPUT, answered

ADK: Final = "google-adk"

CONFIRMATION: Final = "adk_request_confirmation"
"""The call that ADK makes up to ask whether another one may run."""

_BY_ITSELF: Final = "Please approve or reject the tool call"
"""How ADK begins the hint where the tool's author gave none: it is for programmers."""

CHANGES: Final = "confirm_changes"
"""The page's tool that asks its user about changes: ag_ui_adk and CopilotKit name it so."""

_VERDICTS: Final = ("accepted", "approved", "confirmed")
_YES: Final = ("true", "yes", "accept", "accepted", "approve", "approved", "confirm", "confirmed")
_NO: Final = ("false", "no", "reject", "rejected", "decline", "declined", "deny", "denied")

Kind = Literal[
    "permit", "approval", "confirmation", "node", "input", "long_running", "frontend", "changes"
]

ABOUT_A_CALL: Final = ("permit", "approval", "confirmation", "node")
"""Kinds that decide whether a call may begin."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call that waits for a person or the application.

    Attributes:
        call: the tool call's id.
        kind: what is waited for: whether the bridge, its tool or a workflow's node lets it run,
            what its tool asked, its result, or whether the page's user wants changes.
        responds_to: id of the call that the response goes to: the made-up one or the call itself.
        name: that call's name.
        tool: the tool.
        args: the arguments of the tool call.
    """

    call: str
    kind: Kind
    responds_to: str
    name: str
    tool: str
    args: dict[str, Json]

    @property
    def tool_call(self) -> types.FunctionCall:
        """The tool call, as ADK has it."""
        return types.FunctionCall(id=self.call, name=self.tool, args=self.args)

    def response(self, decision: Decision) -> dict[str, Any]:
        """What ADK is told of a decision; why something may not run the model hears of the gate."""
        if self.kind in ABOUT_A_CALL:
            payload = {"payload": decision.payload} if isinstance(decision, Answer) else {}
            return {"confirmed": isinstance(decision, Approve | Answer), **payload}
        if not isinstance(decision, Answer):
            return {"error": decision.text}
        return (answered if self.of_node else response_of)(decision.payload)

    @property
    def of_node(self) -> bool:
        """Whether a workflow's node asks, and no model: by a name that it has in each turn."""
        return self.name == INPUT and self.responds_to != self.call

    def is_unanswered(self, decisions: Mapping[str, Decision]) -> bool:
        """Whether a workflow's node asked something that nobody answered."""
        answer = decisions.get(self.call)
        return self.kind == "input" and self.of_node and not isinstance(answer, Answer)


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while calls wait.

    Attributes:
        events: the conversation, which ends in the calls.
        waiting: the calls.
        adk: the version that wrote it.
        actor: who began the run.
        author: the agent that spoke last.
        state: state that no client sees.
        late: what people said that the model has not been told yet.
        tools: names of the tools that ran whose changes the page's user is still to confirm.
        rounds: what calls asked in their middle.
    """

    events: list[Any]
    waiting: list[Waiting]
    adk: str
    actor: str
    author: str
    state: dict[str, Json]
    late: list[Any]
    tools: list[str] = field(default_factory=list)
    rounds: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**{**kept, "waiting": [Waiting(**one) for one in kept["waiting"]]})

    def to_json(self) -> Json:
        """Write a continuation."""
        return asdict(self)

    def restored(self, decisions: Mapping[str, Decision]) -> list[Event]:
        """The events to go on from; calls that were approved with other arguments have these.

        ADK compares the call with the one that was confirmed, so both are changed.

        Args:
            decisions: by tool call id.

        Raises:
            NotDelivered: the installed ADK can't read them. Nothing was done, and the answer can be
                given again.
        """
        edited = {
            call: decision.args
            for call, decision in decisions.items()
            if isinstance(decision, Approve) and decision.edited
        }
        try:
            events = loaded(self.events)
        except ValidationError as error:
            raise self.refused(f"{error.error_count()} fields of its events don't fit.") from error
        for call in (call for event in events for call in event.get_function_calls()):
            if call.id in edited:
                call.args = dict(edited[call.id])
            original = (call.args or {}).get("originalFunctionCall")
            if call.name == CONFIRMATION and original and original.get("id") in edited:
                call.args = {
                    **(call.args or {}),
                    "originalFunctionCall": {**original, "args": dict(edited[original["id"]])},
                }
        return events

    def nodes_without(self, root: BaseNode) -> str | None:
        """The name of a node of a workflow that asked something, and is gone; None if none is."""
        waited = {one.responds_to for one in self.waiting}
        graph = getattr(root, "graph", None)
        if graph is None:
            return None
        names = {node.name for node in graph.nodes}
        for event in self.events:
            parts = (event.get("content") or {}).get("parts") or ()
            calls = {part["functionCall"].get("id") for part in parts if part.get("functionCall")}
            _, *below = ((event.get("nodeInfo") or {}).get("path") or "").split("/")
            if below and calls & waited and (name := below[0].partition("@")[0]) not in names:
                return name
        return None

    def held(self, results: Mapping[str, Json]) -> list[Waiting]:
        """The calls of the application's whose results are not here yet: they wait on.

        Args:
            results: what the application gave back, by tool call id.
        """
        return [one for one in self.waiting if one.kind == "frontend" and one.call not in results]

    def beside(self, held: Sequence[Waiting]) -> set[str]:
        """Ids of the calls that were decided about, of agents that have calls which wait on.

        Args:
            held: the calls that wait on.
        """
        authors = {
            (part.get("functionCall") or {}).get("id"): event.get("author")
            for event in self.events
            for part in (event.get("content") or {}).get("parts") or ()
        }
        waiting = {authors.get(one.call) for one in held}
        decided = (one.call for one in self.waiting if one.kind in ABOUT_A_CALL)
        return {call for call in decided if call in authors and authors[call] in waiting}

    def refused(self, why: str) -> NotDelivered:
        """What is raised where nothing was done with the answers, which can be given again."""
        return NotDelivered(
            f"This run was paused by {ADK} {self.adk} and can't go on with {ADK} "
            f"{installed_version(ADK)} and the agents as they are now: {why}"
        )

    def answers(
        self, decisions: Mapping[str, Decision], results: Mapping[str, Json]
    ) -> Iterator[types.Content]:
        """What ADK is told, in this order: results, then confirmations, branch by branch.

        An agent of a ParallelAgent hears its own branch alone, and of a message with a confirmation
        in it no model is told the rest.

        Args:
            decisions: by tool call id.
            results: what the application gave back, by tool call id.
        """
        messages: dict[tuple[bool, str], list[types.Part]] = {}
        of_call = {
            call["functionCall"].get("id"): event.get("branch") or ""
            for event in self.events
            for call in (event.get("content") or {}).get("parts") or ()
            if call.get("functionCall")
        }
        for one in self.waiting:
            if one.kind == "frontend":
                if one.call not in results:
                    continue
                found = results[one.call]
                response = response_of(text_of(found) if isinstance(found, list) else found)
            elif one.kind == "changes" or one.is_unanswered(decisions):
                # A node can't be told that nobody answered: its workflow ends here.
                continue
            else:
                response = one.response(decisions[one.call])
            made = types.FunctionResponse(id=one.responds_to, name=one.name, response=response)
            place = (one.name == CONFIRMATION, of_call.get(one.responds_to, ""))
            messages.setdefault(place, []).append(types.Part(function_response=made))
        for place in sorted(messages, key=lambda place: place[0]):
            yield types.Content(role="user", parts=messages[place])

    def decided(self, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
        """What people decided about the calls that are about to begin, or not to, by id.

        Who answered what a tool asked before it acts has let it act.
        """
        found: dict[str, Decision] = {}
        for one in self.waiting:
            decision = decisions.get(one.call)
            if decision is None or one.kind not in ABOUT_A_CALL:
                continue
            if isinstance(decision, Answer):
                decision = Approve(one.args, decision.payload, actor=decision.actor)
            found[one.call] = decision
        return found


def held_call(confirmation: types.FunctionCall) -> dict[str, Any]:
    """The call that a made-up one asks about: its `id`, `name` and `args`."""
    held: dict[str, Any] = (confirmation.args or {})["originalFunctionCall"]
    return held


def confirmation_event(call: types.FunctionCall, asked: Event) -> Event:
    """The event by which ADK asks about a call; it makes none where a tool asks again.

    Args:
        call: the call.
        asked: the event with the tool's placeholder for a result, and what it wants to know.
    """
    dumped: Any = {"by_alias": True, "exclude_none": True}
    own = f"adk-{uuid4()}"
    wish = asked.actions.requested_tool_confirmations[call.id or ""]
    args = {
        "originalFunctionCall": call.model_dump(**dumped),
        "toolConfirmation": wish.model_dump(**dumped),
    }
    made = types.FunctionCall(id=own, name=CONFIRMATION, args=args)
    return Event(
        author=asked.author,
        branch=asked.branch,
        invocation_id=asked.invocation_id,
        content=types.Content(role="user", parts=[types.Part(function_call=made)]),
        long_running_tool_ids={own},
    )


def going_on(call: types.FunctionCall) -> Waiting:
    """What a made-up call waits for whose tool has asked in its middle.

    Args:
        call: the made-up call.
    """
    held = held_call(call)
    args = dict(held.get("args") or {})
    return Waiting(held["id"], "permit", call.id or "", CONFIRMATION, held["name"], args)


def confirmation_of(
    call: types.FunctionCall, asked: Ask | None, parameters: Mapping[str, Json] | None
) -> tuple[Waiting, Ask]:
    """What a made-up call waits for, and the question.

    Args:
        call: the made-up call.
        asked: the gate's question about the tool call, if it was the gate that asked.
        parameters: the tool's JSON Schema, where it is known.
    """
    held, wish = held_call(call), (call.args or {}).get("toolConfirmation") or {}
    tool = ToolCall(held["id"], held["name"], held.get("args") or {})
    hint, template = wish.get("hint") or None, wish.get("payload")
    if hint and hint.startswith(_BY_ITSELF):
        hint = None
    kind: Kind = "approval" if template is None else "confirmation"
    if asked is not None:
        kind = "permit"
    waiting = Waiting(tool.id, kind, call.id or "", CONFIRMATION, tool.name, dict(tool.args))
    if asked is not None:
        # A callback may have changed arguments since; clients have been shown the model's.
        return waiting, replace(asked, tool_call=tool)
    if kind == "approval":
        return waiting, Ask(tool.id, "tool_call", hint, tool, parameters=parameters)
    return waiting, _asked_by_tool(tool, hint, template)


def _asked_by_tool(tool: ToolCall, hint: str | None, template: Json) -> Ask:
    """What a tool wants to know before it acts."""
    about: dict[str, Json] = {"toolName": tool.name, "args": dict(tool.args), "payload": template}
    return Ask(
        tool.id,
        "adk:confirmation",
        hint,
        about=tool.id,
        permits=True,
        allowed=(ANSWER, DECLINE),
        metadata=about,
    )


def question_of(call: types.FunctionCall, own: str) -> tuple[Waiting, Ask]:
    """What a call waits for whose result a person gives, and the question.

    Args:
        call: the call.
        own: its id on the wire.
    """
    args: dict[str, Any] = dict(call.args or {})
    name = call.name or ""
    if name != INPUT:
        about: dict[str, Json] = {"toolName": name, "args": args}
        return (
            Waiting(own, "long_running", call.id or "", name, name, args),
            Ask(own, "adk:long_running", about=own, metadata=about),
        )
    message, schema = args.get("message"), args.get("response_schema")
    return Waiting(own, "input", call.id or "", name, name, args), Ask(
        own,
        "input_required",
        message if isinstance(message, str) else None,
        about=own,
        response_schema=schema if isinstance(schema, Mapping) else None,
        metadata={"payload": args["payload"]} if args.get("payload") is not None else None,
    )


def permission_of(
    call: types.FunctionCall,
    own: str,
    asked: Ask | None,
    parameters: Mapping[str, Json] | None,
    *,
    is_tool: bool,
) -> tuple[Waiting, Ask]:
    """What a workflow's node waits for that may not run yet, and the question.

    Args:
        call: the call by which the node asks.
        own: the id of what would run, on the wire.
        asked: the gate's question about it, if it was the gate that asked.
        parameters: the tool's JSON Schema, where it is known.
        is_tool: whether it is a tool; else it is a function.
    """
    args: dict[str, Any] = dict(call.args or {})
    about, hint = dict(args["payload"]), args.get("message")
    template = about.get("confirmation_payload")
    tool = ToolCall(own, about["tool_name"], about.get("args") or {})
    if hint and hint.startswith(_BY_ITSELF):
        hint = None

    def waiting(kind: Kind) -> Waiting:
        return Waiting(own, kind, call.id or "", INPUT, tool.name, dict(tool.args))

    if template is not None:
        return waiting("confirmation"), _asked_by_tool(tool, hint, template)
    if is_tool:
        ask = asked or Ask(own, "tool_call", hint)
        return waiting("approval"), replace(ask, tool_call=tool, parameters=parameters)
    # What a function is given it has from the node before: nobody can edit that.
    return waiting("node"), Ask(own, "tool_call", hint, tool, allowed=(APPROVE, DECLINE))


def changes_asked(own: str) -> Waiting:
    """What waits for the page's user, who is shown changes that a call's arguments predicted."""
    return Waiting(own, "changes", own, CHANGES, CHANGES, {})


def changes_answered(
    waiting: Sequence[Waiting], results: Mapping[str, Json]
) -> Iterator[types.Part]:
    """What the model reads of that, as the user's words: it has not made the call."""
    for one in waiting:
        result = results.get(one.call)
        if one.kind == "changes" and result is not None:
            yield types.Part(text=_decided(text_of(result) if isinstance(result, list) else result))


def _decided(result: Json) -> str:
    """A page's answer in words; pages say `{"accepted": …}` or a word."""
    said: Any = result
    if isinstance(result, str):
        with contextlib.suppress(ValueError):
            said = json.loads(result)
    if isinstance(said, Mapping):
        said = next((said[name] for name in _VERDICTS if name in said), said)
    word = str(said).strip().lower()
    if word in _YES:
        return "The user accepted the proposed changes."
    if word in _NO:
        return "The user rejected the proposed changes, so they were not applied."
    return f"The user responded to the proposed changes: {result}"


def frontend_of(calls: Sequence[types.FunctionCall]) -> list[Waiting]:
    """What calls of the application's tools wait for."""
    return [
        Waiting(call.id, "frontend", call.id, call.name, call.name, dict(call.args or {}))
        for call in calls
        if call.id and call.name
    ]
