"""A tool of an MCP server: how it is shown to a model, and how one call of it is carried out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final
from uuid import uuid4

from ag_ui.core import ActivitySnapshotEvent
from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    ElicitationRequiredErrorData,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    Tool,
)
from pydantic import ValidationError

from agui_bridge.adapters import Ask
from agui_bridge.agents.replay.journal import ToolNotReached, ToolOutcomeUnknown
from agui_bridge.emitting import emit, tell_after
from agui_bridge.frameworks.needs_input import Answered, NeedsInput, answered
from agui_bridge.mcp.apps import is_for, shown, view_of
from agui_bridge.mcp.connection import Connection, Limits, MCPFault, Server, connected
from agui_bridge.mcp.elicitation import Unaskable, ask_of, request_of, response_of
from agui_bridge.mcp.results import result_of
from agui_bridge.policy import ToolHints
from agui_bridge.protocol.json_values import clean_text
from agui_bridge.protocol.schemas.checking import UnsafeSchema, check_schema, find_schema_fault
from agui_bridge.protocol.threads.records import Json

logger: Final = logging.getLogger("agui_bridge.mcp")

MOST_QUESTIONS: Final = 10
_MOST_STATE: Final = 64 * 1024
_MOST_PROGRESS: Final = 100
_EMPTY_ROUNDS: Final = 10
"""How often a server may want to be called again without asking anything."""


@dataclass(frozen=True, slots=True)
class MCPTool:
    """A tool that `run.call` and `run.tool` carry out.

    Attributes:
        name: by which models and people know it: the server's name and its own.
        own_name: as the server calls it.
        description: for models, by the server.
        parameters: JSON Schema of its arguments, by the server.
        hints: what the server says of it.
        approve: whether people have to approve a call, as the author's rule says.
        server: where it is.
        limits: what a call may take.
        view: the address of what pages show of a call, `ui://…` (MCP Apps); None without one, and
            of a server that the author does not trust.
        for_model: whether models are offered it.
        for_view: whether views of its server may call it.
    """

    name: str
    own_name: str
    description: str
    parameters: dict[str, Json]
    hints: ToolHints
    approve: Any = field(repr=False)
    server: Server = field(repr=False)
    limits: Limits = field(repr=False)
    view: str | None = None
    for_model: bool = True
    for_view: bool = True

    @classmethod
    def of(cls, tool: Tool, name: str, server: Server, limits: Limits, approve: Any) -> MCPTool:
        """Make it of what the server lists.

        Args:
            tool: the server's entry.
            name: see `MCPTool`.
            server: see `MCPTool`.
            limits: see `MCPTool`.
            approve: the author's rule.
        """
        said = tool.annotations
        hints = ToolHints(
            read_only=said.read_only_hint if said else None,
            destructive=said.destructive_hint if said else None,
            idempotent=said.idempotent_hint if said else None,
            open_world=said.open_world_hint if said else None,
            title=tool.title or (said.title if said else None),
            server=server.name,
            trusted=server.trusted,
        )
        described = clean_text(tool.description or "")
        return cls(
            name,
            tool.name,
            described,
            tool.input_schema,
            hints,
            approve,
            server,
            limits,
            view=view_of(tool) if server.trusted else None,
            for_model=is_for(tool, "model"),
            for_view=is_for(tool, "app"),
        )

    # --- what it says of itself ---

    @property
    def only_reads(self) -> bool:
        """Whether it is known to change nothing: by a server that the author trusts."""
        return self.hints.trusted and self.hints.read_only is True

    @property
    def repeatable(self) -> bool:
        """Whether calling it twice is known to do no more than calling it once."""
        if self.own_name in self.server.repeatable:
            return True
        return self.only_reads or (self.hints.trusted and self.hints.idempotent is True)

    def needs_approval(self, args: Mapping[str, Json]) -> bool:
        """Whether people have to approve a call with these arguments.

        Args:
            args: of the call.

        Raises:
            MCPFault: the author's rule says neither yes nor no.
        """
        if self.approve is None:
            return not self.only_reads
        needed = self.approve(self, args)
        if not isinstance(needed, bool):
            raise MCPFault(
                f"The rule `approve` says True or False, not {needed!r:.80} (of {self.name!r})."
            )
        return needed

    @property
    def editable(self) -> dict[str, Json] | None:
        """What edited arguments must satisfy; None where the server's schema can't be checked."""
        try:
            check_schema(self.parameters)
        except UnsafeSchema:
            return None
        return self.parameters

    def describe(self) -> dict[str, Json]:
        """Describe it as chat completions want it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
        }
        return {"type": "function", "function": function}

    def find_fault(self, args: Mapping[str, Json]) -> str | None:
        """Say what is wrong with the arguments of a call; None when they fit.

        Args:
            args: of the call.
        """
        return None if self.editable is None else find_schema_fault(self.parameters, args)

    # --- carrying it out ---

    async def __call__(self, /, **args: Any) -> Any:
        """Call the tool, or call it again with what people answered.

        Returns:
            The result (see `results.result_of`), or `NeedsInput` with what the server asks.

        Raises:
            ToolNotReached: nothing was executed.
            ToolOutcomeUnknown: nobody knows what was executed.
        """
        given = answered()
        older = _OlderServer(self, given)
        outcome: Any
        for pause in (*_AGAIN, None):
            try:
                async with connected(self.server, self.limits, older.elicited) as connection:
                    # Told below: what is raised in here, the SDK would wrap.
                    try:
                        await connection.tools()  # headers of the call are made of what is listed
                        outcome = await self._round(connection, args, given, older)
                    except (MCPError, Unaskable) as error:
                        outcome = error
                break
            except ToolNotReached as error:
                if given is None:
                    raise
                # People have answered: their answer is not lost over a server that restarts.
                if pause is None:
                    raise ToolOutcomeUnknown(f"{error} It had begun before it asked.") from error
                await asyncio.sleep(pause)
        if isinstance(outcome, MCPError):
            return self._refused(outcome, given)
        if isinstance(outcome, Unaskable):
            # Said by us, of a question: it holds nothing that might not be told.
            logger.warning("MCP server %r, tool %r: %s.", self.server.name, self.own_name, outcome)
            return {
                "error": f"The server {self.server.name!r} asked in the middle of the call, and "
                f"nobody was asked: {outcome}. The call was given up."
            }
        return outcome

    async def _round(
        self,
        connection: Connection,
        args: Mapping[str, Any],
        given: Answered | None,
        older: _OlderServer,
    ) -> Any:
        progress = _Progress(self)
        if not connection.modern:
            result = await connection.call(self.own_name, args, progress)
            assert isinstance(result, CallToolResult)
            self._show(args, result)
            return older.outcome(result, connection.version)
        state = given.state if given is not None else {}
        responses = _responses(state, given) if given is not None else None
        try:
            result = await connection.call(
                self.own_name, args, progress, responses, state.get("requestState")
            )
        except MCPError as error:
            if given is None or _reason(error) != "invalid_request_state":
                raise
            result = await self._begin_anew(connection, args, progress, given)
        for _ in range(_EMPTY_ROUNDS):
            if not isinstance(result, InputRequiredResult):
                self._show(args, result)
                return result_of(result)
            if result.input_requests:
                return self._asked(result.input_requests, result.request_state)
            result = await connection.call(
                self.own_name, args, progress, None, result.request_state
            )
        raise Unaskable("it wants to be called again and again without asking anything")

    def _show(self, args: Mapping[str, Any], result: CallToolResult) -> None:
        """Have the page show the call's view, once it knows the result."""
        if self.view is not None:
            tell_after(partial(shown, self.view, self.server.name, args, result))

    async def _begin_anew(
        self, connection: Connection, args: Mapping[str, Any], progress: Any, given: Answered
    ) -> CallToolResult | InputRequiredResult:
        """The server knows its own state no more: it was restarted, or it was too long ago.

        What it did before its first question it does again then, as each server must expect of a
        call that is not answered. Of a later question it may have done more: that is not repeated.
        """
        if given.round > 1 and not self.repeatable:
            raise Unaskable(
                "the server no longer knows how far the call had come when it asked, and to begin "
                "anew might execute a part of it twice"
            )
        result = await connection.call(self.own_name, args, progress)
        if not isinstance(result, InputRequiredResult) or not result.input_requests:
            return result
        asked = {key: request_of(one) for key, one in result.input_requests.items()}
        if asked != given.state["requests"]:
            return result
        return await connection.call(
            self.own_name, args, progress, _responses(given.state, given), result.request_state
        )

    def _asked(self, requests: Mapping[str, InputRequest], state: str | None) -> NeedsInput:
        if len(requests) > MOST_QUESTIONS:
            raise Unaskable(f"it asked more than {MOST_QUESTIONS} questions at once")
        if state is not None and len(state) > _MOST_STATE:
            raise Unaskable("its state is too large to be kept until the answer")
        asks: list[Ask] = []
        keys: dict[str, Json] = {}
        for number, (key, request) in enumerate(requests.items()):
            ask = ask_of(f"q{number}", request, self.server.name, self.own_name)
            asks.append(ask)
            keys[ask.native_id] = [key, ask.reason]
        kept = {
            "requestState": state,
            "keys": keys,
            "requests": {key: request_of(one) for key, one in requests.items()},
        }
        return NeedsInput(asks, kept)

    def _refused(self, error: MCPError, given: Answered | None) -> Any:
        """What becomes of a call that the server answered with an error."""
        if error.code == URL_ELICITATION_REQUIRED:
            try:
                wanted = ElicitationRequiredErrorData.model_validate(error.data).elicitations
                requests: dict[str, InputRequest] = {
                    str(number): ElicitRequest(params=params)
                    for number, params in enumerate(wanted)
                }
                if given is not None and any(
                    response_of(reason, given.answers.get(native)).action != "accept"
                    for native, (_, reason) in given.state.get("keys", {}).items()
                ):
                    return {"error": "The address that the server wants opened was not opened."}
                return self._asked(requests, None)
            except (ValidationError, Unaskable) as fault:
                return {"error": f"The server wanted an address opened, and nobody was: {fault}"}
        # Of other errors nobody knows when they came about.
        kind = ToolNotReached if given is None and error.code in _NOT_BEGUN else ToolOutcomeUnknown
        raise kind(
            f"The MCP server {self.server.name!r} answered the call of {self.own_name!r} with "
            f"error {error.code}: {clean_text(str(error.message))[:500]}"
        ) from error


_AGAIN: Final = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between tries to reach a server that has asked."""

_NOT_BEGUN: Final = (INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS)
"""Errors by which a server says that there is no such call."""


def _responses(state: Mapping[str, Any], given: Answered) -> dict[str, Any]:
    return {
        key: response_of(reason, given.answers.get(native))
        for native, (key, reason) in state["keys"].items()
    }


def _reason(error: MCPError) -> object:
    return error.data.get("reason") if isinstance(error.data, dict) else None


class _OlderServer:
    """A server of 2025-11-25 or before, which asks within a call and waits for the answer there.

    Nobody can wait so long. Its question is cancelled, people are asked, and the tool is called
    once more, with the answer at hand: which is only right of a tool that may be called twice.

    Args:
        tool: the tool.
        given: what people answered.
    """

    def __init__(self, tool: MCPTool, given: Answered | None) -> None:
        self._tool = tool
        self._given = given
        self._known: list[Json] = []
        self._unasked: str | None = None
        self._wanted: ElicitRequest | None = None
        if given is not None and "answered" in given.state:
            (answer,) = given.answers.values()
            response = response_of(given.state["reason"], answer)
            told = response.model_dump(mode="json", by_alias=True, exclude_none=True)
            self._known = [*given.state["answered"], [given.state["request"], told]]

    async def elicited(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        """Answer what the server asks: with what people said of the same, else with a cancel."""
        request = ElicitRequest(params=params)
        for asked, told in self._known:
            if asked == _comparable(request):
                return ElicitResult.model_validate(told)
        if not self._tool.repeatable:
            self._unasked = self._unasked or clean_text(params.message)[:200]
        elif self._wanted is None:
            self._wanted = request
        return ElicitResult(action="cancel")

    def outcome(self, result: CallToolResult, version: str) -> Any:
        """What becomes of the call.

        Args:
            result: what the server sent.
            version: the protocol's revision that it speaks.
        """
        if self._wanted is not None:
            tool = self._tool
            ask = ask_of("q0", self._wanted, tool.server.name, tool.own_name)
            kept = {
                "answered": self._known,
                "request": _comparable(self._wanted),
                "reason": ask.reason,
            }
            return NeedsInput([ask], kept)
        told = result_of(result)
        if self._unasked is None:
            return told
        return {
            "result": told,
            "note": f"The server asked “{self._unasked}” in the middle of the call, and was told "
            f"that nobody answers: it speaks MCP {version}, by which an answer that takes its time "
            "means to call the tool a second time, and it is not known to bear that.",
        }


def _comparable(request: ElicitRequest) -> dict[str, Json]:
    told = request_of(request)
    params = told.get("params")
    if isinstance(params, dict):
        for volatile in ("_meta", "elicitationId"):
            params.pop(volatile, None)
    return told


class _Progress:
    """Tells the page what a server tells of its work.

    Args:
        tool: the tool.
    """

    def __init__(self, tool: MCPTool) -> None:
        self._tool = tool
        self._activity = f"mcp-{uuid4().hex}"
        self._told = 0

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        self._told += 1
        if self._told > _MOST_PROGRESS:
            return
        content: dict[str, Json] = {"tool": self._tool.name, "progress": done}
        if total is not None:
            content["total"] = total
        if message:
            content["message"] = clean_text(message[:500])
        emit(
            ActivitySnapshotEvent(
                message_id=self._activity,
                activity_type="mcp-progress",
                content=content,
                replace=True,
            )
        )
