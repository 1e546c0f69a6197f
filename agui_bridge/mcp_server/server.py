"""The server: the SDK's, with what the bridge answers to each request."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from agui_bridge.errors import CODES, Refused, StoreUnavailable
from agui_bridge.mcp_server import conversations
from agui_bridge.mcp_server.calls import Calls
from agui_bridge.mcp_server.replies import CallReply, refused
from agui_bridge.mcp_server.service import Caller, McpService
from agui_bridge.mcp_server.tools import Tools
from agui_bridge.protocol.threads.records import Principal

logger: Final = logging.getLogger("agui_bridge")

Context = ServerRequestContext[Any, Any]

CallerOf = Callable[[Context], tuple[Principal, str | None]]
"""Gives who sends a request, and where people reach the inbox."""

T = TypeVar("T")

_INSTRUCTIONS: Final = (
    "Each agent is a tool that takes a message. An agent may have to ask people before it goes on. "
    "Never answer in their place: show them the question, or the address where they answer it."
)


def server_of(service: McpService, caller_of: CallerOf, version: str) -> Server[Any]:
    """Make the MCP server of a bridge.

    Args:
        service: the bridge.
        caller_of: says who sends a request.
        version: of this package, as clients see it.
    """
    calls = Calls(service)

    def caller(context: Context) -> Caller:
        principal, address = caller_of(context)
        forms, urls = _shows(context)
        return Caller(principal, address, forms, urls)

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=Tools.of(service.agents).listed())

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> CallReply:
        try:
            return await _told(calls.call(context, caller(context), params))
        except _Failed as failed:
            return refused(failed.code, failed.message)

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        found = await _or_error(conversations.list_conversations(service, caller(context)))
        return types.ListResourcesResult(resources=found)

    async def list_templates(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=conversations.templates())

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        who = caller(context)
        return await _or_error(conversations.read_conversation(service, who, params.uri))

    return Server(
        "agui-bridge",
        version=version,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


def _shows(context: Context) -> tuple[bool, bool]:
    """Whether a client shows people forms, and sends them to addresses, in a call's middle."""
    capabilities = context.session.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    if asks is None or context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False, False
    # One that names neither shows forms: so it was before there were addresses.
    return asks.form is not None or asks.url is None, asks.url is not None


class _Failed(Exception):
    """A request that is answered with an error of ours."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def _told(work: Awaitable[T]) -> T:
    """Do something; what fails is told by its code, and never with particulars of ours."""
    try:
        return await work
    except (MCPError, _Failed):
        raise
    except Refused as error:
        raise _Failed(error.code, error.message) from None
    except StoreUnavailable:
        code = "STORE_UNAVAILABLE"
    except Exception:
        logger.exception("a request over MCP failed")
        code = "INTERNAL_ERROR"
    raise _Failed(code, f"{CODES[code].cause} {CODES[code].remedy}")


async def _or_error(work: Awaitable[T]) -> T:
    """The same for requests that are answered with an error of JSON-RPC."""
    try:
        return await _told(work)
    except _Failed as failed:
        raise MCPError(types.INTERNAL_ERROR, failed.message, {"code": failed.code}) from None
