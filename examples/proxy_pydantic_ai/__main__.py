"""pydantic-ai's endpoint and the bridge before it, in one command.

    python -m examples.proxy_pydantic_ai --port 8787

It is what `agui-bridge proxy` serves, with the endpoint as a process of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from agui_bridge import BearerTokens, Bridge
from agui_bridge.http.server import serve
from agui_bridge_agui import AguiAdapter
from examples.approval_target import TOKENS, Email

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0


@contextlib.contextmanager
def endpoint(python: Path, effects: Path) -> Iterator[str]:
    """Run pydantic-ai's endpoint; gives its address.

    It ends when its standard input does, so that it never outlives this process.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [str(python), "-m", "examples.proxy_pydantic_ai.server", "--pipe"]
    command += ["--port", str(port), "--effects", str(effects)]
    url = f"http://127.0.0.1:{port}/"
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE) as process:
        deadline = time.monotonic() + START_SECONDS
        while not _answers(f"{url}readyz"):
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("pydantic-ai's endpoint does not start.")
            time.sleep(0.05)
        try:
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(url, trust_env=False).is_success
    return False


def main() -> None:
    """Serve both until interrupted."""
    parser = argparse.ArgumentParser(description="pydantic-ai behind the bridge.")
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--store", default="memory:", help="such as sqlite:///proxy.db")
    parser.add_argument("--effects", type=Path, default=Path("effects.jsonl"))
    parser.add_argument("--tokens", action="store_true", help="ask for a token of approval_target")
    parser.add_argument(
        "--python", type=Path, default=ROOT / ".venv-peers/bin/python", help="that has pydantic-ai"
    )
    options = parser.parse_args()
    if not options.python.exists():
        readme = Path(__file__).with_name("README.md")
        sys.exit(f"There is no {options.python}: {readme} says how to make it.")
    with endpoint(options.python, options.effects.absolute()) as url:
        bridge = Bridge(
            options.store, authenticate=BearerTokens(TOKENS) if options.tokens else None
        )
        adapter = AguiAdapter(url, tool_schemas={"send_email": Email.model_json_schema()})
        bridge.add("agent", adapter, description="pydantic-ai behind the bridge.")
        serve(bridge, "127.0.0.1", options.port, log_level="warning")


if __name__ == "__main__":
    main()
