"""Temporal, as far as a thread needs it: its workflow started, heard, answered and cancelled.

Imported at the first run: Temporal's client begins threads of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from temporalio.client import (
    Client,
    WorkflowExecutionStatus,
    WorkflowHandle,
    WorkflowQueryFailedError,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_temporal.told import Gone, Refused, Standing, State, Unknown

QUERY: Final = "agui_bridge_told"
ANSWER: Final = "agui_bridge_answer"
SAY: Final = "agui_bridge_say"

_ENDS: Final[Mapping[WorkflowExecutionStatus, str]] = {
    WorkflowExecutionStatus.COMPLETED: "completed",
    WorkflowExecutionStatus.FAILED: "failed",
    WorkflowExecutionStatus.CANCELED: "cancelled",
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed out",
}

_MAYBE: Final = frozenset(
    {
        RPCStatusCode.ABORTED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.RESOURCE_EXHAUSTED,
        RPCStatusCode.UNAVAILABLE,
        RPCStatusCode.UNKNOWN,
    }
)
"""What says nothing of whether the server did what it was asked."""

_UNREACHED: Final = "Temporal can't be reached."
_NO_WORKER: Final = "No worker of the workflow has answered in time."
_UNREADABLE: Final = "The workflow can't say what it tells: its query has failed."
_NEVER_BEGAN: Final = "closed before WorkflowTaskStarted"
"""What Temporal says of a workflow that has ended before any worker had it."""

_NO_SUCH_QUERY: Final = re.compile(
    # Python, .NET and Ruby; Go, PHP and Java; TypeScript.
    "query handler for .* not found|unknown query ?type|did not register a handler",
    re.IGNORECASE,
)
"""What the workers of Temporal's languages say of a query that a workflow does not have."""

_LOG: Final = logging.getLogger("agui_bridge")


class Server:
    """Temporal behind one adapter.

    Args:
        client: of Temporal.
        timeout: seconds that a request may take.
        metadata: sent with every request.
    """

    def __init__(self, client: Client, timeout: float) -> None:
        self._client = client
        self._timeout = timedelta(seconds=timeout)

    async def standing(self, workflow: str, trace: Mapping[str, str]) -> Standing | None:
        """What Temporal knows of a workflow; None where it has none.

        Args:
            workflow: its id.
            trace: headers of the trace.

        Raises:
            NotDelivered: it can't be asked.
        """
        try:
            found = await self._handle(workflow).describe(**self._sent(trace))
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return None
            raise NotDelivered(_told_of(error)) from error
        except RuntimeError as error:
            raise NotDelivered(_UNREACHED) from error
        # One that continues as new runs, and later versions of Temporal may pause one.
        status = "running" if found.status is None else _ENDS.get(found.status, "running")
        return Standing(found.run_id, found.raw_info.first_run_id or found.run_id, status)

    async def start(
        self,
        kind: str,
        given: Json,
        *,
        queue: str,
        workflow: str,
        limit: float | None,
        trace: Mapping[str, str],
    ) -> None:
        """Start a workflow that does not run.

        Args:
            kind: the workflow's type.
            given: its argument.
            queue: the task queue.
            workflow: its id.
            limit: seconds after which Temporal ends it.
            trace: headers of the trace.

        Raises:
            Refused: it did not begin.
            Unknown: it may have begun.
        """
        try:
            await self._client.start_workflow(
                kind,
                given,
                id=workflow,
                task_queue=queue,
                execution_timeout=None if limit is None else timedelta(seconds=limit),
                **self._sent(trace),
            )
        except WorkflowAlreadyStartedError as error:
            raise Refused("Another workflow runs for this conversation.") from error
        except RPCError as error:
            raise (Unknown if error.status in _MAYBE else Refused)(_told_of(error)) from error
        except RuntimeError as error:
            raise Refused(_UNREACHED) from error

    async def state(
        self, workflow: str, offset: int, run: str, trace: Mapping[str, str]
    ) -> State | None:
        """What a workflow tells and asks now; None where it has nothing for bridges.

        Args:
            workflow: its id.
            offset: of what was heard.
            run: whose offset it is: of another one all is told.
            trace: headers of the trace.

        Raises:
            NotDelivered: it can't be asked: no worker is there.
            UpstreamError: its query fails, or what it tells can't be read.
        """
        try:
            told = State.from_json(await self._queried(workflow, offset, trace))
            if told.run != run and offset:
                told = State.from_json(await self._queried(workflow, 0, trace))
        except WorkflowQueryFailedError as error:
            if _NO_SUCH_QUERY.search(str(error)) or _NEVER_BEGAN in str(error):
                return None
            _LOG.warning("A query of workflow %s has failed: %s", workflow, error)
            raise UpstreamError(_UNREADABLE) from error
        return told

    async def _queried(self, workflow: str, offset: int, trace: Mapping[str, str]) -> Json:
        try:
            return await self._handle(workflow).query(QUERY, offset, **self._sent(trace))
        except RPCError as error:
            if _NEVER_BEGAN in error.message:
                raise WorkflowQueryFailedError(error.message) from error
            raise NotDelivered(_NO_WORKER if error.status in _MAYBE else _told_of(error)) from error
        except RuntimeError as error:
            raise NotDelivered(_UNREACHED) from error

    async def update(
        self,
        name: str,
        given: Json,
        *,
        workflow: str,
        run: str,
        id: str,
        trace: Mapping[str, str],
    ) -> Json:
        """Update one run of a workflow; the same id is taken once, and gives the same again.

        Args:
            name: of the update.
            given: its argument.
            workflow: the workflow's id.
            run: the run's.
            id: the update's.
            trace: headers of the trace.

        Raises:
            Refused: the workflow has refused it.
            Gone: the run has ended.
            Unknown: the workflow may have it, or get it yet.
        """
        handle = self._client.get_workflow_handle(workflow, run_id=run)
        try:
            # Its own waiting for the outcome has no limit, and takes a cancellation for a failure.
            async with asyncio.timeout(self._timeout.total_seconds()):
                return await handle.execute_update(name, given, id=id, **self._sent(trace))
        except WorkflowUpdateFailedError as error:
            raise Refused("The workflow did not take it.") from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise asyncio.CancelledError from error
            raise Unknown(_NO_WORKER) from error
        except TimeoutError as error:
            raise Unknown(_NO_WORKER) from error
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                raise Gone("The workflow has ended.") from error
            raise (Unknown if error.status in _MAYBE else Refused)(_told_of(error)) from error

    async def cancel(self, workflow: str, trace: Mapping[str, str]) -> None:
        """Ask a workflow to end; where it can't be asked, it goes on.

        Args:
            workflow: its id.
            trace: headers of the trace.
        """
        try:
            await self._handle(workflow).cancel(**self._sent(trace))
        except (RPCError, RuntimeError):
            return

    async def result(self, workflow: str, run: str) -> Json:
        """The result of a run that has completed; None where it is no JSON.

        Args:
            workflow: the workflow's id.
            run: the run's.

        Raises:
            NotDelivered: it can't be had.
        """
        handle = self._client.get_workflow_handle(workflow, run_id=run)
        try:
            found = await handle.result(follow_runs=False, rpc_timeout=self._timeout)
            json.dumps(found)
        except RPCError as error:
            raise NotDelivered(_UNREACHED) from error
        except (TypeError, ValueError, RuntimeError):
            # RuntimeError is what Temporal's converters raise, and no client that is connected.
            _LOG.warning("The result of workflow %s is no JSON, and is not told.", workflow)
            return None
        return found

    def _handle(self, workflow: str) -> WorkflowHandle[Any, Any]:
        return self._client.get_workflow_handle(workflow)

    def _sent(self, trace: Mapping[str, str]) -> dict[str, Any]:
        return {"rpc_metadata": trace, "rpc_timeout": self._timeout}


async def connected(
    address: str, namespace: str, api_key: str | None, tls: bool | Mapping[str, str] | None
) -> Client:
    """A client that connects at its first request.

    Args:
        address: `host:port` of Temporal.
        namespace: of the workflows.
        api_key: sent as Authorization.
        tls: whether there is TLS; or the files and names of `TLSConfig`.

    Raises:
        ConfigurationError: a file can't be read.
    """
    return await Client.connect(
        address,
        namespace=namespace,
        api_key=api_key,
        tls=_tls(tls) if isinstance(tls, Mapping) else tls,
        lazy=True,
    )


def _tls(named: Mapping[str, str]) -> TLSConfig:
    read: dict[str, Any] = {}
    for name, value in named.items():
        try:
            read[name] = value if name == "domain" else Path(value).read_bytes()
        except OSError as error:
            raise ConfigurationError(f"tls: {name}: {value} can't be read.") from error
    return TLSConfig(**read)


def _told_of(error: RPCError) -> str:
    """What a failed request says to people: Temporal's own words may hold addresses."""
    return f"Temporal answered {error.status.name}."
