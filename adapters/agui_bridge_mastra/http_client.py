"""A Mastra server over HTTP: its routes, its streams, and what its refusals mean."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx

from agui_bridge.errors import NotDelivered, UpstreamError
from agui_bridge.event_loops import PerLoop
from agui_bridge.protocol.threads.records import Json
from agui_bridge_mastra.frames import Frames

Chunk = dict[str, Any]

LOST: Final = (
    "Mastra does not know this suspended run (any more). It keeps them in its storage provider: "
    "without one they are lost when the server restarts. Configure a storage provider in the "
    "Mastra instance; or the run was continued by somebody else."
)

_DONE: Final = b"[DONE]"
_LONGEST_ERROR: Final = 64 * 1024
_NOT_CONNECTED: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_MEANINGS: Final[Mapping[int, str]] = {
    400: "Mastra refuses the request's shape (400): its version may not fit this adapter.",
    401: "Mastra wants other credentials (401): see the adapter's `headers`.",
    403: "Mastra refuses: the thread belongs to another resource, or access is denied (403).",
    404: "Mastra has no such agent, workflow or route (404): see the adapter's `agent` and `url`.",
    413: "Mastra refuses the request as too large (413).",
    429: "Mastra has too many requests (429): try again later.",
}


class NotFound(UpstreamError):
    """The server has no such agent, workflow, run or route; it has done nothing."""


class BrokeOff(UpstreamError):
    """The server may have taken the request, and did not tell to its end what came of it."""


class HttpClient:
    """A client of one server.

    Args:
        url: its base address, without `/api`.
        headers: sent with every request, such as an Authorization.
        timeout: seconds that it may be silent.
        client: an httpx client of yours; it is not closed here.
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 300.0,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout = httpx.Timeout(timeout, connect=10.0)
        self._client = client
        # An answer on a connection that the server is closing just now would be of unknown
        # fate: each request has a new one.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        self._own: PerLoop[httpx.AsyncClient] = PerLoop(
            lambda: httpx.AsyncClient(limits=limits), httpx.AsyncClient.aclose
        )

    async def stream(
        self,
        path: str,
        body: Json,
        *,
        trace: Mapping[str, str],
        on_heard: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[Chunk, None]:
        """POST, and give the chunks of the answer as they come.

        Args:
            path: of the route.
            body: what is sent.
            trace: headers of the trace.
            on_heard: called once the server has taken the request.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused; `BrokeOff` if that is not certain, or the stream broke.
        """
        response = await self._send("POST", path, trace, json=body)
        try:
            await self._check(response)
            on_heard()
            async for chunk in _chunks(response):
                yield chunk
        except httpx.TransportError as error:
            raise BrokeOff(
                f"The connection to Mastra broke while it answered ({type(error).__name__})."
            ) from error
        finally:
            await response.aclose()

    async def suspended_calls(
        self, agent: str, run_id: str, memory: Mapping[str, str], *, trace: Mapping[str, str]
    ) -> list[Mapping[str, Any]]:
        """The tool calls of a run that wait for somebody, as the server lists them.

        Args:
            agent: its id.
            run_id: of the run there.
            memory: its `thread` and `resource`; empty without memory.
            trace: headers of the trace.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        path = f"/api/agents/{quote(agent, safe='')}/suspended-runs"
        owner = {"threadId": memory["thread"], "resourceId": memory["resource"]} if memory else {}
        listed = await self._json("GET", path, trace=trace, params=owner)
        return [
            call
            for run in _dicts(listed.get("runs"))
            if run.get("runId") == run_id
            for call in _dicts(run.get("toolCalls"))
        ]

    async def results_of_calls(
        self, agent: str, memory: Mapping[str, str], *, trace: Mapping[str, str]
    ) -> dict[str, Json]:
        """The results of a conversation's latest tool calls that have one, by the call's id.

        Args:
            agent: its id.
            memory: the conversation's `thread` and `resource`.
            trace: headers of the trace.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        asked = {
            "agentId": agent,
            "resourceId": memory["resource"],
            "orderBy": '{"field":"createdAt","direction":"DESC"}',
            "perPage": "10",
        }
        path = f"/api/memory/threads/{quote(memory['thread'], safe='')}/messages"
        listed = await self._json("GET", path, trace=trace, params=asked)
        contents = [
            as_mapping(message.get("content")) for message in _dicts(listed.get("messages"))
        ]
        calls = [
            as_mapping(part.get("toolInvocation"))
            for content in contents
            for part in _dicts(content.get("parts"))
        ]
        return {
            str(call["toolCallId"]): call.get("result", "The tool failed.")
            for call in calls
            if "toolCallId" in call and call.get("state") not in ("call", "partial-call")
        }

    async def agent(self, agent: str, *, trace: Mapping[str, str]) -> Mapping[str, Any]:
        """An agent's definition: its `defaultOptions` among other things.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        return await self._json("GET", f"/api/agents/{quote(agent, safe='')}", trace=trace)

    async def workflow(self, workflow: str, *, trace: Mapping[str, str]) -> Mapping[str, Any]:
        """A workflow's definition: its `steps` and `allSteps` have the schemas of each.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        return await self._json("GET", _path_of(workflow), trace=trace)

    async def workflow_run(
        self, workflow: str, run_id: str, *, trace: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """A workflow's run: its `status`, and how each of its `steps` stands, nested ones too.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        path = _path_of(workflow, run_id)
        return await self._json("GET", path, trace=trace, params={"fields": "steps"})

    async def working_memory(
        self, agent: str, memory: Mapping[str, str], *, trace: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """The working memory of a conversation: `workingMemory`, and its template and thread.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        asked = {"agentId": agent, "resourceId": memory["resource"]}
        path = f"/api/memory/threads/{quote(memory['thread'], safe='')}/working-memory"
        return await self._json("GET", path, trace=trace, params=asked)

    async def set_working_memory(
        self,
        agent: str,
        memory: Mapping[str, str],
        text: str,
        *,
        new: bool,
        trace: Mapping[str, str],
    ) -> None:
        """Replace the working memory of a conversation.

        Args:
            agent: its id.
            memory: the conversation's `thread` and `resource`.
            text: what is kept from now on.
            new: whether Mastra does not know the thread yet.
            trace: headers of the trace.

        Raises:
            NotDelivered: the server was not reached.
            UpstreamError: it refused.
        """
        of, resource = {"agentId": agent}, {"resourceId": memory["resource"]}
        if new:
            thread = {"threadId": memory["thread"], **resource}
            await self._json("POST", "/api/memory/threads", trace=trace, params=of, json=thread)
        path = f"/api/memory/threads/{quote(memory['thread'], safe='')}/working-memory"
        body = {"workingMemory": text, **resource}
        await self._json("POST", path, trace=trace, params=of, json=body)

    async def task(self, task: str, *, trace: Mapping[str, str]) -> Mapping[str, Any]:
        """A background task: its `status`, what it waits with, and its `result`.

        Raises:
            NotFound: there is no such task.
            NotDelivered: the server was not reached.
            UpstreamError: it refused, or its answer can't be read.
        """
        path = f"/api/background-tasks/{quote(task, safe='')}"
        return await self._json("GET", path, trace=trace)

    async def resume_task(self, path: str, data: Json, *, trace: Mapping[str, str]) -> None:
        """Continue a background task by a route of the application's.

        Raises:
            NotFound: there is no such route.
            NotDelivered: the server was not reached.
            UpstreamError: it refused; `BrokeOff` if that is not certain.
        """
        await self._json("POST", path, trace=trace, json={"resumeData": data})

    async def cancel_workflow(
        self, workflow: str, run_id: str, *, trace: Mapping[str, str]
    ) -> None:
        """Have a workflow's run begin no further step.

        Raises:
            UpstreamError: the server was not reached, or refused.
        """
        path = f"{_path_of(workflow, run_id)}/cancel"
        await self._json("POST", path, trace=trace, json={})

    async def _json(
        self, method: str, path: str, *, trace: Mapping[str, str], **body: Any
    ) -> Mapping[str, Any]:
        response = await self._send(method, path, trace, **body)
        try:
            await self._check(response)
            return as_mapping(json.loads(await response.aread()))
        except (httpx.TransportError, ValueError) as error:
            raise UpstreamError(f"Mastra's answer to {method} {path} can't be read.") from error
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._own.aclose()

    def _http(self) -> httpx.AsyncClient:
        return self._client if self._client is not None else self._own.get()

    async def _send(
        self, method: str, path: str, trace: Mapping[str, str], **body: Any
    ) -> httpx.Response:
        client, headers = self._http(), {**self._headers, **trace}
        request = client.build_request(
            method, self._url + path, headers=headers, timeout=self._timeout, **body
        )
        try:
            return await client.send(request, stream=True)
        except _NOT_CONNECTED as error:
            raise NotDelivered(
                f"Mastra can't be reached ({type(error).__name__}): nothing was sent."
            ) from error
        except httpx.TransportError as error:
            raise BrokeOff(
                f"Mastra did not answer ({type(error).__name__}), though it may have acted."
            ) from error

    async def _check(self, response: httpx.Response) -> None:
        """Make an error of a refusal; the body is looked at, never passed on."""
        if response.is_success:
            return
        seen = b""
        async for part in response.aiter_bytes():
            seen += part
            if len(seen) > _LONGEST_ERROR:
                break
        if b"could not find a suspended run" in seen or b"it is not suspended" in seen:
            raise UpstreamError(LOST)
        status = response.status_code
        if status == 404:
            raise NotFound(_MEANINGS[status])
        told = _MEANINGS.get(status, f"Mastra failed ({status}): see its log.")
        raise BrokeOff(told) if response.is_server_error else UpstreamError(told)


def _path_of(workflow: str, run_id: str | None = None) -> str:
    path = f"/api/workflows/{quote(workflow, safe='')}"
    return path if run_id is None else f"{path}/runs/{quote(run_id, safe='')}"


async def _chunks(response: httpx.Response) -> AsyncIterator[Chunk]:
    plain = response.headers.get("content-type", "").startswith("text/plain")
    frames = Frames(records=plain)
    async for part in response.aiter_bytes():
        for data in frames.feed(part):
            if data == _DONE:
                return
            yield _chunk(data)
    # The last record may have no separator after it; an event that was cut off is lost.
    if plain and (rest := frames.close()):
        yield _chunk(rest)


def _chunk(data: bytes) -> Chunk:
    try:
        chunk = json.loads(data)
    except ValueError as error:
        raise BrokeOff("Mastra's stream holds what is no JSON.") from error
    if not isinstance(chunk, dict):
        raise BrokeOff("Mastra's stream holds what is no chunk.")
    return chunk


def as_mapping(value: Json) -> Mapping[str, Any]:
    """A member that should be an object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def _dicts(value: Json) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []
