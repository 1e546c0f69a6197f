"""Serving as a process: how it begins, what it says and logs, and how it ends."""

import asyncio
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from agui_bridge import Bridge
from agui_bridge.cli.banner import show_banner
from agui_bridge.http.server import serve
from agui_bridge.terminal import Terminal
from tests.cli.processes import PATIENCE, Serving, interpreted, serving
from tests.support.agents import Scripted

AGENTS = """
import asyncio, logging
from agui_bridge import Bridge, FunctionRun, Settings

bridge = Bridge(settings=Settings(shutdown_grace=1.0, cancel_grace=1.0))

@bridge.agent
async def slow(run: FunctionRun):
    '''Counts slowly.'''
    logging.getLogger("author").info("counting")
    for number in range(200):
        await asyncio.sleep(0.05)
        yield f"{number} "

@bridge.agent
async def quick(run: FunctionRun):
    logging.getLogger("author").info("quick")
    yield "done"
    raise ValueError("broken")
"""
FILE = """
store: sqlite:///${NAME:-file}.db
server: {port: 0}
logging: {format: json}
authentication:
  bearer: [{token_env: ANNS_TOKEN, actor: ann}]
agents:
  helper:
    function: agents:quick
    description: Helps.
"""
TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.py").write_text(AGENTS)
    (tmp_path / "bridge.yaml").write_text(FILE)
    return tmp_path


def run_input(thread: str) -> dict[str, object]:
    return {
        "threadId": thread,
        "runId": f"run-of-{thread}",
        "messages": [{"id": "m", "role": "user", "content": "go"}],
    }


def stopped_while_streaming(server: Serving, sign: signal.Signals) -> tuple[list[str], float]:
    """The events of a stream during which a signal comes, and how long the process lived on."""
    kinds: list[str] = []
    signalled = 0.0
    with (
        httpx.Client(timeout=30, trust_env=False) as http,
        http.stream("POST", f"{server.url}/agents/slow", json=run_input("t")) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data:"):
                kinds.append(json.loads(line[5:])["type"])
            if not signalled and kinds.count("TEXT_MESSAGE_CONTENT") == 3:
                server.process.send_signal(sign)
                signalled = time.monotonic()
    server.process.wait(20)
    return kinds, time.monotonic() - signalled


@pytest.mark.soak
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, 0)])
def test_a_signal_ends_an_open_stream_with_a_terminal_event(
    folder: Path, sign: signal.Signals, code: int
) -> None:
    with interpreted(folder, "agents:bridge", "--port", "0") as server:
        kinds, seconds = stopped_while_streaming(server, sign)
        assert kinds[-1] in ("RUN_FINISHED", "RUN_ERROR")
        assert seconds < 8
        assert "Traceback" not in server.output()[1]
    assert server.process.returncode == code


def test_it_says_where_it_listens_what_it_serves_and_a_line_to_try(folder: Path) -> None:
    with serving(folder, "agents:bridge", "--port", "0") as server:
        assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200
        server.process.send_signal(signal.SIGINT)
        said, logged = server.output()
    lines = said.splitlines()
    assert lines[0].startswith("agui-bridge ") and lines[0].endswith(server.url)
    assert lines[1:4] == [
        f"  agent slow: {server.url}/agents/slow",
        f"  agent quick: {server.url}/agents/quick",
        "  store memory: (lost when it ends)",
    ]
    assert lines[5] == f"  curl -N {server.url}/agents/slow \\"
    assert "uvicorn.access" in logged and "startup" not in logged


def test_the_line_to_try_starts_a_run(folder: Path) -> None:
    with serving(folder, "agents:bridge", "--port", "0") as server:
        wait_for(server, "}'\n")
        said = "".join(server.told["stdout"])
        line = said.partition("Try it:\n")[2].replace("/agents/slow", "/agents/quick")
        done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=20)
        stream = done.stdout
    assert '"type":"RUN_STARTED"' in stream and "done" in stream


@pytest.mark.soak
def test_an_idle_connection_stays_open_for_the_next_request(folder: Path) -> None:
    limits = httpx.Limits(keepalive_expiry=60)
    with (
        serving(folder, "agents:bridge", "--port", "0") as server,
        httpx.Client(base_url=server.url, limits=limits) as client,
    ):
        first = client.get("/health").extensions["network_stream"].get_extra_info("client_addr")
        time.sleep(7)
        later = client.get("/health").extensions["network_stream"].get_extra_info("client_addr")
    assert later == first


def test_a_connection_that_is_idle_for_longer_than_those_of_uvicorn_stays_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Of the server's clock, which goes ten times as fast, uvicorn's own five seconds pass in half
    # a second; the server ends after its third request.
    monkeypatch.setattr(asyncio.BaseEventLoop, "time", lambda _: 10 * time.monotonic())
    ports: queue.SimpleQueue[int] = queue.SimpleQueue()
    bridge = Bridge()
    bridge.add("a", Scripted([]))
    options: dict[str, Any] = {
        "port": 0,
        "on_start": ports.put,
        "loop": "asyncio",
        "log_config": None,
    }
    options["limit_max_requests"] = 3
    server = threading.Thread(target=serve, args=(bridge,), kwargs=options, daemon=True)
    server.start()
    with httpx.Client(base_url=f"http://127.0.0.1:{ports.get(timeout=PATIENCE)}") as client:
        first = client.get("/health").extensions["network_stream"].get_extra_info("client_addr")
        time.sleep(0.8)
        later = client.get("/health").extensions["network_stream"].get_extra_info("client_addr")
        client.get("/health")
    server.join(PATIENCE)
    assert not server.is_alive(), "it did not end after its last request"
    assert later == first


def test_a_banner_that_nobody_reads_to_its_end_does_not_end_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        bridge = Bridge()
        bridge.add("a", Scripted([]))
        show_banner(bridge, "127.0.0.1", 1)
        gone.write("and it may be written to")


@pytest.mark.parametrize("columns", ["60", "200"])
def test_in_a_terminal_the_line_to_try_stays_as_it_is_and_everything_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    bridge = Bridge("postgresql://ann:secret@db/x")
    for number in range(22):
        bridge.add(f"agent-{number}", Scripted([]), description="[bold]Helps.")
    show_banner(bridge, "127.0.0.1", 80, Terminal(is_terminal=True))
    said = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "╭─ agui-bridge" in said and "[bold]Helps." in said and "2 more" in said
    assert "postgresql://ann:***@db/x" in said and "secret" not in said
    assert "  curl -N http://127.0.0.1:80/agents/agent-0 \\\n" in said


def test_a_file_is_served_with_flags_before_variables_before_the_file(folder: Path) -> None:
    variables = {"ANNS_TOKEN": TOKEN, "AGUI_BRIDGE_STORE": "sqlite:///variable.db", "NAME": "x"}
    flags = ("--store", "sqlite:///flag.db")
    with serving(folder, "bridge.yaml", *flags, **variables) as server:
        assert httpx.get(f"{server.url}/agents", trust_env=False).status_code == 401
        listed = httpx.get(
            f"{server.url}/agents", headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False
        )
        assert [agent["name"] for agent in listed.json()["agents"]] == ["helper"]
    assert sorted(path.name for path in folder.glob("*.db")) == ["flag.db"]


def test_json_logs_are_one_object_a_line_and_name_the_run(folder: Path) -> None:
    with serving(folder, "bridge.yaml", ANNS_TOKEN=TOKEN) as server:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        answer = httpx.post(
            f"{server.url}/agents/helper",
            json=run_input("t-7"),
            headers=headers,
            trust_env=False,
        )
        assert "RUN_ERROR" in answer.text
        server.process.send_signal(signal.SIGINT)
        said, logged = server.output()
    assert said == ""
    entries = [json.loads(line) for line in logged.splitlines()]
    by_logger = {entry["logger"]: entry for entry in entries}
    authors = by_logger["author"]
    assert (authors["agent"], authors["thread"], authors["run"]) == (
        "helper",
        "t-7",
        "run-of-t-7",
    )
    [failure] = [entry for entry in entries if "exception" in entry]
    assert (failure["exception"], failure["thread"]) == ("builtins.ValueError", "t-7")
    assert "uvicorn.access" in by_logger and TOKEN not in logged


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_link_is_masked_in_the_access_log(folder: Path, form: str) -> None:
    link = "a-link.that-is-a-password"
    with serving(folder, "agents:bridge", "--port", "0", "--log-format", form) as server:
        for path in (f"/d/{link}", f"/d/{link}?here=1", f"/%64/{link}", f"/ai/d/{link}", "/agents"):
            httpx.get(server.url + path, trust_env=False)
        server.process.send_signal(signal.SIGINT)
        _, logged = server.output()
    masked = json.dumps("/d/…")[1:-1] if form == "json" else "/d/…"
    assert logged.count(masked) == 4 and f"/ai{masked}" in logged
    assert "GET /agents HTTP" in logged and "?here=1" in logged
    assert link not in logged


def wait_for(server: Serving, text: str) -> None:
    """Return once it printed a text."""
    deadline = time.monotonic() + 20
    while text not in "".join(server.told["stdout"]):
        assert time.monotonic() < deadline, server.told
        time.sleep(0.01)


@pytest.mark.soak
def test_with_the_default_settings_a_terminated_server_exits_within_15_seconds(
    folder: Path,
) -> None:
    (folder / "agents.py").write_text(AGENTS.replace("shutdown_grace=1.0, cancel_grace=1.0", ""))
    with serving(folder, "agents:bridge", "--port", "0") as server:
        kinds, seconds = stopped_while_streaming(server, signal.SIGTERM)
    assert kinds[-1] in ("RUN_FINISHED", "RUN_ERROR")
    assert seconds < 15
