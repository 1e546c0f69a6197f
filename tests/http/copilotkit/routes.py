"""CopilotKit's requests, through each of its two kinds of routes."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any, Literal

import httpx

from tests.http.conftest import Site
from tests.support.server import Streamed, open_stream_at, run_input

__all__ = ["Client", "Way"]

Way = Literal["rest", "single"]
"""Of `useSingleEndpoint`."""

Json = dict[str, Any]


class Client:
    """Asks as `@copilotkit/core` does: no protocolVersion, and run ids that come again.

    Args:
        site: the bridge.
        way: which routes it uses.
        base: where they stand.
    """

    def __init__(self, site: Site, way: Way, base: str = "/copilotkit") -> None:
        self._site, self._way, self._base = site, way, base

    async def info(self) -> httpx.Response:
        if self._way == "rest":
            return await self._site.http.get(f"{self._base}/info")
        return await self._site.http.post(self._base, json={"method": "info"})

    @contextlib.asynccontextmanager
    async def open(
        self, method: str, text: str | None = None, agent: str = "agent", **members: Any
    ) -> AsyncIterator[Streamed]:
        """Begin to run or to connect; leaving the block closes the connection."""
        body = run_input(text, version=None, **members)
        path, asked = f"{self._base}/agent/{agent}/{method}", body
        if self._way == "single":
            path = self._base
            asked = {"method": f"agent/{method}", "params": {"agentId": agent}, "body": body}
        async with open_stream_at(self._site.base, path, asked) as stream:
            yield stream

    async def run(self, text: str | None = None, **members: Any) -> Streamed:
        """Run, and read to the end."""
        async with self.open("run", text, **members) as stream:
            await stream.rest()
        return stream

    async def connect(self, **members: Any) -> Streamed:
        """Connect, and read to the end."""
        async with self.open("connect", run="connect-run", **members) as stream:
            await stream.rest()
        return stream

    async def stop(self, thread: str = "t", run: str | None = None) -> Json:
        """Stop; gives the answer's body."""
        body = {} if run is None else {"runId": run}
        if self._way == "rest":
            headers = {"content-type": "application/json"}
            path = f"{self._base}/agent/agent/stop/{thread}"
            sent: Json = {"json": body} if body else {"headers": headers}
            answer = await self._site.http.post(path, **sent)
        else:
            params = {"agentId": "agent", "threadId": thread}
            asked = {"method": "agent/stop", "params": params} | ({"body": body} if body else {})
            answer = await self._site.http.post(self._base, json=asked)
        assert answer.status_code == 200, answer.text
        stopped: Json = answer.json()
        return stopped
