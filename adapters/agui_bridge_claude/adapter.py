"""The adapter of the Claude Agent SDK, which runs Claude Code as a process of this one."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator, Callable, Collection
from typing import Any, ClassVar

from claude_agent_sdk import ClaudeAgentOptions

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.frameworks.application import Application, ContextOption
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import ToolCall
from agui_bridge_claude.permissions import Permissions
from agui_bridge_claude.tool_schemas import ToolSchemas
from agui_bridge_claude.turn import Settings, Turn


class ClaudeAgentAdapter:
    """Runs Claude Code by its SDK: people approve what it does, and answer what it asks.

    By default a person approves each call of a tool, but of those that only read and of those that
    the options' `allowed_tools` name. The session is kept with the thread: any process goes on with
    it that has the working folder.

    Args:
        agent: its `ClaudeAgentOptions`, a function from the `Run` to them, or `module:attribute` of
            either.
        approve: names of tools that people approve besides, such as mcp__shop__refund; or a
            function from the `ToolCall` to whether they do, which decides alone.
        mode_decides: whether the options' `permission_mode` decides about the calls that `approve`
            does not name, though it asks nobody.
        context: what the model is told of the page; see `Application`.
        client_instructions: whether it is told the client's `system` messages.

    Raises:
        ConfigurationError: one of them is none, or an option would let calls pass unseen.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=True, subagents=True, stop=True, policy=True, null=False
    )
    object_options: ClassVar[Collection[str]] = ("agent",)

    def __init__(
        self,
        agent: ClaudeAgentOptions | Callable[[Run], ClaudeAgentOptions] | str,
        *,
        approve: Collection[str] | Callable[[ToolCall], bool] = (),
        mode_decides: bool = False,
        context: ContextOption = "model",
        client_instructions: bool = False,
    ) -> None:
        if sys.platform == "win32":
            raise ConfigurationError("The adapter of Claude Code needs Linux or macOS.")
        self._agent: Any = import_object(agent) if isinstance(agent, str) else agent
        if isinstance(approve, str):
            raise ConfigurationError(
                f"approve should be names of tools or a function of the call, not {approve!r:.80}."
            )
        self._approve = approve
        self._mode_decides = mode_decides
        self._application = Application(context, client_instructions)
        self._schemas = ToolSchemas()
        self._leaving: set[asyncio.Task[Any]] = set()
        if isinstance(self._agent, ClaudeAgentOptions):
            self._settings(self._agent)
        elif not callable(self._agent):
            raise ConfigurationError(
                "agent should be ClaudeAgentOptions, or a function that makes them of the Run, "
                f"not {self._agent!r:.80}."
            )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: Claude Code did not start; nothing was done.
            UpstreamError: it ended in an error, or too early.
            Fenced, PolicyFailed: see `ToolGate.before`.
        """
        if run.stop.requested:
            run.not_begun = [*run.resume.decisions] if run.resume else []
            return
        is_made = isinstance(self._agent, ClaudeAgentOptions)
        options = self._agent if is_made else self._agent(run)
        turn = Turn(run, options, self._settings(options), self._leaving)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Wait for the processes that are ending."""
        if self._leaving:
            await asyncio.wait([*self._leaving])

    def _settings(self, options: Any) -> Settings:
        if not isinstance(options, ClaudeAgentOptions):
            raise ConfigurationError(
                f"The function of the agent should give ClaudeAgentOptions, not {options!r:.80}."
            )
        permissions = Permissions.of(options, self._approve, mode_decides=self._mode_decides)
        return Settings(permissions, self._application, self._schemas)
