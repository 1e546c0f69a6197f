"""A LangGraph server: its runs, states and schemas, and what its refusals mean.

What became of a run is told by how its request failed. One that was not connected, or that the
server refused, was not begun. After anything else it is looked for among the thread's runs, by a
mark of its own: a run that is there is followed, and not begun again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import httpx
from langgraph.types import StateSnapshot
from langgraph_sdk.client import LangGraphClient

from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge_langgraph_server.frames import snapshot_of

logger: Final = logging.getLogger("agui_bridge.langgraph_server")

MODES: Final = ["messages-tuple", "values", "tasks", "custom"]
_UNKNOWN_FORM: Final = (
    "The LangGraph server answered in a form unknown here: does `url` lead past a sign-in?"
)
_MARK: Final = "agui_bridge"
_CONNECT_SECONDS: Final = 10.0
_SCHEMA_SECONDS: Final = 300.0
"""For how long a graph's schemas count without a new look at them."""
_LOOKS: Final = 4
_NEWEST: Final = 20
"""How many runs of a thread are looked through for one."""
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)
_ODD: Final = (ValueError, LookupError, TypeError, AttributeError)
"""What comes of an answer that is none of LangGraph's: a proxy's page, a redirect to a sign-in."""

_MEANINGS: Final[Mapping[int, str]] = {
    400: "takes no such run (400): its settings are either `graph_context` or `config`, not both",
    401: "wants other credentials (401): see the adapter's `api_key` and `headers`",
    403: "denies access (403): see the adapter's `api_key` and `headers`",
    404: "knows no such assistant or address (404): see the adapter's `url` and `assistant`",
    409: "is still at work in this conversation (409)",
    413: "refuses the request as too large (413)",
    422: "takes no such run (422): see the adapter's `assistant`, `config` and `graph_context`",
    429: "has too many requests (429)",
}


class ThreadGone(UpstreamError):
    """The server has no such conversation: it lost its memory, or somebody deleted it there."""

    code = "INTERRUPT_EXPIRED"


class BrokeOff(UpstreamError):
    """The server may have taken the run, and did not tell to its end what came of it."""


class GraphFailed(UpstreamError):
    """The graph raised.

    Attributes:
        error: the name of the exception's class.
    """

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(f"The graph failed on its server: {error}.")


@dataclass(frozen=True, slots=True)
class Names:
    """Names of a graph's state.

    Attributes:
        input: those that it begins with.
        output: those that it gives.
    """

    input: tuple[str, ...]
    output: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run takes place.

    Attributes:
        thread: the conversation's id at the server.
        headers: of the requests.
    """

    thread: str
    headers: Mapping[str, str]


class Server:
    """A client of one assistant.

    Args:
        url: of the server.
        assistant: its id, or the graph's name.
        headers: sent with every request.
        timeout: seconds that the server may be silent.
    """

    def __init__(
        self, url: str, assistant: str, *, headers: Mapping[str, str], timeout: float
    ) -> None:
        self._assistant = assistant
        make = functools.partial(
            httpx.AsyncClient,
            base_url=url,
            headers=dict(headers),
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            # An answer on a connection that the server is closing just now would be of unknown
            # fate: each request has a new one.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
        )
        self._clients: PerLoop[LangGraphClient] = PerLoop(
            lambda: LangGraphClient(make()), LangGraphClient.aclose
        )
        self._known: PerLoop[list[tuple[float, Names]]] = PerLoop(list)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._clients.aclose()
        await self._known.aclose()

    async def names(self, headers: Mapping[str, str]) -> Names:
        """Names of the graph's state, as the server said lately.

        Raises:
            NotDelivered: it was not reached, or has no such assistant.
        """
        known = self._known.get()
        if not known or time.monotonic() - known[0][0] > _SCHEMA_SECONDS:
            with _undelivered():
                told = await self._schemas(headers)
                made = Names(_names(told.get("input_schema")), _names(told.get("output_schema")))
            known[:] = [(time.monotonic(), made)]
        return known[0][1]

    async def _schemas(self, headers: Mapping[str, str]) -> Mapping[str, Any]:
        assistants = self._clients.get().assistants
        own = self._assistant
        if not _is_uuid(own):
            # All assistants of a graph have its schemas.
            found: Any = await assistants.search(graph_id=own, limit=1, headers=headers)
            if not found:
                raise NotDelivered(f"The LangGraph server {_MEANINGS[404]}.")
            own = found[0]["assistant_id"]
        schemas: Mapping[str, Any] = {**await assistants.get_schemas(own, headers=headers)}
        return schemas

    async def state(self, place: Place) -> StateSnapshot:
        """The graph's state in a conversation, subgraphs included; empty where there is none.

        Raises:
            NotDelivered: the server was not reached, or did not say.
        """
        with _undelivered():
            try:
                told: Any = await self._clients.get().threads.get_state(
                    place.thread, subgraphs=True, headers=place.headers
                )
            except httpx.HTTPStatusError as error:
                if error.response.status_code != 404:
                    raise
                told = {}
            return snapshot_of(told)

    async def is_busy(self, place: Place) -> bool:
        """Whether a run is under way in a conversation.

        Raises:
            NotDelivered: the server was not reached, or did not say.
        """
        with _undelivered():
            try:
                told = await self._clients.get().threads.get(place.thread, headers=place.headers)
            except httpx.HTTPStatusError as error:
                if error.response.status_code != 404:
                    raise
                return False
            return told["status"] == "busy"

    async def stream(
        self, place: Place, mark: str, created: Callable[[str], None], **given: Any
    ) -> AsyncGenerator[tuple[str, Any], None]:
        """Begin a run and follow it, over cut connections, too; gives its frames.

        Args:
            place: where.
            mark: names the run: no other has it.
            created: called with the run's id once that is known.
            given: `input` or `command`, `config`, `context`.

        Raises:
            NotDelivered: no run was begun.
            GraphFailed: the graph raised.
            BrokeOff: it may have begun, and what came of it is unknown.
        """
        runs: Any = self._clients.get().runs
        begun: list[str] = []

        def on_created(told: Any) -> None:
            begun.append(str(told["run_id"]))
            created(begun[0])

        frames = runs.stream(
            place.thread,
            self._assistant,
            stream_mode=MODES,
            stream_subgraphs=True,
            stream_resumable=True,
            on_disconnect="continue",
            multitask_strategy="reject",
            if_not_exists="create",
            # A pause is announced once it is stored.
            durability="sync",
            # Some servers take an answer to a question that waits no more for one to another.
            strict_resume=True if given.get("command") else None,
            metadata={_MARK: mark},
            headers=place.headers,
            on_run_created=on_created,
            **given,
        )
        try:
            try:
                async with contextlib.aclosing(_frames(frames)) as told:
                    async for frame in told:
                        yield frame
                return
            except httpx.HTTPError as error:
                if begun:
                    raise
                if isinstance(error, _NOT_SENT) or _status(error) in range(400, 500):
                    raise NotDelivered(_meaning(error)) from error
                found = await self.find(place, mark)
                if found is None:
                    raise
            on_created({"run_id": found})
            joined = runs.join_stream(
                place.thread, found, headers=place.headers, last_event_id="-1"
            )
            async with contextlib.aclosing(_frames(joined)) as told:
                async for frame in told:
                    yield frame
        except httpx.HTTPError as error:
            raise BrokeOff(f"{_meaning(error)} What became of the run is unknown.") from error
        except _ODD as error:
            raise BrokeOff(f"{_UNKNOWN_FORM} What became of the run is unknown.") from error

    async def find(self, place: Place, mark: str) -> str | None:
        """The id of the run that has a mark, None where there is none."""
        for look in range(_LOOKS):
            await asyncio.sleep(0.25 * look)
            with contextlib.suppress(httpx.HTTPError):
                runs = await self._clients.get().runs.list(
                    place.thread, limit=_NEWEST, headers=place.headers
                )
                for run in runs:
                    if (run.get("metadata") or {}).get(_MARK) == mark:
                        return run["run_id"]
        return None

    async def cancel(self, place: Place, run: str) -> None:
        """Have a run end where it is; of one that is over nothing changes."""
        try:
            await self._clients.get().runs.cancel(place.thread, run, headers=place.headers)
        except httpx.HTTPError as error:
            if _status(error) not in (404, 409):
                logger.warning("A run can't be cancelled at its LangGraph server: %r", error)
        except _ODD as error:
            logger.warning("A run can't be cancelled at its LangGraph server: %r", error)


async def _frames(parts: Any) -> AsyncGenerator[tuple[str, Any], None]:
    async with contextlib.aclosing(parts):
        async for part in parts:
            if part.event == "error":
                told = part.data if isinstance(part.data, Mapping) else {}
                # What it says is for whoever runs the server.
                logger.warning("A graph failed on its LangGraph server: %s", str(part.data)[:2000])
                raise GraphFailed(str(told.get("error") or "an error without a name")[:100])
            yield part.event, part.data


@contextlib.contextmanager
def _undelivered() -> Iterator[None]:
    """Tell a request's failure as that of one that changed nothing."""
    try:
        yield
    except httpx.HTTPError as error:
        raise NotDelivered(_meaning(error)) from error
    except UpstreamError as error:
        raise NotDelivered(str(error)) from error
    except _ODD as error:
        raise NotDelivered(_UNKNOWN_FORM) from error


def _meaning(error: httpx.HTTPError) -> str:
    status = _status(error)
    if status is None:
        why = "was not reached" if isinstance(error, _NOT_SENT) else "broke off"
        return f"The LangGraph server {why} ({type(error).__name__})."
    return f"The LangGraph server {_MEANINGS.get(status, f'answered with {status}')}."


def _status(error: httpx.HTTPError) -> int | None:
    return error.response.status_code if isinstance(error, httpx.HTTPStatusError) else None


def _names(schema: Any) -> tuple[str, ...]:
    known = schema.get("properties") if isinstance(schema, Mapping) else None
    return tuple(known) if isinstance(known, Mapping) else ()


def _is_uuid(told: str) -> bool:
    try:
        return bool(UUID(told))
    except ValueError:
        return False
