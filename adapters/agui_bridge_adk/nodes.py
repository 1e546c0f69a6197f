"""Workflows: the agents in their graphs, and what their nodes ask without a model.

A node asks by `RequestInput`; a node of a tool, or one with `require_confirmation`, whether it may
run. ADK names such a question after the node, so that each turn has the names of the one before.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.adk.agents import BaseAgent
from google.adk.events import Event, RequestInput
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.adk.workflow import BaseNode, FunctionNode, _tool_node
from google.adk.workflow.utils import _workflow_hitl_utils
from google.genai import types

from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.private_names import PrivateName, expect_names, installed_version
from agui_bridge.protocol.threads.records import Json

INPUT: Final = "adk_request_input"
"""The tool by which a model asks the user, and the call that a node asks with."""

MAY_RUN: Final = "wf_tool_confirmation:"
"""How the id of a question begins that is about a node; its path follows."""

_GIVEN: Final = "node_input"
"""The parameter of a function by which it gets what the node before gave."""

_HELD: Final = "agui_bridge"


@dataclass(frozen=True, slots=True)
class NodeCall:
    """A node of a tool is about to run it.

    Attributes:
        id: of the call.
        name: of the tool.
        args: its arguments, as the node before gave them.
    """

    id: str
    name: str
    args: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class NodeResult:
    """What became of such a call.

    Attributes:
        id: of the call.
        text: its result.
    """

    id: str
    text: str


_CHANGED: Final = (PrivateName(FunctionNode, "_bind_parameters", ("ctx", "node_input")),)
"""What `hold_arguments` puts its own in place of."""


def is_workflow(root: BaseNode) -> bool:
    """Whether it is no agent, but a graph or another node."""
    return not isinstance(root, BaseAgent)


def in_tree(root: BaseNode) -> Iterator[Any]:
    """A node and all that are known to be below it: agents' sub-agents, the nodes of graphs."""
    found: list[Any] = [root]
    seen = set[int]()
    for node in found:
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        graph = getattr(node, "graph", None)
        inner = getattr(node, "node", None)
        found += getattr(node, "sub_agents", None) or ()
        found += graph.nodes if graph is not None else ()
        found += [inner] if isinstance(inner, BaseNode) else ()


def hold_arguments(approved: Callable[[Any], Mapping[str, Json] | None]) -> None:
    """Have functions of workflows be called with what people approved. Once.

    ADK asks about a function's arguments, and reads them from the state anew when it runs: the
    page, or a node beside it, may have changed them. It has no hook there.

    Args:
        approved: the arguments that were approved of the node of a context; None of any other.
    """
    bind: Any = FunctionNode._bind_parameters
    if getattr(bind, _HELD, False):
        return

    @functools.wraps(bind)
    def bound(self: Any, ctx: Any, node_input: Any) -> dict[str, Any]:
        args = approved(ctx)
        if args is None or self.parameter_binding == "node_input":
            given: dict[str, Any] = bind(self, ctx, node_input)
            return given
        state = {key: value for key, value in args.items() if key != _GIVEN}
        shown = _AsApproved({**ctx.state.to_dict(), **state})
        made: dict[str, Any] = bind(self, shown, node_input)
        return {name: ctx if value is shown else value for name, value in made.items()}

    setattr(bound, _HELD, True)
    for changed in _CHANGED:
        setattr(changed.owner, changed.name, bound)


@dataclass(frozen=True, slots=True, eq=False)
class _AsApproved:
    """Stands for a node's context while its arguments are read.

    Attributes:
        state: with what was approved.
    """

    state: Mapping[str, Any]


def expect_gated(root: BaseNode) -> None:
    """Check that the installed ADK asks plugins before a workflow's tools begin.

    Raises:
        ConfigurationError: it does not, so that nothing could hold a tool back.
    """
    if not is_workflow(root):
        return
    node = getattr(_tool_node, "_ToolNode", None)
    naming = getattr(_workflow_hitl_utils, "confirmation_interrupt_id", lambda path: None)
    asks = hasattr(node, "_run_tool_with_plugin_callbacks")
    if not asks or naming("node") != MAY_RUN + "node":
        raise ConfigurationError(
            f"{root.name!r} is a workflow, whose tools google-adk "
            f"{installed_version('google-adk')} runs past its plugins: nothing "
            "could hold them back. Install google-adk>=2.13."
        )
    expect_names("google-adk", _CHANGED)


def tool_of(context: Any) -> str | None:
    """The path of the node that runs a tool, where no model called it."""
    node = getattr(context, "node", None)
    path: str = getattr(context, "node_path", "")
    return path if node is not None and hasattr(node, "tool") else None


def may_run(path: str, name: str, args: Mapping[str, Json], hint: str | None) -> RequestInput:
    """The question whether a node may run its tool, as ADK's own nodes ask it."""
    return RequestInput(
        interrupt_id=MAY_RUN + path,
        message=hint,
        payload={"tool_name": name, "args": dict(args)},
        response_schema=ToolConfirmation,
    )


def requests_in(event: Event) -> Iterator[types.FunctionCall]:
    """What nodes ask; calls of models by the same name lack the interrupt's id."""
    for call in event.get_function_calls():
        if call.name == INPUT and (call.args or {}).get("interruptId") == call.id:
            yield call


def confirmed_by(call: types.FunctionCall) -> str | None:
    """The path of the node that a question lets run; None if it is any other question."""
    own = call.id or ""
    return own.removeprefix(MAY_RUN) if own.startswith(MAY_RUN) else None


def answered(payload: Json) -> dict[str, Any]:
    """An answer as nodes take it: ADK reads a text as JSON wherever it can."""
    return {"result": json.dumps(payload)}


def output_of(event: Event, root: str) -> Any:
    """What the whole workflow gave, once its last node has; None before."""
    whole = [path for path in event.node_info.output_for or () if "/" not in path]
    return event.output if any(path.partition("@")[0] == root for path in whole) else None
