"""What a check works with: fresh threads on one endpoint, and a count of what was executed."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from agui_bridge.conformance.check import Blocked, Need
from agui_bridge.conformance.config import Config, filled
from agui_bridge.conformance.executions import executed
from agui_bridge.conformance.wire import Answer, Event, open_run, post_run, run_input
from agui_bridge.protocol.threads.history import History

__all__ = ["Lab", "Thread", "cancel", "resolve"]


def resolve(interrupt: Mapping[str, Any], payload: Any = ...) -> dict[str, Any]:
    """A resume entry that answers an interrupt; without a payload, one that has none."""
    entry = {"interruptId": interrupt["id"], "status": "resolved"}
    return entry if payload is ... else {**entry, "payload": payload}


def cancel(interrupt: Mapping[str, Any]) -> dict[str, Any]:
    """A resume entry that gives an interrupt up."""
    return {"interruptId": interrupt["id"], "status": "cancelled"}


@dataclass(frozen=True)
class Lab:
    """One endpoint under test.

    Attributes:
        config: as it was given.
        client: for every request.
        url: of the endpoint.
        second_url: of another process on the same store, if any.
        names: what `{name}` stands for in the configuration, such as `folder`.
        restart: restarts the server, if that is possible.
    """

    config: Config
    client: httpx.AsyncClient
    url: str
    second_url: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    restart: Callable[[], Awaitable[None]] | None = None

    def thread(self) -> Thread:
        """A thread that the endpoint has never heard of."""
        marker = f"m{uuid.uuid4().hex[:16]}"
        return Thread(self, f"thread-{marker}", marker)

    async def settle(self) -> None:
        """Wait as long as an execution that nobody awaits may take to be seen."""
        await asyncio.sleep(self.config.settle)

    async def get(self, url: str) -> httpx.Response:
        """Read something of the server, as the principal of this run.

        Args:
            url: may hold the names of this run in braces, such as `{folder}`.
        """
        return await self.client.get(filled(url, **self.names), headers=self.config.headers)


class Thread:
    """One thread, and a client of it that keeps its messages as AG-UI's own client does.

    Attributes:
        id: the thread's.
        marker: stands in every prompt and so in the arguments of the tools.
        history: what the client has.
    """

    def __init__(self, lab: Lab, thread: str, marker: str) -> None:
        self.lab = lab
        self.id = thread
        self.marker = marker
        self.history: History = History()
        self.answers: list[Answer] = []

    def input(self, *, text: str | None = None, **members: Any) -> dict[str, Any]:
        """The next input: what the client has, a new user message, and other members."""
        if text is not None:
            self.history.add({"id": str(uuid.uuid4()), "role": "user", "content": text})
        return run_input(self.id, members.pop("messages", self.history.messages), **members)

    def prompt(self, need: Need) -> str:
        """The user message for what a check needs."""
        text: str = filled(getattr(self.lab.config.prompts, need), marker=self.marker)
        return text

    def payload(self, name: str) -> Any:
        """A payload of the configuration's `answers`."""
        return filled(getattr(self.lab.config.answers, name), marker=self.marker)

    async def say(self, need: Need, *, url: str = "", **members: Any) -> Answer:
        """Send the prompt for what a check needs.

        Raises:
            Blocked: what was to be answered with text made a new thread's agent ask.
        """
        fresh = not self.answers
        answer = await self.send(self.input(text=self.prompt(need), **members), url=url)
        if need == "text" and fresh and answer.outcome == "interrupt":
            # The prompt is wrong; a check of versions, say, would be told as failed.
            raise Blocked(f"prompts.text was to raise no question; it ended with {answer.told()}")
        return answer

    async def resume(
        self,
        *entries: Mapping[str, Any],
        url: str = "",
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> Answer:
        """Answer interrupts."""
        return await self.send(
            self.input(resume=list(entries), **members), url=url, headers=headers
        )

    async def send(
        self, body: Any, *, url: str = "", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send an input as it is, and take in what comes back."""
        given = self.lab.config.headers if headers is None else headers
        answer = await post_run(self.lab.client, url or self.lab.url, body, given)
        self.take_in(answer)
        return answer

    @asynccontextmanager
    async def open(
        self, body: Mapping[str, Any]
    ) -> AsyncIterator[tuple[Answer, AsyncIterator[bytes]]]:
        """Begin a run; leaving the block closes the connection."""
        lab = self.lab
        async with open_run(lab.client, lab.url, body, lab.config.headers) as opened:
            yield opened

    def take_in(self, answer: Answer) -> None:
        """Fold what an answer holds into the client's messages."""
        self.answers.append(answer)
        for event in answer.events:
            try:
                self.history.apply(event)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # The check of the events' types tells of it.

    async def pause(self, need: Need = "approval", count: int = 1, **members: Any) -> list[Event]:
        """Make the agent ask.

        Returns:
            The interrupts, each with an id.

        Raises:
            Blocked: it did not ask so many questions.
        """
        answer = await self.say(need, **members)
        found = [i for i in answer.interrupts if isinstance(i.get("id"), str)]
        if len(found) != count:
            raise Blocked(
                f"prompts.{need} was to raise {count} interrupt(s); it raised {len(found)} "
                f"({answer.told()})"
            )
        return found

    async def approve(self, interrupts: Sequence[Event], **members: Any) -> Answer:
        """Approve what was asked."""
        payload = self.payload("approve")
        return await self.resume(*(resolve(i, payload) for i in interrupts), **members)

    async def deny(self, interrupts: Sequence[Event], **members: Any) -> Answer:
        """Decline what was asked."""
        payload = self.payload("deny")
        return await self.resume(*(resolve(i, payload) for i in interrupts), **members)

    async def executed(self, marker: str = "") -> list[str]:
        """The executions of this thread so far, settled.

        Raises:
            Blocked: nothing counts them.
        """
        await self.lab.settle()
        source = self.lab.config.executions
        if source is None:
            raise Blocked("the configuration does not say how executions are counted")
        return await executed(source, marker or self.marker, self.lab.client, **self.lab.names)
