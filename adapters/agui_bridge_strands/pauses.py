"""Interrupts of Strands as questions; and decisions, as what it goes on with.

A call that was refused never reaches Strands again: it is given a result in what was kept, so that
neither hooks, which might ask once more, nor the tool are entered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from strands import Agent
from strands.agent._agent_as_tool import _INTERRUPTED_TURNS_KEY

from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.protocol.answers.asks import Ask, with_call
from agui_bridge.protocol.answers.decisions import (
    ANSWER,
    DECLINE,
    Answer,
    Approve,
    Decision,
    Respond,
)
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge_strands.content import from_json, result_block, to_json
from agui_bridge_strands.own_copy import STRANDS, inner_agent

Kind = Literal["permit", "approval", "tool", "hook", "frontend"]

ABOUT_A_CALL: Final = ("permit", "approval")
"""Kinds that decide whether a call may begin: the bridge's gate asked, or an intervention did."""

_MESSAGES: Final = ("message", "question", "prompt", "reason")
_SCHEMAS: Final = ("schema", "response_schema")
_BEFORE_TOOLS: Final = "v1:before_tools:"
"""Stands in the ids of what hooks ask before all tools of a reply."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """One interrupt.

    Attributes:
        id: what Strands calls it.
        name: what its author calls it.
        kind: whether the gate or an intervention asks for an approval, the tool or a hook asks
            something else, or the application carries the call out.
        call: the tool call's id; None where it is about none.
        tool: the tool.
        args: the arguments of the tool call; of a tool that asks itself what it was given.
        subagent: the id of the sub-agent whose call it is.
    """

    id: str
    name: str
    kind: Kind
    call: str | None
    tool: str
    args: dict[str, Json]
    subagent: str | None


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while calls wait.

    Attributes:
        snapshot: the agent's own, with the conversation, its state and the calls.
        inner: those of the agents in tools that keep their context, by names of the tools.
        waiting: the interrupts.
        permits: arguments of calls that were approved and have not begun, by id.
        strands: the version that wrote it.
        actor: who began the run.
        subagents: the agents at work inside tools.
        late: what people said that the model has not been told yet.
        shown: see `Tries`.
        tried: its `results`.
        rounds: what calls asked in their middle.
    """

    snapshot: Any
    inner: dict[str, Any]
    waiting: list[Waiting]
    permits: dict[str, dict[str, Json]]
    strands: str
    actor: str
    subagents: Any
    late: list[Any]
    shown: dict[str, str] = field(default_factory=dict)
    tried: dict[str, str] = field(default_factory=dict)
    rounds: dict[str, Json] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**{**kept, "waiting": [Waiting(**one) for one in kept["waiting"]]})

    def to_json(self) -> Json:
        """Write a continuation."""
        made: Json = to_json(asdict(self))
        return made

    def refused(self, why: object) -> NotDelivered:
        """What is raised where nothing was done with the answers, which can be given again."""
        return NotDelivered(
            f"This run was paused by {STRANDS} {self.strands} and can't go on with {STRANDS} "
            f"{installed_version(STRANDS)} and the agent as it is now: {why}"
        )

    def decided(self, decisions: Mapping[str, Decision]) -> dict[str, Decision]:
        """What people decided about the calls that are about to begin, or not to, by their ids.

        Who answered what a tool asked while it ran has let it go on. What a hook asked is for the
        hook to judge, and no approval.

        Args:
            decisions: by id of the interrupt.
        """
        found: dict[str, Decision] = {
            call: Approve(args, actor=self.actor) for call, args in self.permits.items()
        }
        for one in self.waiting:
            decision = decisions.get(one.id)
            if decision is None or one.call is None:
                continue
            if isinstance(decision, Answer):
                if one.kind != "tool":
                    continue
                decision = Approve(one.args, decision.payload, actor=decision.actor)
            if isinstance(found.get(one.call, decision), Approve):
                found[one.call] = decision
        return found

    def results(
        self, decisions: Mapping[str, Decision], returned: Callable[[str], str | None]
    ) -> dict[str, dict[str, Any]]:
        """The results of calls that Strands is not to carry out, by their ids.

        Args:
            decisions: by id of the interrupt.
            returned: what the application gave back for a call; None: it waits on.
        """
        found: dict[str, dict[str, Any]] = {}
        for one in self.waiting:
            decision = decisions.get(one.id)
            if one.call is None:
                continue
            if one.kind == "frontend":
                if (text := returned(one.call)) is not None:
                    found[one.call] = result_block(one.call, text)
            elif decision is not None and not isinstance(decision, Approve | Answer):
                given = isinstance(decision, Respond)
                found.setdefault(
                    one.call, result_block(one.call, decision.text, is_error=not given)
                )
        return found

    def restored(
        self, decisions: Mapping[str, Decision], results: Mapping[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """The snapshots to go on from, as copies: the agent's, and those of agents in tools.

        Calls that were approved with other arguments have these, and those with results have them.

        Args:
            decisions: by id of the interrupt.
            results: what stands for the results of calls, by their ids.
        """
        edited = {
            one.call: decision.args
            for one in self.waiting
            if one.call and isinstance(decision := decisions.get(one.id), Approve)
        }
        edited |= {call: args for call, args in self.permits.items() if call not in edited}
        both = from_json({"snapshot": self.snapshot, "inner": self.inner})
        for data in _turns([both["snapshot"], *both["inner"].values()]):
            pending = data["interrupt_state"].get("pending_tool_execution")
            messages = [*data["messages"], *([pending["assistant_message"]] if pending else ())]
            for use in (use for message in messages for use in _calls(message)):
                if use["toolUseId"] in edited:
                    use["input"] = dict(edited[use["toolUseId"]])
            if pending:
                done = pending["completed_tool_results"]
                have = {result["toolUseId"] for result in done}
                asked = [use["toolUseId"] for use in _calls(pending["assistant_message"])]
                done += [results[call] for call in asked if call in results and call not in have]
        return both["snapshot"], both["inner"]

    def expect_tools(self, agent: Agent, snapshot: Any, results: Mapping[str, Any]) -> None:
        """Refuse to go on where a call is to begin whose tool is gone, in that very agent.

        Args:
            agent: the agent.
            snapshot: what it is about to load.
            results: what stands for the results of calls, by their ids.

        Raises:
            NotDelivered: there is no such tool.
        """
        state = snapshot["data"]["interrupt_state"]
        inside = state["context"].get(_INTERRUPTED_TURNS_KEY, {})
        # A tool that a model made up is told of by Strands.
        known = {*inside, *self.permits, *(one.call for one in self.waiting)} - {*results}
        pending = state.get("pending_tool_execution")
        for use in _calls(pending["assistant_message"]) if pending else ():
            call, name = use["toolUseId"], use["name"]
            if call not in known:
                continue
            tool = agent.tool_registry.registry.get(name)
            inner = inner_agent(tool)
            if tool is None or (call in inside and inner is None):
                raise self.refused(f"the agent {agent.name!r} has no such tool {name!r}.")
            if call in inside and inner is not None:
                self.expect_tools(inner, inside[call], results)

    def responses(self, decisions: Mapping[str, Decision]) -> list[Any]:
        """What Strands is told; nothing of calls that have their results by now."""
        return [
            {"interruptResponse": {"interruptId": one.id, "response": said}}
            for one in self.waiting
            if (said := _said(decisions.get(one.id))) is not None
        ]


def batch_of(waiting: Waiting, snapshot: Any) -> list[ToolCall]:
    """The calls that a hook asks about before all tools of a reply; none where it is no such hook.

    Args:
        waiting: the interrupt: of the agent itself without a call, else of the agent in its call.
        snapshot: the agent's.
    """
    if _BEFORE_TOOLS not in waiting.id:
        return []
    asking = snapshot if waiting.call is None else _inside(snapshot, waiting.call)
    pending = asking and asking["data"]["interrupt_state"].get("pending_tool_execution")
    if not pending:
        return []
    done = {result["toolUseId"] for result in pending["completed_tool_results"]}
    return [
        ToolCall(use["toolUseId"], use["name"], _arguments(use))
        for use in _calls(pending["assistant_message"])
        if use["toolUseId"] not in done
    ]


def calls_in(continuation: Any) -> list[str]:
    """Ids of the calls that wait, as clients know them, in what `Continuation.to_json` gave."""
    shown = continuation.get("shown", {})
    calls = (one["call"] for one in continuation["waiting"])
    return [shown.get(call, call) for call in calls if call is not None]


def question_of(
    waiting: Waiting,
    reason: Any,
    parameters: Mapping[str, Json] | None,
    batch: Sequence[ToolCall],
) -> Ask:
    """The question that an interrupt is, which the gate has not asked.

    Args:
        waiting: the interrupt.
        reason: what its author says of it.
        parameters: the tool's JSON Schema, where it is known.
        batch: what `batch_of` gives.
    """
    told = to_json(reason)
    members: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    texts = [told, *(members.get(name) for name in _MESSAGES)]
    message = next((text for text in texts if isinstance(text, str) and text), None)
    if waiting.kind == "approval" and waiting.call is not None:
        return Ask(
            waiting.id,
            "tool_call",
            message,
            ToolCall(waiting.call, waiting.tool, waiting.args),
            parameters=parameters,
            subagent_run_id=waiting.subagent,
        )
    schemas = (members.get(name) for name in _SCHEMAS)
    metadata: dict[str, Json] = {"reason": told}
    about: str | Sequence[ToolCall] | None = waiting.call
    if waiting.call is None and len(batch) == 1:
        about = batch[0].id
    elif batch:
        # Clients show a question at one call alone, and know none of an agent in a tool.
        about = batch
        metadata["calls"] = [{"toolName": call.name, "args": call.args} for call in batch]
        for call in batch:
            message = with_call(message, call.name, call.args)
    elif waiting.call is not None:
        metadata |= {"toolName": waiting.tool, "args": waiting.args}
    return Ask(
        waiting.id,
        f"strands:{waiting.name}",
        message,
        about=about,
        # What a hook asks before a tool, its answer lets run.
        permits=_BEFORE_TOOLS in waiting.id
        or (waiting.kind == "hook" and waiting.call is not None),
        response_schema=next((s for s in schemas if isinstance(s, Mapping)), None),
        allowed=(ANSWER, DECLINE),
        subagent_run_id=waiting.subagent,
        metadata=metadata,
    )


def _said(decision: Decision | None) -> Json:
    if isinstance(decision, Approve):
        return True
    return decision.payload if isinstance(decision, Answer) else None


def _turns(snapshots: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """The data of snapshots, and of those of agents in tools that they hold."""
    for snapshot in snapshots:
        data = snapshot["data"]
        yield data
        yield from _turns(
            data["interrupt_state"]["context"].get(_INTERRUPTED_TURNS_KEY, {}).values()
        )


def _inside(snapshot: Any, call: str) -> Any:
    """The snapshot of the agent that works in a call; None where none does."""
    turns = snapshot["data"]["interrupt_state"]["context"].get(_INTERRUPTED_TURNS_KEY, {})
    if call in turns:
        return turns[call]
    found = (_inside(turn, call) for turn in turns.values())
    return next((turn for turn in found if turn is not None), None)


def _arguments(use: Mapping[str, Any]) -> dict[str, Json]:
    args = to_json(use["input"])
    return args if isinstance(args, dict) else {}


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [block["toolUse"] for block in message["content"] if "toolUse" in block]
