"""The command line as a process: what it prints, and how serving begins and ends."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agui_bridge import cli
from agui_bridge.adapters import InstalledAdapter
from agui_bridge.errors import ConfigurationError

ROOT = Path(__file__).parents[2]
AGENTS = """
import asyncio
from agui_bridge import Bridge, FunctionRun, Settings

bridge = Bridge({store!r}, settings=Settings(shutdown_grace=1.0, cancel_grace=1.0))

@bridge.agent
async def slow(run: FunctionRun):
    for number in range(200):
        await asyncio.sleep(0.05)
        yield f"{{number}} "
"""


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "agui_bridge.cli", *args]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "60", "NO_COLOR": "1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextlib.contextmanager
def running(args: list[str], port: int, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that is ready."""
    process = subprocess.Popen(args, cwd=cwd, env=environment(), stderr=subprocess.PIPE)
    try:
        for _ in range(200):
            assert process.poll() is None, "the server did not start"
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).is_success:
                    break
            time.sleep(0.05)
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def stopped_while_streaming(
    process: subprocess.Popen[bytes], port: int, agent: str, sign: signal.Signals
) -> tuple[list[str], float]:
    """The events of a stream during which a signal comes, and how long the process lived on."""
    kinds: list[str] = []
    signalled = 0.0
    body = {
        "threadId": "t",
        "runId": "r",
        "protocolVersion": "1.0",
        "messages": [{"id": "m", "role": "user", "content": "slow 1000"}],
    }
    url = f"http://127.0.0.1:{port}/agents/{agent}"
    with (
        httpx.Client(timeout=30, trust_env=False) as http,
        http.stream("POST", url, json=body) as response,
    ):
        for line in response.iter_lines():
            if line.startswith("data:"):
                kinds.append(json.loads(line[5:])["type"])
            if not signalled and kinds.count("TEXT_MESSAGE_CONTENT") == 3:
                process.send_signal(sign)
                signalled = time.monotonic()
    process.wait(20)
    return kinds, time.monotonic() - signalled


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_open_stream_with_a_terminal_event(
    tmp_path: Path, sign: signal.Signals
) -> None:
    (tmp_path / "agents.py").write_text(AGENTS.format(store="sqlite:///agents.db"))
    port = free_port()
    with running(command("serve", "agents:bridge", "--port", str(port)), port, tmp_path) as server:
        kinds, seconds = stopped_while_streaming(server, port, "slow", sign)
        assert kinds[-1] in ("RUN_FINISHED", "RUN_ERROR")
        assert seconds < 8
        assert server.stderr is not None
        assert b"Traceback" not in server.stderr.read()


@pytest.mark.slow
def test_with_the_default_settings_a_terminated_server_exits_within_15_seconds(
    tmp_path: Path,
) -> None:
    port = free_port()
    args = [sys.executable, "-m", "examples.approval_target", "--port", str(port)]
    args += ["--effects", str(tmp_path / "effects"), "--store", f"sqlite:///{tmp_path}/t.db"]
    with running(args, port, tmp_path) as server:
        kinds, seconds = stopped_while_streaming(server, port, "target", signal.SIGTERM)
        assert kinds[-1] in ("RUN_FINISHED", "RUN_ERROR")
        assert seconds < 15


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("sqlite:///none/[/tmp/x]/a.db", "[/tmp/x]"),
        ("sqlite:////proc/agents.db", "did not answer"),
        ("mysql://x", "mysql"),
    ],
)
def test_a_store_that_cannot_be_opened_is_told_in_one_line_before_serving(
    tmp_path: Path, store: str, said: str
) -> None:
    (tmp_path / "agents.py").write_text(AGENTS.format(store=store))
    args = command("serve", "agents:bridge", "--port", str(free_port()))
    done = subprocess.run(
        args, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert said in line


@pytest.mark.parametrize("text", ['pip install "agui-bridge[redis]"', "path [/tmp/x] is wrong"])
def test_brackets_in_an_error_are_printed_as_they_are(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise ConfigurationError(text)

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    assert exit_.value.code == 2
    assert capsys.readouterr().err == f"error: {text}\n"


def test_brackets_in_the_table_of_adapters_are_printed_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lacking = InstalledAdapter("[bold]x", "agui-bridge[redis]", missing="[/tmp/x]")
    monkeypatch.setattr(cli, "installed_adapters", lambda: [lacking])
    monkeypatch.setenv("COLUMNS", "200")
    cli.adapters()
    out = capsys.readouterr().out
    assert all(text in out for text in ("[bold]x", "agui-bridge[redis]", "missing: [/tmp/x]"))
