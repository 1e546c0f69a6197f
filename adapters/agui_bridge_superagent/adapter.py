"""The adapter: messages go to `/stream`, answers to `/resume`; a question becomes a pause."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Final, Literal

from agui_bridge.adapters import AdapterCapabilities, Run, RunItem
from agui_bridge.errors import OutcomeUnknown, UpstreamError
from agui_bridge.protocol.threads.records import Json
from agui_bridge_superagent.frames import FrameEvents
from agui_bridge_superagent.http_client import HttpClient, InterruptGone
from agui_bridge_superagent.pauses import answer_of, refusal_of
from agui_bridge_superagent.reader import Reader

_PREFIX: Final = "agui-"
_UNKNOWN: Final = (
    "It had the answer by then, or may have had it: whether it acted is unknown, and the answer is "
    "not sent again."
)


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

    capabilities: AdapterCapabilities = AdapterCapabilities(
        approve=False, decline=False, own_history=True
    )

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
        self._agent_id = agent_id
        self._session = session
        mode = {"X-A2UI": "true"} if a2ui else {}
        self._server = HttpClient(url, headers={**(headers or {}), **mode}, timeout=timeout)

    async def run(self, run: Run) -> AsyncGenerator[RunItem, None]:
        """Carry out one run.

        Raises:
            NotDelivered: the server was not reached, or refused the answer and still asks.
            InterruptGone: it asks nothing any more.
            UpstreamError: it failed, or what it sent is no chat.
            OutcomeUnknown: the same, once it may have taken an answer.
        """
        if run.resume is not None:
            values = answer_of(run.resume.continuation, run.resume.decisions)
            if values is None:
                return
            await run.check_stop()
            if run.stop.requested:
                # Nothing begins after a stop. The server still asks, and says so next time.
                return
            run.check_lease()
            items = self._answer(run, values)
        else:
            await self._withdraw(run)
            items = self._talk(run, "stream", message=run.text)
        ended = False
        try:
            async with contextlib.aclosing(items):
                async for item in items:
                    yield item
            ended = True
        finally:
            if run.stop.requested and not ended:
                # The original goes on without a reader, until it is told.
                await self._server.abort(self._names(run), run.trace_headers)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    async def _withdraw(self, run: Run) -> None:
        """Tell the server no to what was asked and never answered: else it asks it again."""
        for batch in run.closed:
            values = refusal_of(batch.continuation)
            if values is None or batch.cause == "lost":
                continue
            # It may have expired there as well; and what a no came to need not be known.
            with contextlib.suppress(InterruptGone, OutcomeUnknown):
                items = self._answer(run, values)
                async with contextlib.aclosing(items):
                    async for _ in items:
                        pass

    async def _answer(self, run: Run, values: Mapping[str, Json]) -> AsyncGenerator[RunItem, None]:
        """Answer what the server asks.

        Raises:
            OutcomeUnknown: it took the answer, or may have, and did not come to an end.
        """
        items = self._talk(run, "resume", input=dict(values))
        try:
            async with contextlib.aclosing(items):
                async for item in items:
                    yield item
        except InterruptGone:
            raise
        except UpstreamError as error:
            raise OutcomeUnknown(f"{error} {_UNKNOWN}") from error

    def _names(self, run: Run) -> dict[str, Json]:
        return {"agent_id": self._agent_id, "session_id": self._session(run)}

    async def _talk(
        self, run: Run, call: Literal["stream", "resume"], **members: Json
    ) -> AsyncGenerator[RunItem, None]:
        body = {**self._names(run), **members}
        reader = Reader(FrameEvents(run.mint, run.call_ids()))
        chunks = self._server.stream(call, body, run.trace_headers)
        async with contextlib.aclosing(chunks):
            async for chunk in chunks:
                for item in reader.feed(chunk):
                    yield item
        reader.end()
        if reader.question is not None:
            yield reader.question.pause()
