"""One peer as a process, and what there is to start."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from agui_bridge_agui.peers import PeerName
from tests.support.ports import free_port

__all__ = ["VARIANTS", "Variant", "python_of", "running"]

ROOT: Final = Path(__file__).parents[3]
START_SECONDS: Final = 120.0


@dataclass(frozen=True)
class Variant:
    """A peer in one of its ways.

    Attributes:
        module: of this package.
        options: of its command line.
        path: where its runs are posted.
        peer: the proxy's option, where `auto` is not meant.
        edits: whether edited arguments can be approved.
        at_once: how many conversations its own store bears.
    """

    module: str
    options: tuple[str, ...] = ()
    path: str = "/"
    peer: PeerName = "auto"
    edits: bool = False
    at_once: int = 8


def _langgraph(gate: str, outcome: str) -> Variant:
    options = ("--gate", gate, "--outcome", outcome)
    return Variant("langgraph", options, edits=gate == "tool")


VARIANTS: Final = {
    "langgraph": _langgraph("tool", "yes"),
    "langgraph-custom": _langgraph("tool", "no"),
    "langgraph-text": _langgraph("text", "no"),
    "langgraph-batched": _langgraph("batched", "no"),
    "langgraph-per-call": _langgraph("per_call", "no"),
    "agno": Variant("agno", path="/agui"),
    "adk": Variant("adk", at_once=1),
    "adk-named": Variant("adk", peer="adk", at_once=1),
    "adk-custom": Variant("adk", ("--outcome", "no"), at_once=1),
    "adk-resumable": Variant("adk", ("--resumable", "yes"), at_once=1),
    "strands": Variant("strands"),
}
"""What is recorded and measured, by name."""


def python_of(module: str, environments: Path) -> Path:
    """The interpreter that has a peer's packages."""
    return environments / module / "bin" / "python"


@contextlib.contextmanager
def running(variant: Variant, environments: Path, folder: Path, effects: Path) -> Iterator[str]:
    """Run a peer; gives the address of its runs.

    It ends when its standard input does, so that it never outlives this process.
    """
    port = free_port()
    command = [str(python_of(variant.module, environments)), "-m"]
    command += [f"tests.servers.peers.{variant.module}", "--pipe", "--port", str(port)]
    command += ["--effects", str(effects), "--folder", str(folder), *variant.options]
    log = folder / f"{variant.module}-{port}.log"
    with (
        log.open("wb") as written,
        subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=written, stderr=written
        ) as process,
    ):
        try:
            _await(f"http://127.0.0.1:{port}/openapi.json", process, log)
            yield f"http://127.0.0.1:{port}{variant.path}"
        finally:
            process.terminate()


def _await(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(url, trust_env=False).is_success:
                return
        time.sleep(0.1)
    raise SystemExit(f"It does not start: {log.read_text(errors='replace')[-2000:]}")
