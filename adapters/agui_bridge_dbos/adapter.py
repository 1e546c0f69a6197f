"""The adapter: a message starts a workflow, what it tells is told, and asked, and answers sent."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import Json
from agui_bridge_dbos.turn import Place, Settings, Turn, has_news
from agui_bridge_dbos.workflows import Arguments, Elsewhere, Here, Workflows


class DBOSWorkflow:
    """A workflow of DBOS: each message starts one, and people answer what it asks.

    ::

        bridge.add("orders", DBOSWorkflow(order))
        bridge.add("orders", DBOSWorkflow("order", database="postgresql://…/dbos", queue="orders"))

    The first runs in this process, which has called `DBOS.launch()`. The second is enqueued for
    workers, of any process.

    Args:
        workflow: the function, or `module:attribute` of it. With `database` its name, as DBOS has
            it.
        database: DBOS' system database, for workflows that run in other processes.
        queue: that these listen to.
        schema: of the system database's tables, in PostgreSQL.
        start: a function from the `Run` to the workflow's arguments: a sequence, or a mapping of
            names; or `module:attribute` of it. By default it is the message's text.
        patience: seconds for which a run waits for what comes next, and for a process that takes
            the workflow; the rest is told later.
        timeout: seconds that a request to the database may take.

    Attributes:
        capabilities: it asks for approvals and in forms; the workflow has no conversation itself.

    Raises:
        ConfigurationError: an option makes no sense.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(edit=True, looks=True)

    def __init__(
        self,
        workflow: Callable[..., Any] | str,
        *,
        database: str | None = None,
        queue: str | None = None,
        schema: str = "dbos",
        start: Callable[[Run], Arguments] | str | None = None,
        patience: float = 30.0,
        timeout: float = 10.0,
    ) -> None:
        if (database is None) != (queue is None):
            raise ConfigurationError(
                "database and queue belong together: name both for workers, or neither."
            )
        begun: Any = import_object(start) if isinstance(start, str) else start
        if begun is not None and not callable(begun):
            raise ConfigurationError(f"start should be a function, not {begun!r:.80}.")
        for name, seconds in {"patience": patience, "timeout": timeout}.items():
            if not seconds > 0:
                raise ConfigurationError(f"{name}: must be above 0.")
        self._workflows: Workflows
        if database is not None and queue is not None:
            if not isinstance(workflow, str):
                raise ConfigurationError(
                    "workflow: with a database it is the name that DBOS has for it, such as "
                    f"{getattr(workflow, '__qualname__', 'order')!r}."
                )
            self._workflows = Elsewhere(workflow, database, queue, schema)
        else:
            self._workflows = Here(_workflow_of(workflow))
        self._settings = Settings(begun or _text_of, patience, timeout)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no workflow has seen the input.
            Gone: the workflow waits for the answer no more.
            UpstreamError: it failed, was cancelled, or works on something else.
            OutcomeUnknown: it may have taken an answer.
        """
        turn = Turn(run, self._workflows, self._settings)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def look(self, left: Json) -> bool:
        """Say whether a workflow that a run has left tells something new, or has ended.

        Args:
            left: what a run has left.
        """
        return await has_news(self._workflows, Place.from_json(left))

    async def aclose(self) -> None:
        """Close the connections; DBOS in this process is the application's own."""
        await self._workflows.aclose()


def _workflow_of(given: Callable[..., Any] | str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_object(given) if isinstance(given, str) else given
    if not hasattr(function, "dbos_function_name"):
        raise ConfigurationError(
            f"workflow should be a function with @DBOS.workflow(), not {function!r:.80}."
        )
    return function


def _text_of(run: Run) -> Arguments:
    return (run.text,)
