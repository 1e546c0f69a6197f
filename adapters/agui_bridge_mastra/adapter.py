"""The adapter: one agent, network or workflow of a Mastra server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, get_args

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.schemas.checking import require_checkable
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.background.work import BackgroundWork
from agui_bridge_mastra.http_client import HttpClient
from agui_bridge_mastra.requests import Kind, Requests, check_options
from agui_bridge_mastra.turn import Turn
from agui_bridge_mastra.working_memory import Sharing

_DRAIN: Final = 10.0
"""Seconds for which streams that nobody listens to are read when the bridge ends."""


class MastraAdapter:
    """An agent, a network or a workflow of a Mastra server.

    Args:
        url: the server's address, without `/api`.
        agent: id of the agent or the workflow.
        kind: `agent` streams (also a supervisor's), `network` for `.network()`, or `workflow`.
        memory: whether the Mastra agent has memory. Without it the whole conversation is sent.
        headers: sent with every request.
        options: further members of the bodies that start a run and that continue it, such as
            `maxSteps`.
        resume_task_path: route of yours that calls `backgroundTaskManager.resume`, which Mastra has
            none for; `{task}` in it stands for the task. Without it nobody is asked what a
            background task asks.
        resume_network_path: route of yours that calls `resumeNetwork`, which Mastra has none for;
            `{agent}` in it stands for the agent.
        step_schemas: for a workflow, JSON Schema of the answer by step; it counts more than the
            server's own.
        cancel_with: by tool or step, the data to resume with when its question is cancelled or
            expires. Other tools stay suspended at Mastra, where nothing continues them; other
            workflows are cancelled there.
        working_memory: whether the agent's working memory is the thread's shared state: `off`,
            `tell` (clients see it) or `share` (they may change it, too).
        timeout: seconds that the server may be silent.
        client: an httpx client of yours.

    Raises:
        ConfigurationError: an option makes no sense, or is the bridge's to say, or a schema can't
            be checked whole.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(
        edit=False, subagents=True, stop=True, own_history=True, looks=True
    )

    def __init__(
        self,
        url: str,
        agent: str,
        *,
        kind: Kind = "agent",
        memory: bool = True,
        headers: Mapping[str, str] | None = None,
        options: Mapping[str, Json] | None = None,
        resume_network_path: str | None = None,
        resume_task_path: str | None = None,
        step_schemas: Mapping[str, Mapping[str, Json]] | None = None,
        cancel_with: Mapping[str, Json] | None = None,
        working_memory: Sharing = "off",
        timeout: float = 300.0,
        client: Any = None,
    ) -> None:
        if kind not in get_args(Kind):
            raise ConfigurationError(f"kind can't be {kind!r}: it is agent, network or workflow.")
        if kind == "network" and not memory:
            raise ConfigurationError("A Mastra network needs memory.")
        if working_memory not in get_args(Sharing):
            raise ConfigurationError(
                f"working_memory can't be {working_memory!r}: it is off, tell or share."
            )
        if working_memory != "off" and (kind == "workflow" or not memory):
            raise ConfigurationError("Only agents and networks with memory have working memory.")
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"url should be the server's address, not {url!r}.")
        check_options(options or {})
        self.requests: Requests = Requests(
            agent, kind, memory, dict(options or {}), resume_network_path, dict(cancel_with or {})
        )
        require_checkable("step_schemas", step_schemas or {})
        self._step_schemas = step_schemas or {}
        self._sharing = working_memory
        self._resume_task_path = resume_task_path
        self._server = HttpClient(url, headers=headers, timeout=timeout, client=client)
        self._leaving: set[asyncio.Task[None]] = set()

    async def run(self, run: Run) -> AsyncIterator[RunItem]:
        """Start a run at Mastra, or continue one.

        Raises:
            NotDelivered: nothing has reached Mastra.
            UpstreamError: it failed, refused, or its stream can't be understood.
            OutcomeUnknown: it has an answer, or may have, and broke off.
        """
        async with AsyncExitStack() as held:
            cancel_with = self.requests.cancel_with
            turn = Turn(
                run,
                self._server,
                self.requests,
                self._step_schemas,
                self._sharing,
                self._go_on,
                held,
                BackgroundWork(run, self._server, self._resume_task_path, cancel_with),
            )
            async for item in turn.background.around(turn.items()):
                yield item

    async def look(self, left: Json) -> bool:
        """Say whether a background task has ended, or asks something.

        Args:
            left: the tasks, as a run has noted them in `Run.left`.

        Raises:
            NotDelivered, UpstreamError: the server does not say.
        """
        return await BackgroundWork.has_news(self._server, left)

    async def aclose(self) -> None:
        """Wait for what goes on beside the runs, and close the connections."""
        if self._leaving:
            _, late = await asyncio.wait(set(self._leaving), timeout=_DRAIN)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._server.aclose()

    def _go_on(self, rest: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(rest)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)
