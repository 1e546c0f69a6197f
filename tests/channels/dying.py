"""A bridge that is killed right after it has sent a webhook, before it writes that down."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from agui_bridge.channels.notice import Notice
from agui_bridge.channels.webhooks import Webhook
from agui_bridge.engine.input.settings import Settings
from agui_bridge.protocol.threads.records import Json
from agui_bridge.testing import talk
from tests.channels.bridges import SECRET, bridge_with


@dataclass
class LastWebhook(Webhook):
    """Is the last thing that its process does."""

    async def send(self, notice: Notice) -> Mapping[str, Json] | None:
        await super().send(notice)
        os.kill(os.getpid(), signal.SIGKILL)
        return None


async def main(store: str, url: str) -> None:
    hook = LastWebhook(url, SECRET)
    bridge, _ = bridge_with({"hook": hook}, store=store, settings=Settings(sweep_interval=0.05))
    async with talk(bridge, "ops", store=store) as talking:
        await talking.say("delete")
        await asyncio.sleep(30)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
