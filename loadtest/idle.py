"""Many streams that stand open and silent on one process, which still answers everybody else."""

from __future__ import annotations

import asyncio
import resource
import statistics
import tempfile
import time
import uuid
from pathlib import Path

import httpx

from benchmarks.contenders.ports import free_port
from loadtest.client import send
from loadtest.pressure import Result
from loadtest.replica import Replica

STREAMS = 2000
AT_ONCE = 100
SPARE_FILES = 200
PROBES = 50


def stand_idle(seconds: float) -> Result:
    """Open the streams, wait, ask beside them, and close them."""
    result = Result()
    _allow_files(STREAMS + SPARE_FILES)
    with tempfile.TemporaryDirectory(prefix="agui-load-") as directory:
        log = Path(directory) / "idle.log"
        replica = Replica("loadtest.waiting_agent", free_port(), [], log)
        try:
            replica.await_start()
            asyncio.run(_stand(result, replica, seconds))
        finally:
            replica.close()
    return result


def _allow_files(wanted: int) -> None:
    """Raise how many files this process and its children may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SystemExit(f"{STREAMS} streams need {wanted} open files; `ulimit -Hn` is {hard}")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _stand(result: Result, replica: Replica, seconds: float) -> None:
    host, port = "127.0.0.1", int(replica.url.rpartition(":")[2])
    gate = asyncio.Semaphore(AT_ONCE)

    async def open_one() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with gate:
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(_request(host))
            await asyncio.wait_for(reader.readuntil(b"TEXT_MESSAGE_CONTENT"), 60)
            return reader, writer

    async with httpx.AsyncClient(timeout=60) as http:
        await send(http, replica.url, "warm", "hello")
        before = replica.resident
        began = time.monotonic()
        streams = await asyncio.gather(*(open_one() for _ in range(STREAMS)))
        opened = time.monotonic() - began
        full = replica.resident
        took = []
        for number in range(PROBES):
            start = time.monotonic()
            answer = await send(http, replica.url, f"probe-{number}", "hello")
            took.append(time.monotonic() - start)
            if answer.word != "success":
                result.faults.append(f"beside idle streams: {answer.word}")
        await asyncio.sleep(seconds)
        later = replica.resident
        alive = sum(not reader.at_eof() for reader, _ in streams)
        if alive < STREAMS:
            result.faults.append(f"{STREAMS - alive} idle streams ended by themselves")
        for _, writer in streams:
            writer.close()
        ended = await _until_none_runs(http, replica.url)
        if not ended:
            result.faults.append("runs go on whose clients have gone")
        result.lines += [
            f"idle: {STREAMS} streams open on one process, in {opened:.1f} s",
            f"  memory: {before / 2**20:.1f} MB before, {full / 2**20:.1f} MB with them "
            f"({(full - before) / STREAMS / 1024:.1f} KB each), "
            f"{later / 2**20:.1f} MB {seconds:.0f} s later",
            f"  a whole run beside them: median {statistics.median(took) * 1000:.1f} ms, "
            f"slowest {max(took) * 1000:.1f} ms",
            f"  after their clients have gone: {'all runs ended' if ended else 'runs go on'}",
        ]


def _request(host: str) -> bytes:
    thread = uuid.uuid4().hex
    message = '{"id":"m","role":"user","content":"wait"}'
    body = f'{{"threadId":"{thread}","runId":"r","messages":[{message}]}}'.encode()
    head = (
        f"POST /agents/target HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _until_none_runs(http: httpx.AsyncClient, url: str) -> bool:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        listed = (await http.get(f"{url}/agents/target/threads?limit=200")).json()["threads"]
        if all(thread["status"] == "idle" for thread in listed):
            return True
        await asyncio.sleep(0.5)
    return False
