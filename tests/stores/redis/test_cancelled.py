"""What is cancelled once ends, also where the client has swallowed the cancellation."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Self

import pytest
from redis.exceptions import ConnectionError as Broken

from agui_bridge.errors import StoreUnavailable
from agui_bridge.stores.redis.address import Address
from agui_bridge.stores.redis.client import Client
from agui_bridge.stores.redis.notifications import Notifications
from agui_bridge.stores.redis.rows import Keys

SECONDS = 30


class Swallowing:
    """A client that takes a cancellation for something else, as redis-py's does now and then.

    Attributes:
        place: where it happens.
        reached: once it waits there.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self.address = Address.parse("redis://127.0.0.1:1")
        self.reached = asyncio.Event()

    async def listener(self, _channel: str) -> Self:
        if self.place == "connecting":
            await self._wait()
            raise Broken("cancelled, as it seems")
        return self

    async def send_command(self, *_: object) -> None:
        pass

    async def read_response(self, **limits: Any) -> list[str] | None:
        if limits:
            await self._wait()
            return None
        return ["subscribe", "channel"]

    async def disconnect(self, **_: bool) -> None:
        pass

    async def _wait(self) -> None:
        self.reached.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(SECONDS)


@pytest.mark.parametrize("place", ["connecting", "listening"])
async def test_a_cancellation_that_the_client_swallows_ends_the_listener(place: str) -> None:
    client: Any = Swallowing(place)
    listening = Notifications(client, Keys("agui", 1), "one", print, print)
    listening.start()
    (task,) = [it for it in asyncio.all_tasks() if "_listen" in repr(it)]
    await client.reached.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=SECONDS / 2)
    assert done == {task}
    assert task.cancelled()


class SwallowingLink:
    """A connection that takes a cancellation for its end.

    Attributes:
        reached: once a command waits.
        tries: how often it was sent.
    """

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.tries = 0

    async def call(self, *_: object, **__: object) -> None:
        self.tries += 1
        self.reached.set()
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            raise Broken("cancelled, as it seems") from None


async def test_a_cancellation_that_the_client_swallows_ends_who_goes_on_after_failures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = SwallowingLink()
    monkeypatch.setattr(Client, "_link", link)
    client = Client(Address.parse("redis://127.0.0.1:1"))

    async def go_on() -> None:
        while True:
            with suppress(StoreUnavailable):
                await client.command("PING")

    task = asyncio.create_task(go_on())
    await link.reached.wait()
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=SECONDS / 2)
    assert done == {task}
    assert task.cancelled()
    assert link.tries == 1


async def test_a_task_that_was_cancelled_before_is_told_of_a_failure_as_one() -> None:
    client = Client(Address.parse("redis://127.0.0.1:1"))
    told: list[Exception] = []

    async def write_at_the_end() -> None:
        try:
            await asyncio.sleep(SECONDS)
        finally:
            try:
                await client.command("PING")
            except StoreUnavailable as error:
                told.append(error)

    task = asyncio.create_task(write_at_the_end())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task}, timeout=SECONDS)
    assert task.cancelled()
    assert len(told) == 1
