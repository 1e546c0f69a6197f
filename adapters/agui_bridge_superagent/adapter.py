"""The adapter: messages go to `/stream`, answers to `/resume`, and what is asked becomes a pause.

What became of an answer is told by how the request failed: a server that was not reached, or that
refused the input and so still asks, has not got it (NotDelivered: the question stands open again);
409 means that the question is gone there; anything else is unknown, and is not tried again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Final

import httpx

from agui_bridge.adapters import AdapterCapabilities, Ask, Pause, Run, RunItem
from agui_bridge.errors import ConfigurationError, NotDelivered, UpstreamError
from agui_bridge.protocol.decisions import Answer
from agui_bridge.protocol.forms import FormField, schema_from_fields
from agui_bridge.protocol.records import Json
from agui_bridge_superagent.reader import Question, Reader

__all__ = ["InterruptGone", "SuperAgentAdapter", "session_of"]

_ASK: Final = "interrupt"
_PREFIX: Final = "agui-"
_CONNECT_SECONDS: Final = 10.0
_NOT_SENT: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.UnsupportedProtocol,
    httpx.ProxyError,
)


class InterruptGone(UpstreamError):
    """The remote session asks nothing any more: it expired there, or somebody else answered."""

    code = "INTERRUPT_EXPIRED"


def session_of(run: Run) -> str:
    """The remote session of a thread: its id, for principals of the default scope.

    A remote server knows no principals: a thread of another scope gets a name that nobody can
    choose for a thread of their own.
    """
    scope, thread = run.principal.scope, run.thread_id
    if scope == "default" and not thread.startswith(_PREFIX):
        return thread
    digest = hashlib.sha256(json.dumps([scope, run.agent, thread]).encode()).hexdigest()
    return f"{_PREFIX}{digest[:40]}"


class SuperAgentAdapter:
    """A remote agent.

    Args:
        url: of the server; `/api/v1/chat/…` is added.
        agent_id: the agent's name there.
        a2ui: asks for A2UI frames; else for tokens. Whatever comes is understood.
        headers: sent with every request, such as credentials.
        timeout: seconds that the server may be silent.
        session: names the remote session of a run; by default `session_of`.

    Attributes:
        capabilities: the server keeps the conversation itself, and asks in forms.

    Raises:
        ConfigurationError: the URL is none.
    """

    capabilities = AdapterCapabilities(approve=False, decline=False, own_history=True)

    def __init__(
        self,
        url: str,
        agent_id: str,
        *,
        a2ui: bool = True,
        headers: Mapping[str, str] | None = None,
        timeout: float = 120.0,
        session: Callable[[Run], str] = session_of,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ConfigurationError(f"{url!r} is no address of a server: write http://host:port.")
        self._agent_id = agent_id
        self._session = session
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={**(headers or {}), **({"X-A2UI": "true"} if a2ui else {})},
            timeout=httpx.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
        )

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: the server was not reached, or refused the answer and still asks.
            InterruptGone: it asks nothing any more.
            UpstreamError: it failed, or what it sent is no chat.
        """
        if run.resume is not None:
            decision = run.resume.decisions[_ASK]
            values = decision.payload if isinstance(decision, Answer) else None
            if not isinstance(values, Mapping):
                # Cancelled: whoever asks is told no, if the form has a word for it.
                values = _refusal(_fields(run.resume.continuation))
            if values is None:
                return
            run.check_lease()
            items = self._talk(run, "resume", input=dict(values))
        else:
            await self._withdraw(run)
            items = self._talk(run, "stream", message=run.text)
        async with contextlib.aclosing(items):
            async for item in items:
                yield item

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _withdraw(self, run: Run) -> None:
        """Tell the server no to what was asked and never answered: else it asks it again."""
        for batch in run.closed:
            values = _refusal(_fields(batch.continuation))
            if values is None or batch.cause == "lost":
                continue
            # It may have expired there as well.
            with contextlib.suppress(InterruptGone):
                async with contextlib.aclosing(self._talk(run, "resume", input=values)) as items:
                    async for _ in items:
                        pass

    async def _talk(self, run: Run, call: str, **members: Json) -> AsyncGenerator[RunItem, None]:
        body = {"agent_id": self._agent_id, "session_id": self._session(run), **members}
        reply = Reader()
        try:
            async with self._client.stream(
                "POST", f"/api/v1/chat/{call}", json=body, headers=dict(run.trace_headers)
            ) as response:
                _check(response, call)
                async for chunk in response.aiter_bytes():
                    for text in reply.feed(chunk):
                        yield text
        except _NOT_SENT as error:
            kind = type(error).__name__
            raise NotDelivered(f"The remote agent's server can't be reached ({kind}).") from error
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise UpstreamError(f"The remote agent's server broke off ({kind}).") from error
        reply.end()
        if reply.question is not None:
            yield _pause(reply.question)


def _check(response: httpx.Response, call: str) -> None:
    status = response.status_code
    if status == 200:
        kind = response.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "text/event-stream":
            raise UpstreamError(f"The remote agent's server answered with {kind!r:.60}, no stream.")
        return
    if status == 409 and call == "resume":
        raise InterruptGone(
            "The remote session waits for no answer any more: it expired there, or was answered."
        )
    if status == 404:
        raise NotDelivered(
            "The remote server has no such agent, or the agent there takes no answers (404). "
            "Check the adapter's url and agent_id."
        )
    if 400 <= status < 500:
        raise NotDelivered(f"The remote agent's server refused the request ({status}).")
    raise UpstreamError(f"The remote agent's server answered {status}.")


def _pause(question: Question) -> Pause:
    ask = Ask(
        native_id=_ASK,
        reason="confirmation",
        message=question.reason,
        response_schema=schema_from_fields(question.fields),
    )
    return Pause([ask], {"fields": [field.to_json() for field in question.fields]})


def _fields(continuation: Json) -> Sequence[FormField]:
    return [FormField.from_json(field) for field in continuation["fields"]]


def _refusal(fields: Sequence[FormField]) -> dict[str, Json] | None:
    """The form filled in with a no; None when it has no confirm field, or asks for more."""
    required = [field for field in fields if field.required and field.type != "confirm"]
    values = {field.name: False for field in fields if field.type == "confirm"}
    return values if values and not required else None
