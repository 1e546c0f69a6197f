"""A process that does something to a store, line by line as its parent says.

Run as `python -m tests.stores.racer MODE URL`.

open: say "ready", wait for a line, open the store, say "open".
race: for each line, a version, commit with it; say "won" or "lost".
fill: commit one message after another, say each version once it is acknowledged.
"""

import asyncio
import sys
import time
import uuid
from collections.abc import Callable, Coroutine

from agui_bridge.errors import Conflict
from agui_bridge.stores.base import Change, Expected
from agui_bridge.stores.sql import SqlStore
from tests.stores.samples import KEY, idle, message


def say(word: object) -> None:
    print(word, flush=True)


async def open_at_once(url: str) -> None:
    say("ready")
    sys.stdin.readline()
    store = await SqlStore.open(url, clock=time.time)
    await store.ping()
    await store.aclose()
    say("open")


async def race(url: str) -> None:
    store = await SqlStore.open(url)
    say("ready")
    for line in sys.stdin:
        try:
            await store.commit(KEY, Change(idle()), Expected(version=int(line)), uuid.uuid4().hex)
            say("won")
        except Conflict:
            say("lost")
    await store.aclose()


async def fill(url: str) -> None:
    store = await SqlStore.open(url)
    version: int | None = None
    number = 0
    while True:
        change = Change(idle(version=0), messages=(message(f"m{number}", number),))
        done = await store.commit(KEY, change, Expected(version=version), uuid.uuid4().hex)
        version = done.record.version
        number += 1
        say(version)


MODES: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
    "open": open_at_once,
    "race": race,
    "fill": fill,
}

if __name__ == "__main__":
    asyncio.run(MODES[sys.argv[1]](sys.argv[2]))
