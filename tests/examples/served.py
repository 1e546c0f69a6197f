"""An example behind a real server: talked to over HTTP, restarted at will, watched from outside."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from agui_bridge import Bridge
from tests.support.server import Streamed, client, open_stream, run_input, serve

__all__ = ["Served", "serving"]

Event = dict[str, Any]


class Served:
    """One thread of one agent of an example.

    Attributes:
        base: the server's address.
        events: those of the last run.
        token: the bearer token to send.
    """

    def __init__(self, name: str, agent: str, store: str) -> None:
        self.events: list[Event] = []
        self.token: str | None = None
        self._name = name
        self._agent = agent
        self._store = store
        self._generations: list[dict[str, ModuleType]] = []
        self.base = ""
        self._sent = 0
        self._last: dict[str, Any] = {}
        self._server = contextlib.AsyncExitStack()

    async def start(self) -> None:
        """Import the example as a new process would, and serve its bridge."""
        _forget_examples()
        module = importlib.import_module(self._name)
        self._generations.append(
            {n: m for n, m in sys.modules.items() if n.startswith("examples.")}
        )
        bridge: Bridge = module.bridge
        bridge.store = self._store
        app = bridge.app(anonymous=bridge.authenticate is None)
        self.base = await self._server.enter_async_context(serve(app))

    async def stop(self) -> None:
        """End the server."""
        await self._server.aclose()

    async def restart(self) -> None:
        """End the server, and start it anew on the same store."""
        await self.stop()
        await self.start()

    async def say(self, text: str) -> str:
        """Send a message; gives the text that came back."""
        self._sent += 1
        message = {"id": f"u{self._sent}", "role": "user", "content": text}
        return await self._send(messages=[message])

    async def answer(self, *payloads: Any) -> str:
        """Answer the open interrupts in their order; None cancels."""
        resume = [
            {"interruptId": ask["id"], "status": "cancelled"}
            if payload is None
            else {"interruptId": ask["id"], "status": "resolved", "payload": payload}
            for ask, payload in zip(self.asks, payloads, strict=True)
        ]
        return await self._send(resume=resume)

    async def send_again(self) -> str:
        """Send the last input once more, as a client does that lost the response."""
        return await self._send(**self._last)

    @contextlib.asynccontextmanager
    async def listening(self, text: str) -> AsyncIterator[Streamed]:
        """Send a message and read its stream piece by piece."""
        body = run_input(text, run=f"r{self._sent}")
        async with open_stream(self.base, self._agent, **body) as stream:
            yield stream

    @property
    def asks(self) -> list[Mapping[str, Any]]:
        """The interrupts that the last run ended with."""
        ends = [event for event in self.events if event["type"] == "RUN_FINISHED"]
        return list(ends[-1]["outcome"].get("interrupts", [])) if ends else []

    @property
    def error(self) -> str | None:
        """The code of the last run's RUN_ERROR, if any."""
        return next((e["code"] for e in self.events if e["type"] == "RUN_ERROR"), None)

    @property
    def results(self) -> list[str]:
        """The results of tool calls in the last run."""
        return [e["content"] for e in self.events if e["type"] == "TOOL_CALL_RESULT"]

    def effects(self, name: str) -> list[Any]:
        """What the example did, in a list of its own, in all processes so far."""
        return [item for module in self.imported(self._name) for item in getattr(module, name)]

    def counts(self, name: str) -> dict[str, int]:
        """The same of what the example counts."""
        return dict(sum((getattr(module, name) for module in self.imported(self._name)), Counter()))

    def imported(self, name: str) -> list[ModuleType]:
        """A module as each process so far has imported it."""
        return [generation[name] for generation in self._generations]

    async def thread(self) -> dict[str, Any]:
        """The thread as GET gives it."""
        async with client(self.base) as http:
            answer = await http.get(f"/agents/{self._agent}/threads/t", headers=self._headers)
        found: dict[str, Any] = answer.json()
        return found

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    async def _send(self, **members: Any) -> str:
        self._last = members
        body = run_input(None, run=f"r{self._sent}", **members)
        async with (
            client(self.base) as http,
            http.stream(
                "POST", f"/agents/{self._agent}", json=body, headers=self._headers
            ) as response,
        ):
            assert response.status_code == 200, (await response.aread()).decode()
            stream = Streamed(response)
            # Its end is checked too: every stream is a valid one.
            self.events = await stream.rest()
        return "".join(e["delta"] for e in self.events if e["type"] == "TEXT_MESSAGE_CONTENT")


@contextlib.asynccontextmanager
async def serving(name: str, agent: str, folder: Path) -> AsyncIterator[Served]:
    """Serve an example's agent on a SQLite file in a folder."""
    served = Served(name, agent, f"sqlite:///{folder / 'threads.db'}")
    before = _forget_examples()
    await served.start()
    try:
        yield served
    finally:
        await served.stop()
        _forget_examples()
        sys.modules.update(before)


def _forget_examples() -> dict[str, ModuleType]:
    """Have the next import of an example execute it anew; gives what was imported."""
    names = [name for name in sys.modules if name.startswith("examples.")]
    return {name: sys.modules.pop(name) for name in names}
