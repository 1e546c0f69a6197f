"""What many servers ask of their store when none of them has anything to do.

    python -m benchmarks.scaling.idle_bridges [--bridges 1 6 20 60] [--channels 0 1] [--seconds 90]

Sixty processes are more than a small machine carries, so here the servers share one event loop.
Each is a whole bridge with a store client, connections and a note of its own: the store can't
tell. What is counted is the same as in `background`; of a cluster, what all its masters were
asked. A beat is 30 seconds, so measure for three of them.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

import redis

from agui_bridge import Bridge
from agui_bridge.channels.webhooks import Webhook
from agui_bridge.errors import StoreUnavailable
from benchmarks.contenders.own_servers import own_cluster, own_database, own_redis
from benchmarks.scaling.background import Count, of_postgres, of_redis

SECRET: Final = "whsec_" + base64.b64encode(bytes(32)).decode()

SETTLE: Final = 15.0
"""Seconds until all have noted themselves, and PostgreSQL has counted their start."""


def _of_cluster(urls: Sequence[str]) -> dict[str, float]:
    total: dict[str, float] = {}
    for url in urls:
        with redis.Redis.from_url(url) as client:
            if client.info("replication")["role"] != "master":
                continue
        for name, many in of_redis(url).items():
            total[name] = total.get(name, 0) + many
    return total


@contextlib.contextmanager
def _database() -> Iterator[tuple[str, Count]]:
    with own_database() as url:
        yield url, partial(of_postgres, url)


@contextlib.contextmanager
def _redis() -> Iterator[tuple[str, Count]]:
    with own_redis() as url:
        yield url, partial(of_redis, url)


@contextlib.contextmanager
def _cluster() -> Iterator[tuple[str, Count]]:
    with own_cluster() as urls:
        address = urls[0].removeprefix("redis://").removesuffix("/0")
        yield f"redis+cluster://{address}", partial(_of_cluster, urls)


STORES: Final[dict[str, Callable[[], contextlib.AbstractContextManager[tuple[str, Count]]]]] = {
    "PostgreSQL": _database,
    "Redis": _redis,
    "Redis Cluster": _cluster,
}


async def _nothing(_: Any) -> AsyncIterator[str]:
    """An agent that says nothing."""
    return
    yield ""


def _bridge(url: str, channels: int) -> Bridge:
    told = {
        f"channel-{number}": Webhook("http://127.0.0.1:9/", secret=SECRET, scopes=["*"])
        for number in range(channels)
    }
    bridge = Bridge(url, channels=told, telemetry=False)
    bridge.agent("agent")(_nothing)
    return bridge


async def _opened(bridge: Bridge) -> None:
    for _ in range(40):
        try:
            await bridge.open()
            return
        except StoreUnavailable:
            # A cluster that has just come together refuses some.
            await asyncio.sleep(0.25)
    await bridge.open()


async def rates(
    url: str, count: Count, bridges: int, channels: int, *, settle: float, seconds: float
) -> dict[str, float]:
    """What a store is asked in a second by so many servers that do nothing.

    Args:
        url: of the store.
        count: reads its counters.
        bridges: how many servers there are.
        channels: how many channels each has.
        settle: seconds until it is counted.
        seconds: for so long.
    """
    made = [_bridge(url, channels) for _ in range(bridges)]
    try:
        for at in range(0, bridges, 10):
            await asyncio.gather(*map(_opened, made[at : at + 10]))
        await asyncio.sleep(settle)
        before = await asyncio.to_thread(count)
        await asyncio.sleep(seconds)
        after = await asyncio.to_thread(count)
    finally:
        await asyncio.gather(*(bridge.aclose() for bridge in made))
    return {name: (after[name] - before[name]) / seconds for name in after}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table: what each store is asked in a second, by servers and channels."""
    parser = argparse.ArgumentParser(description="What idle servers ask of their store.")
    parser.add_argument("--bridges", type=int, nargs="+", default=[1, 6, 20, 60])
    parser.add_argument("--channels", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--settle", type=float, default=SETTLE)
    parser.add_argument("--seconds", type=float, default=90.0)
    options = parser.parse_args(arguments)
    print("| store | servers | channels of each | asked per second |\n|---|---|---|---|")
    for store in options.stores:
        for channels in options.channels:
            for bridges in options.bridges:
                with STORES[store]() as (url, count):
                    found = asyncio.run(
                        rates(
                            url,
                            count,
                            bridges,
                            channels,
                            settle=options.settle,
                            seconds=options.seconds,
                        )
                    )
                shown = ", ".join(f"{rate:.1f} {name}" for name, rate in found.items())
                print(f"| {store} | {bridges} | {channels} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
