"""The adapter: a message starts the workflow of the thread; what it tells, asks and results in.

The bridge claims each answer and checks it; Temporal's update takes it once, by its id.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.import_object import import_object
from agui_bridge.protocol.threads.records import Json
from agui_bridge_temporal.told import Place
from agui_bridge_temporal.turn import Options, Turn

if TYPE_CHECKING:
    from temporalio.client import Client

    from agui_bridge_temporal.server import Server

if importlib.util.find_spec("temporalio") is None:
    raise ModuleNotFoundError("No module named 'temporalio'", name="temporalio")

InputOption = Callable[[Run], Json | Awaitable[Json]] | str
"""What a workflow begins with: a function of the run, or `module:attribute` of one."""

_TLS: Final = frozenset({"server_root_ca_cert", "client_cert", "client_private_key", "domain"})


class TemporalWorkflow:
    """A workflow of Temporal: it is started by a message, asks people, and is told their answers.

    At most one runs for each scope, agent and thread.

    Args:
        workflow: its type: in Python the name of its class, unless it says another one.
        task_queue: of its workers.
        client: Temporal's own `Client`, where it needs more than the following, such as a codec.
        address: `host:port` of Temporal.
        namespace: of its workflows.
        api_key: sent to Temporal as Authorization; TLS is then the default.
        tls: True, or a mapping of `server_root_ca_cert`, `client_cert` and `client_private_key`,
            which are files, and `domain`.
        input: what the workflow begins with, as a function from the `Run`; by default an object
            with the message and the conversation.
        prefix: what the workflows' ids begin with: another one for each bridge in a namespace that
            has a store of its own.
        execution_timeout: seconds after which Temporal ends a workflow; None: never.
        timeout: seconds that a request to Temporal may take. Where a worker has died, Temporal
            itself finds another one only after 10 seconds.
        patience: seconds for which a run waits for the next thing that the workflow tells, and an
            answer is sent again whose fate is unknown.

    Attributes:
        capabilities: it asks for approvals and in forms; the workflow has the conversation.

    Raises:
        ConfigurationError: an option makes no sense.
    """

    capabilities: AdapterCapabilities = AdapterCapabilities(edit=True, looks=True)

    def __init__(
        self,
        workflow: str,
        *,
        task_queue: str,
        client: Client | None = None,
        address: str = "127.0.0.1:7233",
        namespace: str = "default",
        api_key: str | None = None,
        tls: bool | Mapping[str, str] | None = None,
        input: InputOption | None = None,
        prefix: str = "agui",
        execution_timeout: float | None = None,
        timeout: float = 15.0,
        patience: float = 30.0,
    ) -> None:
        if min(timeout, patience, execution_timeout or 1) <= 0:
            raise ConfigurationError("timeout, patience, execution_timeout: must be above 0.")
        if isinstance(tls, Mapping) and (unknown := set(tls) - _TLS):
            raise ConfigurationError(f"tls: {sorted(unknown)} are none of {sorted(_TLS)}.")
        found = import_object(input) if isinstance(input, str) else input
        if found is not None and not callable(found):
            raise ConfigurationError(f"input should be a function from the Run, not {found!r:.80}.")
        if not prefix:
            raise ConfigurationError("prefix: must not be empty.")
        self._options = Options(workflow, task_queue, found, execution_timeout, patience, prefix)
        self._client = client
        self._address = address
        self._namespace = namespace
        self._api_key = api_key
        self._tls = tls
        self._timeout = timeout
        self._server: Server | None = None

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: no workflow has seen the input.
            Gone: the workflow waits for the answer no more.
            UpstreamError: it failed, or works on something else.
            OutcomeUnknown: it may have taken an answer.
        """
        turn = Turn(run, await self._connected(), self._options)
        async with contextlib.aclosing(turn.items()) as items:
            async for item in items:
                yield item

    async def look(self, left: Json) -> bool:
        """Say whether a workflow tells or asks something new, or has ended and tells its end.

        Args:
            left: what a run has left.
        """
        workflow, place = left["workflow"], Place.from_json(left["place"])
        server = await self._connected()
        standing = await server.standing(workflow, {})
        if standing is None or place.first not in ("", standing.first):
            return True
        try:
            state = await server.state(workflow, place.offset, place.run, {})
        except NotDelivered:
            return False
        except UpstreamError:
            # While it runs, its query may be mended.
            return not standing.runs
        if not standing.runs:
            return True
        return state is not None and bool(state.told or state.open or state.listens)

    async def aclose(self) -> None:
        """Let go of the connection: Temporal's client ends it itself."""
        self._server = None

    async def _connected(self) -> Server:
        if self._server is None:
            from agui_bridge_temporal.server import Server, connected

            client = self._client or await connected(
                self._address, self._namespace, self._api_key, self._tls
            )
            self._server = Server(client, self._timeout)
        return self._server
