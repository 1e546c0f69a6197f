"""A bridge that asks, and those who are told."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.channels.receivers import FakeSlack, Receiver
from tests.stores.conftest import backend, clock, commands_are_read_once, opener, store, url

__all__ = [
    "backend",
    "clock",
    "commands_are_read_once",
    "opener",
    "receiver",
    "slack",
    "store",
    "url",
]


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with Receiver().serving() as serving:
        yield serving


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack().serving() as serving:
        yield serving
