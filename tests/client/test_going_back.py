"""A client that goes back over a call: with its sign, and nowhere if it is behind."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agui_bridge import Bridge, FunctionRun
from agui_bridge.client import Client, Resolved
from tests.support.server import PATIENCE, serve


class Shop:
    """A served agent that pays once somebody approves.

    Attributes:
        paid: every payment.
        heard: what each run saw last of the conversation.
    """

    def __init__(self) -> None:
        self.base = ""
        self.paid: list[str] = []
        self.heard: list[str] = []

    async def pay(self, to: str) -> str:
        self.paid.append(to)
        return f"paid {to}"

    async def serve(self, run: FunctionRun) -> AsyncIterator[str]:
        self.heard.append(str(run.messages[-1].content))
        verb, _, what = run.text.partition(" ")
        if verb == "pay":
            answer = await run.approve("pay", {"to": what})
            yield str(await run.tool(answer, self.pay)) if answer.approved else "Declined."
        else:
            yield f"You said: {run.text}"

    def client(self, thread: str) -> Client:
        return Client(f"{self.base}/agents/shop", thread_id=thread, timeout=PATIENCE)


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    bridge, shop = Bridge("memory:"), Shop()
    bridge.agent("shop")(shop.serve)
    async with serve(bridge.app(anonymous=True)) as base:
        shop.base = base
        yield shop


async def approve(client: Client) -> None:
    (ask,) = client.pending_interrupts
    await client.complete(resume={ask.id: Resolved({"approved": True})})


def said(client: Client) -> list[str]:
    return [m["content"] for m in client.messages if m["role"] in ("user", "tool")]


async def test_an_edit_takes_a_payment_out_of_the_conversation_and_the_model_is_told(
    shop: Shop,
) -> None:
    async with shop.client("t") as client:
        await client.complete("hello")
        await client.complete("pay Ann")
        await approve(client)
        (place,) = (m["id"] for m in client.messages if m.get("content") == "pay Ann")
        async for _ in client.edit(place, "something else"):
            pass
        assert said(client) == ["hello", "something else"]
        assert shop.paid == ["Ann"]
        assert shop.heard[-1].startswith("something else")
        assert "paid Ann" in shop.heard[-1]
        async for _ in client.regenerate():
            pass
        assert said(client) == ["hello", "something else"]
        assert shop.paid == ["Ann"]


@pytest.mark.parametrize("wish", ["edit", "regenerate"])
async def test_a_client_that_is_behind_takes_nothing_back_and_has_the_thread_then(
    shop: Shop, wish: str
) -> None:
    async with shop.client("t") as behind, shop.client("t") as ahead:
        await behind.complete("hello")
        await ahead.load()
        await ahead.complete("pay Ann")
        await approve(ahead)
        (place,) = (m["id"] for m in behind.messages if m["role"] == "user")
        going = behind.edit(place, "other") if wish == "edit" else behind.regenerate(place)
        kept = [e["value"]["reason"] async for e in going if e["type"] == "CUSTOM"]
        assert kept == ["behind"]
        added = ["other"] if wish == "edit" else []
        assert said(behind) == ["hello", "pay Ann", "paid Ann", *added]
        assert shop.paid == ["Ann"]


async def test_there_must_be_such_a_message(shop: Shop) -> None:
    async with shop.client("t") as client:
        await client.complete("hello")
        for going in (client.edit("unknown", "x"), client.regenerate("unknown")):
            with pytest.raises(LookupError, match="unknown"):
                async for _ in going:
                    pass
        assert said(client) == ["hello"]
