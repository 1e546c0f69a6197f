"""MCP Apps: a tool's view for pages, and what the view asks of its server.

A page made with CopilotKit or assistant-ui shows the activity `mcp-apps` in a frame of its own.
What the frame wants of the server, CopilotKit sends as a run with `__proxiedMCPRequest` among its
forwarded props, and reads it from the run's result. A call of a frame is a call like any other.

Source: MCP Apps (SEP-1865); the activity and the requests as `@ag-ui/mcp-apps-middleware` has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ag_ui.core import ActivitySnapshotEvent
from mcp_types import CallToolResult, Tool

from agui_bridge.protocol.contract.requests import VIEW_REQUEST
from agui_bridge.protocol.threads.records import Json

ACTIVITY: Final = "mcp-apps"
MIME: Final = "text/html;profile=mcp-app"
EXTENSION: Final = "io.modelcontextprotocol/ui"
_SCHEME: Final = "ui://"


def view_of(tool: Tool) -> str | None:
    """The address of the view that a server lists for a tool, `ui://…`; None without one.

    Args:
        tool: the server's entry.
    """
    meta = tool.meta or {}
    uri = _ui(tool).get("resourceUri", meta.get("ui/resourceUri"))
    return uri if isinstance(uri, str) and uri.startswith(_SCHEME) else None


def is_for(tool: Tool, who: str) -> bool:
    """Whether a tool is offered to somebody: by default to both.

    Args:
        tool: the server's entry.
        who: "model" or "app".
    """
    visible = _ui(tool).get("visibility")
    return who in visible if isinstance(visible, list) else True


def shown(
    uri: str, server: str, args: Mapping[str, Json], result: CallToolResult, call_id: str
) -> ActivitySnapshotEvent:
    """The activity by which a page shows a call's view.

    Args:
        uri: the view's address.
        server: the server's name.
        args: of the call.
        result: what the server sent.
        call_id: the call's id.
    """
    told = result.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"content", "structured_content", "is_error", "meta"},
    )
    content: dict[str, Json] = {
        "resourceUri": uri,
        "serverId": server,
        "serverHash": server,  # CopilotKit wants one; names are ours, and tell nothing of a server
        "toolCallId": call_id,
        "toolInput": dict(args),
        "result": told,
    }
    return ActivitySnapshotEvent(
        message_id=f"{call_id}-app", activity_type=ACTIVITY, content=content, replace=True
    )


@dataclass(frozen=True, slots=True)
class ViewRequest:
    """What a view asks of its server.

    Attributes:
        server: the server's name.
        uri: of a resource that is read; None for a call.
        tool: the tool's own name, of a call.
        args: its arguments.
    """

    server: str
    uri: str | None = None
    tool: str = ""
    args: Mapping[str, Json] | None = None


def requested(props: Any) -> Mapping[str, Any] | None:
    """What a page forwards for a view, as it came; None for a run of the conversation.

    Args:
        props: the input's forwarded props.
    """
    found = props.get(VIEW_REQUEST) if isinstance(props, Mapping) else None
    return found if isinstance(found, Mapping) else None


def request_of(raw: Mapping[str, Any]) -> ViewRequest | None:
    """Read such a request; None where it is none that a view may make.

    Args:
        raw: what `requested` found.
    """
    params, server = raw.get("params"), raw.get("serverId") or raw.get("serverHash")
    if not isinstance(params, Mapping) or not isinstance(server, str):
        return None
    if raw.get("method") == "resources/read":
        uri = params.get("uri")
        return ViewRequest(server, uri=uri) if _is_view(uri) else None
    name, args = params.get("name"), params.get("arguments", {})
    if raw.get("method") != "tools/call" or not isinstance(name, str):
        return None
    return ViewRequest(server, tool=name, args=args) if isinstance(args, Mapping) else None


def result_for(value: Json) -> dict[str, Json]:
    """A call's result, as a view wants it.

    Args:
        value: what `results.result_of` made of the server's.
    """
    if isinstance(value, dict) and isinstance(value.get("content"), list):
        return value
    if isinstance(value, dict) and value.keys() == {"error"}:
        return failed(str(value["error"]))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    told: dict[str, Json] = {"content": [{"type": "text", "text": text}]}
    return told | ({"structuredContent": value} if isinstance(value, dict) else {})


def failed(why: str) -> dict[str, Json]:
    """The result of a call that came to nothing.

    Args:
        why: a sentence.
    """
    return {"content": [{"type": "text", "text": why}], "isError": True}


def _ui(tool: Tool) -> Mapping[str, Any]:
    found = (tool.meta or {}).get("ui")
    return found if isinstance(found, Mapping) else {}


def _is_view(uri: object) -> bool:
    return isinstance(uri, str) and uri.startswith(_SCHEME)
