"""A process that dies between a send and its mark: what it sent comes again, under the same id."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import pytest

from agui_bridge.channels.webhooks import Webhook
from agui_bridge.stores.base import Store
from tests.channels.bridges import SECRET, bridge_with
from tests.channels.receivers import Receiver
from tests.stores.conftest import COMPARED, Backend
from tests.support.clock import FakeClock
from tests.support.waiting import eventually


@pytest.mark.soak
@pytest.mark.parametrize("backend", COMPARED, ids=lambda backend: backend.name)
async def test_a_process_that_is_killed_after_a_send_has_it_sent_again_with_the_same_id(
    backend: Backend, url: str, receiver: Receiver
) -> None:
    command = [sys.executable, "-m", "tests.channels.dying", url, receiver.url]
    process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
    _, errors = await process.communicate()
    assert process.returncode == -9, errors.decode()
    (first,) = receiver.told
    # The lease of the dead process is over at once by this clock.
    later = await backend.open(url, FakeClock(time.time() + 3600))
    hook = Webhook(receiver.url, SECRET)
    bridge, _ = bridge_with({"hook": hook}, store=later)
    async with bridge.lifespan():
        await eventually(lambda: len(receiver.told) == 2)
        await eventually(lambda: _sent(later))

    assert receiver.told == [first, first]


async def _sent(store: Store) -> bool:
    return bool(await store.deliveries.list_deliveries("default", state="sent"))
