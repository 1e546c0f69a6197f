"""docs/deployment.md: the server that drains the bridge ends long streams at SIGTERM."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.docs.pages import ROOT, snippets_of
from tests.support.ports import free_port
from tests.support.waiting import wait_until

APP = """
import asyncio
from fastapi import FastAPI
from agui_bridge import Bridge, Settings

bridge = Bridge(settings=Settings(shutdown_grace=0.5))


@bridge.agent("slow")
async def slow(run):
    for number in range(600):
        yield f"{number} "
        await asyncio.sleep(0.1)


app = FastAPI(lifespan=bridge.lifespan)
app.mount("/ai", bridge.app(anonymous=True))
"""
LONG = 60
"""Seconds that the agent speaks."""


@pytest.mark.timeout(120)
def test_a_long_stream_gets_its_last_event_soon_after_sigterm(tmp_path: Path) -> None:
    (serve,) = (
        code
        for _, code in snippets_of(ROOT / "docs" / "deployment.md", "python")
        if "DrainingServer" in code
    )
    (tmp_path / "my_app.py").write_text(APP)
    port = free_port()
    (tmp_path / "serve.py").write_text(serve.replace("port=8000", f"port={port}"))
    with subprocess.Popen([sys.executable, "serve.py"], cwd=tmp_path) as server:
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/ai/healthz"), LONG)
            said = {"id": "m", "role": "user", "content": "go"}
            body = {"threadId": "t", "runId": "r", "messages": [said]}
            url = f"http://127.0.0.1:{port}/ai/agents/slow"
            with httpx.stream("POST", url, json=body, timeout=LONG) as response:
                lines = response.iter_lines()
                next(line for line in lines if "TEXT_MESSAGE_CONTENT" in line)
                server.send_signal(signal.SIGTERM)
                began = time.monotonic()
                rest = [line for line in lines if line.startswith("data:")]
            server.wait(LONG)
            took = time.monotonic() - began
        finally:
            server.kill()

    assert "RUN_FINISHED" in rest[-1] or "RUN_ERROR" in rest[-1]
    assert took < LONG / 2


def answers(url: str) -> bool:
    try:
        return httpx.get(url).status_code == 200
    except httpx.TransportError:
        return False
