"""Calls that the SDK waits for, as questions; and decisions, as what it wants of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agents import Agent, FunctionTool, RunContextWrapper, RunState
from pydantic import BaseModel

from agui_bridge.errors import NotDelivered
from agui_bridge.frameworks.private_names import installed_version
from agui_bridge.protocol.answers.asks import Ask
from agui_bridge.protocol.answers.decisions import APPROVE, DECLINE, Approve, Decision
from agui_bridge.protocol.answers.unexecuted import UNREPORTED
from agui_bridge.protocol.threads.records import Json, ToolCall
from agui_bridge.protocol.turns import text_of
from agui_bridge_openai_agents.content import arguments_of
from agui_bridge_openai_agents.guard import Guard

SDK: Final = "openai-agents"


@dataclass(frozen=True, slots=True)
class Waiting:
    """One call that waits for a person or the application.

    Attributes:
        id: the call's.
        agent: name of its agent.
        name: the tool.
        arguments: what the model gave, as text.
        is_function: whether it is the call of a function tool.
        item: what the SDK has of it.
    """

    id: str
    agent: str
    name: str
    arguments: str
    is_function: bool
    item: Any


@dataclass(frozen=True, slots=True)
class Continuation:
    """What is kept while calls wait.

    Attributes:
        state: the SDK's state, without the context.
        sdk: the version that wrote it.
        actor: who began the run.
        frontend: ids of the calls that the application carries out.
        tools: the application's tools: names, descriptions and parameters.
        subagents: the agents at work inside tools.
        owners: whose calls they are that wait in these, by id.
        late: what people said that the model has not been told yet.
    """

    state: Any
    sdk: str
    actor: str
    frontend: list[str]
    tools: list[dict[str, Any]]
    subagents: Any
    owners: dict[str, str]
    late: list[Any]

    @classmethod
    def from_json(cls, kept: Any) -> Continuation:
        """Read a continuation."""
        return cls(**kept)

    def to_json(self) -> Json:
        """Write a continuation."""
        return asdict(self)

    @property
    def speaking(self) -> str:
        """Name of the agent that talks to the application."""
        return str(self.state["current_agent"]["name"])


def waiting_of(item: Any) -> Waiting:
    """What waits, of a function tool, a hosted MCP server's, or another."""
    raw = item.raw_item
    raw = raw.model_dump() if isinstance(raw, BaseModel) else raw
    call_id = raw.get("call_id") or raw.get("id")
    name = item.name or raw.get("name") or raw.get("type")
    return Waiting(
        id=str(call_id),
        agent=item.agent.name,
        name=str(name),
        arguments=item.arguments or "",
        is_function=raw.get("type") == "function_call",
        item=item,
    )


def ask_of(waiting: Waiting, guard: Guard, subagent: str | None) -> Ask:
    """The question about a call whose arguments can be read."""
    ask = guard.asks.get(waiting.id)
    if ask is None:
        tool = guard.tool(waiting.agent, waiting.name)
        call = ToolCall(waiting.id, waiting.name, arguments_of(waiting.arguments) or {})
        ask = Ask(
            native_id=waiting.id,
            reason="tool_call",
            tool_call=call,
            parameters=tool.params_json_schema if tool is not None else None,
            # Of what a provider would carry out, nobody but it can give the result.
            allowed=None if waiting.is_function else (APPROVE, DECLINE),
        )
    return replace(ask, subagent_run_id=subagent)


def state_json(state: RunState[Any, Any]) -> Any:
    """A state as JSON, without what the application gave to its tools: it is given anew."""
    return _without_context(state.to_json())


async def restore(
    agent: Agent[Any], kept: Continuation, context: Any
) -> tuple[RunState[Any, Any], dict[str, Waiting]]:
    """The state that a run goes on with, and what waits in it by id.

    Raises:
        NotDelivered: the installed SDK or the agent as it is now can't go on with it. Nothing was
            done, and the answer can be given again.
    """
    wrapper: RunContextWrapper[Any] = RunContextWrapper(context=context)
    try:
        state = await RunState.from_json(agent, kept.state, context_override=wrapper)
        waiting = [waiting_of(item) for item in state.get_interruptions()]
        for one in waiting:
            # Asked now: once a run goes on, its answers count as taken.
            names = {tool.name for tool in await one.item.agent.get_all_tools(wrapper)}
            if one.is_function and one.name not in names:
                raise LookupError(f"agent {one.agent!r} has no tool {one.name!r}.")
    except Exception as error:
        raise NotDelivered(
            f"This run was paused by {SDK} {kept.sdk} (state {_schema(kept.state)}) and can't go "
            f"on with {SDK} {installed_version(SDK)} and the agent as it is now: {error}"
        ) from error
    return state, {one.id: one for one in waiting}


def decide(state: RunState[Any, Any], waiting: Waiting, decision: Decision | str) -> None:
    """Tell the SDK what became of a call; a text stands for its result, and it does not run."""
    if isinstance(decision, Approve):
        state.approve(waiting.item)
    else:
        text = decision if isinstance(decision, str) else decision.text
        state.reject(waiting.item, rejection_message=text)


def frontend_tools(
    described: Collection[Mapping[str, Any]], results: Mapping[str, Json]
) -> list[FunctionTool]:
    """The application's tools: each waits as for an approval, and then has its result.

    Args:
        described: names, descriptions and parameters.
        results: what the application gave back, by tool call id.
    """

    async def result_of(context: Any, _: str) -> str:
        found = results.get(context.tool_call_id, UNREPORTED)
        return text_of(found) if isinstance(found, str | list) else str(found)

    return [
        FunctionTool(
            name=tool["name"],
            description=tool.get("description") or "",
            params_json_schema=tool.get("parameters") or {"type": "object", "properties": {}},
            on_invoke_tool=result_of,
            strict_json_schema=False,
            needs_approval=True,
        )
        for tool in described
    ]


def _without_context(node: Any) -> Any:
    """The state, and those of agents within tools that it holds, each with an empty context."""
    if isinstance(node, list):
        return [_without_context(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: _without_context(value) for name, value in node.items()}
    if "$schemaVersion" in made and isinstance(made.get("context"), dict):
        made["context"]["context"] = {}
    return made


def _schema(state: Any) -> str:
    return str(state.get("$schemaVersion", "unknown")) if isinstance(state, dict) else "unknown"
