"""A workflow's run at Mastra, beside its streams: what it waits for, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agui_bridge.errors import AdapterError, NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.http_client import HttpClient
from agui_bridge_mastra.pauses import Waiting
from agui_bridge_mastra.workflow.suspended_steps import Schemas, suspended_steps

__all__ = ["WorkflowRun"]

logger: Final = logging.getLogger("agui_bridge")

_POLL: Final = 0.2
_LISTED_WITHIN: Final = 10.0
"""Seconds after the end of a stream within which its pause must be in Mastra's storage."""

_NOT_LISTED: Final = (
    "Mastra says that the workflow waits, and does not list what for: see the log of the Mastra "
    "server and its storage."
)


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow.

    Attributes:
        server: where it is.
        workflow: id of the workflow.
        run: id of the run there.
        schemas: JSON Schema of the answer by step, before those that the server tells.
        trace: headers of the trace.
    """

    server: HttpClient
    workflow: str
    run: str
    schemas: Mapping[str, Mapping[str, Json]]
    trace: Mapping[str, str]

    async def waiting(self) -> dict[str, Waiting]:
        """What the run waits for, by key; its stream has told that it does.

        Raises:
            UpstreamError: the server does not say.
        """
        schemas = Schemas(self.schemas, await self._definition())
        for _ in range(int(_LISTED_WITHIN / _POLL)):
            try:
                listed = await self.server.workflow_run(self.workflow, self.run, trace=self.trace)
            except NotDelivered as error:
                raise UpstreamError(str(error)) from error
            if found := suspended_steps(listed, schemas):
                return found
            # A pause is stored a moment after it is told.
            await asyncio.sleep(_POLL)
        raise UpstreamError(_NOT_LISTED)

    async def cancel(self) -> None:
        """Have the run begin no further step, and nobody continue it."""
        try:
            await self.server.cancel_workflow(self.workflow, self.run, trace=self.trace)
        except AdapterError as error:
            logger.warning("Mastra's workflow %r goes on: %s", self.workflow, error)

    async def _definition(self) -> Mapping[str, Json]:
        try:
            return await self.server.workflow(self.workflow, trace=self.trace)
        except AdapterError as error:
            # It only helps people to answer: Mastra checks the answer too, and fails the run.
            logger.warning(
                "the schemas of Mastra's workflow %r are unknown: %s", self.workflow, error
            )
            return {}
