"""Instructions that one question and its answer take, or one stream: valgrind counts them.

    python -m benchmarks.instructions [--contender bare] [--store URL] [--stream]

On a machine that others keep busy, times scatter by a third and instructions by a thousandth. They
leave out what the kernel does, and uvicorn: the app is called in the process itself. Two processes
carry out different numbers of rounds, and the difference is taken, so that starting counts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence

import uvloop
from starlette.types import ASGIApp, Message

from benchmarks.contenders.process import ROOT, environment
from benchmarks.measuring.load import Conversation
from benchmarks.measuring.requests import new_thread, request
from benchmarks.measuring.resuming import approving
from benchmarks.rows import BenchmarkBroken

_TOKENS = 1_000

_CONTENDERS = ("bridge", "bare", "starlette")

_COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")


def _app(contender: str, store: str) -> ASGIApp:
    # Imported here: the process that asks valgrind needs none of them.
    from benchmarks.contenders import servers
    from benchmarks.contenders.bare import bare

    contenders: dict[str, Callable[[str, int], ASGIApp]]
    contenders = {"bridge": servers.bridge, "bare": bare, "starlette": servers.starlette}
    return contenders[contender](store, _TOKENS)


def _streaming(contender: str) -> Conversation:
    raw = yield request("text-ready" if contender == "bridge" else "ready")
    if raw.count(b'"TEXT_MESSAGE_CONTENT"') != _TOKENS:
        raise BenchmarkBroken(f"a stream is not whole: … {raw[-2_000:]!r}")


async def _ask(app: ASGIApp, raw: bytes) -> bytes:
    """Call an app with a request as it travels; gives the body of its response."""
    head, _, content = raw.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, path, _ = first.decode().split(" ")
    fields = [line.split(b": ", 1) for line in lines]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in fields],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    coming: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
    told: list[bytes] = []
    gone: asyncio.Future[Message] = asyncio.get_running_loop().create_future()

    async def receive() -> Message:
        return coming.pop() if coming else await gone

    async def send(message: Message) -> None:
        told.append(message.get("body", b""))

    await app(scope, receive, send)
    gone.cancel()
    return b"".join(told)


async def _carry_out(conversation: Conversation, app: ASGIApp) -> None:
    try:
        raw = next(conversation)
        while True:
            raw = conversation.send(await _ask(app, raw))
    except StopIteration:
        return


async def _rounds(contender: str, store: str, count: int, *, stream: bool) -> None:
    app = _app(contender, store)
    steps: asyncio.Queue[Message] = asyncio.Queue()
    told: asyncio.Queue[Message] = asyncio.Queue()
    scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
    life = asyncio.ensure_future(app(scope, steps.get, told.put))
    for step in ("startup", "shutdown"):
        if step == "shutdown":
            for _ in range(count):
                one = _streaming(contender) if stream else approving(new_thread())
                await _carry_out(one, app)
        await steps.put({"type": f"lifespan.{step}"})
        if (answer := await told.get())["type"] != f"lifespan.{step}.complete":
            raise BenchmarkBroken(f"{contender} does not start, or end: {answer}")
    await life


def _counted(arguments: Sequence[str], count: int) -> int:
    """Instructions of a process that carries out so many rounds."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    module = "benchmarks.instructions"
    program = [sys.executable, "-m", module, *arguments, "--rounds", str(count)]
    # The order of sets, and with it some of the work, hangs on the hashes of texts.
    env = {**environment(), "PYTHONHASHSEED": "0"}
    ended = subprocess.run([*command, *program], cwd=ROOT, env=env, capture_output=True, text=True)
    found = _COUNTED.search(ended.stderr)
    if ended.returncode or found is None:
        raise BenchmarkBroken(f"valgrind has counted nothing:\n{ended.stderr[-2_000:]}")
    return int(found[1].replace(",", ""))


def instructions(contender: str, store: str, *, stream: bool) -> float:
    """Instructions that a contender takes for one question and its answer, or one stream.

    Args:
        contender: `bridge`, `bare` (no streams) or `starlette` (streams alone).
        store: its URL.
        stream: whether a stream of 1,000 tokens is counted.
    """
    few, many = (5, 25) if stream else (40, 140)
    arguments = ["--contender", contender, "--store", store, *(["--stream"] if stream else ())]
    return (_counted(arguments, many) - _counted(arguments, few)) / (many - few)


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, and print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--contender", choices=_CONTENDERS, default="bridge")
    parser.add_argument("--store", default="memory:")
    parser.add_argument("--stream", action="store_true", help="of 1,000 tokens that are ready")
    parser.add_argument("--rounds", type=int, help="carry out so many, and count nothing")
    options = parser.parse_args(arguments)
    if options.rounds is not None:
        one = _rounds(options.contender, options.store, options.rounds, stream=options.stream)
        # The loop of the servers: see `uvicorn_options`.
        uvloop.run(one)
        return
    if shutil.which("valgrind") is None:
        parser.error("valgrind is missing: install it (apt-get install valgrind)")
    found = instructions(options.contender, options.store, stream=options.stream)
    what = f"a stream of {_TOKENS} tokens" if options.stream else "a question and its answer"
    where = f"{options.contender}, {options.store}"
    print(f"{where}: {what} takes {found / 1e6:.2f} million instructions")


if __name__ == "__main__":
    main()
