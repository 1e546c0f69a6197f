"""The MCP servers that an agent uses, and their tools under names that keep them apart."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mcp import StdioServerParameters
from mcp_types import ElicitResult, Tool

from agui_bridge.agents.function.outbox import failure_text
from agui_bridge.agents.function.run import FunctionRun
from agui_bridge.agents.replay.journal import StepFailed
from agui_bridge.errors import ConfigurationError
from agui_bridge.mcp.apps import (
    ViewRequest,
    failed,
    request_of,
    requested,
    result_for,
    view_of,
)
from agui_bridge.mcp.connection import Limits, MCPFault, Server, connected
from agui_bridge.mcp.tool import MCPTool
from agui_bridge.policy import CallDenied
from agui_bridge.protocol.threads.records import Json

logger: Final = logging.getLogger("agui_bridge.mcp")

NeedsApproval = Callable[[MCPTool, Mapping[str, Json]], bool]
"""Whether people have to approve a call: of this tool, with these arguments."""

FRESH: Final = 60.0
"""Seconds for which a process believes what a server listed."""

_SERVER: Final = re.compile(r"[A-Za-z0-9-]{1,24}")
_MODELS: Final = re.compile(r"[^A-Za-z0-9_-]")
_VIEWS: Final = ("ui", "ui/resourceUri")
_LONGEST_NAME: Final = 64
"""Of a function, for models."""


class MCPServers:
    """Tools of MCP servers, for function agents and for the `tools` of a `ChatAgent`.

    A tool is called SERVER__TOOL. By default people approve every call but those of tools that only
    read, as their server says, and only where you trust that server: anybody can claim that.

    A connection is made for each call and for each list, and closed again: a server that is started
    as a process keeps nothing between two calls.

    Args:
        servers: by name, of letters, digits and dashes: an address (streamable HTTP), or the
            command that starts it (`mcp.StdioServerParameters`).
        trusted: names of those whose word on their tools counts (`readOnlyHint`,
            `idempotentHint`), and whose views are shown: a page may run them as its own.
        approve: says whether people have to approve a call, in place of the default.
        only: the tools that are used, by server, as the server calls them; by default all.
        repeatable: tools, by server, that may be called twice, whatever their server says of them:
            what older servers ask in the middle of a call can be asked only of these.
        headers: by server, sent with each request.
        timeout: seconds that a server may be silent, before and between the progress it tells.
        longest: seconds that a call may take in all, without the time that people take.
        most_bytes: what a server may send, for one call or list.

    Raises:
        ConfigurationError: a name can't be used, or one names a server that is not there.
    """

    def __init__(
        self,
        servers: Mapping[str, str | StdioServerParameters],
        *,
        trusted: Collection[str] = (),
        approve: NeedsApproval | None = None,
        only: Mapping[str, Collection[str]] | None = None,
        repeatable: Mapping[str, Collection[str]] | None = None,
        headers: Mapping[str, Mapping[str, str]] | None = None,
        timeout: float = 60.0,
        longest: float = 600.0,
        most_bytes: int = 4 * 1024 * 1024,
    ) -> None:
        headers, repeatable = headers or {}, repeatable or {}
        named = (("trusted", trusted), ("only", only or ()))
        for name in servers:
            if not _SERVER.fullmatch(name):
                raise ConfigurationError(
                    f"An MCP server's name is up to 24 letters, digits and dashes, not {name!r}."
                )
        for option, names in (*named, ("headers", headers), ("repeatable", repeatable)):
            if unknown := sorted(set(names) - set(servers)):
                raise ConfigurationError(f"{option}: there is no MCP server {unknown[0]!r}.")
        self._servers = {
            name: Server(
                name,
                target,
                headers.get(name, {}),
                name in trusted,
                frozenset(repeatable.get(name, ())),
            )
            for name, target in servers.items()
        }
        self._approve = approve
        self._only = {name: frozenset(tools) for name, tools in (only or {}).items()}
        self._lists: dict[str, tuple[float, list[Tool]]] = {}
        self._limits = Limits(timeout, longest, most_bytes)

    async def tools(self, run: FunctionRun) -> list[MCPTool]:
        """The tools of all servers, as they were when this run's function first came here.

        `describe()` of each is what chat completions want; `call` calls it. A server that can't be
        reached is left out, which is logged.

        Args:
            run: of the function agent.

        Raises:
            StepFailed: two tools have one name.
        """
        listed = await run.step("mcp tools", self._list, idempotent=True)
        return [self._tool(entry) for entry in listed]

    async def call(
        self,
        run: FunctionRun,
        name: str,
        args: Mapping[str, Any],
        *,
        message: str | None = None,
        key: str | None = None,
        call_id: str | None = None,
    ) -> Json:
        """Call a tool: at once, or once people have approved the call.

        What the server asks in the middle is asked at the same call.

        Args:
            run: of the function agent.
            name: SERVER__TOOL, or SERVER.TOOL with the tool's own name.
            args: its arguments.
            message: what people read who are asked to approve it.
            key: tells equal calls of several tasks apart.
            call_id: the call's id, if its events have been sent already, such as by `run.stream`.

        Returns:
            What the tool returned: a text, JSON, or `{"error": text}` where it says that it failed.

        Raises:
            CallDenied: the policy or a person refused.
            StepFailed: its `error` is `ToolNotReached` where nothing was executed, and
                `ToolOutcomeUnknown` where nobody knows. Or there is no such tool.
        """
        return await self._call(run, name, args, message=message, key=key, call_id=call_id)

    async def chat_tools(self, run: FunctionRun) -> Sequence[Any]:
        """The tools as a `ChatAgent` takes them: give it this object among its `tools`.

        A tool whose parameters can't be checked is left out, which is logged.

        Args:
            run: of the chat agent.
        """
        from agui_bridge.mcp.chat_tool import chat_tool

        found = [chat_tool(tool) for tool in await self.tools(run) if tool.for_model]
        return [tool for tool in found if tool is not None]

    async def serve_view(self, run: FunctionRun) -> bool:
        """Answer what a tool's view asks, where this run is for that (MCP Apps).

        A page reads the view, and calls tools for it, by a run of its own. A call passes the policy
        and is approved like any other; the view gets no result of a call that people approve later.
        A chat agent does this by itself. In a function agent call it first::

            if await shop.serve_view(run):
                return

        Args:
            run: of the function agent.

        Returns:
            Whether it was: then the run has its `result`, and there is nothing more to do.
        """
        # Remembered: the input that answers an approval asks nothing itself.
        raw = await run.step(
            "mcp view", lambda: requested(run.input.forwarded_props), idempotent=True
        )
        if raw is None:
            return False
        wanted = request_of(raw)
        server = self._servers.get(wanted.server) if wanted is not None else None
        if wanted is None or server is None or not server.trusted:
            run.result = failed("No view may ask for that here.")
        elif wanted.uri is not None:
            run.result = await self._read(server, wanted.uri)
        else:
            run.result = await self._called(run, server, wanted)
        return True

    async def _read(self, server: Server, uri: str) -> Json:
        """A view, or what belongs to one: it changes nothing, so that nobody is asked."""
        only = self._only.get(server.name)
        listed = [one for one in await self._known(server) if only is None or one.name in only]
        if uri not in map(view_of, listed):
            return failed(f"No tool of {server.name!r} that is used here has this view.")
        async with connected(server, self._limits) as connection:
            return await connection.read(uri)

    async def _called(self, run: FunctionRun, server: Server, wanted: ViewRequest) -> Json:
        name = f"{server.name}.{wanted.tool}"
        try:
            facts = await run.step(
                "mcp view's tool", self._find, name, dict(wanted.args or {}), idempotent=True
            )
            if not self._tool(facts["tool"]).for_view:
                return failed(f"Views may not call {wanted.tool!r}.")
            return result_for(await self._call(run, name, wanted.args or {}, viewed=True))
        except CallDenied as denied:
            return failed(f"It was not executed: {denied.reason or 'refused'}.")
        except StepFailed as error:
            return failed(failure_text(error.error))

    async def _call(
        self,
        run: FunctionRun,
        name: str,
        args: Mapping[str, Any],
        *,
        message: str | None = None,
        key: str | None = None,
        call_id: str | None = None,
        viewed: bool = False,
    ) -> Json:
        asked = f"{name} {key}" if key is not None else name
        facts = await run.step("mcp tool", self._find, name, dict(args), key=asked, idempotent=True)
        tool = self._tool(facts["tool"])
        if viewed:
            tool = replace(tool, view=None)  # the view that asked is there already
        if not facts["approve"]:
            return await run.call(tool.name, args, tool, key=key, call_id=call_id)
        approval = await run.approve(
            tool.name,
            args,
            message=message,
            parameters=tool.editable,
            editable=tool.editable is not None,
            metadata={"mcp": {"server": tool.server.name, "tool": tool.own_name}},
            key=key,
            call_id=call_id,
        )
        if not approval:
            raise CallDenied(tool.name, "person", approval.reason, approval.cause)
        return await run.tool(approval, tool)

    # --- what servers list ---

    async def _list(self) -> list[dict[str, Json]]:
        found = await asyncio.gather(*map(self._list_of, self._servers.values()))
        entries = [entry for listed in found for entry in listed]
        names = [entry["name"] for entry in entries]
        for name in names:
            if names.count(name) > 1:
                raise MCPFault(
                    f"Two tools of MCP servers are called {name!r} once they are named for models: "
                    "leave one out with only=."
                )
        return entries

    async def _list_of(self, server: Server) -> list[dict[str, Json]]:
        try:
            listed = await self._listed(server)
        except Exception as error:
            logger.warning("The tools of the MCP server %r are left out: %s", server.name, error)
            return []
        only = self._only.get(server.name)
        return [_entry(server, one) for one in listed if only is None or one.name in only]

    async def _find(self, name: str, args: dict[str, Json]) -> dict[str, Json]:
        separator = "__" if "__" in name else "."
        server = self._servers.get(name.partition(separator)[0])
        if server is None:
            raise MCPFault(f"There is no MCP server for the tool {name!r}.")
        only = self._only.get(server.name)
        for listed in (self._recent(server), None):
            for one in await self._listed(server) if listed is None else listed:
                entry = _entry(server, one)
                own = f"{server.name}.{one.name}"
                if name in (entry["name"], own) and (only is None or one.name in only):
                    approve = self._tool(entry).needs_approval(args)
                    return {"tool": entry, "approve": approve}
        raise MCPFault(f"The MCP server {server.name!r} has no tool for {name!r}.")

    async def _known(self, server: Server) -> list[Tool]:
        return self._recent(server) or await self._listed(server)

    def _recent(self, server: Server) -> list[Tool]:
        """What it listed a moment ago in this process: to start one again takes seconds."""
        at, listed = self._lists.get(server.name, (0.0, []))
        return listed if time.monotonic() - at < FRESH else []

    async def _listed(self, server: Server) -> list[Tool]:
        # Some list what asks only to who says that it can be asked.
        async with connected(server, self._limits, _cancel) as connection:
            listed = await connection.tools()
        self._lists[server.name] = (time.monotonic(), listed)
        return listed

    def _tool(self, entry: Mapping[str, Any]) -> MCPTool:
        """The tool of a remembered entry; another process may hold the run by now."""
        server = self._servers.get(entry["server"])
        if server is None:
            raise MCPFault(f"There is no MCP server {entry['server']!r} any more.")
        return MCPTool.of(
            Tool.model_validate(entry["tool"]),
            entry["name"],
            server,
            self._limits,
            self._approve,
        )


async def _cancel(context: Any, params: Any) -> ElicitResult:
    """What is told a server that asks before anything is called."""
    return ElicitResult(action="cancel")


def _entry(server: Server, tool: Tool) -> dict[str, Json]:
    """A tool as the journal keeps it: what is needed of it, and no icons."""
    kept = tool.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"name", "title", "description", "input_schema", "annotations"},
    )
    # Of its metadata what pages show of it, and whom it is for.
    views = {key: value for key, value in (tool.meta or {}).items() if key in _VIEWS}
    if views:
        kept["_meta"] = views
    name = f"{server.name}__{_MODELS.sub('_', tool.name)}"[:_LONGEST_NAME]
    return {"server": server.name, "name": name, "tool": kept}
