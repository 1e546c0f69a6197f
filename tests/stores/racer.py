"""A process that does something to a store, line by line as its parent says.

Run as `python -m tests.stores.racer MODE URL`.

open: say "ready", wait for a line, open the store, say "open".
race: for each line, a version, commit with it; say "won" or "lost".
fill: commit one message after another, say each version once it is acknowledged.
group: commit ten threads at once, say so once they are acknowledged; commit ten more, and die
    before the COMMIT that they share, after having said how many it would have been.
"""

import asyncio
import os
import signal
import sqlite3
import sys
import threading
import uuid
from collections.abc import Callable, Coroutine

from agui_bridge.errors import Conflict
from agui_bridge.protocol.threads.records import ThreadKey
from agui_bridge.stores.base import ABSENT, Change, Expected
from agui_bridge.stores.open import open_store
from agui_bridge.stores.sqlite.store import SqliteStore
from tests.stores.samples import KEY, idle, message


def say(word: object) -> None:
    print(word, flush=True)


async def open_at_once(url: str) -> None:
    say("ready")
    sys.stdin.readline()
    store = await open_store(url)
    await store.ping()
    await store.aclose()
    say("open")


async def race(url: str) -> None:
    store = await open_store(url)
    say("ready")
    for line in sys.stdin:
        try:
            await store.commit(KEY, Change(idle()), Expected(version=int(line)), uuid.uuid4().hex)
            say("won")
        except Conflict:
            say("lost")
    await store.aclose()


async def fill(url: str) -> None:
    store = await open_store(url)
    version: int | None = None
    number = 0
    while True:
        change = Change(idle(version=0), messages=(message(f"m{number}", number),))
        done = await store.commit(KEY, change, Expected(version=version), uuid.uuid4().hex)
        version = done.record.version
        number += 1
        say(version)


async def group(url: str) -> None:
    store = await SqliteStore.open(url)
    names = [f"{number}" for number in range(20)]

    async def commit(name: str) -> None:
        key = ThreadKey("scope", "agent", name)
        await store.commit(key, Change(idle(key)), ABSENT, name)

    await asyncio.gather(*map(commit, names[:10]))
    say(10)

    def die(connection: sqlite3.Connection) -> None:
        # The rest comes into the queue while this transaction runs.
        queued.wait()
        connection.set_trace_callback(watch)

    def watch(statement: str) -> None:
        # The driver tells what it is about to do.
        if statement == "COMMIT":
            say(sum(begun.startswith("INSERT INTO agui_threads") for begun in seen))
            os.kill(os.getpid(), signal.SIGKILL)
        seen.append(statement)

    queued, seen = threading.Event(), list[str]()
    dying = asyncio.ensure_future(store._database.write(die))
    rest = [asyncio.ensure_future(commit(name)) for name in names[10:]]
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(queued.set)
    await asyncio.gather(dying, *rest)


MODES: dict[str, Callable[[str], Coroutine[None, None, None]]] = {
    "open": open_at_once,
    "race": race,
    "fill": fill,
    "group": group,
}

if __name__ == "__main__":
    asyncio.run(MODES[sys.argv[1]](sys.argv[2]))
