"""One scope that does its worst: connections that send the same input again and again.

python -m loadtest.attack PORT TOKEN KIND CONNECTIONS SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Sequence

from loadtest.hostile_inputs import hostile_request, long_thread_requests, needs_long_thread

_PATH = "/agents/target"
_PATIENCE = 60.0
_THREAD = "0" * 32
"""Stands in the request that all are made of, for the thread of each."""


def main() -> None:
    """Attack, and print how often each answer came."""
    port, token, kind, connections, seconds = sys.argv[1:]
    request = hostile_request(kind, _PATH, token, _THREAD)
    long = long_thread_requests(_PATH, token, _THREAD) if needs_long_thread(kind) else []
    answers = asyncio.run(_attack(int(port), request, long, int(connections), float(seconds)))
    print(json.dumps(answers))


async def _attack(
    port: int, request: bytes, long: Sequence[bytes], connections: int, seconds: float
) -> Counter[str]:
    answers: Counter[str] = Counter()
    for part in long:
        # The attack begins once there is what it is about.
        answers[await _send(port, part, time.monotonic() + _PATIENCE)] += 1
    until = time.monotonic() + seconds

    async def repeat() -> None:
        while time.monotonic() < until:
            thread = _THREAD if long else uuid.uuid4().hex
            body = request.replace(_THREAD.encode(), thread.encode(), 1)
            # Once more on the same thread: what is stored then has to be compared.
            for _ in range(2):
                answers[await _send(port, body, until)] += 1

    await asyncio.gather(*(repeat() for _ in range(connections)))
    return answers


async def _send(port: int, request: bytes, until: float) -> str:
    """Send a request on a connection of its own; gives the status of the answer."""
    writer: asyncio.StreamWriter | None = None
    status = ""
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + until - time.monotonic()):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            status = (await reader.readline()).decode("latin-1").partition(" ")[2].strip()
            while await reader.read(1 << 16):
                pass
            return status or "no answer"
    except TimeoutError:
        return status or "the end of the attack"
    except OSError as error:
        return status or type(error).__name__
    finally:
        if writer is not None:
            writer.close()


if __name__ == "__main__":
    main()
