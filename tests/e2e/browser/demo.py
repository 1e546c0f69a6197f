"""The demo, as a process with a database of its own."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx

from tests.support.ports import free_port

__all__ = ["await_health", "demo_in"]

ROOT: Final = Path(__file__).parents[3]

START_SECONDS: Final = 120.0
"""An interpreter of its own imports all anew: on a busy machine that takes a while."""


@contextlib.contextmanager
def demo_in(folder: Path) -> Iterator[int]:
    """Run the demo in a folder; gives its port."""
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "examples.demo", "--port", str(port)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'adapters'}"},
        stdout=subprocess.DEVNULL,
    ) as process:
        try:
            await_health(port)
            yield port
        finally:
            process.terminate()


def await_health(port: int) -> None:
    """Wait until a bridge answers."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"http://127.0.0.1:{port}/readyz").is_success:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing answers at port {port}")
