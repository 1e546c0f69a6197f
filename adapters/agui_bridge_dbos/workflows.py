"""The workflows of DBOS, as a run needs them: in this process, or with workers of their own.

A workflow that waits for an answer is bound to the process that ran it last, and to the version of
its application. Where that process is gone, an answer would lie there until it is back, and count
then, long after it was given. So an answer is sent only once a living process has the workflow.
Nobody can see whether another process lives. So the workflow is given back to its queue first, and
whoever is there takes it. That is safe while it waits: DBOS takes no message, step or result from
an execution that is not the workflow's any more.

Source: the system database of dbos 3.4, which keeps who owns a workflow.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Final

from dbos import (
    DBOS,
    DBOSClient,
    SetWorkflowID,
    WorkflowStatus,
    WorkflowStatusString,
    error as faults,
)

# Public functions give a workflow back whatever has become of it: one that was cancelled lived on.
from dbos._dbos import _get_dbos_instance
from dbos._utils import INTERNAL_QUEUE_NAME

from agui_bridge.errors import ConfigurationError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_dbos.telling import STREAM

WAITING: Final = frozenset(
    {WorkflowStatusString.ENQUEUED.value, WorkflowStatusString.DELAYED.value}
)
"""Nobody has it."""

LIVE: Final = frozenset({*WAITING, WorkflowStatusString.PENDING.value})
"""It has not ended."""

_LOOK: Final = 0.2
"""Seconds between two looks at the database, where it does not announce."""

_SHARED_ID: Final = "local"
"""What DBOS calls each process that has no name of its own."""

Arguments = Sequence[Any] | Mapping[str, Any]


class Workflows(ABC):
    """The workflows of one function."""

    @abstractmethod
    async def start(self, id: str, arguments: Arguments) -> None:
        """Begin one; nothing, where there is one of this id."""

    @abstractmethod
    async def reach(self) -> None:
        """Look whether the database answers."""

    @abstractmethod
    def is_here(self, status: WorkflowStatus) -> bool:
        """Whether this process certainly has it."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close what was opened."""

    @abstractmethod
    def _api(self) -> type[DBOS] | DBOSClient:
        """What speaks with DBOS."""

    @abstractmethod
    def _database(self) -> Any:
        """What stands below it."""

    async def status(self, id: str) -> WorkflowStatus | None:
        """How it stands; None where there is none."""
        found = await self._api().list_workflows_async(workflow_ids=[id], load_input=False)
        return found[0] if found else None

    async def give_back(self, status: WorkflowStatus) -> None:
        """Let any living process take it that waits; nothing, where it runs no more."""
        # Only from the process that has it now: DBOS compares and writes in one.
        give: Callable[..., bool] = self._database().reenqueue_for_recovery
        had = [status.executor_id]
        await asyncio.to_thread(give, status.workflow_id, had, INTERNAL_QUEUE_NAME)

    def told(self, id: str, offset: int, seconds: float) -> AsyncGenerator[Any, None]:
        """What it has told, until its end.

        Raises:
            DBOSStreamTimeoutError: it was silent for that long.
            DBOSNonExistentWorkflowError: there is none.
        """
        return self._api().read_stream_async(
            id, STREAM, offset=offset, polling_interval_sec=_LOOK, timeout_seconds=seconds
        )

    async def send(self, id: str, message: Json, topic: str) -> None:
        """Send it a message, once: the topic is its key."""
        await self._api().send_async(id, message, topic, idempotency_key=topic)

    async def cancel(self, id: str) -> None:
        """Cancel it; a step that runs is not broken off."""
        await self._api().cancel_workflow_async(id, cancel_children=True)


class Here(Workflows):
    """Workflows of this process, which has called `DBOS.launch()`.

    Args:
        function: the workflow.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    async def start(self, id: str, arguments: Arguments) -> None:
        """Begin one in this process."""
        args, kwargs = _split(arguments)
        with SetWorkflowID(id):
            if inspect.iscoroutinefunction(self._function):
                await DBOS.start_workflow_async(self._function, *args, **kwargs)
            else:
                await asyncio.to_thread(DBOS.start_workflow, self._function, *args, **kwargs)

    async def reach(self) -> None:
        """Look whether DBOS was launched.

        Raises:
            ConfigurationError: it was not.
        """
        try:
            self._database()
        except faults.DBOSException as error:
            raise ConfigurationError(
                "DBOS is not launched in this process: call DBOS.launch() before the bridge serves."
            ) from error

    def is_here(self, status: WorkflowStatus) -> bool:
        """Whether it is this process', by its name and its application's version."""
        own = (DBOS.executor_id, DBOS.application_version)
        named = status.executor_id != _SHARED_ID
        return named and (status.executor_id, status.app_version) == own

    async def aclose(self) -> None:
        """Close nothing: DBOS is the application's."""

    def _api(self) -> type[DBOS]:
        return DBOS

    def _database(self) -> Any:
        return _get_dbos_instance()._sys_db


class Elsewhere(Workflows):
    """Workflows of workers, which listen to a queue.

    Args:
        name: of the workflow, as DBOS has it.
        database: DBOS' system database.
        queue: that the workers listen to.
        schema: of its tables.
    """

    def __init__(self, name: str, database: str, queue: str, schema: str) -> None:
        self._name = name
        self._schema = schema
        self._url = database
        self._queue = queue
        self._opened: DBOSClient | None = None

    async def start(self, id: str, arguments: Arguments) -> None:
        """Enqueue one."""
        args, kwargs = _split(arguments)
        await self._api().enqueue_async(
            {"workflow_name": self._name, "queue_name": self._queue, "workflow_id": id},
            *args,
            **kwargs,
        )

    async def reach(self) -> None:
        """Look whether the database answers."""
        await self._api().check_connection_async()

    def is_here(self, status: WorkflowStatus) -> bool:
        """Never: nobody can see whether a worker lives."""
        return False

    async def aclose(self) -> None:
        """Close the connections."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await asyncio.to_thread(opened.destroy)

    def _api(self) -> DBOSClient:
        if self._opened is None:
            # A database that is away is told to people, who can answer again.
            self._opened = DBOSClient(
                system_database_url=self._url,
                dbos_system_schema=self._schema,
                lazy=True,
                retry_connection_errors=False,
            )
        return self._opened

    def _database(self) -> Any:
        return self._api()._sys_db


def _split(arguments: Arguments) -> tuple[Sequence[Any], Mapping[str, Any]]:
    return ((), arguments) if isinstance(arguments, Mapping) else (arguments, {})
