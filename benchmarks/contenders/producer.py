"""What all agents say, whoever serves them; imported by servers without agui-bridge too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

MESSAGE_ID = "message-1"

KINDS = ("ready", "suspend", "wake", "one", "idle")
"""How an agent comes by its tokens.

ready: they are there. suspend: it gives way to the loop before each. wake: it waits for a future
before each, which the loop sets. one: like suspend, but a single token. idle: a single token, and
then it waits for ever.
"""


def tokens(count: int) -> list[str]:
    """Tokens of the lengths that models produce."""
    words = (" the", " agent", " waits", ",", " and", " somebody", " answers", ".")
    return [words[number % len(words)] for number in range(count)]


async def produce(kind: str, count: int) -> AsyncIterator[str]:
    """The tokens of one run, by the kind of the agent."""
    loop = asyncio.get_running_loop()
    for token in tokens(1 if kind in ("one", "idle") else count):
        if kind == "wake":
            woken = loop.create_future()
            loop.call_soon(woken.set_result, None)
            await woken
        elif kind != "ready":
            await asyncio.sleep(0)
        yield token
    if kind == "idle":
        await asyncio.Event().wait()
