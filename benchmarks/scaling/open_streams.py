"""What open streams cost that say nothing, what readers elsewhere do, and what a restart does.

    python -m benchmarks.scaling.open_streams [--streams 1000 10000] [--readers 500] [--seconds 30]

One server has the runs, on a Redis of its own. First its streams stand open and say nothing. Then
pages read some of these threads through a second server. Then the first server is restarted, and
all pages ask for their threads at once. The commands of Redis are counted, and the CPU seconds that
the servers took: neither depends on how busy the machine is. Each stream takes a file descriptor
here and one in the server.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import selectors
import socket
import time
from collections.abc import Iterator, Sequence

from benchmarks.contenders.own_servers import own_redis
from benchmarks.contenders.process import Server
from benchmarks.measuring.load import connect, open_stream
from benchmarks.measuring.requests import new_thread, request, run_input
from benchmarks.rows import BenchmarkBroken
from benchmarks.scaling.background import of_redis

_WARM = 10
_SPARE = 500
"""File descriptors for all else."""

_PATIENCE = 300.0
_ABREAST = 200
"""Pages that connect at a time, as a proxy or the backlog of a socket would let them."""


def room_for(streams: int) -> None:
    """Raise the limit of file descriptors, for this process and those that it starts.

    Raises:
        BenchmarkBroken: the machine does not allow as many.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= streams + _SPARE:
        return
    if hard != resource.RLIM_INFINITY and hard < streams + _SPARE:
        raise BenchmarkBroken(f"{streams} streams need more than {hard} file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (streams + _SPARE, hard))


def _reading(thread: str) -> bytes:
    return (
        f"GET /agents/idle/threads/{thread}/connect HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        "accept: text/event-stream\r\nconnection: close\r\n\r\n"
    ).encode()


def _asked(url: str) -> float:
    return of_redis(url)["round trips"]


def reconnect(port: int, threads: Sequence[str]) -> list[int]:
    """Have a page for each thread ask for it, all as soon as they can.

    Returns:
        The status of each answer; each was read to its end.
    """
    waiting, statuses = list(threads), []
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
        heads: dict[socket.socket, bytes] = {}
        until = time.monotonic() + _PATIENCE
        while waiting or heads:
            while waiting and len(heads) < _ABREAST:
                connection = stack.enter_context(connect(port))
                connection.sendall(_reading(waiting.pop()))
                heads[connection] = b""
                selector.register(connection, selectors.EVENT_READ)
            if time.monotonic() > until:
                raise BenchmarkBroken(f"{len(heads) + len(waiting)} pages have no answer")
            for key, _ in selector.select(1.0):
                page = key.fileobj
                assert isinstance(page, socket.socket)
                piece = page.recv(65536)
                heads[page] = heads[page] or piece[:12]
                if not piece:
                    statuses.append(int(heads.pop(page)[9:12] or 0))
                    selector.unregister(page)
                    page.close()
    return statuses


@contextlib.contextmanager
def _started(url: str) -> Iterator[Server]:
    with contextlib.closing(Server("bridge", "--store", url)) as server:
        server.await_start()
        yield server


def measure(streams: int, readers: int, seconds: float) -> list[str]:
    """Cells of a row for so many streams, and so many pages that read them elsewhere."""
    room_for(streams + readers)
    content = b'"TEXT_MESSAGE_CONTENT"'
    threads = [new_thread() for _ in range(streams)]
    with own_redis() as url, contextlib.ExitStack() as pages:
        with _started(url) as server, _started(url) as other:
            for _ in range(_WARM):
                pages.enter_context(open_stream(server.port, request("idle"), content))
            before = server.resident
            for thread in threads:
                body = request("idle", run_input(thread))
                pages.enter_context(open_stream(server.port, body, content))
            kilobytes = (server.resident - before) / streams / 1024
            time.sleep(5.0)
            cpu, asked = server.cpu_seconds, _asked(url)
            time.sleep(seconds)
            silence = (server.cpu_seconds - cpu) / seconds / streams * 1_000
            trips = (_asked(url) - asked) / seconds
            for thread in threads[:readers]:
                pages.enter_context(open_stream(other.port, _reading(thread), b"SNAPSHOT"))
            time.sleep(5.0)
            cpu, asked = other.cpu_seconds, _asked(url)
            time.sleep(seconds)
            reading = (other.cpu_seconds - cpu) / seconds / max(readers, 1) * 1_000
            of_reader = ((_asked(url) - asked) / seconds - trips) / max(readers, 1)
        # Both have ended: the pages have lost their streams.
        pages.close()
        with _started(url) as server:
            reconnect(server.port, threads[:1])
            resident, cpu, asked = server.resident, server.cpu_seconds, _asked(url)
            began = time.monotonic()
            statuses = reconnect(server.port, threads)
            took = time.monotonic() - began
            refused = sum(status != 200 for status in statuses)
            cpu, asked = server.cpu_seconds - cpu, _asked(url) - asked
            grown = (server.resident - resident) / 2**20
    return [
        f"{streams:,}",
        f"{kilobytes:.1f}",
        f"{1_000 * silence:.2f}",
        f"{trips:.1f}",
        f"{1_000 * reading:.1f}",
        f"{of_reader:.2f}",
        f"{refused}",
        f"{asked / streams:.2f}",
        f"{1_000 * cpu / streams:.2f}",
        f"{took:.1f}",
        f"{grown:.0f}",
    ]


HEAD = (
    *("open streams", "KB of each", "silence: CPU ms/s of 1,000", "trips/s of all"),
    *("readers elsewhere: CPU ms/s of 1,000", "trips/s of one"),
    *("after a restart: refused", "trips of a page", "CPU ms of a page", "seconds", "MB grown"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table with a row for each number of streams."""
    parser = argparse.ArgumentParser(description="What open streams cost.")
    parser.add_argument("--streams", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--readers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args(arguments)
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for streams in options.streams:
        cells = measure(streams, min(options.readers, streams), options.seconds)
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
