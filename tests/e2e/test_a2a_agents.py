"""An agent on the official JavaScript SDK's A2A server, behind the bridge, over both bindings."""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge_a2a import A2AAdapter
from agui_bridge_a2a.card import Binding
from tests.docs.pages import Conversation
from tests.e2e.lines import HERE
from tests.support.effects import lines_of
from tests.support.ports import free_port
from tests.support.waiting import eventually, wait_until

FOLDER = HERE / "a2a"
pytestmark = pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])


class Shop:
    """The agent's process.

    Attributes:
        url: where its card is.
    """

    def __init__(self, effects: Path) -> None:
        self._effects = effects
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        command = ["node", str(FOLDER / "server.mjs"), str(port), str(effects)]
        self._process = subprocess.Popen(command)
        wait_until(self._answers)

    @property
    def effects(self) -> list[Any]:
        """What it did."""
        return [json.loads(line) for line in lines_of(self._effects)]

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.wait(10)

    def _answers(self) -> bool:
        assert self._process.poll() is None
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/.well-known/agent-card.json", trust_env=False).is_success
        return False


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    served = Shop(tmp_path / "effects")
    yield served
    served.kill()


def talk_to(shop: Shop, binding: Binding, store: str = "memory:") -> tuple[Bridge, Conversation]:
    bridge = Bridge(store, telemetry=False)
    bridge.add("shop", A2AAdapter(shop.url, binding=binding))
    return bridge, Conversation(bridge, "shop")


async def test_a_question_is_answered_once_by_whoever_answers_first(
    shop: Shop, binding: Binding, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'threads.db'}"
    first, talk = talk_to(shop, binding, store)
    second, _ = talk_to(shop, binding, store)
    async with first.lifespan(), second.lifespan():
        assert await talk.say("a shirt") == ""
        (ask,) = talk.asks
        assert (ask["message"], ask["responseSchema"]["required"]) == ("Which size?", ["size"])
        await talk.answer({"size": "XL"})
        assert (talk.events[-1]["code"], shop.effects) == ("INVALID_RESUME_PAYLOAD", [])
        entry = {"interruptId": ask["id"], "status": "resolved", "payload": {"size": "M"}}
        tabs = [Conversation(bridge, "shop") for bridge in (first, second) * 3]
        await asyncio.gather(*(tab._send(resume=[entry]) for tab in tabs))
        assert shop.effects == [{"size": "M"}]
        await talk.say("and socks")
        assert [each["message"] for each in talk.asks] == ["Which size?"]


async def test_a_stop_cancels_the_task_there(shop: Shop, binding: Binding) -> None:
    bridge, talk = talk_to(shop, binding)
    async with bridge.lifespan():
        saying = asyncio.create_task(talk.say("slow"))
        await asyncio.sleep(0.5)
        await bridge.stop("shop", talk.thread, force=True)
        assert await saying == "Working."
        await eventually(lambda: shop.effects == ["cancelled"])


async def test_a_question_of_an_agent_that_has_died_is_not_told_as_answered(
    shop: Shop, binding: Binding
) -> None:
    bridge, talk = talk_to(shop, binding)
    async with bridge.lifespan():
        await talk.say("a shirt")
        asks = talk.asks
        shop.kill()
        await talk.answer({"size": "M"})
        assert talk.events[-1]["code"] == "UPSTREAM_ERROR"
        assert [each["id"] for each in talk.asks or asks] == [each["id"] for each in asks]
    assert shop.effects == []
